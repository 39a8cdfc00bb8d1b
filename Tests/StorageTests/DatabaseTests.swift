import CSQLite
import Foundation
import Migrations
import Storage
import SystemPrimitives
import Testing

@Suite("Opening") struct DatabaseTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
    }

    func category(_ body: () throws -> Void) -> StorageError.Category? {
        do { try body() } catch { return (error as? StorageError)?.category }
        return nil
    }

    func message(_ body: () throws -> Void) -> String {
        do { try body() } catch { return "\(error)" }
        return ""
    }

    @Test("a new database is for its owner only, the folder too when it is made")
    func modes() throws {
        let inner = Database(folder: folder.path + "/data", options: .test())

        let writer = try inner.openForServing(Queue())

        let isNew = writer.isNewDatabase
        #expect(isNew)
        #expect(try folder.mode(of: "data") == 0o700)
        for name in ["countersign.db", "countersign.db-wal", "countersign.db-shm", "serve.lock", "write.lock"] {
            #expect(try folder.mode(of: "data/" + name) == 0o600, "\(name)")
        }
    }

    @Test("a second server is refused, naming the first one's process; after its end another may start")
    func oneServer() throws {
        do {
            let first = try database.openForServing(Queue())
            let text = message { _ = try database.openForServing(Queue()) }
            #expect(text.contains("pid \(getpid())"))
            #expect(!text.contains("\n"))
            _ = first.isNewDatabase
        }

        let next = try database.openForServing(Queue())

        let isNew = next.isNewDatabase
        #expect(!isNew)
    }

    #if os(Linux)
        @Test("another process cannot serve, sees the first one's commits, and writes beside it")
        func otherProcess() async throws {
            let writer = try database.openForServing(Queue())
            try writer.write { db in _ = try insertItem("server", in: db) }

            await #expect(processExitsWith: .success) { [path = folder.path as String, pid = getpid() as Int32] in
                let database = Database(folder: path, options: .test())
                do {
                    _ = try database.openForServing(Queue())
                    exit(1)
                } catch let error as StorageError {
                    guard error.category == .served, error.message.contains("pid \(pid)") else { exit(2) }
                }
                let command = try database.openForCommandLine()
                let seen = try command.write { db in
                    try insertItem("command", in: db)
                    return try itemNames(db)
                }
                exit(seen == ["server", "command"] ? 0 : 3)
            }

            try writer.write { db in _ = try insertItem("again", in: db) }
            #expect(try database.committedNames() == ["server", "command", "again"])
        }
    #endif

    @Test("the wait for the first server's end is not in vain")
    func waiting() throws {
        var options = Database.Options.test()
        options.lockWait = .seconds(10)
        let patient = Database(folder: folder.path, options: options)
        let queue = Queue()
        let first = try Thread.start("writer", with: try database.openForServing(queue)) { writer in
            writer.run(deliver: { _ in }, abort: { _ in })
        }
        let second = try Thread.start("second", with: patient) { patient in
            #expect(throws: Never.self) { _ = try patient.openForServing(Queue()) }
        }

        queue.stop()

        first.join()
        second.join()
    }

    @Test("commands and a server work on one database, each under the write lock")
    func commandBesideServer() throws {
        let queue = Queue()
        let writer = try database.openForServing(queue)
        let command = try database.openForCommandLine()
        let reader = try database.openReader()
        let version = try reader.snapshot { db in try db.stateVersion() }

        try command.write { db in _ = try insertItem("command", in: db) }
        try writer.write { db in _ = try insertItem("server", in: db) }

        let (names, after) = try reader.snapshot { db in (try itemNames(db), try db.stateVersion()) }
        #expect(names == ["command", "server"])
        #expect(after == version + 2)
    }

    @Test("a command waits no longer than it says for a lock that another holds")
    func commandLocked() throws {
        let first = try database.openForCommandLine()
        let second = try database.openForCommandLine()

        try first.write { _ in
            #expect(category { try second.write { _ in } } == .busy)
        }

        #expect(category { try second.write { _ in } } == nil)
    }

    @Test("what a command throws undoes all of it; a dry run too, after it was really done")
    func undone() throws {
        struct Stop: Error {}
        let command = try database.openForCommandLine()
        let version = try command.snapshot { db in try db.stateVersion() }

        #expect(throws: Stop.self) {
            try command.write { db in
                try insertItem("a", in: db)
                throw Stop()
            }
        }
        let names = try command.write(isDryRun: true) { db in
            try insertItem("b", in: db)
            return try itemNames(db)
        }

        #expect(names == ["b"])
        #expect(try command.snapshot { db in try itemNames(db) } == [])
        #expect(try command.snapshot { db in try db.stateVersion() } == version)
    }

    @Test("a command after a restore does not write into the file that was replaced")
    func replaced() throws {
        let command = try database.openForCommandLine()
        let backup = folder.path + "/backup"
        _ = try database.backUp(to: backup)
        _ = try database.restore(from: backup) { _ in }

        #expect(category { try command.write { db in _ = try insertItem("a", in: db) } } == .unavailable)
    }

    @Test("there is no reader, and no command that may not make one, without a database")
    func missing() {
        #expect(category { _ = try database.openReader() } == .access)
        #expect(category { _ = try database.openForCommandLine(isMade: false) } == .access)
        #expect(folder.names == [])
    }

    @Test("another program's file is left alone", arguments: [true, false])
    func notOurs(isSQLite: Bool) throws {
        let path = folder.path + "/countersign.db"
        if isSQLite {
            var handle: OpaquePointer?
            try #require(sqlite3_open(path, &handle) == SQLITE_OK)
            try #require(sqlite3_exec(handle, "CREATE TABLE t (x)", nil, nil, nil) == SQLITE_OK)
            sqlite3_close(handle)
        } else {
            try Data(repeating: 65, count: 5000).write(to: URL(fileURLWithPath: path))
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))

        #expect(category { _ = try database.openForServing(Queue()) } == .notOurs)
        #expect(category { _ = try database.openForCommandLine() } == .notOurs)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test(
        "the library's version is known, and whether it has the bug of the log's restart",
        arguments: [
            (3_006_023, false), (3_007_000, true), (3_040_001, true), (3_051_002, true), (3_051_003, false),
        ] as [(Int32, Bool)]
    )
    func libraryVersion(version: Int32, hasBug: Bool) {
        #expect(SQLiteLibrary.hasWALResetBug(version: version) == hasBug)
        #expect(SQLiteLibrary.version.hasPrefix("3."))
    }

    @Test("an examination changes nothing, and sees the server")
    func examination() throws {
        let writer = try database.openForServing(Queue())
        let names = folder.names

        let examination = try database.examine()

        #expect(examination.servedBy == getpid())
        #expect(examination.files.first?.path == folder.path)
        #expect(examination.files.dropFirst().allSatisfy { !$0.isOpenToOthers && $0.owner == geteuid() })
        #expect(examination.freeBytes > 0)
        #expect(folder.names == names)
        _ = writer.isNewDatabase
    }
}
