internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The database as one command uses it, beside a running server or without one.
///
/// A transaction does no input, output or cryptography: it holds up the server's writes. Read, derive and seal
/// before it, print after it; imports go in transactions of at most 50,000 rows.
public struct CommandLineConnection: ~Copyable {
    private let database: Database
    private let db: WriteTransaction
    private let reader: Reader
    private let writeLock: FileLock
    /// Which file it has open.
    private let file: [UInt64]
    /// Until when the lock is left to others after a transaction, in monotonic nanoseconds.
    private let nextWrite = Guarded<UInt64>(0)
    /// Longer than a server that waits for the lock sleeps between two tries.
    private static let pauseNanoseconds: UInt64 = 10_000_000

    /// Whether opening it made the database.
    public let isNewDatabase: Bool

    init(
        _ database: Database,
        _ db: consuming WriteTransaction,
        _ reader: consuming Reader,
        _ writeLock: consuming FileLock,
        file: [UInt64],
        isNew: Bool
    ) {
        self.database = database
        self.db = db
        self.reader = reader
        self.writeLock = writeLock
        self.file = file
        self.isNewDatabase = isNew
    }

    /// Runs `body` on the database as it is now; see `Reader.snapshot`.
    ///
    /// - Throws: `StorageError`, and what `body` throws.
    public borrowing func snapshot<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
        try reader.snapshot(body)
    }

    /// Runs `body` in one write transaction under `write.lock`, and commits. Anything thrown undoes all of it.
    ///
    /// Between two of them the lock is free for a moment, so that a server which waits for it has its turn.
    ///
    /// - Parameter isDryRun: whether everything is undone at the end, after it was really done.
    /// - Throws: `busy` when the lock is held for longer than `lockWait`; `unknownOutcome` when COMMIT fails;
    ///   `unavailable` when the database was replaced since it was opened; any `StorageError`; what `body` throws.
    public borrowing func write<R>(isDryRun: Bool = false, _ body: (borrowing WriteTransaction) throws -> R) throws -> R
    {
        let now = MonotonicClock.nanoseconds()
        let next = nextWrite.withLock { $0 }
        if next > now { usleep(UInt32(clamping: (next - now) / 1000 + 1)) }
        try database.acquire(writeLock)
        defer {
            writeLock.release()
            nextWrite.withLock { $0 = MonotonicClock.nanoseconds() &+ Self.pauseNanoseconds }
        }
        try database.require(file, under: writeLock)
        try db.begin(waiting: database.options.lockWait)
        let result: R
        do {
            let before = db.connection.totalChanges
            result = try body(db)
            guard db.connection.isInTransaction else {
                throw StorageError(.transactionLost, "the transaction was rolled back by the database")
            }
            if isDryRun || db.connection.totalChanges == before {
                db.rollBack()
                return result
            }
            try db.touch(database.options)
        } catch {
            db.rollBack()
            throw error
        }
        do {
            try db.commit()
        } catch {
            db.rollBack()
            throw StorageError(
                .unknownOutcome,
                code: error.code,
                "COMMIT failed, look before you repeat: \(error.message)"
            )
        }
        return result
    }
}
