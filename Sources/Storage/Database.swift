internal import CSQLite
public import Licensing
package import Migrations
internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The folder that holds everything a server keeps: which files are in it, who may open them, and how.
///
/// | file | what |
/// | --- | --- |
/// | `countersign.db`, `-wal`, `-shm` | SQLite's |
/// | `serve.lock` | held by the one server; holds its process id |
/// | `write.lock` | held during every write transaction and every checkpoint, by whomever |
/// | `keys.lock` | held while the master key changes, and during a restore |
/// | `backup.lock` | shared by the backups under way; whoever has it alone removes what killed ones left |
///
/// None of them is ever a link, and all belong to the user who runs the process.
///
/// Only the server's writer checkpoints, under `write.lock`: SQLite from 3.7.0 up to 3.51.2 can corrupt a database
/// when one connection checkpoints while another commits (https://sqlite.org/wal.html#walresetbug).
public struct Database: Sendable {
    /// How far a commit goes before it is acknowledged.
    public enum Synchronous: String, Sendable {
        /// An acknowledged commit survives a loss of power.
        case full = "FULL"
        /// For tests: survives the end of the process only.
        case off = "OFF"
    }

    /// What may be set from outside.
    public struct Options: Sendable {
        /// `full`, but in tests.
        public var synchronous = Synchronous.full

        /// How long a start of a server waits for `serve.lock`, and a command for `write.lock`.
        public var lockWait = Duration.seconds(10)

        /// Asked again and again while `lockWait` runs: whether to wait is of no use any more, as where a start is told to end.
        /// Then it fails as if that time were over.
        public var isWaitGivenUp: @Sendable () -> Bool = { false }

        /// How long a job of the server waits in all: for its turn, for `write.lock`, for a stranger's lock on the database.
        public var batchWait = Duration.seconds(2)

        /// How long a read on an event loop waits in all, where a stranger's locks keep it out of the database: everybody
        /// else on that loop waits with it. Only a moment of SQLite's own is to be waited for.
        public var readWait = Duration.milliseconds(50)

        /// The migrations to bring the database to.
        package var migrations = Migration.all

        /// The file system interface to open the database with; `nil` is SQLite's own.
        package var vfs: String?

        /// Dates a commit that is about to be made, given the date of the one before in seconds since 1970 (0 before the
        /// first). Where it throws (`clockUnsure`), the clock cannot be trusted and nothing is committed.
        public var date: @Sendable (_ last: Int64) throws(StorageError) -> CommitDate

        /// The defaults, with commits dated by a clock that is judged at each of them.
        public init(date: @escaping @Sendable (_ last: Int64) throws(StorageError) -> CommitDate) {
            self.date = date
        }

        /// The defaults, with a clock that is believed whatever it says, in microseconds since 1970.
        public init(now: @escaping @Sendable () -> Int64) {
            date = { (last) throws(StorageError) in
                CommitDate(microseconds: max(0, now()), after: Timestamp(secondsSinceEpoch: last))
            }
        }
    }

    /// The folder's path, as given.
    public let folder: String

    /// What was set from outside.
    public var options: Options

    /// Names a folder; nothing is touched yet.
    public init(folder: String, options: Options) {
        self.folder = folder
        self.options = options
    }

    /// The database file.
    public var path: String { folder + "/countersign.db" }

    var serveLockPath: String { folder + "/serve.lock" }
    var writeLockPath: String { folder + "/write.lock" }
    var keysLockPath: String { folder + "/keys.lock" }
    var backupLockPath: String { folder + "/backup.lock" }

    /// All that may lie in the folder and is ours, for as long as it has its name.
    var files: [String] {
        [path, path + "-wal", path + "-shm", serveLockPath, writeLockPath, keysLockPath, backupLockPath]
    }

    /// `application_id` of every database of Countersign: "CSGN".
    static let applicationID: Int64 = 0x4353_474E

    /// Whether there is a database file, also an empty one.
    ///
    /// - Throws: `access` or `io` where the system does not tell; `access` for a link.
    public func exists() throws(StorageError) -> Bool {
        try FileFacts.own(path) != nil
    }

    // MARK: The master key

    /// Runs `body` while no other process that asks for this changes the master key or restores a backup.
    ///
    /// - Parameter waits: whether to wait for another one, as long as `lockWait` says.
    /// - Returns: `nil` where another process is at it and `waits` is false.
    /// - Throws: `busy` after the wait; `access`; what `body` throws.
    public func holdingKeys<R>(waits: Bool, _ body: () throws -> R) throws -> R? {
        let lock = try FileLock.open(keysLockPath)
        guard try lock.acquire(waiting: waits ? options.lockWait : .zero, unless: options.isWaitGivenUp) else {
            if waits { throw keysAreHeld() }
            return nil
        }
        defer { lock.release() }
        return try body()
    }

    func keysAreHeld() -> StorageError {
        StorageError(
            .busy,
            "another process changes the master key or restores a backup for more than \(options.lockWait): try again"
        )
    }

    // MARK: Opening

    /// Opens the database for the one server of this folder: takes `serve.lock`, makes a database that is not there,
    /// migrates one that is older, and begins with a transaction that raises the state version. The writer holds the lock
    /// as long as it lives.
    ///
    /// - Parameters:
    ///   - queue: where the loops put their jobs.
    ///   - judging: told what the database remembers, before anything is written and again in that first transaction;
    ///     what it throws ends the start.
    ///   - starting: what else that first transaction writes.
    ///
    /// On a full disk a database that needs no migration is served all the same: the transaction is made up for when there
    /// is room, before anything else is written, and until then writes are refused.
    ///
    /// - Throws: `served`, naming the other server's process id, when that keeps the lock longer than `lockWait`;
    ///   `access`; `notOurs`; `schema` when the database is newer; whatever SQLite reports; what the closures throw.
    public func openForServing<Ticket, Reply>(
        _ queue: WriterQueue<Ticket, Reply>,
        settings: Writer<Ticket, Reply>.Settings = .init(),
        judging: @escaping Judgment = { _ in },
        starting: @escaping @Sendable (borrowing WriteTransaction) throws -> Void = { _ in }
    ) throws -> Writer<Ticket, Reply> {
        try checkFolder(isMade: true)
        let serveLock = try FileLock.open(serveLockPath)
        guard try serveLock.acquire(waiting: options.lockWait, unless: options.isWaitGivenUp) else {
            throw StorageError(.served, "another server (pid \(pid(of: serveLock))) already serves \(folder)")
        }
        serveLock.writeOwner()
        let writeLock = try FileLock.open(writeLockPath)
        let connection = try openWriting(isMade: true, waiting: options.batchWait)
        try acquire(writeLock)
        try judging(Past(connection))
        let applied = try Migrator(options).migrate(connection, path)
        let db = WriteTransaction(connection)
        // Nobody reads or writes yet, but perhaps a command left a long log behind.
        _ = try? db.connection.checkpoint(.truncate)
        try StateVersion.require(try db.connection.integer("SELECT version FROM state"), in: path)
        var writer = Writer(
            self,
            db,
            queue,
            serveLock: serveLock,
            writeLock: writeLock,
            settings: settings,
            isNew: applied.first?.isFirst ?? false
        ) { [options] db in
            try judging(Past(db.connection))
            try starting(db)
            try db.touchAtStart(options)
        }
        try writer.start(mayOwe: applied.isEmpty)
        return writer
    }

    /// Opens a connection that only reads, for one thread. The database must be there.
    ///
    /// - Throws: `notOurs`, `access`, or what SQLite reports; `busy` where others keep it out for longer than `lockWait`.
    public func openReader() throws(StorageError) -> Reader { try openReader(waiting: options.lockWait) }

    /// The same for a thread on which others wait: it is kept out for no longer than `readWait`.
    public func openLoopReader() throws(StorageError) -> Reader { try openReader(waiting: options.readWait) }

    private func openReader(waiting wait: Duration) throws(StorageError) -> Reader {
        guard try exists() else { throw missing() }
        let connection = try Connection.open(path, .reading, waiting: wait, vfs: options.vfs)
        try Migrator(options).requireOurs(connection, path)
        return Reader(connection)
    }

    /// Switches the write-ahead log on, where it is not. Of two that do so in a new file at once SQLite refuses one without
    /// waiting, lest both wait for each other.
    private func writeAheadMode(
        _ connection: borrowing Connection,
        waiting wait: Duration
    ) throws(StorageError) -> String? {
        let end = MonotonicClock.nanoseconds() &+ wait.nanoseconds
        while true {
            do throws(StorageError) {
                return try connection.text("PRAGMA journal_mode=WAL")
            } catch {
                guard error.category == .busy, MonotonicClock.nanoseconds() < end, !options.isWaitGivenUp() else {
                    throw error
                }
                usleep(1000)
            }
        }
    }

    /// Makes an empty file where there is none.
    func make() throws(StorageError) {
        guard try !exists() else { return }
        try Database.requireDatabaseOfLog(path)
        // Made here and not by SQLite, which would let others read it; its -wal and -shm take the same mode.
        let number = systemOpen(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 || errno == EEXIST else { throw .system("create \(path)") }
        if number >= 0 { _ = Descriptor(taking: number) }
        try Database.syncFolder(folder)
    }

    /// A connection that writes, to a database in WAL mode; migrations are still to be looked at.
    func openWriting(isMade: Bool, waiting wait: Duration) throws(StorageError) -> Connection {
        if isMade { try make() }
        let connection = try Connection.open(
            path,
            .writing,
            synchronous: options.synchronous,
            waiting: wait,
            vfs: options.vfs
        )
        try Migrator(options).requireOurs(connection, path)
        let mode = try writeAheadMode(connection, waiting: wait)
        guard mode == "wal" else {
            throw StorageError(.other, "\(path) cannot use a write-ahead log here (journal mode \(mode ?? "unknown"))")
        }
        return connection
    }

    func acquire(_ writeLock: borrowing FileLock) throws(StorageError) {
        guard try writeLock.acquire(waiting: options.lockWait, unless: options.isWaitGivenUp) else {
            throw StorageError(.busy, "another process holds \(writeLockPath) for more than \(options.lockWait)")
        }
    }

    func pid(of lock: borrowing FileLock) -> String { lock.owner().map { "\($0)" } ?? "unknown" }

    func missing() -> StorageError {
        StorageError(.access, code: ENOENT, "there is no database at \(path)")
    }
}
