import FuzzSupport

@testable import HTTPServer

/// However the bytes of a connection are cut on their way, they are the same requests; a refusal has a status of 4xx or
/// 5xx, and what a route is given of a path cannot lead out of it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    var whole = Feed()
    whole.take(bytes[...])

    var random = InputRandom(bytes)
    for longest in [1, 7, 64, 1024] {
        // A head is parsed anew with each piece: single bytes of a long text would take for ever.
        if longest < 64 && count > 2048 { continue }
        var parts = Feed()
        var position = 0
        while position < count {
            let end = min(count, position + Int.random(in: 1...longest, using: &random))
            parts.take(bytes[position..<end])
            position = end
        }
        expect(parts.requests == whole.requests, "pieces of up to \(longest) bytes are other requests")
        expect(parts.state == whole.state, "pieces of up to \(longest) bytes end otherwise")
    }
    route(bytes)
    return 0
}

/// One request as a handler would see it.
private struct Seen: Equatable {
    var method: HTTPMethod
    var path: [UInt8]
    var query: [UInt8]?
    var fields: [[UInt8]]
    var body: [UInt8]
    var keepsAlive: Bool
    var expectsContinue: Bool
}

/// A connection without a socket: takes bytes as they come, as an event loop does.
private struct Feed {
    enum State: Equatable { case open, refused }

    var requests: [Seen] = []
    var state = State.open
    private var rest: [UInt8] = []
    private var pending: (seen: Seen, decoder: BodyDecoder, content: [UInt8])?
    private let options = ServerOptions()

    mutating func take(_ bytes: ArraySlice<UInt8>) {
        rest += bytes
        while state == .open, !rest.isEmpty {
            do {
                let used = try step()
                if used == 0 { return }
                rest.removeFirst(used)
            } catch let failure as HTTPFailure {
                expect((400...599).contains(failure.status.code), "a refusal has a status that says so")
                state = .refused
            } catch {
                preconditionFailure("the parser refuses by HTTPFailure alone")
            }
        }
    }

    /// Goes on by a body's piece or by one head; how many bytes that took, 0 where more must come.
    private mutating func step() throws -> Int {
        if pending != nil { return try readBody() }
        var head = RequestHead()
        let isComplete = try rest.withUnsafeBytes { try options.parser.parse($0, into: &head) }
        guard isComplete else { return 0 }
        let seen = rest.withUnsafeBytes { raw in
            expect(head.count <= raw.count, "a head ends within its bytes")
            return Seen(
                method: head.method,
                path: Array(raw[head.path]),
                query: head.query.map { Array(raw[$0]) },
                fields: head.fields.flatMap { [Array(raw[$0.name]), Array(raw[$0.value])] },
                body: [],
                keepsAlive: head.allowsKeepAlive,
                expectsContinue: head.expectsContinue
            )
        }
        check(seen)
        let decoder = BodyDecoder(head, limit: options.bodyBytes)
        if !head.isChunked, let length = head.contentLength, length > options.bodyBytes {
            throw HTTPFailure.bodyTooLarge(limit: options.bodyBytes)
        }
        if decoder.isComplete {
            requests.append(seen)
        } else {
            pending = (seen, decoder, [])
        }
        return head.count
    }

    private mutating func readBody() throws -> Int {
        guard var (seen, decoder, content) = pending else { return 0 }
        pending = nil
        let used = try rest.withUnsafeBytes { try decoder.decode($0, into: &content) }
        expect(used > 0 && used <= rest.count, "a body takes bytes, and no more than there are")
        expect(content.count <= options.bodyBytes, "a body is longer than its limit")
        if decoder.isComplete {
            seen.body = content
            requests.append(seen)
        } else {
            expect(used == rest.count, "a body that wants more left some")
            pending = (seen, decoder, content)
        }
        return used
    }

    private func check(_ seen: Seen) {
        expect(seen.path.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a path has blanks or controls")
        for part in seen.fields {
            expect(!part.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D }, "a field has NUL or a line end")
        }
    }
}

// MARK: Routes

/// A context that answers with what it was asked.
private struct Echo: ~Copyable, LoopContext {
    mutating func submit(_ submissions: inout [Submission<Never>]) {}

    mutating func response(to error: any Error, for request: RequestOutline) -> HTTPResponse {
        HTTPResponse(.internalServerError)
    }

    mutating func didRespond(_ summary: RequestSummary) {}

    mutating func tick() {}
}

private let router = Router<Echo>([
    Route("echo", .post, "/echo/{name}") { request, _ in
        _ = try? request.queryParameters()
        _ = request.header("content-type")
        expect(isOneSegment(request.pathParameters["name"]), "a parameter is no segment of a path")
        return .reply(HTTPResponse(.ok, contentType: "text/plain", body: request.bodyBytes()))
    },
    Route("nested", .get, "/v1/{one}/x/{two}") { request, _ in
        expect(isOneSegment(request.pathParameters["one"]), "a parameter is no segment of a path")
        expect(isOneSegment(request.pathParameters["two"]), "a parameter is no segment of a path")
        return .reply(.json(.ok, []))
    },
    Route("health", .get, "/health") { _, _ in .reply(.json(.ok, Array("{}".utf8))) },
])

private func isOneSegment(_ text: String?) -> Bool {
    guard let text, !text.isEmpty, text != ".", text != ".." else { return false }
    return text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/?#%".utf8.contains($0) }
}

private func route(_ bytes: [UInt8]) {
    var context = Echo()
    do {
        _ = try router.outcome(of: bytes, in: &context)
    } catch let failure as HTTPFailure {
        expect((400...599).contains(failure.status.code), "a refusal has a status that says so")
    } catch {
        preconditionFailure("the server refuses by HTTPFailure alone")
    }
}
