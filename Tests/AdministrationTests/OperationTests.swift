import Foundation
import Storage
import StrictJSON
import SystemTestSupport
import Testing

@Suite("Backup, restore, doctor") struct OperationTests {
    let console = Console()

    @Test("a backup restores what was there, in place and on a new machine")
    func roundTrip() throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        let backup = try console.json("backup \(copy)")
        #expect(backup.at("backup.bytes")?.int64 ?? 0 > 0)
        #expect(backup["notes"]?.texts.first?.contains("master key is not in it") == true)
        #expect(try console.mode(of: copy) == 0o600)
        try console.json("admin vendor create --slug later")

        let restored = try console.json("restore \(copy)")
        #expect(restored["notes"]?.texts.first?.contains("undone") == true)
        #expect(try console.json("admin vendor list")["vendors"]?.count == 1)
        #expect(console.run("doctor").code == 0)

        // A folder that holds only the key.
        let machine = console.folder.path + "/machine"
        try FileManager.default.createDirectory(
            atPath: machine,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        let keyless = console.run(["restore", copy, "--json"], data: machine)
        #expect(try keyless.failureCode() == "MASTER_KEY")
        #expect(!FileManager.default.fileExists(atPath: machine + "/countersign.db"))
        try FileManager.default.copyItem(atPath: console.data + "/master.key", toPath: machine + "/master.key")
        #expect(console.run(["restore", copy, "--json"], data: machine).code == 0)
        let list = console.run(["admin", "vendor", "list", "--json"], data: machine)
        #expect(try list.json().at("vendors.0.slug")?.string == "acme")
    }

    @Test(
        "where a key lies and no database, or one without tables, none is made in its place",
        arguments: ["countersign.db", "countersign.db-wal", "countersign.db,countersign.db-wal"]
    )
    func lostDatabase(files: String) throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        try console.json("backup \(copy)")
        for name in files.split(separator: ",") {
            try FileManager.default.removeItem(atPath: "\(console.data)/\(name)")
        }
        let names = {
            try FileManager.default.contentsOfDirectory(atPath: console.data).filter { !$0.hasSuffix("-wal") }.sorted()
        }
        let before = try names()
        let document = try console.file("seed.json", #"{"vendors":[{"slug":"other","name":"Other"}]}"#)

        for line in [
            "admin vendor create --slug other", "seed \(document)", "seed \(document) --dry-run",
        ] {
            let failure = try console.failure(line)
            #expect(
                failure.exit == 1 && ["NO_DATABASE", "DATABASE_CORRUPT"].contains(failure.code),
                "\(line)"
            )
            #expect(failure.error["message"]?.string?.contains("countersign restore") == true)
        }
        #expect(try names() == before)
        try console.json("restore \(copy)")
        #expect(try console.json("admin vendor list").at("vendors.0.slug")?.string == "acme")
    }

    @Test("a key that lies elsewhere is no sign of a database: the first one is made with it")
    func keyElsewhere() throws {
        _ = try console.prepared()
        var other = Console()
        let key = other.folder.path + "/a.key"
        try FileManager.default.moveItem(atPath: console.data + "/master.key", toPath: key)
        other.environment["COUNTERSIGN_MASTER_KEY_FILE"] = key

        try other.json("admin vendor create --slug first")

        #expect(!FileManager.default.fileExists(atPath: other.data + "/master.key"))
        #expect(try other.json("admin vendor list").at("vendors.0.slug")?.string == "first")
    }

    @Test("the state version after a restore is above everything that was signed before")
    func stateVersion() throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        let before = try #require(try console.json("backup \(copy)").at("backup.state_version")?.int64)
        try console.json("admin vendor create --slug later")
        let later = try #require(
            try console.json("backup \(console.folder.path)/later.db").at("backup.state_version")?.int64
        )

        let restored = try #require(try console.json("restore \(copy)").at("restore.state_version")?.int64)

        #expect(before < later)
        #expect(later < restored)
    }

    @Test("a credential that was revoked after the backup is valid again, and a restore says so and what to do")
    func revokedSince() throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        let made = try console.json("admin credential create --product acme/editor --kind sk")
        let id = try #require(made.at("credential.id")?.string)
        try console.json("backup \(copy)")
        try console.json("admin credential revoke \(id) --reason leaked")
        let revoked = try console.json("admin credential show \(id)")

        let restored = try console.json("restore \(copy)")

        let notes = try #require(restored["notes"]?.texts).joined(separator: "\n")
        #expect(notes.contains("valid again") && notes.contains("countersign admin credential list"))
        let again = try console.json("admin credential show \(id)")
        #expect(revoked.at("credential.revoked_at")?.string != nil)
        #expect(again.at("credential.revoked_at")?.isNull == true)
    }

    @Test("dry runs of backup, restore and migrate leave no file and change none")
    func dryRuns() throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        try Data("mine".utf8).write(to: URL(filePath: copy + ".dry-run"))
        let before = try FileManager.default.contentsOfDirectory(atPath: console.folder.path).sorted()
        try console.json("backup \(copy) --dry-run")
        #expect(try FileManager.default.contentsOfDirectory(atPath: console.folder.path).sorted() == before)
        #expect(try String(contentsOfFile: copy + ".dry-run", encoding: .utf8) == "mine")
        try FileManager.default.removeItem(atPath: copy + ".dry-run")
        #expect(!FileManager.default.fileExists(atPath: copy))
        try console.json("backup \(copy)")
        try console.json("admin vendor create --slug later")

        try console.json("restore \(copy) --dry-run")
        try console.json("migrate --dry-run")

        #expect(try console.json("admin vendor list")["vendors"]?.count == 2)
        let files = try FileManager.default.contentsOfDirectory(atPath: console.folder.path)
        #expect(Set(files) == ["copy.db", "data"])
    }

    @Test("what cannot be backed up or restored fails loudly and leaves nothing behind")
    func failures() throws {
        #expect(try console.failure("backup \(console.folder.path)/copy.db").code == "NO_DATABASE")
        _ = try console.prepared()
        let text = try console.file("text.db", "hello")

        #expect(try console.failure("restore \(text)").code == "NOT_A_DATABASE")
        #expect(try console.failure("restore /nowhere.db").code == "ACCESS")
        #expect(try console.failure("backup \(console.data)/countersign.db").code == "ACCESS")
        #expect(try console.failure("backup /nowhere/copy.db").code == "ACCESS")
        #expect(try console.json("admin vendor list")["vendors"]?.count == 1)
    }

    @Test("a restore is refused while a server runs")
    func served() throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        try console.json("backup \(copy)")
        let lock = try HeldLock("\(console.data)/serve.lock")
        defer { lock.release() }

        #expect(try console.failure("restore \(copy)").code == "SERVER_RUNNING")
    }

    @Test("migrate says what it ran, and what ran before")
    func migrate() throws {
        try FileManager.default.createDirectory(
            atPath: console.data,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        // As a start leaves it that broke off.
        _ = FileManager.default.createFile(
            atPath: console.data + "/countersign.db",
            contents: Data(),
            attributes: [.posixPermissions: 0o600]
        )

        let first = try console.json("migrate")
        let second = try console.json("migrate")

        #expect(first.at("migrations.applied_now")?.count ?? 0 > 0)
        #expect(second.at("migrations.applied_now")?.count == 0)
        #expect(second.at("migrations.applied_before")?.texts == first.at("migrations.applied_now")?.texts)
        #expect(console.run("doctor").code == 0)
    }

    @Test(
        "where there is no database, what does not make one says so and makes nothing",
        arguments: [
            "migrate", "migrate --dry-run", "doctor", "backup copy.db", "admin vendor list", "admin audit verify",
        ]
    )
    func noDatabase(line: String) throws {
        let failure = try console.failure(line)

        #expect(failure.exit == 1 && failure.code == "NO_DATABASE")
        #expect(try FileManager.default.contentsOfDirectory(atPath: console.folder.path) == [])
    }

    @Test(
        "what only reads does not wait for whoever holds the write lock",
        arguments: [
            "admin vendor list", "admin vendor show acme", "admin product setup acme/editor",
            "admin plan show --product acme/editor --code pro", "admin license list", "admin audit verify",
            "admin license export --product acme/editor", "admin keys list --vendor acme", "doctor", "migrate",
        ]
    )
    func readers(line: String) throws {
        _ = try console.prepared()
        let lock = try HeldLock("\(console.data)/write.lock")
        defer { lock.release() }

        try console.json(line)

        #expect(try console.failure("admin vendor create --slug later").code == "DATABASE_BUSY")
    }

    @Test("a backup from before a rotation of the master key is refused by its own name and the key that opens it")
    func formerKey() throws {
        _ = try console.prepared()
        let copy = console.folder.path + "/copy.db"
        try console.json("backup \(copy)")
        let former = try #require(try console.json("admin master-key rotate").at("master_key.old_file")?.string)

        let failure = try console.failure("restore \(copy)")

        #expect(failure.code == "MASTER_KEY")
        let message = try #require(failure.error["message"]?.string)
        #expect(message.contains("not the one of \(copy)") && !message.contains("countersign.db"))
        #expect(message.contains(former) && message.contains("COUNTERSIGN_MASTER_KEY_FILE"))
        var other = console
        other.environment["COUNTERSIGN_MASTER_KEY_FILE"] = former
        try other.json("restore \(copy)")
    }

    @Test("a dry run of an export of the master key leaves no file and shows no key")
    func exportedKey() throws {
        _ = try console.prepared()
        let file = console.folder.path + "/key"

        let would = try console.json("admin master-key export \(file) --dry-run")
        let shown = console.run("admin master-key export - --dry-run")

        #expect(would.at("master_key.file")?.string == file && would["dry_run"]?.bool == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: console.folder.path) == ["data"])
        let key = try String(contentsOfFile: console.data + "/master.key", encoding: .utf8).dropLast()
        #expect(shown.code == 0 && !shown.out.contains(key))
        #expect(try console.failure("admin master-key export /nowhere/key --dry-run").exit == 1)
        try console.json("admin master-key export \(file)")
        #expect(try console.failure("admin master-key export \(file) --dry-run").code == "ALREADY_EXISTS")
    }

    @Test("a sound folder is healthy, with warnings for the key beside it and the library")
    func healthy() throws {
        _ = try console.prepared()

        let report = try console.json("doctor")

        let checks = try #require(report["checks"]?.elements)
        let states = Dictionary(
            checks.map { ($0["check"]?.string ?? "", $0["status"]?.string ?? "") },
            uniquingKeysWith: { first, _ in first }
        )
        for name in ["files", "migrations", "integrity", "clock", "keys", "audit", "server"] {
            #expect(states[name] == "ok", "\(name)")
        }
        #expect(states["master_key"] == "warning")
        #expect(states["sqlite"] == (SQLiteLibrary.hasWALResetBug ? "warning" : "ok"))
        #expect(states["space"] != nil)
        #expect(states["file_system"] != nil)
    }

    @Test("each kind of damage is found, named, and ends with 1")
    func damage() throws {
        _ = try console.prepared()
        func findings() throws -> [String] {
            let failure = try console.failure("doctor")
            #expect(failure.exit == 1)
            #expect(failure.code == "UNHEALTHY")
            return try #require(failure.error["checks"]?.elements).filter { $0["status"]?.string == "error" }
                .compactMap { $0["check"]?.string }
        }

        try console.sql("UPDATE signing_keys SET private_sealed = x'00' WHERE state = 'active' AND mode = 'live'")
        #expect(try findings() == ["keys"])
        try console.sql("UPDATE state SET committed_at = committed_at + 86400")
        #expect(Set(try findings()) == ["clock", "keys"])
        try FileManager.default.removeItem(atPath: console.data + "/master.key")
        #expect(Set(try findings()) == ["master_key", "clock", "keys"])
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: console.data + "/countersign.db" + suffix)
        }
        try Data("hello".utf8).write(to: URL(fileURLWithPath: console.data + "/countersign.db"))
        #expect(Set(try findings()).isSuperset(of: ["migrations", "integrity"]))
        #expect(try console.failure("admin vendor list").code == "NOT_A_DATABASE")
    }

    @Test("files that others may use are a warning with the fix")
    func modes() throws {
        _ = try console.prepared()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644],
            ofItemAtPath: console.data + "/countersign.db"
        )

        let report = try console.json("doctor")

        let warning = report["checks"]?.elements?.first { $0["check"]?.string == "files" }
        #expect(warning?["status"]?.string == "warning")
        #expect(warning?["detail"]?.string?.contains("chmod go=") == true)
    }

    @Test(
        "a folder, a file or a lock that others may write is an error with the fix",
        arguments: ["", "/countersign.db", "/serve.lock"]
    )
    func writable(name: String) throws {
        _ = try console.prepared()
        let path = console.data + name
        _ = FileManager.default.createFile(atPath: console.data + "/serve.lock", contents: nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o707], ofItemAtPath: path)

        let failure = try console.failure("doctor")
        let refused = try console.failure("admin vendor list")

        #expect(failure.code == "UNHEALTHY" && refused.code == "ACCESS")
        for failure in [failure, refused] {
            #expect(failure.error["message"]?.string?.contains("chmod o= \(path)") == true)
        }
    }

    @Test("no table without rowids has a column before those of its key")
    func columnOrder() throws {
        // SQLite 3.40's integrity check takes such a column for the wrong one and calls sound databases, and with them
        // every backup, damaged.
        _ = try console.prepared()
        var options = Database.Options(now: { 0 })
        options.synchronous = .off

        let tables = try Database(folder: console.data, options: options).openReader().snapshot { db in
            try db.all(
                """
                SELECT entry.name FROM sqlite_schema AS entry, pragma_table_info(entry.name) AS place
                WHERE entry.type = 'table' AND entry.sql LIKE '%WITHOUT ROWID%' AND place.pk > 0
                GROUP BY entry.name HAVING max(place.cid) >= count(*)
                """
            ) { row in try row.text() }
        }

        #expect(tables.isEmpty)
    }

    @Test("nothing answers where no server is")
    func health() throws {
        // Port 1 is nobody's on loopback.
        #expect(try console.failure("health --port 1").code == "UNHEALTHY")
    }

    @Test("the version is told to people and programs")
    func version() throws {
        #expect(try console.json("version")["version"]?.string?.split(separator: ".").count == 3)
        #expect(console.run("version").out.hasPrefix("countersign "))
        #expect(console.run("version").out.contains(SQLiteLibrary.version))
    }
}
