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
    private var spent: UInt64 = 0
    /// The files as they were opened; `nil` before the start is over.
    var files: HeldFiles?
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
        queue.report { $0.lastTriedAt = MonotonicClock.nanoseconds() }
    }

    /// The transaction that a start begins with, under write.lock.
    ///
    /// - Parameter mayOwe: whether, where the disk is full, it may be made up for by the next transaction.
    /// - Throws: what keeps the server from starting.
    mutating func start(mayOwe: Bool) throws {
        do {
            try db.begin()
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
        try db.begin()
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

    // MARK: A batch

    /// Commits a batch under the lock, delivers its answers, and looks after the log.
    private mutating func commit(
        _ batch: inout [Submission],
        into answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) {
        guard begin(&batch, &answers, deliver) else { return }
        let start = MonotonicClock.nanoseconds()
        var outcome = run(&batch, into: &answers)
        if case .lost(let error) = outcome {
            answers.removeAll(keepingCapacity: true)
            if error.category == .clockUnsure {
                answers = batch.map { Answer(ticket: $0.ticket, result: .failure(error)) }
            } else {
                queue.report { $0.lostBatches += 1 }
                for submission in batch { outcome = runAlone(submission, into: &answers) }
            }
        }
        let microseconds = Int64((MonotonicClock.nanoseconds() - start) / 1000)
        let count = batch.count
        queue.report { status in
            status.batchMicroseconds += microseconds
            status.batchSizes[min(8, count <= 1 ? 0 : Int.bitWidth - (count - 1).leadingZeroBitCount)] += 1
        }
        if case .committed = outcome {
            do {
                // An answer is a promise that what was written is in the file that has the database's name.
                try files?.check()
            } catch {
                let unknown = StorageError(.unknownOutcome, code: error.code, error.message)
                answers = batch.map { Answer(ticket: $0.ticket, result: .failure(unknown)) }
                outcome = .unknown(error)
            }
        }
        noteDamage(answers)
        switch outcome {
        case .committed: report(count, nil)
        case .unknown(let error), .lost(let error): report(count, error)
        }
        // Jobs that came to nothing let go of what they hold before anybody is told.
        batch.removeAll(keepingCapacity: true)
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

    /// Begins for a batch. A job waits no longer than `batchWait` in all, counted from its arrival, for its turn and for
    /// locks: whose time is over is refused, and those that came later go on waiting.
    ///
    /// - Parameter batch: gets its first job.
    /// - Returns: whether write.lock is held and a transaction open; false when all jobs were refused.
    private mutating func begin(
        _ batch: inout [Submission],
        _ answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) -> Bool {
        let wait = database.options.batchWait.nanoseconds
        while true {
            refuseLate(&answers, deliver)
            if let first = queue.take(charging: takeSpent()) { batch.append(first) }
            guard let deadline = batch.first.map({ $0.arrivedAt &+ wait }) else { return false }
            do throws(StorageError) {
                if hasFailed { throw StorageError(.unavailable, "the writer has given up") }
                try begin(until: deadline)
                return true
            } catch {
                if error.category == .busy {
                    // Those whose time is over within one more try go with it.
                    batch += jobsLate(in: Self.tryNanoseconds)
                } else {
                    while batch.count < settings.batchLimit, let next = queue.take(charging: 0) { batch.append(next) }
                }
                queue.report { $0.refusedBatches += 1 }
                report(batch.count, error)
                refuse(&batch, error, &answers, deliver)
            }
        }
    }

    /// Answers jobs that waited too long for their turn: nobody waits for a writer that is busy longer than for one that
    /// is locked out.
    private mutating func refuseLate(_ answers: inout [Answer], _ deliver: (inout [Answer]) -> Void) {
        var late = jobsLate(in: 0)
        if late.isEmpty { return }
        let count = late.count
        queue.report { status in
            status.jobs += count
            status.late += count
        }
        let error = StorageError(.unavailable, "the writer did not come to it within \(database.options.batchWait)")
        refuse(&late, error, &answers, deliver)
    }

    /// The jobs whose time is over in so many nanoseconds.
    private func jobsLate(in nanoseconds: UInt64) -> [Submission] {
        let (now, wait) = (queue.clock() &+ nanoseconds, database.options.batchWait.nanoseconds)
        return now > wait ? queue.takeAll(arrivedBy: now - wait) : []
    }

    /// Answers jobs with an error, once they have let go of what they hold.
    private func refuse(
        _ submissions: inout [Submission],
        _ error: StorageError,
        _ answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) {
        answers = submissions.map { Answer(ticket: $0.ticket, result: .failure(error)) }
        submissions.removeAll(keepingCapacity: true)
        deliver(&answers)
        answers.removeAll(keepingCapacity: true)
    }

    private mutating func takeSpent() -> UInt64 {
        defer { spent = 0 }
        return spent
    }

    /// How long one try to take a lock lasts at least, where the time for it is over or nearly so.
    private static var tryNanoseconds: UInt64 { 5_000_000 }

    private func timeLeft(until deadline: UInt64) -> Duration {
        let now = MonotonicClock.nanoseconds()
        return .nanoseconds(Int64(clamping: max(deadline > now ? deadline - now : 0, Self.tryNanoseconds)))
    }

    /// Takes write.lock and begins. After this succeeded, write.lock is held.
    ///
    /// - Throws: `busy` where somebody else holds write.lock or the database at `deadline`; `unavailable` where the files
    ///   are not as they were.
    private mutating func begin(until deadline: UInt64) throws(StorageError) {
        guard try lock(until: deadline) else {
            throw StorageError(.busy, "another process holds \(database.writeLockPath)")
        }
        do {
            try begin(waiting: timeLeft(until: deadline))
        } catch {
            writeLock.release()
            throw error
        }
    }

    /// Begins, under write.lock, on a connection that is sound.
    mutating func begin(waiting wait: Duration) throws(StorageError) {
        try replaceIfBroken(waiting: wait)
        db.connection.setBusyTimeout(milliseconds: wait.milliseconds)
        try db.begin()
        do throws(StorageError) {
            try payDebt()
        } catch {
            db.rollBack()
            throw error
        }
    }

    /// Takes write.lock, on the file that has its name now, and looks whether all that this server holds is still what
    /// others find under its name.
    ///
    /// - Parameter deadline: until when to wait; `nil`: not at all.
    /// - Returns: false where somebody else has it.
    /// - Throws: `unavailable` where the database, its log or serve.lock is not this server's any more; then write.lock is
    ///   not held.
    mutating func lock(until deadline: UInt64?) throws(StorageError) -> Bool {
        do throws(StorageError) {
            guard try takeWriteLock(until: deadline) else { return false }
        } catch {
            throw Self.untilMended(error)
        }
        do throws(StorageError) {
            try files?.check()
            try holdServeLock()
        } catch {
            writeLock.release()
            throw Self.untilMended(error)
        }
        return true
    }

    private mutating func takeWriteLock(until deadline: UInt64?) throws(StorageError) -> Bool {
        while true {
            if let deadline {
                guard try writeLock.acquire(until: deadline) else { return false }
            } else {
                guard try writeLock.tryAcquire() else { return false }
            }
            if writeLock.isCurrent { return true }
            writeLock.release()
            // Where the folder itself has gone, that is what there is to tell.
            try files?.check()
            writeLock = try FileLock.open(database.writeLockPath)
        }
    }

    /// What the server could open at its start and cannot now comes back, or somebody has to see to it: nobody who asks has
    /// anything to mend.
    private static func untilMended(_ error: StorageError) -> StorageError {
        error.category == .access ? StorageError(.unavailable, code: error.code, error.message) : error
    }

    /// Takes serve.lock anew where its file was deleted or replaced; one who took that meanwhile is the server now.
    private mutating func holdServeLock() throws(StorageError) {
        if serveLock.isCurrent { return }
        let other = try FileLock.open(database.serveLockPath)
        guard try other.tryAcquire() else {
            throw StorageError(
                .unavailable,
                "\(database.serveLockPath) was replaced, and another server (pid \(database.pid(of: other))) holds it: "
                    + "nothing is written beside it; fix: stop one of the two"
            )
        }
        other.writeOwner()
        serveLock = other
    }

    /// Runs the first job of the transaction and those that wait, each in its own savepoint, until there is none, or enough
    /// was done for one transaction; commits all of them.
    private mutating func run(_ batch: inout [Submission], into answers: inout [Answer]) -> Outcome {
        var hasChanges = false
        var started = queue.clock()
        let end = started &+ settings.batchTime.nanoseconds
        do {
            while let submission = batch.last, answers.count < batch.count {
                let result = try runInSavepoint(submission.job, &hasChanges)
                answers.append(Answer(ticket: submission.ticket, result: result))
                let now = queue.clock()
                spent = now &- started
                started = now
                guard batch.count < settings.batchLimit, now < end else { break }
                // What takes long begins a transaction of its own: those that were run are not to wait for it.
                if let next = queue.take(charging: takeSpent(), within: end - now) { batch.append(next) }
            }
            if hasChanges { try db.touch(database.options) }
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
        owed = nil
        if hasChanges {
            failedCommitsInARow = 0
            queue.report { $0.commits += 1 }
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
            try begin(waiting: timeLeft(until: submission.arrivedAt &+ database.options.batchWait.nanoseconds))
            let result = try runInSavepoint(submission.job, &hasChanges)
            own.append(Answer(ticket: submission.ticket, result: result))
            if hasChanges { try db.touch(database.options) }
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

    /// Where a job found the file damaged, that is for `/ready` to tell.
    private func noteDamage(_ answers: [Answer]) {
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
            if let error, error.isDamage { status.damage = error }
        }
    }
}

extension WriteTransaction {
    static var lost: StorageError {
        StorageError(.transactionLost, "the transaction was rolled back by the database")
    }
}
