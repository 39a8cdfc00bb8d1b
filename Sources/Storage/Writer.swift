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
    let writeLock: FileLock
    let serveLock: FileLock
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

    /// Whether this start made the database.
    public let isNewDatabase: Bool

    init(
        _ database: Database,
        _ db: consuming WriteTransaction,
        _ queue: WriterQueue<Ticket, Reply>,
        serveLock: consuming FileLock,
        writeLock: consuming FileLock,
        settings: Settings,
        isNew: Bool
    ) {
        self.database = database
        self.db = db
        self.queue = queue
        self.serveLock = serveLock
        self.writeLock = writeLock
        self.settings = settings
        self.isNewDatabase = isNew
        let now = database.options.now()
        queue.report { status in
            status.lastCommitAt = now
            status.lastTriedAt = now
        }
    }

    /// One transaction of the caller's own, before `run`: what a start has to write.
    ///
    /// - Throws: `StorageError`, and what `body` throws; then nothing is changed.
    public borrowing func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try database.acquire(writeLock)
        defer { writeLock.release() }
        try db.begin()
        do {
            let before = db.connection.totalChanges
            let result = try body(db)
            if db.connection.totalChanges != before { try db.touch(now: database.options.now()) }
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
            switch queue.take(into: &batch, limit: settings.batchLimit, deadline: nextMoment()) {
            case .stopped: break loop
            case .idle: beIdle()
            case .jobs:
                commit(batch, into: &answers, deliver)
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

    // MARK: A batch

    /// Commits a batch under the lock, delivers its answers, and looks after the log.
    private mutating func commit(
        _ batch: [Submission],
        into answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) {
        let batch = begin(for: batch, &answers, deliver)
        if batch.isEmpty { return }
        let start = MonotonicClock.nanoseconds()
        var outcome = run(batch, into: &answers)
        if case .lost = outcome {
            queue.report { $0.lostBatches += 1 }
            answers.removeAll(keepingCapacity: true)
            for submission in batch { outcome = runAlone(submission, into: &answers) }
        }
        let microseconds = Int64((MonotonicClock.nanoseconds() - start) / 1000)
        queue.report { status in
            status.batchMicroseconds += microseconds
            status.batchSizes[min(8, batch.count <= 1 ? 0 : Int.bitWidth - (batch.count - 1).leadingZeroBitCount)] += 1
        }
        switch outcome {
        case .committed: report(batch.count, nil)
        case .unknown(let error), .lost(let error): report(batch.count, error)
        }
        deliver(&answers)
        checkpointIfDue()
        writeLock.release()
    }

    /// What came of a transaction.
    enum Outcome {
        case committed
        /// SQLite rolled it back by itself: nothing of it is there.
        case lost(StorageError)
        /// COMMIT failed: perhaps it is there, perhaps not.
        case unknown(StorageError)
    }

    /// Begins for a batch. A job waits for locks no longer than `batchWait` in all, counted from its arrival: whose time
    /// is over is refused, and those that came later go on waiting.
    ///
    /// - Returns: the jobs to run, with write.lock held and a transaction open; none when all of them were refused.
    private mutating func begin(
        for batch: [Submission],
        _ answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) -> [Submission] {
        let wait = database.options.batchWait.nanoseconds
        var batch = batch
        // Origins take turns in a batch: its first job need not be its oldest.
        while let oldest = batch.map(\.arrivedAt).min() {
            do throws(StorageError) {
                if hasFailed { throw StorageError(.unavailable, "the writer has given up") }
                try begin(until: oldest &+ wait)
                return batch
            } catch {
                var refused = batch
                if error.category == .busy {
                    // Those whose time is over within one more try go with the oldest.
                    let now = MonotonicClock.nanoseconds() &+ Self.tryNanoseconds
                    refused = batch.filter { $0.arrivedAt == oldest || $0.arrivedAt &+ wait <= now }
                    batch.removeAll { $0.arrivedAt == oldest || $0.arrivedAt &+ wait <= now }
                } else {
                    batch = []
                }
                answers = refused.map { Answer(ticket: $0.ticket, result: .failure(error)) }
                report(answers.count, error)
                queue.report { $0.refusedBatches += 1 }
                deliver(&answers)
                answers.removeAll(keepingCapacity: true)
            }
        }
        return []
    }

    /// How long one try to take a lock lasts at least, where the time for it is over or nearly so.
    private static var tryNanoseconds: UInt64 { 5_000_000 }

    private func timeLeft(until deadline: UInt64) -> Duration {
        let now = MonotonicClock.nanoseconds()
        return .nanoseconds(Int64(clamping: max(deadline > now ? deadline - now : 0, Self.tryNanoseconds)))
    }

    /// Takes write.lock and begins. After this succeeded, write.lock is held.
    ///
    /// - Throws: `busy` where somebody else holds write.lock or the database at `deadline`.
    private mutating func begin(until deadline: UInt64) throws(StorageError) {
        guard try writeLock.acquire(until: deadline) else {
            throw StorageError(.busy, "another process holds \(database.writeLockPath)")
        }
        do {
            let wait = timeLeft(until: deadline)
            try replaceIfBroken(waiting: wait)
            db.connection.setBusyTimeout(milliseconds: wait.milliseconds)
            try db.begin()
        } catch {
            writeLock.release()
            throw error
        }
    }

    /// Runs every job of the transaction in its own savepoint, and commits all of them.
    private mutating func run(_ batch: [Submission], into answers: inout [Answer]) -> Outcome {
        var hasChanges = false
        do {
            for submission in batch {
                let result = try runInSavepoint(submission.job, &hasChanges)
                answers.append(Answer(ticket: submission.ticket, result: result))
            }
            if hasChanges { try db.touch(now: database.options.now()) }
        } catch {
            db.rollBack()
            return .lost(error)
        }
        return commitTransaction(hasChanges, &answers)
    }

    mutating func commitTransaction(_ hasChanges: Bool, _ answers: inout [Answer]) -> Outcome {
        do {
            try db.commit()
        } catch {
            if case .constraint = error.category, db.connection.isInTransaction {
                // A deferred foreign key: SQLite has decided, and the transaction is still open. Nothing is unknown.
                db.rollBack()
                return .lost(error)
            }
            db.rollBack()
            isBroken = true
            // A full disk is refused before the last frame is written, and ends by itself: no reason to end.
            isDiskFull = error.category == .full
            if !isDiskFull { failedCommitsInARow += 1 }
            queue.report { $0.failedCommits += 1 }
            let unknown = StorageError(.unknownOutcome, code: error.code, "COMMIT failed: \(error.message)")
            answers = answers.map { Answer(ticket: $0.ticket, result: .failure(unknown)) }
            return .unknown(unknown)
        }
        if hasChanges {
            failedCommitsInARow = 0
            let now = database.options.now()
            queue.report { status in
                status.commits += 1
                status.lastCommitAt = now
            }
        }
        return .committed
    }

    /// One job, undone alone when it throws.
    ///
    /// - Throws: when the whole transaction is gone, or can no longer be told to be sound.
    private borrowing func runInSavepoint(
        _ job: WriterQueue<Ticket, Reply>.Job,
        _ hasChanges: inout Bool
    ) throws(StorageError) -> Result<Reply, any Error> {
        let connection = db.connection.totalChanges
        try db.connection.run("SAVEPOINT job")
        let failure: any Error
        do {
            let reply = try job(db)
            guard db.connection.isInTransaction else { throw WriteTransaction.lost }
            try db.connection.run("RELEASE job")
            if db.connection.totalChanges != connection { hasChanges = true }
            return .success(reply)
        } catch {
            failure = error
        }
        guard db.connection.isInTransaction else {
            throw (failure as? StorageError) ?? WriteTransaction.lost
        }
        try db.connection.run("ROLLBACK TO job")
        try db.connection.run("RELEASE job")
        return .failure(failure)
    }

    /// One job in a transaction of its own, after its batch was lost; what fails now is its answer.
    private mutating func runAlone(_ submission: Submission, into answers: inout [Answer]) -> Outcome {
        var hasChanges = false
        var own: [Answer] = []
        var outcome: Outcome
        do throws(StorageError) {
            if hasFailed || failedCommitsInARow >= 3 { throw StorageError(.unavailable, "the writer has given up") }
            let wait = timeLeft(until: submission.arrivedAt &+ database.options.batchWait.nanoseconds)
            try replaceIfBroken(waiting: wait)
            db.connection.setBusyTimeout(milliseconds: wait.milliseconds)
            try db.begin()
            let result = try runInSavepoint(submission.job, &hasChanges)
            own.append(Answer(ticket: submission.ticket, result: result))
            if hasChanges { try db.touch(now: database.options.now()) }
            outcome = commitTransaction(hasChanges, &own)
        } catch {
            db.rollBack()
            outcome = .lost(error)
        }
        if case .lost(let error) = outcome { own = [Answer(ticket: submission.ticket, result: .failure(error))] }
        answers += own
        return outcome
    }

    /// Closes the connection whose COMMIT failed, and opens another in its place.
    mutating func replaceIfBroken(waiting wait: Duration) throws(StorageError) {
        guard isBroken else { return }
        db = WriteTransaction(try database.openWriting(isMade: false, busy: wait))
        log.frames = 0
        log.moved = 0
        isBroken = false
        // A full disk may still take what is in the log into pages that the file has already, and the log, moved to
        // its end, begins anew in the space it has: often writing goes on without anybody making room.
        if isDiskFull { _ = try? db.connection.checkpoint(.passive) }
    }

    func report(_ jobs: Int, _ error: StorageError?) {
        let now = database.options.now()
        let bytes = logBytes()
        queue.report { status in
            status.jobs += jobs
            status.lastTriedAt = now ?? status.lastTriedAt
            status.lastError = error
            status.walBytes = bytes
        }
    }
}

extension WriteTransaction {
    static var lost: StorageError {
        StorageError(.transactionLost, "the transaction was rolled back by the database")
    }
}
