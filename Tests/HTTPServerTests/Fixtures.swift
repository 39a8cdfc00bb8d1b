import Dispatch
import Synchronization
import SystemPrimitives
import SystemTestSupport

@testable import HTTPServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

struct Refused: Error {}

/// What tests may look at while a server runs, and how they steer it.
final class Stage: Sendable {
    let summaries = Guarded<[RequestSummary]>([])
    let jobs = Guarded<[Submission<EchoContext.Job>]>([])
    let hasJobs = DispatchSemaphore(value: 0)
    let isOver = Atomic<Bool>(false)
    /// Jobs of `/gated` wait for it, and the loop itself in `/stalled`.
    let gate = DispatchSemaphore(value: 0)
    /// Signaled where a loop begins to wait in `/stalled`.
    let isStalled = DispatchSemaphore(value: 0)
    let isFull: Bool

    init(isFull: Bool = false) {
        self.isFull = isFull
    }
}

struct EchoContext: LoopContext, ~Copyable {
    typealias Job = @Sendable () throws -> Render<EchoContext>

    var stage = Stage()

    mutating func submit(_ submissions: inout [Submission<Job>]) {
        if stage.isFull { return }
        let batch = submissions
        submissions = []
        stage.jobs.withLock { $0.append(contentsOf: batch) }
        stage.hasJobs.signal()
    }

    mutating func response(to error: any Error, for request: RequestOutline) -> HTTPResponse {
        let status = (error as? HTTPFailure)?.status ?? (error is Refused ? .unauthorized : .internalServerError)
        return .json(status, Array(#"{"status":\#(status.code),"request_id":"\#(request.requestID)"}"#.utf8))
    }

    mutating func didRespond(_ summary: RequestSummary) {
        stage.summaries.withLock { $0.append(summary) }
    }

    mutating func tick() {}

    static let routes: [Route<EchoContext>] = [
        Route("health", .get, "/health") { _, _ in .reply(.json(.ok, Array(#"{"status":"ok"}"#.utf8))) },
        Route("echo", .post, "/echo") { request, _ in .reply(.json(.ok, request.bodyBytes())) },
        Route(
            "guarded",
            .post,
            "/guarded",
            bodyLimit: 10,
            admit: { request, _ in
                if request.header("authorization") == nil { throw Refused() }
            }
        ) { request, _ in
            if request.header("authorization") == nil { throw Refused() }
            return .reply(.json(.ok, request.bodyBytes()))
        },
        Route("job", .post, "/job") { request, _ in
            let body = request.bodyBytes()
            return .job { { _ in .json(.accepted, body) } }
        },
        Route("gated", .post, "/gated") { _, context in
            let stage = context.stage
            return .job {
                stage.gate.wait()
                return { _ in .json(.accepted, Array("gated".utf8)) }
            }
        },
        Route("broken", .post, "/broken") { _, _ in .job { throw Refused() } },
        Route("stalled", .get, "/stalled") { _, context in
            context.stage.isStalled.signal()
            context.stage.gate.wait()
            return .reply(.json(.ok, []))
        },
        Route("large", .get, "/large") { _, _ in .reply(.json(.ok, Array(repeating: 0x61, count: 300_000))) },
    ]
}

/// A running server and the thread that does its jobs.
final class TestServer {
    let stage: Stage
    let server: Server<EchoContext>
    private let worker: Thread

    init(loops: Int = 2, isFull: Bool = false, _ change: (inout ServerOptions) -> Void = { _ in }) throws {
        let stage = Stage(isFull: isFull)
        var options = ServerOptions()
        change(&options)
        let mailboxes = try Mailbox<EchoContext>.make(loops: loops)
        server = try Server.start(options, router: Router(EchoContext.routes), mailboxes: mailboxes) { _ in
            EchoContext(stage: stage)
        }
        self.stage = stage
        worker = try Thread.start("jobs", with: (stage, mailboxes)) { state in
            let (stage, mailboxes) = state
            while true {
                stage.hasJobs.wait()
                if stage.isOver.load(ordering: .relaxed) { return }
                let batch = stage.jobs.withLock { jobs in
                    let batch = jobs
                    jobs = []
                    return batch
                }
                var answers: [[Answer<EchoContext>]] = Array(repeating: [], count: mailboxes.count)
                for submission in batch {
                    answers[Int(submission.ticket.loop)].append(
                        Answer(submission.ticket, Result(catching: submission.job))
                    )
                }
                for loop in answers.indices { mailboxes[loop].post(&answers[loop]) }
            }
        }
    }

    /// Stops the server and its helper.
    func end() {
        server.stop()
        server.join()
        stage.isOver.store(true, ordering: .relaxed)
        stage.hasJobs.signal()
        worker.join()
    }

    func connect() throws -> TestConnection {
        try TestConnection(port: server.addresses[0].port)
    }
}

/// A request in one line of a test.
func request(_ method: String, _ path: String, _ fields: [String] = [], body: String? = nil) -> String {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: h\r\n"
    for field in fields { text += field + "\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return text + "\r\n" + (body ?? "")
}
