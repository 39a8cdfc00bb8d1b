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

/// What waits for the worker: 4 MiB of requests, of which some ten times that are kept, and at most 1,024, so that neither a
/// burst of notifications nor many apps at once are refused. All of it is anybody's who comes first, as long as it is not
/// full; then whoever has most waiting gives way to another, so that one vendor's apps or notifications do not shut out
/// another's, and those that wait share the worker's time (`FairQueue`).
final class WorkerQueue: Sendable {
    /// One piece of work.
    struct Submission: Sendable {
        /// Where the answer belongs.
        let ticket: Ticket
        /// Who asks: for the share of this queue, and of the writer's, should there be something to write.
        let origin: Origin
        /// How long the request's body is. Up to eleven times that is held for it, for a payload of nothing but small numbers.
        let bytes: Int
        let job: ComputeJob
    }

    /// What the worker is to do next.
    enum Turn: Sendable {
        case work(Submission)
        /// To refuse what had to give way.
        case refuse([Ticket])
    }

    private struct State {
        var waiting: FairQueue<Submission>
        var displaced: [Ticket] = []
        var isStopped = false
    }

    /// A shorter request takes up as much.
    static let bytesOfPlace = 4 * 1024

    private let state: Guarded<State>
    /// Counts what was accepted, and the wish to stop: what gave way leaves a count behind.
    private let bell = DispatchSemaphore(value: 0)

    /// An empty queue of so many places for requests of ``bytesOfPlace``.
    init(capacity: Int = 1024) {
        state = Guarded(State(waiting: FairQueue(capacity: capacity, share: capacity)))
    }

    /// How much waits.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Takes one piece of work over, if there is room for it, or others have more; never blocks.
    ///
    /// - Returns: whether it was accepted: it is answered exactly once then.
    func submit(_ submission: Submission) -> Bool {
        let origin = submission.origin.number
        let isAccepted = state.withLock { state in
            if state.isStopped { return false }
            // What is longer than all of it has all of it.
            let places = (submission.bytes + Self.bytesOfPlace - 1) / Self.bytesOfPlace
            let size = min(max(1, places), state.waiting.capacity)
            guard let displaced = state.waiting.appendDisplacing(submission, of: origin, takingUp: size) else {
                return false
            }
            state.displaced += displaced.map(\.ticket)
            return true
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

    /// What to do next, waiting for it: those that gave way hear of it first, then it is the oldest piece of work of whose
    /// turn it is; nil once the queue was stopped and is empty.
    ///
    /// - Parameter spent: nanoseconds spent on the one that was taken last.
    func take(charging spent: UInt64 = 0) -> Turn? {
        var spent = spent
        while true {
            bell.wait()
            let (turn, isStopped) = state.withLock { state -> (Turn?, Bool) in
                if !state.displaced.isEmpty {
                    defer { state.displaced = [] }
                    return (.refuse(state.displaced), state.isStopped)
                }
                return (state.waiting.popFirst(charging: spent).map(Turn.work), state.isStopped)
            }
            if case .refuse? = turn { return turn }
            if turn != nil || isStopped { return turn }
            // It gave way, and was told.
            spent = 0
        }
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
        while let turn = queue.take(charging: spent) {
            switch turn {
            case .refuse(let tickets):
                for ticket in tickets { post(.success(Self.refusal), for: ticket) }
            case .work(let submission):
                let started = MonotonicClock.nanoseconds()
                defer { spent = MonotonicClock.nanoseconds() - started }
                guard let answer = Self.work(on: submission, &chains, writes, limiter) else { continue }
                post(answer, for: submission.ticket)
            }
        }
    }

    private func post(_ answer: Result<Render<LoopState>, any Error>, for ticket: Ticket) {
        var answers = [Answer(ticket, answer)]
        mailboxes[Int(ticket.loop)].post(&answers)
    }

    /// The answer to what a queue has no room for.
    private static let refusal: Render<LoopState> = { context in
        context.shard.add(context.shared.metrics.refusedJobs)
        throw HTTPFailure.unavailable(retryAfterSeconds: 1)
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
                return .success(refusal)
            }
        } catch {
            return .failure(error)
        }
    }
}
