import Dispatch
import Foundation
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import Testing

@Suite("Master key, changed") struct MasterKeyRotationTests {
    let console = Console()

    /// Every file beside the database that has to do with the key.
    private func keyFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: console.data).filter { $0.hasPrefix("master.key") }.sorted()
    }

    @Test("rotations all at once: what is left opens the database, and no key that was ever valid is lost")
    func parallel() throws {
        let console = try console.prepared()
        for _ in 0..<4 {
            let copy = console.folder.path + "/before.db"
            try? FileManager.default.removeItem(atPath: copy)
            try console.json("backup \(copy)")
            let before = try keyFiles()
            let endings = Mutex<[Ending]>([])

            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                let ending = console.run("admin master-key rotate --json")
                endings.withLock { $0.append(ending) }
            }

            let (done, refused) = endings.withLock { all in (all.filter { $0.code == 0 }, all.filter { $0.code != 0 }) }
            #expect(!done.isEmpty)
            for ending in refused { #expect(try ending.failureCode() == "DATABASE_BUSY", "\(ending.error)") }
            try console.json("admin vendor list")
            let old = try done.map { try #require(try $0.json().at("master_key.old_file")?.string) }
            #expect(Set(old).count == done.count)
            #expect(try keyFiles().count == before.count + done.count)
            // One of the keys that were replaced is that of the backup.
            let opens = old.filter { file in
                var other = console
                other.environment["COUNTERSIGN_MASTER_KEY_FILE"] = file
                return other.run("restore \(copy) --dry-run").code == 0
            }
            #expect(opens.count == 1)
        }
    }

    @Test("rotations in one and the same second keep every old key")
    func sameSecond() throws {
        let clock = try console.file("clock", "2027-01-01T00:00:00Z")
        func json(_ line: String) throws -> JSONValue { try console.json("\(line) --test-clock \(clock)") }
        _ = try json("admin vendor create --slug acme")
        var copies: [(file: String, key: String)] = []
        for round in 0..<3 {
            let copy = console.folder.path + "/copy\(round).db"
            try console.json("backup \(copy)")
            let old = try #require(try json("admin master-key rotate").at("master_key.old_file")?.string)
            copies.append((copy, old))
        }

        for (copy, key) in copies {
            var other = console
            other.environment["COUNTERSIGN_MASTER_KEY_FILE"] = key
            try other.json("restore \(copy) --dry-run")
        }
        #expect(Set(copies.map(\.key)).count == copies.count)
    }

    @Test(
        "a rotation that is killed after any of its steps: commands, starts and rotations go on, and every backup opens",
        arguments: VaultRotation.Step.allCases
    )
    func killed(step: VaultRotation.Step) async throws {
        let console = try console.prepared()
        let copies = ["before", "between", "after"].map { "\(console.folder.path)/\($0).db" }
        try console.json("backup \(copies[0])")

        await #expect(processExitsWith: .signal(SIGKILL)) {
            [data = console.data as String, step = step.rawValue as String] in
            let (database, file) = (RotationScene.database(in: data), KeyFile(configured: nil, folder: data))
            let actor = Actor(name: "test", now: SystemTime.timestamp())
            let connection = try database.openForCommandLine(isMade: false)
            let vault = try Vault.open(connection, of: database, file: file, clock: GuardedClock())
            try vault.rotate(connection, of: database, by: actor) { reached in
                if reached.rawValue == step { kill(getpid(), SIGKILL) }
            }
        }
        // A backup asks for no key.
        try console.json("backup \(copies[1])")
        try console.json("restore \(copies[1]) --dry-run")
        let started = try Vault.open(
            RotationScene.database(in: console.data),
            file: KeyFile(configured: nil, folder: console.data),
            clock: GuardedClock()
        )
        #expect(!started.isNew)
        try console.json("admin vendor list")
        try console.json("admin master-key rotate")
        try console.json("admin vendor create --slug later")
        try console.json("backup \(copies[2])")

        #expect(console.run("doctor").code == 0)
        for copy in copies {
            let opens = try keyFiles().filter { name in
                var other = console
                other.environment["COUNTERSIGN_MASTER_KEY_FILE"] = "\(console.data)/\(name)"
                return other.run("restore \(copy) --dry-run").code == 0
            }
            #expect(!opens.isEmpty, "\(copy)")
        }
        try console.json("restore \(copies[2])")
    }

    @Test("keys that somebody else wrapped meanwhile stay as they are, and the key that opens them stays, too")
    func meanwhile() throws {
        let console = try console.prepared()
        let (database, file) = (
            RotationScene.database(in: console.data), KeyFile(configured: nil, folder: console.data)
        )
        let actor = Actor(name: "test", now: SystemTime.timestamp())
        let connection = try database.openForCommandLine(isMade: false)
        let vault = try Vault.open(connection, of: database, file: file, clock: GuardedClock())
        let rotations = try (0..<2).map { _ in
            try connection.snapshot { db in try VaultRotation(of: vault, by: actor, in: db) }
        }
        for rotation in rotations { try rotation.writeKey() }
        try connection.write { db in try rotations[0].wrap(in: db) }

        var category: StorageError.Category?
        do {
            try connection.write { db in try rotations[1].wrap(in: db) }
        } catch let error as StorageError {
            category = error.category
        }
        rotations[1].abandon(keptAs: nil)

        #expect(category == .busy)
        try console.json("admin vendor list")
        #expect(console.run("doctor").code == 0)
    }
}

/// What a process of its own needs.
enum RotationScene {
    static func database(in folder: String) -> Database {
        var options = Database.Options(now: { SystemTime.microseconds() })
        options.synchronous = .off
        options.lockWait = .seconds(5)
        return Database(folder: folder, options: options)
    }
}
