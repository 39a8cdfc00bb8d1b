internal import SystemPrimitives

/// The one that writes: takes what waits in its queue, and commits it as one transaction.
///
/// Holds the folder's `serve.lock` for as long as it lives, and `write.lock` during each transaction and checkpoint.
/// Built on the main thread, then moved to a thread of its own:
///
///     var writer = try database.openForServing(queue)
///     try writer.write { db in … }                       // what a start has to write
///     let thread = try Thread.start("writer", with: writer) { writer in writer.run(deliver: post, abort: exit) }
///     …
///     queue.stop(); thread.join()
public struct Writer<Ticket: Sendable, Reply: Sendable>: ~Copyable {
    /// A job on its way in.
    public typealias Submission = WriterQueue<Ticket, Reply>.Submission
    /// What became of a job.
    public typealias Answer = WriterQueue<Ticket, Reply>.Answer

    /// What may be set from outside.
    public struct Settings: Sendable {
        /// Jobs that one transaction takes at most.
        public var batchLimit = 256
        /// The time after which a transaction takes no more of them, and within which what it takes is expected to be done:
        /// who waits is not to wait for all that the others have.
        public var batchTime = Duration.milliseconds(20)
        /// How often `idle` is called, when nothing waits.
        public var idleInterval = Duration.seconds(60)
        /// Work for quiet moments, such as removing old rows, a portion at a time; answers whether there is more.
        public var idle: (@Sendable (borrowing WriteTransaction) throws -> Bool)?
        /// Told of what `idle` threw, or of what kept its changes from being committed.
        public var idleFailed: @Sendable (StorageError) -> Void = { _ in }
        /// The quiet after which the log is moved into the database file.
        public var quiet = Duration.seconds(1)
        /// The log's length in frames from which a checkpoint does not wait for a quiet moment.
        public var checkpointFrames = 1000
        /// The log's size from which it is cut back to nothing.
        public var truncateBytes: Int64 = 64 << 20

        /// The defaults.
        public init() {}
    }

    /// Owns the connection; lent to jobs while a transaction is open. First, so that it is closed before the locks.
    var db: WriteTransaction
    var writeLock: FileLock
    var serveLock: FileLock
    let database: Database
    let queue: WriterQueue<Ticket, Reply>
    let settings: Settings
    /// Whether the connection has to be replaced before it is used again: its last COMMIT failed.
    var isBroken = false
    /// Whether that COMMIT found the disk full.
    var isDiskFull = false
    var failedCommitsInARow = 0
    var log = LogState()
    var nextIdleWork: UInt64 = 0
    var hasMoreIdleWork = false
    var nextProbe: UInt64 = 0
    var hasFailed = false
    /// Nanoseconds spent on the job that was taken last, for the queue's shares.
    var spent: UInt64 = 0
    /// The files as they were opened; `nil` before the start is over.
    var files: HeldFiles?
    /// Since when write.lock was wanted while nothing waited, and somebody else had it; monotonic nanoseconds.
    var lockWantedSince: UInt64?
    /// Whether another server may have served since this one last looked.
    var isDisplaced = false
    /// What the next transaction has to begin with; `nil` once that is committed.
    var owed: (@Sendable (borrowing WriteTransaction) throws -> Void)?

    /// Whether this start made the database.
    public let isNewDatabase: Bool

    init(
        _ database: Database,
        _ db: consuming WriteTransaction,
        _ queue: WriterQueue<Ticket, Reply>,
        serveLock: consuming FileLock,
        writeLock: consuming FileLock,
        settings: Settings,
        isNew: Bool,
        starting: @escaping @Sendable (borrowing WriteTransaction) throws -> Void
    ) {
        self.database = database
        self.db = db
        self.queue = queue
        self.serveLock = serveLock
        self.writeLock = writeLock
        self.settings = settings
        self.isNewDatabase = isNew
        owed = starting
        queue.setPatience(database.options.batchWait)
        queue.report { $0.lastTriedAt = MonotonicClock.nanoseconds() }
    }

    /// The transaction that a start begins with, under write.lock.
    ///
    /// - Parameter mayOwe: whether, where the disk is full, it may be made up for by the next transaction.
    /// - Throws: what keeps the server from starting.
    mutating func start(mayOwe: Bool) throws {
        do {
            try db.begin(waiting: database.options.batchWait)
            try payDebt()
            try db.commit()
            owed = nil
        } catch {
            db.rollBack()
            guard error.category == .full && mayOwe else { throw error }
            isBroken = true
            isDiskFull = true
            report(0, error)
        }
        files = try HeldFiles(of: database)
        writeLock.release()
    }

    /// Begins a transaction with what is owed; after COMMIT it is owed no more.
    borrowing func payDebt() throws(StorageError) {
        guard let owed else { return }
        do {
            try owed(db)
        } catch {
            throw (error as? StorageError)
                ?? StorageError(.other, "the start cannot be made up for: \(error)")
        }
    }

    /// One transaction of the caller's own, before `run`: what a start has to write.
    ///
    /// - Throws: `StorageError`, and what `body` throws; then nothing is changed.
    public borrowing func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try database.acquire(writeLock)
        defer { writeLock.release() }
        try db.begin(waiting: database.options.batchWait)
        do {
            try payDebt()
            let before = db.connection.totalChanges
            let result = try body(db)
            if db.connection.totalChanges != before { try db.touch(database.options) }
            try db.commit()
            return result
        } catch {
            db.rollBack()
            throw error
        }
    }

    /// Works until the queue is stopped and empty; blocks, so it is the body of a thread.
    ///
    /// - Parameter deliver: gets the answers of one batch, right after its COMMIT; may take them out of the array.
    /// - Parameter abort: called when three commits in a row failed, after their answers were delivered. It is to end
    ///   the process with exit code 1; should it return, all further jobs are answered `unavailable`.
    public mutating func run(
        deliver: (inout [Answer]) -> Void,
        abort: (StorageError) -> Void
    ) {
        var batch: [Submission] = []
        var answers: [Answer] = []
        nextIdleWork = MonotonicClock.nanoseconds() &+ settings.idleInterval.nanoseconds
        loop: while true {
            switch queue.waitForWork(until: nextMoment()) {
            case .stopped: break loop
            case .idle: beIdle()
            case .jobs:
                commit(&batch, into: &answers, deliver)
                answers.removeAll(keepingCapacity: true)
                if isIdleWorkOverdue { doIdleWork() }
            }
            if !hasFailed, failedCommitsInARow >= 3 {
                hasFailed = true
                abort(StorageError(.unknownOutcome, "three commits in a row failed: the disk of \(database.folder)"))
            }
        }
        close()
    }

    /// Where a job found the file damaged, that is for `/ready` to tell.
    func noteDamage(_ answers: [Answer]) {
        for answer in answers {
            guard case .failure(let error as StorageError) = answer.result, error.isDamage else {
                continue
            }
            queue.noteDamage(error)
            return
        }
    }

    func report(_ jobs: Int, _ error: StorageError?) {
        let bytes = logBytes()
        queue.report { status in
            status.jobs += jobs
            status.walBytes = bytes
            // A clock in doubt says nothing about writing; whoever asks is told of it by the clock.
            if error?.category == .clockUnsure { return }
            status.lastTriedAt = MonotonicClock.nanoseconds()
            status.lastError = error
            if let error { status.noteDamage(error) }
        }
    }
}
