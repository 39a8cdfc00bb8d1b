public import Licensing
public import LicensingServices
public import Storage

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// What a command works with besides its own options. Nothing is opened before it is asked for.
public struct CommandContext: Sendable {
    /// Everything of the world that it may touch.
    public let surroundings: Surroundings
    /// The options that stood anywhere in the line.
    public let options: GlobalOptions
    /// What the operator set.
    public let settings: CommandSettings
    /// Whether what is written is undone at the end.
    public let isDryRun: Bool

    /// The database's folder.
    public var database: Database { database(in: settings.data) }

    /// Where the master key is.
    public var keyFile: KeyFile { KeyFile(configured: settings.masterKeyFile, folder: settings.data) }

    /// Where master keys may be: the one in use, and the one that is in use without a setting.
    var keyPaths: [String] {
        Array(Set([keyFile.path, KeyFile(configured: nil, folder: settings.data).path])).sorted()
    }

    /// Refuses to write to what is a file of the database's, or has the name of one.
    ///
    /// - Throws: `StorageError` (`access`).
    func requireElsewhere(_ target: String) throws {
        try database.requireElsewhere(target, sparing: keyPaths)
    }

    /// Now, by the system's clock or that of `--test-clock`.
    ///
    /// - Throws: `ClockUnsure` when the test clock cannot be read.
    public func now() throws -> Timestamp {
        guard let path = options.testClock else { return SystemTime.timestamp() }
        return try FileClock(path: path).now()
    }

    /// Opens the database and its keys.
    ///
    /// Root becomes the owner of the database first, so read every file that the command line names before.
    ///
    /// - Parameter makes: Whether a database that is not there is made, with its master key. A dry run makes it in a
    ///   folder of its own that is gone afterwards.
    /// - Throws: `CommandFailure` (`NO_DATABASE`) where there is none and none is to be made; `StorageError`,
    ///   `VaultFault`, `ClockUnsure`, `ServedClock.Mismatch`.
    public func open(makes: Bool = false) throws -> Workspace {
        try database.becomeOwner()
        var database = database
        var file = keyFile
        var scratch: String?
        let former = FormerDatabase(of: database)
        if try !database.exists() {
            guard makes else { throw missing }
            try former.check(nil)
            if isDryRun {
                let folder = try Self.scratchFolder(surroundings.environment["TMPDIR"] ?? "/tmp")
                scratch = folder
                database = self.database(in: folder)
                file = KeyFile(configured: nil, folder: folder)
            }
        }
        do {
            let clock = self.clock
            database.options.date = clock.date
            let isScratch = scratch != nil
            let connection = try database.openForCommandLine(isMade: makes) { past in
                if !isScratch { try former.check(past) }
                try clock.judge(past)
            }
            let now = try connection.snapshot { db in try clock.wall.now(in: db) }
            let vault = try Vault.open(connection, of: database, file: file, clock: clock.wall)
            return Workspace(connection, vault, self, now, scratch: scratch)
        } catch let unsure as ClockUnsure {
            if let scratch { Self.removeScratch(scratch) }
            guard options.testClock == nil else { throw unsure }
            throw ClockUnsure(
                reason:
                    "\(unsure.reason): set it right, or let a server accept it once (countersign serve --accept-clock)"
            )
        } catch {
            if let scratch { Self.removeScratch(scratch) }
            throw error
        }
    }

    /// Refuses to go on where there is no database.
    ///
    /// - Throws: `CommandFailure` (`NO_DATABASE`), `StorageError` where the system does not tell.
    func requireDatabase() throws {
        guard try database.exists() else { throw missing }
    }

    private var missing: CommandFailure {
        CommandFailure(
            code: "NO_DATABASE",
            "there is no database in \(settings.data); make one with: countersign admin vendor create, seed or serve, or "
                + "name its folder with --data"
        )
    }

    private func database(in folder: String) -> Database {
        var options = Database.Options(now: { SystemTime.microseconds() })
        options.synchronous = surroundings.synchronous
        options.lockWait = settings.lockWait
        return Database(folder: folder, options: options)
    }

    /// The clock of a command that works on an open database: what it reads, what dates its commits, and what is asked of
    /// both before anything is written.
    private struct Clock {
        let wall: any WallClock
        let date: @Sendable (_ last: Int64) throws(StorageError) -> CommitDate
        let judge: Database.Judgment
    }

    private var clock: Clock {
        if let path = options.testClock {
            return Clock(
                wall: FileClock(path: path),
                // The state version is an order and follows real time, also under a test clock.
                date: Database.Options(now: { SystemTime.microseconds() }).date,
                judge: { past in try ServedClock.check(.test, against: past) }
            )
        }
        let system = GuardedClock()
        return Clock(
            wall: system,
            date: { (last) throws(StorageError) in try system.date(after: last) },
            judge: { past in
                try ServedClock.check(.wall, against: past)
                system.start(after: past?.committedAt ?? 0, isAccepted: false)
            }
        )
    }

    // MARK: Progress

    /// Shows how far a long command is, where somebody watches; `nil` takes the line away.
    public func progress(_ text: String?) {
        guard surroundings.output.isWatched, !options.isJSON, !options.isQuiet else { return }
        try? surroundings.output.error(Array("\r\u{1B}[K\(text ?? "")".utf8))
    }

    // MARK: A folder for a dry run

    private static func scratchFolder(_ parent: String) throws -> String {
        var template = Array("\(parent)/countersign-dry-run.XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.map { mkdtemp($0) != nil } ?? false
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard made else { throw StorageError(.access, code: errno, "cannot make a folder for a dry run in \(parent)") }
        return path
    }

    static func removeScratch(_ folder: String) {
        for name in [
            "countersign.db", "countersign.db-wal", "countersign.db-shm", "write.lock", "serve.lock", "keys.lock",
            "backup.lock", "master.key",
        ] {
            unlink("\(folder)/\(name)")
        }
        rmdir(folder)
    }
}

/// The open database, its keys, and the one reading of the clock that everything in this command carries.
public struct Workspace: ~Copyable {
    /// The database.
    public let connection: CommandLineConnection
    /// Its keys.
    public let vault: Vault
    /// Who acts, and when.
    public let actor: Actor
    /// Where randomness comes from.
    public let entropy: any Entropy
    /// Whether what is written is undone at the end.
    public let isDryRun: Bool
    private let scratch: String?

    init(
        _ connection: consuming CommandLineConnection,
        _ vault: Vault,
        _ context: CommandContext,
        _ now: Timestamp,
        scratch: String?
    ) {
        self.connection = connection
        self.vault = vault
        actor = Actor(name: context.surroundings.actor, now: now)
        entropy = context.surroundings.entropy
        isDryRun = context.isDryRun
        self.scratch = scratch
    }

    deinit {
        if let scratch { CommandContext.removeScratch(scratch) }
    }

    /// Now.
    public var now: Timestamp { actor.now }

    /// The database's data keys.
    public var keys: DataKeys { vault.keys }

    /// Asks questions of the database as it is now.
    ///
    /// - Throws: What `body` throws, and `StorageError`.
    public borrowing func read<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
        try connection.snapshot(body)
    }

    /// Runs one write transaction, undone at the end of a dry run. No input, output or cryptography in it.
    ///
    /// - Throws: What `body` throws, and `StorageError`; then nothing is changed.
    public borrowing func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try connection.write(isDryRun: isDryRun, body)
    }
}
