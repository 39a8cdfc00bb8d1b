import Dispatch
import Synchronization
import SystemPrimitives

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

    func connect() throws -> TestClient {
        try TestClient(port: server.addresses[0].port)
    }
}

/// A response as it came.
struct Received: Equatable {
    var status: Int
    var head: String
    var body: String
}

/// A blocking client for one connection on the loopback address.
final class TestClient {
    private let descriptor: Descriptor
    private var buffer: [UInt8] = []

    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        // Kept from processes that other tests start: one that had it, too, would keep the connection open.
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw SystemError.last("socket") }
        descriptor = Descriptor(taking: number)
        if let receiveBuffer { setOption(number, SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        // Only so that a failing test ends.
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let code = SocketAddress(.loopback, port).withPointer { Glibc.connect(number, $0, $1) }
        guard code == 0 else { throw SystemError.last("connect") }
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        var position = 0
        while position < bytes.count {
            let count = bytes[position...].withUnsafeBytes {
                Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw SystemError.last("send") }
            position += count
        }
    }

    func finishSending() {
        shutdown(descriptor.number, Int32(SHUT_WR))
    }

    /// False at the end of the connection.
    private func fill() throws -> Bool {
        var piece = [UInt8](repeating: 0, count: 65536)
        let count = piece.withUnsafeMutableBytes { recv(descriptor.number, $0.baseAddress, $0.count, 0) }
        if count < 0 && errno != ECONNRESET { throw SystemError.last("recv") }
        guard count > 0 else { return false }
        buffer += piece[..<count]
        return true
    }

    /// The next response; `nil` where the connection ended instead.
    func receive(hasBody: Bool = true) throws -> Received? {
        while true {
            if let end = headEnd() {
                let head = String(decoding: buffer[..<end], as: UTF8.self)
                let length = hasBody ? TestClient.contentLength(head) : 0
                while buffer.count < end + length {
                    guard try fill() else { return nil }
                }
                let body = String(decoding: buffer[end..<end + length], as: UTF8.self)
                buffer.removeFirst(end + length)
                return Received(status: Int(head.dropFirst(9).prefix(3)) ?? 0, head: head, body: body)
            }
            guard try fill() else { return nil }
        }
    }

    /// Whether nothing comes, not even the end, for so long.
    func isSilent(milliseconds: Int32) throws -> Bool {
        var poll = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        let count = Glibc.poll(&poll, 1, milliseconds)
        guard count >= 0 else { throw SystemError.last("poll") }
        return count == 0 && buffer.isEmpty
    }

    /// Whether the server ended the connection without another byte; waits for it.
    func isClosed() throws -> Bool {
        if !buffer.isEmpty { return false }
        return try !fill()
    }

    private func headEnd() -> Int? {
        var index = 0
        while index + 4 <= buffer.count {
            if buffer[index] == 13 && buffer[index + 1] == 10 && buffer[index + 2] == 13 && buffer[index + 3] == 10 {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    private static func contentLength(_ head: String) -> Int {
        for line in head.split(separator: "\r\n") where line.hasPrefix("Content-Length: ") {
            return Int(line.dropFirst(16)) ?? 0
        }
        return 0
    }
}

/// A request in one line of a test.
func request(_ method: String, _ path: String, _ fields: [String] = [], body: String? = nil) -> String {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: h\r\n"
    for field in fields { text += field + "\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return text + "\r\n" + (body ?? "")
}
