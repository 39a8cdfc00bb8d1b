import Foundation
import StrictJSON
import Testing

@Suite("Where copies may go") struct TargetTests {
    let console: Console

    init() throws { console = try Console().prepared() }

    /// Everything in the folder of the database that a copy could replace, byte for byte.
    private func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: console.data) where !name.hasSuffix("-shm") {
            // Locks that a command takes are made by it, and are empty.
            let bytes = try Data(contentsOf: URL(filePath: "\(console.data)/\(name)"))
            if !bytes.isEmpty || !name.hasSuffix(".lock") { contents[name] = bytes }
        }
        return contents
    }

    static let names = [
        "countersign.db", "countersign.db-wal", "countersign.db-shm", "countersign.db-journal", "serve.lock",
        "write.lock", "backup.lock", "keys.lock", "master.key", "master.key.next", "master.key.next-0123456789abcdef",
        "master.key.until-20270101T000000Z", "countersign.db.0123456789abcdef.restoring",
    ]

    /// How a file of the folder may be named.
    enum Way: String, CaseIterable {
        case plainly
        case throughALinkToTheFolder
        case withDots
        case byAHardLink
        case byALink
    }

    @Test(
        "a copy never takes the place of a file of the database, whatever it is called",
        arguments: names,
        Way.allCases
    )
    func ownFiles(name: String, way: Way) throws {
        let file = "\(console.data)/\(name)"
        let place = console.folder.path
        let target: String
        switch way {
        case .plainly: target = file
        case .throughALinkToTheFolder:
            try FileManager.default.createSymbolicLink(atPath: place + "/other", withDestinationPath: console.data)
            target = "\(place)/other/\(name)"
        case .withDots: target = "\(console.data)/../data/./\(name)"
        case .byAHardLink, .byALink:
            guard FileManager.default.fileExists(atPath: file) else { return }
            target = place + "/other"
            if way == .byALink {
                try FileManager.default.createSymbolicLink(atPath: target, withDestinationPath: file)
            } else {
                try FileManager.default.linkItem(atPath: file, toPath: target)
            }
        }
        let before = try contents()

        #expect(try console.failure("backup \(target)").code == "ACCESS")
        #expect(try console.failure("backup \(target) --dry-run").code == "ACCESS")
        #expect(["ACCESS", "ALREADY_EXISTS"].contains(try console.failure("admin master-key export \(target)").code))

        #expect(try contents() == before)
        try console.json("admin vendor create --slug later")
    }

    @Test(
        "a file that is no copy of a database is not replaced",
        arguments: ["text", "another program's database", "a database in use", "another folder's database"]
    )
    func foreign(kind: String) throws {
        var target = console.folder.path + "/file"
        switch kind {
        case "text": try Data("my letters".utf8).write(to: URL(filePath: target))
        case "another program's database":
            try (Data("SQLite format 3\0".utf8) + Data(count: 4080)).write(to: URL(filePath: target))
        case "a database in use":
            _ = console.run(["admin", "vendor", "create", "--slug", "acme"], data: console.folder.path + "/second")
            try FileManager.default.copyItem(
                atPath: console.folder.path + "/second/countersign.db",
                toPath: target
            )
        default:
            // As a restore leaves it, before anything opens it.
            let second = console.folder.path + "/second"
            try console.json("backup \(console.folder.path)/copy.db")
            try FileManager.default.createDirectory(
                atPath: second,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
            try FileManager.default.copyItem(atPath: console.data + "/master.key", toPath: second + "/master.key")
            #expect(console.run(["restore", console.folder.path + "/copy.db"], data: second).code == 0)
            target = second + "/countersign.db"
        }
        let before = try Data(contentsOf: URL(filePath: target))

        let failure = try console.failure("backup \(target)")

        #expect(failure.code == "ACCESS" && failure.error["message"]?.string?.contains(target) == true)
        #expect(try Data(contentsOf: URL(filePath: target)) == before)
    }

    @Test("an older copy and an empty file are replaced", arguments: [true, false])
    func older(isEmpty: Bool) throws {
        let target = console.folder.path + "/copy.db"
        if isEmpty { try Data().write(to: URL(filePath: target)) } else { try console.json("backup \(target)") }
        let later = try Console.later(console)

        try later.json("backup \(target)")

        try later.json("restore \(target)")
        #expect(try later.json("admin vendor list")["vendors"]?.count == 2)
    }

    @Test("what killed copies left is in nobody's way, and goes; files of others stay", arguments: [1, getpid()])
    func leftovers(process: Int32) throws {
        let copy = console.folder.path + "/copy.db"
        try console.json("backup \(copy)")
        let stale = [
            "\(copy).\(process).partial", "\(copy).0123456789abcdef.partial",
            "\(copy).0123456789abcdef.partial-journal",
            "\(console.data)/countersign.db.\(process).restoring",
            "\(console.data)/countersign.db.0123456789abcdef.restoring",
        ]
        let others = [
            "\(copy).partial", "\(copy).mine.partial", "\(copy).1.partial.txt", "\(console.folder.path)/copy.1.partial",
            "\(console.data)/countersign.db.mine.restoring",
        ]
        for file in stale + others { try Data("x".utf8).write(to: URL(filePath: file)) }

        let checks = try #require(try console.json("doctor")["checks"]?.elements)
        try console.json("backup \(copy)")
        try console.json("restore \(copy)")

        let left = checks.first { $0["check"]?.string == "leftovers" }
        #expect(left?["status"]?.string == "warning")
        for file in stale where file.hasSuffix(".restoring") {
            #expect(left?["detail"]?.string?.contains(file) == true)
        }
        #expect(stale.filter { FileManager.default.fileExists(atPath: $0) } == [])
        #expect(others.filter { !FileManager.default.fileExists(atPath: $0) } == [])
    }

    @Test("keys that a killed rotation or export left half written go, too")
    func keyLeftovers() throws {
        let stale = "\(console.data)/master.key.0123456789abcdef.partial"
        let exported = "\(console.folder.path)/key.\(getpid()).partial"
        for file in [stale, exported] { try Data("x".utf8).write(to: URL(filePath: file)) }

        try console.json("admin master-key rotate")
        try console.json("admin master-key export \(console.folder.path)/key")

        #expect(!FileManager.default.fileExists(atPath: stale))
        #expect(!FileManager.default.fileExists(atPath: exported))
    }
}

extension Console {
    /// The same after one more vendor.
    static func later(_ console: Console) throws -> Console {
        try console.json("admin vendor create --slug later")
        return console
    }
}
