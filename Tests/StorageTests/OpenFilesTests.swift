import Foundation
import Storage
import Testing

@Suite("Files that others may use") struct OpenFilesTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path + "/data", options: .test())
        try #require(mkdir(database.folder, 0o700) == 0)
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        for name in Self.names where !FileManager.default.fileExists(atPath: path(name)) {
            try #require(FileManager.default.createFile(atPath: path(name), contents: nil))
        }
        for name in Self.names { try #require(chmod(path(name), name.isEmpty ? 0o700 : 0o600) == 0) }
    }

    /// The folder, and all that may lie in it.
    static let names = [
        "", "countersign.db", "countersign.db-wal", "countersign.db-shm", "serve.lock", "write.lock", "keys.lock",
        "backup.lock",
    ]

    private func path(_ name: String) -> String { name.isEmpty ? database.folder : "\(database.folder)/\(name)" }

    private func modes() throws -> [String: Int] {
        let listed = try FileManager.default.contentsOfDirectory(atPath: database.folder)
        return try Dictionary(
            uniqueKeysWithValues: ([""] + listed).map { name in
                let found = try FileManager.default.attributesOfItem(atPath: path(name))[.posixPermissions]
                return (name, try #require(found as? Int))
            }
        )
    }

    @Test(
        "nothing starts where others may write, also to a folder like /tmp; it is told in one line with the fix",
        arguments: names,
        [0o002, 0o022, 0o066, 0o077, 0o1077]
    )
    func writable(name: String, bits: Int) throws {
        try #require(chmod(path(name), mode_t(0o600 | bits | (name.isEmpty ? 0o100 : 0))) == 0)
        let before = try modes()
        let copy = folder.path + "/copy"
        try Data("no backup".utf8).write(to: URL(filePath: copy))

        for opening: () throws -> Void in [
            { _ = try database.openForServing(Queue()) }, { _ = try database.openForCommandLine() },
            { _ = try database.openForCommandLine(isMade: false) }, { _ = try database.restore(from: copy) { _ in } },
        ] {
            do {
                try opening()
                Issue.record("it was opened")
            } catch {
                let refusal = try #require(error as? StorageError)
                #expect(refusal.category == .access)
                #expect(refusal.message.contains("fix: chmod o= \(path(name))") && !refusal.message.contains("\n"))
            }
        }
        #expect(try modes() == before)

        try #require(chmod(path(name), name.isEmpty ? 0o700 : 0o600) == 0)
        _ = try workOff([.insert("b", ticket: 0)], in: database)
    }

    @Test("several of them are told together, so that one command mends all")
    func several() throws {
        for name in ["", "serve.lock", "write.lock"] { try #require(chmod(path(name), 0o777) == 0) }

        let error = #expect(throws: StorageError.self) { _ = try database.openForServing(Queue()) }

        let paths = ["", "serve.lock", "write.lock"].map(path).joined(separator: " ")
        #expect(error?.message.contains("fix: chmod o= \(paths), or name a folder in it with --data") == true)
    }

    @Test(
        "what a group may do, or others read, keeps nothing from starting, and is known",
        arguments: names,
        [0o020, 0o060, 0o070, 0o004, 0o055, 0o2070]
    )
    func usable(name: String, bits: Int) throws {
        try #require(chmod(path(name), mode_t(0o600 | bits | (name.isEmpty ? 0o100 : 0))) == 0)

        let files = try database.ownFiles()
        let answers = try workOff([.insert("b", ticket: 0)], in: database)

        #expect(files.filter(\.isOpenToOthers).map(\.path) == [path(name)])
        #expect(files.allSatisfy { !$0.isWritableByOthers })
        #expect(answers.succeeded == [0])
    }
}
