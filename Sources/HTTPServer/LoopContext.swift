/// What a handler decided: an answer at once, or work for another thread.
public enum Outcome<Job: Sendable>: Sendable {
    /// Send this.
    case reply(HTTPResponse)
    /// Submit this; the answer comes through the loop's mailbox.
    case job(Job)
}

/// Turns the result of a job into a response, back on the loop that submitted it.
public typealias Render<Context: ~Copyable> = @Sendable (inout Context) throws -> HTTPResponse

/// Answers one request. Runs on an event loop, so it must not block; what it throws goes to `response(to:for:)`.
public typealias Handler<Context: LoopContext & ~Copyable> =
    @Sendable (HTTPRequest, inout Context) throws -> Outcome<Context.Job>

/// Decides from the head of a request whether its body is worth reading; throws what the client shall hear instead.
public typealias Admission<Context: LoopContext & ~Copyable> = @Sendable (HTTPRequest, inout Context) throws -> Void

/// The request a job belongs to. An answer for a request whose connection is gone is dropped.
public struct Ticket: Sendable, Hashable {
    /// The index of the loop, and of the mailbox the answer belongs in.
    public let loop: UInt32
    let slot: UInt32
    let generation: UInt32
}

/// A job with the ticket its answer must carry.
public struct Submission<Job: Sendable>: Sendable {
    /// Goes back with the answer.
    public let ticket: Ticket
    /// What the handler returned.
    public let job: Job
}

/// The finished job of `ticket`: how to render it, or why there is nothing to render.
public struct Answer<Context: ~Copyable>: Sendable {
    /// The ticket of the submission.
    public let ticket: Ticket
    /// Rendered on the loop; a failure goes to `response(to:for:)`.
    public let result: Result<Render<Context>, any Error>

    /// An answer to the submission that carried `ticket`.
    public init(_ ticket: Ticket, _ result: Result<Render<Context>, any Error>) {
        self.ticket = ticket
        self.result = result
    }
}

/// What is known of a request where only its failure is left to describe.
public struct RequestOutline: Sendable {
    /// The name of the route; `nil` where the request reached none.
    public let route: String?
    /// The method; `unknown` where the bytes did not get that far.
    public let method: HTTPMethod
    /// What `X-Request-Id` of the answer will say.
    public let requestID: String
    /// Who is on the other end of the connection.
    public let peer: PeerAddress
}

/// One answered request, for the log and the metrics.
public struct RequestSummary: Sendable {
    /// Route, method, id and peer.
    public let request: RequestOutline
    /// The status that was sent.
    public let status: HTTPStatus
    /// From the end of the request's bytes to the answer handed to the kernel's door, waiting for a job included.
    public let microseconds: Int
    /// Length of the answer, head included, in bytes.
    public let responseBytes: Int
}

/// What one event loop owns beside its sockets: handlers get it as a parameter.
///
/// One value for each loop, made before the loop's thread starts and moved there; no method may block.
public protocol LoopContext: ~Copyable, SendableMetatype {
    /// Work that another thread does.
    associatedtype Job: Sendable

    /// Takes the jobs of one wake-up of the loop.
    ///
    /// Whatever is left in `submissions` was refused, because the queue is full or closed, and is answered with
    /// `HTTPFailure.unavailable`. For all others exactly one answer must be posted to the mailbox of their ticket's loop.
    mutating func submit(_ submissions: inout [Submission<Job>])

    /// The words for an error: thrown by a handler, an admission or a render, or an `HTTPFailure` of the server.
    ///
    /// For the latter the server corrects the status and adds the fields it demands (`Allow`, `Retry-After`).
    mutating func response(to error: any Error, for request: RequestOutline) -> HTTPResponse

    /// Called for every answer, those to unreadable requests included, after it was handed over for sending.
    mutating func didRespond(_ summary: RequestSummary)

    /// Called about once a second, and once before the loop ends: the moment to flush what was gathered.
    mutating func tick()
}
