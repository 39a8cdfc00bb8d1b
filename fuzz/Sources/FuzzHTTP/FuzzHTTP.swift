import HTTPServer

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
        return .reply(HTTPResponse(.ok, contentType: "text/plain", body: request.bodyBytes()))
    },
    Route("health", .get, "/health") { _, _ in .reply(.json(.ok, Array("{}".utf8))) },
])

/// The parser of requests and the table of routes take any bytes; a refusal has a status of 4xx or 5xx.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    var context = Echo()
    do {
        _ = try router.outcome(of: bytes, in: &context)
    } catch let failure as HTTPFailure {
        precondition((400...599).contains(failure.status.code), "a refusal has a status that says so")
    } catch {
        preconditionFailure("the server refuses by HTTPFailure alone")
    }
    return 0
}
