import AppStore
import Diagnostics
import Dispatch
import HTTPServer
import Storage
import SystemPrimitives

/// Work that takes longer than a loop may be held up: checking what a store signed.
///
/// Runs on the worker's thread, which owns the chains that verified; what it throws is the answer.
typealias ComputeJob = @Sendable (inout ChainCache) throws -> Computed

/// What came of such work.
enum Computed: Sendable {
    /// The answer, rendered on the loop.
    case answer(Render<LoopState>)
    /// What is left to do is the writer's.
    case write(WriteJob)
}

/// What waits for the worker, at most 64: a queue that is full refuses, one origin may fill a quarter of it, and those that
/// wait share the worker's time (`FairQueue`), so that one vendor's apps or notifications do not shut out another's.
final class WorkerQueue: Sendable {
    /// One piece of work.
    struct Submission: Sendable {
        /// Where the answer belongs.
        let ticket: Ticket
        /// Who asks: for the share of this queue, and of the writer's, should there be something to write.
        let origin: Origin
        let job: ComputeJob
    }

    private struct State {
        var waiting: FairQueue<Submission>
        var isStopped = false
    }

    private let state: Guarded<State>
    /// Counts what waits, and the wish to stop.
    private let bell = DispatchSemaphore(value: 0)

    /// An empty queue.
    init(capacity: Int = 64) {
        state = Guarded(State(waiting: FairQueue(capacity: capacity)))
    }

    /// How much waits.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Takes one piece of work over, if there is room for it and in its origin's share; never blocks.
    ///
    /// - Returns: whether it was accepted: it is answered exactly once then.
    func submit(_ submission: Submission) -> Bool {
        let isAccepted = state.withLock { state in
            !state.isStopped && state.waiting.append(submission, of: submission.origin.number)
        }
        if isAccepted { bell.signal() }
        return isAccepted
    }

    /// Accepts nothing more; what waits is still done.
    func stop() {
        let wasStopped = state.withLock { state in
            defer { state.isStopped = true }
            return state.isStopped
        }
        if !wasStopped { bell.signal() }
    }

    /// The oldest piece of work of whose turn it is, waiting for one; nil once the queue was stopped and is empty.
    ///
    /// - Parameter spent: nanoseconds spent on the one that was taken last.
    func take(charging spent: UInt64 = 0) -> Submission? {
        bell.wait()
        return state.withLock { $0.waiting.popFirst(charging: spent) }
    }
}

/// The one thread for signatures of stores.
struct Worker: Sendable {
    let queue: WorkerQueue
    let writes: APIWriterQueue
    let mailboxes: [Mailbox<LoopState>]
    let limiter: RateLimiter
    private var chains = ChainCache()

    init(
        _ queue: WorkerQueue,
        writes: APIWriterQueue,
        mailboxes: [Mailbox<LoopState>],
        limiter: RateLimiter
    ) {
        self.limiter = limiter
        self.queue = queue
        self.writes = writes
        self.mailboxes = mailboxes
    }

    /// Works until the queue was stopped and is empty.
    mutating func run() {
        var spent: UInt64 = 0
        while let submission = queue.take(charging: spent) {
            let started = MonotonicClock.nanoseconds()
            defer { spent = MonotonicClock.nanoseconds() - started }
            guard let answer = Self.work(on: submission, &chains, writes, limiter) else { continue }
            var answers = [Answer(submission.ticket, answer)]
            mailboxes[Int(submission.ticket.loop)].post(&answers)
        }
    }

    /// Does one piece of work.
    ///
    /// - Returns: the answer; nil where the writer has taken over, which answers with the same ticket.
    private static func work(
        on submission: WorkerQueue.Submission,
        _ chains: inout ChainCache,
        _ writes: APIWriterQueue,
        _ limiter: RateLimiter
    ) -> Result<Render<LoopState>, any Error>? {
        do {
            switch try submission.job(&chains) {
            case .answer(let render): return .success(render)
            case .write(let job):
                let charges = Charges(limiter)
                var submissions = [charges.submission(job, of: submission.origin, for: submission.ticket)]
                if writes.submit(&submissions) { return nil }
                return .success { context in
                    context.shard.add(context.shared.metrics.refusedJobs)
                    throw HTTPFailure.unavailable(retryAfterSeconds: 1)
                }
            }
        } catch {
            return .failure(error)
        }
    }
}
