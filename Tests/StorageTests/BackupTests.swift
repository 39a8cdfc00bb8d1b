import Foundation
import Storage
import SystemPrimitives
import Testing

@Suite("Backup and restore") struct BackupTests {
    let folder: TemporaryFolder
    let database: Database
    let backup: String

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path + "/data", options: .test())
        backup = folder.path + "/backup"
    }

    func category(_ body: () throws -> Void) -> StorageError.Category? {
        do { try body() } catch { return (error as? StorageError)?.category }
        return nil
    }

    @Test("backups made while the server writes hold everything acknowledged before, and open anywhere")
    func underLoad() throws {
        let queue = Queue.still()
        let acknowledged = Guarded<[Int]>([])
        let isOver = Guarded(false)
        let writing = try Thread.start("writer", with: try database.openForServing(queue)) { writer in
            writer.run(
                deliver: { batch in
                    let tickets = batch.compactMap { if case .success = $0.result { $0.ticket } else { nil } }
                    acknowledged.withLock { $0 += tickets }
                },
                abort: { _ in }
            )
        }
        let submitting = try Thread.start("submitter", with: 0) { ticket in
            while !isOver.withLock({ $0 }) {
                ticket += 1
                var waiting: [Queue.Submission] = [.insert("n\(ticket)", ticket: ticket, note: 2000)]
                wait { queue.submit(&waiting) }
            }
        }

        for round in 0..<10 {
            // Where nothing is acknowledged, nothing is compared.
            wait { acknowledged.withLock { $0.count } > round }
            let before = acknowledged.withLock { $0 }
            let file = backup + "\(round)"
            let summary = try database.backUp(to: file)
            let other = Database(folder: folder.path + "/restored\(round)", options: .test())
            _ = try other.restore(from: file) { _ in }
            let writer = try other.openForServing(Queue())
            let restored = try Set(other.committedNames())
            #expect(before.allSatisfy { restored.contains("n\($0)") })
            #expect(try other.integrity().findings == [])
            #expect(try folder.mode(of: "backup\(round)") == 0o600)
            #expect(summary.migration == "0002_create_items" && summary.bytes > 0)
            let isNew = writer.isNewDatabase
            #expect(!isNew)
        }

        isOver.withLock { $0 = true }
        submitting.join()
        queue.stop()
        writing.join()
        #expect(folder.names.allSatisfy { !$0.contains("partial") && !$0.hasSuffix("-wal") })
    }

    @Test("a bad target fails and leaves nothing", arguments: ["/no/such/folder/file", "FOLDER", "DATABASE"])
    func badTarget(target: String) throws {
        _ = try database.openForCommandLine()
        let target = target == "FOLDER" ? folder.path : target == "DATABASE" ? database.path : target
        let before = folder.names

        #expect(category { _ = try database.backUp(to: target) } == .access)

        #expect(folder.names == before)
        #expect(try database.integrity().findings == [])
    }

    @Test("a damaged database makes no backup, and an older one keeps its name")
    func damaged() throws {
        do {
            let connection = try database.openForCommandLine()
            try connection.write { db in
                for index in 0..<200 { try insertItem("n\(index)", note: 500, in: db) }
            }
        }
        _ = try workOff([], in: database)  // moves the log into the file
        _ = try database.backUp(to: backup)
        let older = try Data(contentsOf: URL(fileURLWithPath: backup))
        let file = try #require(FileHandle(forUpdatingAtPath: database.path))
        try file.seek(toOffset: 4096 * 12)
        file.write(Data(repeating: 0xFF, count: 4096 * 3))
        try file.close()

        #expect(category { _ = try database.backUp(to: backup) } == .corrupt)

        #expect(try Data(contentsOf: URL(fileURLWithPath: backup)) == older)
        #expect(folder.names == ["backup", "data"])
        #expect(try database.integrity().findings != [])
    }

    @Test("a restore undoes what came after, and its version is above both")
    func restore() throws {
        let connection = try database.openForCommandLine()
        try connection.write { db in _ = try insertItem("before", in: db) }
        _ = try database.backUp(to: backup)
        for name in ["a", "b", "c"] { try connection.write { db in _ = try insertItem(name, in: db) } }
        let version = try connection.snapshot { db in try db.stateVersion() }

        var checked: [String] = []
        let summary = try database.restore(from: backup) { db in checked = try itemNames(db) }

        #expect(checked == ["before"])
        #expect(summary.stateVersion > version)
        #expect(try database.committedNames() == ["before"])
        #expect(try database.openReader().snapshot { db in try db.stateVersion() } > version)
        #expect(try folder.mode(of: "data/countersign.db") == 0o600)
    }

    @Test("a restore is refused while a server runs, and changes nothing")
    func served() throws {
        let writer = try database.openForServing(Queue())
        try writer.write { db in _ = try insertItem("a", in: db) }
        _ = try database.backUp(to: backup)
        try writer.write { db in _ = try insertItem("b", in: db) }

        #expect(category { _ = try database.restore(from: backup) { _ in } } == .served)

        #expect(try database.committedNames() == ["a", "b"])
    }

    @Test("a restore is refused while somebody reads what is still in the log, which stays")
    func readMeanwhile() throws {
        let connection = try database.openForCommandLine()
        try connection.write { db in _ = try insertItem("a", in: db) }
        _ = try database.backUp(to: backup)

        try database.openReader().snapshot { db in
            #expect(try itemNames(db) == ["a"])
            try connection.write { db in _ = try insertItem("b", in: db) }
            #expect(category { _ = try database.restore(from: backup) { _ in } } == .busy)
        }

        #expect(try database.committedNames() == ["a", "b"])
        _ = try database.restore(from: backup) { _ in }
        #expect(try database.committedNames() == ["a"])
    }

    @Test(
        "a version that no clock can have made is no reason to refuse a good backup, nor is it told",
        arguments: ["9223372036854775807", "600000000000000000"]
    )
    func damagedVersion(version: String) throws {
        _ = try database.openForCommandLine()
        _ = try database.backUp(to: backup)
        try database.damage("UPDATE state SET version = \(version)")

        #expect(category { _ = try database.openForServing(Queue()) } == .corrupt)
        #expect(category { _ = try database.openReader().snapshot { db in try db.stateVersion() } } == .corrupt)
        _ = try database.backUp(to: backup + "2")
        #expect(category { _ = try database.restore(from: backup + "2") { _ in } } == .corrupt)
        let summary = try database.restore(from: backup) { _ in }

        #expect(summary.stateVersion < 2_000_000_000_000_000)
        _ = try database.openForServing(Queue())
    }

    @Test("a restore that fails its last look replaces nothing and leaves nothing")
    func failedCheck() throws {
        struct WrongKey: Error {}
        let connection = try database.openForCommandLine()
        _ = try database.backUp(to: backup)
        try connection.write { db in _ = try insertItem("a", in: db) }

        #expect(throws: WrongKey.self) { _ = try database.restore(from: backup) { _ in throw WrongKey() } }

        #expect(try database.committedNames() == ["a"])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: database.folder).allSatisfy {
                !$0.contains("restoring")
            }
        )
    }

    @Test("only our own sound files are restored", arguments: ["text", "empty", "cut", "missing"])
    func badFiles(kind: String) throws {
        let connection = try database.openForCommandLine()
        try connection.write { db in _ = try insertItem("a", note: 100_000, in: db) }
        _ = try database.backUp(to: backup)
        let url = URL(fileURLWithPath: backup)
        switch kind {
        case "text": try Data("not a database, but long enough to be one".utf8).write(to: url)
        case "empty": try Data().write(to: url)
        case "cut": try Data(contentsOf: url).prefix(40_000).write(to: url)
        default: try FileManager.default.removeItem(at: url)
        }

        let category = category { _ = try database.restore(from: backup) { _ in } }

        #expect([.notOurs, .corrupt, .access].contains(category))
        #expect(try database.committedNames() == ["a"])
    }

    @Test("a folder with nothing but a key becomes a database")
    func rebuilt() throws {
        let connection = try database.openForCommandLine()
        try connection.write { db in _ = try insertItem("a", in: db) }
        _ = try database.backUp(to: backup)
        let other = Database(folder: folder.path + "/machine", options: .test())
        try FileManager.default.createDirectory(
            atPath: other.folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        try Data("key".utf8).write(to: URL(fileURLWithPath: other.folder + "/master.key"))

        _ = try other.restore(from: backup) { _ in }

        #expect(try other.committedNames() == ["a"])
    }
}
