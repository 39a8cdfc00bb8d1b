public import HTTPServer
import Licensing
public import LicensingServices
public import Storage

/// A write: runs in the writer's transaction and returns how its result is rendered, once it is committed.
///
/// It may run twice, when its batch was lost.
public typealias WriteJob = @Sendable (borrowing WriteTransaction, Charges) throws -> Render<LoopState>

/// What a handler asks another thread to do.
public struct Job: Sendable {
    /// Which thread does it.
    enum Work: Sendable {
        /// The writer, within its transaction.
        case write(WriteJob)
        /// The worker, which may leave the rest to the writer.
        case compute(ComputeJob)
    }

    /// Who asks: one origin may fill a quarter of the writer's queue.
    let origin: Origin
    /// How long the request's body is, where the worker's queue is bounded by that.
    var bytes = 0
    let work: Work
}

/// Whom a job is done for.
struct Origin: Hashable, Sendable {
    let number: UInt64

    /// The credential that a request came with. Its 64 last bits are random, so that they are a digest already.
    init(_ credential: CredentialID) { number = credential.low }

    /// The store behind a connection, which comes without a credential.
    init(_ connection: StoreConnectionID) { number = connection.low }

    private init(number: UInt64) { self.number = number }

    /// The server itself.
    static let server = Origin(number: 0)
}

/// Where the answer to a write belongs.
public enum JobTicket: Sendable {
    /// The request that waits for it, and what its client is charged.
    case request(Ticket, Charges)
    /// Nowhere: what a loop learned.
    case sightings(Sightings)
    /// Nowhere: the sums of validations.
    case validations
}

/// The queue between loops and writer.
public typealias APIWriterQueue = WriterQueue<JobTicket, Render<LoopState>>

/// The writer behind that queue.
public typealias APIWriter = Writer<JobTicket, Render<LoopState>>

extension Outcome where Job == CountersignAPI.Job {
    /// Has `job` run in the writer's transaction; after the COMMIT `then` renders its result on the loop.
    ///
    /// `job` may run twice and must not look at anything but what it captured, the transaction and the charges.
    static func write<Result: Sendable>(
        for origin: Origin,
        _ job: @escaping @Sendable (borrowing WriteTransaction, Charges) throws -> Result,
        then render: @escaping @Sendable (Result, inout LoopState) throws -> HTTPResponse
    ) -> Outcome {
        let write: WriteJob = { db, charges in
            let result = try job(db, charges)
            return { context in try render(result, &context) }
        }
        return .job(CountersignAPI.Job(origin: origin, work: .write(write)))
    }

    /// Has `job` run on the worker.
    ///
    /// - Parameter bytes: How long the body is that waits for it.
    static func compute(for origin: Origin, bytes: Int = 0, _ job: @escaping ComputeJob) -> Outcome {
        .job(CountersignAPI.Job(origin: origin, bytes: bytes, work: .compute(job)))
    }
}
