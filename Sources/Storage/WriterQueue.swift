internal import Dispatch
internal import SystemPrimitives

/// What waits for the writer: loops put jobs in, the writer takes everything that waits.
///
/// Bounded: a full queue refuses, one origin may fill a quarter of it, and those that wait share the writer's time, so that
/// no one shuts out the others (`FairQueue`).
/// `Ticket` says where the answer belongs, `Reply` is what a job returns.
public final class WriterQueue<Ticket: Sendable, Reply: Sendable>: Sendable {
    /// One write, run in the writer's transaction.
    ///
    /// It may run twice: when SQLite rolls a whole batch back, its jobs are run again. What it throws undoes its own
    /// changes and nothing else, and becomes its answer.
    public typealias Job = @Sendable (borrowing WriteTransaction) throws -> Reply

    /// A job on its way in.
    public struct Submission: Sendable {
        /// Where its answer belongs.
        public let ticket: Ticket
        /// Who asks, for the quarter of the queue that one may fill: a digest of the credential, say.
        public let origin: UInt64
        /// What to do.
        public let job: Job
        /// When the queue took it over, by its clock: from here on its wait is counted.
        var arrivedAt: UInt64 = 0

        /// A job on its way in.
        public init(ticket: Ticket, origin: UInt64, job: @escaping Job) {
            self.ticket = ticket
            self.origin = origin
            self.job = job
        }
    }

    /// What became of a job; there is exactly one for each that was accepted.
    public struct Answer: Sendable {
        /// Where it belongs.
        public let ticket: Ticket
        /// What the job returned, once that is committed; or what it threw; or the `StorageError` that kept it from
        /// being committed.
        public let result: Result<Reply, any Error>
    }

    enum Wake { case jobs, idle, stopped }

    private struct State {
        var waiting: FairQueue<Submission>
        var isStopped = false
        var isAsleep = false
        var isProbeWanted = false
        var isLookWanted = false
        /// How long a job may wait for its turn, and a step of the writer last; `nil` before there is a writer.
        var patience: Duration?
        /// When the writer began the step that it is at, by the queue's clock; `nil` while it waits for work.
        var busySince: UInt64?
        var status = WriterStatus()
    }

    private let state: Guarded<State>
    private let bell = DispatchSemaphore(value: 0)
    /// What waiting and working times are measured by, in nanoseconds.
    let clock: @Sendable () -> UInt64

    /// An empty queue.
    ///
    /// - Parameters:
    ///   - capacity: the most jobs that may wait, at least 4.
    ///   - clock: nanoseconds that never run backwards; `nil` is the system's monotonic clock.
    public init(capacity: Int = 4096, clock: (@Sendable () -> UInt64)? = nil) {
        state = Guarded(State(waiting: FairQueue(capacity: capacity, share: capacity / 4)))
        self.clock = clock ?? { MonotonicClock.nanoseconds() }
    }

    /// Takes over the jobs there is room for; those that are refused stay in `submissions`, in their order.
    ///
    /// One lock and at most one wake-up for all of them.
    ///
    /// - Returns: whether all were accepted. A refused one did not run and never will: answer 503.
    @discardableResult
    public func submit(_ submissions: inout [Submission]) -> Bool {
        if submissions.isEmpty { return true }
        let arriving = submissions
        let now = clock()
        var (refused, isAsleep) = state.withLock { state -> ([Submission], Bool) in
            var refused: [Submission] = []
            var accepted = 0
            for var submission in arriving {
                submission.arrivedAt = now
                if !state.isStopped && state.waiting.append(submission, of: submission.origin) {
                    accepted += 1
                } else {
                    refused.append(submission)
                }
            }
            state.status.refused += refused.count
            let wakes = state.isAsleep && accepted > 0
            if wakes { state.isAsleep = false }
            return (refused, wakes)
        }
        if isAsleep { bell.signal() }
        swap(&submissions, &refused)
        return submissions.isEmpty
    }

    /// Accepts nothing more; the writer works off what waits and ends.
    public func stop() {
        wake { state in state.isStopped = true }
    }

    /// Takes out the jobs that have waited for their turn as long as they may: they were not run and never will be.
    ///
    /// The writer does so between its transactions. To be called about once a second by somebody else, too: a writer that
    /// waits for a disk cannot. What it is at is not among them: nobody knows what becomes of that before the disk answers.
    ///
    /// - Returns: their answers, to be delivered by the caller.
    public func refuseLate() -> [Answer] {
        let now = clock()
        let (late, patience) = state.withLock { state -> ([Submission], Duration?) in
            let patience = state.patience
            let late = state.waiting.removeFirst { Self.isOver(patience, since: $0.arrivedAt, at: now) }
            state.status.jobs += late.count
            state.status.late += late.count
            return (late, patience)
        }
        guard !late.isEmpty, let patience else { return [] }
        let error = StorageError(.unavailable, "the writer did not come to it within \(patience)")
        return late.map { Answer(ticket: $0.ticket, result: .failure(error)) }
    }

    /// How the writer is, for `/ready` and the metrics.
    ///
    /// - Parameter age: where the newest news is older, the writer is asked for a probe: a commit that changes nothing.
    ///   Its outcome is in the next status. `nil`: the writer is left alone.
    public func status(probingAfter age: Duration? = nil) -> WriterStatus {
        let (now, moment) = (MonotonicClock.nanoseconds(), clock())
        let (status, isOld) = state.withLock { state -> (WriterStatus, Bool) in
            var status = state.status
            status.waiting = state.waiting.count
            if let since = state.busySince, Self.isOver(state.patience, since: since, at: moment) {
                status.stall = Self.stall
            }
            guard let age, !state.isProbeWanted else { return (status, false) }
            return (status, status.lastTriedAt.map { now >= $0 &+ age.nanoseconds } ?? true)
        }
        if isOld { wake { state in state.isProbeWanted = true } }
        return status
    }

    /// Has the writer look after the files of the database, when nothing waits for it: whether they are still those that it
    /// opened, and whether writing works again where it did not. To be called about once a second.
    public func look() { wake { state in state.isLookWanted = true } }

    /// A question found the database's file damaged: not ready until a look at it says otherwise.
    public func noteDamage(_ error: StorageError) {
        report { $0.noteDamage(error) }
    }

    private static var stall: StorageError {
        StorageError(.unavailable, "the writer is stuck at one step, as where a disk does not answer")
    }

    private static func isOver(_ patience: Duration?, since moment: UInt64, at now: UInt64) -> Bool {
        guard let patience else { return false }
        return now > moment && now - moment >= patience.nanoseconds
    }

    private func wake(_ change: (inout State) -> Void) {
        let isAsleep = state.withLock { state -> Bool in
            change(&state)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if isAsleep { bell.signal() }
    }

    // MARK: The writer's side

    /// Says how long a job may wait for its turn, and a step of the writer last before it is told.
    func setPatience(_ patience: Duration) { state.withLock { $0.patience = patience } }

    /// The writer begins another step of its work: none of them may last.
    func beginStep() {
        let now = clock()
        state.withLock { $0.busySince = now }
    }

    /// Waits for something to do: a job, until `deadline` (monotonic nanoseconds; `nil`: forever), or the end.
    func waitForWork(until deadline: UInt64?) -> Wake {
        while true {
            let moment = clock()
            let wake = state.withLock { state -> Wake? in
                state.busySince = moment
                if !state.waiting.isEmpty { return .jobs }
                if !state.isStopped && (state.isProbeWanted || state.isLookWanted) { return .idle }
                state.busySince = nil
                if state.isStopped { return .stopped }
                state.isAsleep = true
                return nil
            }
            if let wake { return wake }
            guard let deadline else {
                bell.wait()
                continue
            }
            let now = MonotonicClock.nanoseconds()
            let left = Int(clamping: deadline > now ? deadline - now : 0)
            if bell.wait(timeout: .now() + .nanoseconds(left)) == .timedOut {
                let isStillAsleep = state.withLock { state -> Bool in
                    defer { state.isAsleep = false }
                    return state.isAsleep
                }
                if isStillAsleep {
                    beginStep()
                    return .idle
                }
                bell.wait()  // somebody saw us asleep just now, and rings
            }
        }
    }

    /// The job whose turn it is; `nil` where none waits.
    ///
    /// - Parameters:
    ///   - spent: nanoseconds spent on the job that was taken last.
    ///   - time: nanoseconds there are for it: one that is likely to take longer is left where it is.
    func take(charging spent: UInt64, within time: UInt64 = .max) -> Submission? {
        state.withLock { $0.waiting.popFirst(charging: spent, within: time) }
    }

    /// The jobs that arrived at `moment` or before: they go first, in the order of each origin.
    func takeAll(arrivedBy moment: UInt64) -> [Submission] {
        state.withLock { state in state.waiting.removeFirst { $0.arrivedAt <= moment } }
    }

    /// Whether a probe was asked for; taken back by asking.
    func takeProbe() -> Bool {
        state.withLock { state in
            defer { state.isProbeWanted = false }
            return state.isProbeWanted
        }
    }

    /// Whether a look was asked for; taken back by asking.
    func takeLook() -> Bool {
        state.withLock { state in
            defer { state.isLookWanted = false }
            return state.isLookWanted
        }
    }

    /// The file was found well by a look that began when `former` was so: what was reported since stands.
    func clearDamage(of former: WriterStatus) {
        report { status in
            if status.damageReports == former.damageReports { status.damage = nil }
        }
    }

    func report(_ change: (inout WriterStatus) -> Void) {
        state.withLock { change(&$0.status) }
    }
}

/// How the writer is. Counts are since the start.
public struct WriterStatus: Sendable {
    /// When writing was last tried, whatever came of it, in monotonic nanoseconds; `nil` before the first time.
    var lastTriedAt: UInt64?
    /// What the newest try failed with; `nil` when it succeeded.
    public internal(set) var lastError: StorageError?
    /// As what the file was found damaged, since it was last found well.
    public internal(set) var damage: StorageError?
    /// How often it was found damaged.
    private(set) var damageReports = 0
    /// Set while the writer is at one step for longer than a job may wait, as where a disk does not answer.
    public internal(set) var stall: StorageError?
    /// The size of the write-ahead log's file, in bytes.
    public internal(set) var walBytes: Int64 = 0
    /// Jobs that wait at this moment.
    public internal(set) var waiting = 0
    /// Jobs answered, whatever the answer.
    public internal(set) var jobs = 0
    /// Jobs the queue had no room for.
    public internal(set) var refused = 0
    /// Jobs that waited too long for their turn, and were answered without being run.
    public internal(set) var late = 0
    /// Transactions of the writer that were committed.
    public internal(set) var commits = 0
    /// Commits whose outcome is not known.
    public internal(set) var failedCommits = 0
    /// Batches that were lost as a whole and whose jobs were run again one by one.
    public internal(set) var lostBatches = 0
    /// Batches that could not begin: locks held elsewhere, a database that does not open.
    public internal(set) var refusedBatches = 0
    /// Batches by size: place `i` counts those of more than 2^(i-1) and up to 2^i jobs; 1, 2, 4 … 256.
    public internal(set) var batchSizes = [Int](repeating: 0, count: 9)
    /// Microseconds spent in batches, from taking the lock to the end of COMMIT.
    public internal(set) var batchMicroseconds: Int64 = 0
    /// Checkpoints made.
    public internal(set) var checkpoints = 0
    /// Whether the writer has ended.
    public internal(set) var hasStopped = false

    /// Keeps what an error says of the file, where it says that it is damaged.
    mutating func noteDamage(_ error: StorageError) {
        guard error.isDamage else { return }
        damage = error
        damageReports += 1
    }

    /// What keeps the database from being used as it should; `nil`: nothing is known.
    public var trouble: StorageError? { damage ?? stall ?? lastError }

    /// Whether writing worked when it was last tried, is not stuck, and nobody found the file damaged.
    public var isReady: Bool { trouble == nil && lastTriedAt != nil && !hasStopped }

    /// Whether the log is larger than 256 MiB, which deserves a warning: something keeps reading an old snapshot.
    public var isLogLarge: Bool { walBytes > 256 << 20 }
}
