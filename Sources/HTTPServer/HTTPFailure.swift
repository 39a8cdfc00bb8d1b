/// What the server itself refuses, before a handler or in place of one.
///
/// Handed to `LoopContext.response(to:for:)` for the words; the status, and whether the connection ends, are decided here.
public enum HTTPFailure: Error, Equatable {
    /// The bytes are no HTTP/1.1 request, or not safely one: 400.
    case malformedRequest(reason: String)
    /// The target is longer than allowed: 414.
    case uriTooLong
    /// The header section or the trailers are too long, or have too many fields: 431.
    case headersTooLarge
    /// The body is, or says it is, longer than `limit` bytes: 413.
    case bodyTooLarge(limit: Int)
    /// An `Expect` other than `100-continue`: 417.
    case expectationFailed
    /// Header section or body did not arrive in time: 408.
    case requestTimeout
    /// A method longer than any that exists, before its target is there: 501 (RFC 9112 §3).
    case methodNotImplemented
    /// A transfer coding other than `chunked`: 501.
    case transferCodingNotImplemented
    /// A major version other than 1: 505.
    case versionNotSupported
    /// No route has this path: 404.
    case notFound
    /// The path exists, with other methods, listed as `Allow` wants them: 405.
    case methodNotAllowed(allow: String)
    /// Too many connections, or the jobs' queue is full: 503 with `Retry-After` in whole seconds.
    case unavailable(retryAfterSeconds: Int)

    /// The status of the answer.
    public var status: HTTPStatus {
        switch self {
        case .malformedRequest: .badRequest
        case .uriTooLong: .uriTooLong
        case .headersTooLarge: .headersTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .expectationFailed: .expectationFailed
        case .requestTimeout: .requestTimeout
        case .methodNotImplemented, .transferCodingNotImplemented: .notImplemented
        case .versionNotSupported: .versionNotSupported
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .unavailable: .serviceUnavailable
        }
    }

    /// Whether nothing after the request can be trusted to be the next one.
    var closesConnection: Bool {
        switch self {
        case .malformedRequest, .uriTooLong, .headersTooLarge, .bodyTooLarge, .requestTimeout,
            .transferCodingNotImplemented, .versionNotSupported:
            true
        case .expectationFailed, .methodNotImplemented, .notFound, .methodNotAllowed, .unavailable:
            false
        }
    }

    /// The field the status demands.
    var requiredField: HTTPField? {
        switch self {
        case .methodNotAllowed(let allow): HTTPField("Allow", allow)
        case .unavailable(let seconds): HTTPField("Retry-After", String(seconds))
        default: nil
        }
    }
}
