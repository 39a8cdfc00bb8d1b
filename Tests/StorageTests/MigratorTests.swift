import CSQLite
import Foundation
import Migrations
import Storage
import SystemPrimitives
import SystemTestSupport
import Testing

@Suite("Migrations") struct MigratorTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    func database(_ migrations: [Migration]) -> Database {
        Database(folder: folder.path, options: .test(migrations: migrations))
    }

    func failure(_ migrations: [Migration]) -> StorageError? {
        do {
            _ = try database(migrations).openForServing(Queue())
            return nil
        } catch {
            return error as? StorageError
        }
    }

    static let third = Migration(name: "0003_add_color", sql: Array("ALTER TABLE items ADD COLUMN color TEXT;".utf8))

    @Test("an older database is brought up to date, and what ran is known")
    func upgrade() throws {
        _ = try database([Migration.all[0]]).openForServing(Queue())
        let newer = database([Migration.all[0], .items, Self.third])
        #expect(try newer.migrationStatus().pending == ["0002_create_items", "0003_add_color"])

        let writer = try newer.openForServing(Queue())

        let isNew = writer.isNewDatabase
        #expect(!isNew)
        #expect(try newer.migrationStatus().applied == ["0001_create_state", "0002_create_items", "0003_add_color"])
        #expect(try newer.migrationStatus().pending == [])
    }

    @Test("a newer database is refused, naming both versions")
    func newer() throws {
        _ = try database([Migration.all[0], .items]).openForServing(Queue())

        let error = failure([Migration.all[0]])

        #expect(error?.category == .schema)
        #expect(error?.message.contains("0002_create_items") == true)
        #expect(error?.message.contains("0001_create_state") == true)
    }

    @Test("a migration that changed after it ran is refused, naming it")
    func changed() throws {
        _ = try database([Migration.all[0], .items]).openForServing(Queue())
        let changed = Migration(name: Migration.items.name, sql: Migration.items.sql + [32])

        let error = failure([Migration.all[0], changed])

        #expect(error?.category == .schema)
        #expect(error?.message.contains("0002_create_items") == true)
    }

    @Test(
        "a migration that fails leaves nothing of itself, and those before it stay",
        arguments: [
            "CREATE TABLE half (x INTEGER) STRICT; CREATE TABLE half (x INTEGER) STRICT;",
            "CREATE TABLE half (x INTEGER) STRICT; COMMIT;",
            "CREATE TABLE half (x INTEGER PRIMARY KEY, y INTEGER REFERENCES items) STRICT; PRAGMA defer_foreign_keys = ON; INSERT INTO half VALUES (1, 1);",
        ]
    )
    func failing(sql: String) throws {
        let error = failure([Migration.all[0], .items, Migration(name: "0003_fail", sql: Array(sql.utf8))])

        #expect(error?.category == .schema)
        #expect(error?.message.contains("0003_fail") == true)
        #expect(try database([Migration.all[0], .items]).migrationStatus().applied.count == 2)
    }

    @Test("a command migrates while no server runs, and is refused while one of another version does")
    func besideServer() throws {
        let old = database([Migration.all[0]])
        let new = database([Migration.all[0], .items])
        do {
            let server = try old.openForServing(Queue())
            do {
                _ = try new.openForCommandLine()
                Issue.record("it migrated under a server")
            } catch let error as StorageError {
                #expect(error.category == .served)
            }
            _ = server.isNewDatabase
        }

        _ = try new.openForCommandLine()

        #expect(try new.migrationStatus().pending == [])
    }

    @Test(
        "a command waits for a server that is starting, on a new folder or an older database, and finds what that has made",
        arguments: [false, true]
    )
    func besideStart(isOlder: Bool) throws {
        let folder = folder.path
        if isOlder { _ = try database([Migration.all[0]]).openForServing(Queue()) }
        let servers = Guarded<[String]>([])
        let lock = try HeldLock("\(folder)/serve.lock")
        var options = Database.Options.test(migrations: [Migration.all[0], .items])
        options.lockWait = .seconds(600)
        let made = Database(folder: folder, options: options)
        // What the command asks while it waits; here the server goes on with its start.
        options.isWaitGivenUp = {
            lock.release()
            servers.withLock { servers in
                if servers.isEmpty, let writer = try? made.openForServing(Queue()) {
                    servers.append(writer.isNewDatabase ? "new" : "old")
                }
            }
            return false
        }

        let command = try Database(folder: folder, options: options).openForCommandLine(isMade: true)

        let isNew = command.isNewDatabase
        #expect(!isNew && servers.withLock { $0 } == [isOlder ? "old" : "new"])
        #expect(try made.migrationStatus().pending == [])
    }

    @Test(
        "a new file that another process has under a lock of SQLite's at this moment is waited for",
        arguments: [false, true]
    )
    func besideMaking(isServer: Bool) throws {
        let path = folder.path + "/countersign.db"
        try #require(
            FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        )
        var other: OpaquePointer?
        defer { sqlite3_close_v2(other) }
        try #require(sqlite3_open(path, &other) == SQLITE_OK)
        // As who is about to switch the log on, too: whoever has begun to read is then refused without any waiting.
        try #require(sqlite3_exec(other, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        var options = Database.Options.test()
        options.lockWait = .seconds(60)
        options.batchWait = .seconds(60)
        let stranger = Guarded(other.map { UInt(bitPattern: $0) })
        options.isWaitGivenUp = {
            stranger.withLock { other in
                if let pointer = other.flatMap({ OpaquePointer(bitPattern: $0) }) {
                    sqlite3_exec(pointer, "COMMIT", nil, nil, nil)
                }
                other = nil
            }
            return false
        }

        let database = Database(folder: folder.path, options: options)
        if isServer {
            _ = try database.openForServing(Queue())
        } else {
            _ = try database.openForCommandLine().write { db in try insertItem("a", in: db) }
        }

        #expect(stranger.withLock { $0 } == nil)
    }

    @Test("a command that waits to migrate does not change a file in whose place a restore has put another one")
    func besideRestore() throws {
        let folder = folder.path
        _ = try database([Migration.all[0]]).openForServing(Queue())
        let backup = folder + "/before.db"
        _ = try database([Migration.all[0]]).backUp(to: backup)
        let lock = try HeldLock("\(folder)/write.lock")
        var options = Database.Options.test()
        options.lockWait = .seconds(600)
        let restoring = Database(folder: folder, options: options)
        let restored = Guarded(false)
        // What the command asks while it waits for the lock: meanwhile somebody restores.
        options.isWaitGivenUp = {
            lock.release()
            restored.withLock { isDone in
                if !isDone { isDone = (try? restoring.restore(from: backup) { _ in }) != nil }
            }
            return false
        }

        let refusal = #expect(throws: StorageError.self) {
            _ = try Database(folder: folder, options: options).openForCommandLine().write { db in
                try insertItem("lost", in: db)
            }
        }

        #expect(restored.withLock { $0 } && refusal?.category == .unavailable)
        let names = try restoring.openForCommandLine().write { db in
            try db.all("SELECT name FROM items") { row in try row.text() }
        }
        #expect(names.isEmpty)
    }

    @Test("the shipped migrations are numbered from 1 on without a gap, and none in the folder is forgotten")
    func shippedNumbers() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.standardizedFileURL.path)

        let names = Migration.all.map(\.name)
        #expect(names.map { String($0.prefix(5)) } == (1...names.count).map { String("000\($0)_".suffix(5)) })
        #expect(names.map { $0 + ".sql" } == files.filter { $0.hasSuffix(".sql") }.sorted())
    }

    @Test("the shipped migrations run on an empty database")
    func shipped() throws {
        let writer = try database(Migration.all).openForServing(Queue())

        let isNew = writer.isNewDatabase
        #expect(isNew)
        #expect(try database(Migration.all).integrity().findings == [])
    }
}
