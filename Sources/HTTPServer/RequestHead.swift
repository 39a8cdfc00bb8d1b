/// Where the parts of a request's head are among its bytes; holds no bytes itself.
struct RequestHead: Sendable {
    /// One field line: offsets from the start of the head.
    struct Field: Sendable {
        let nameStart: UInt32
        let nameCount: UInt32
        let valueStart: UInt32
        let valueCount: UInt32

        var name: Range<Int> { Int(nameStart)..<Int(nameStart + nameCount) }
        var value: Range<Int> { Int(valueStart)..<Int(valueStart + valueCount) }
    }

    var method = HTTPMethod.unknown
    /// From the path's slash up to the question mark or the end; empty for the asterisk form.
    var path = 0..<0
    /// After the question mark; `nil` without one.
    var query: Range<Int>?
    var isAsterisk = false
    /// Minor version of HTTP/1: 0, or 1 for all others.
    var minorVersion = 1
    var fields: [Field] = []
    var hasClose = false
    var hasKeepAlive = false
    var contentLength: Int?
    var isChunked = false
    var expectsContinue = false
    var expectsOther = false
    /// Index of the only or first `Origin`, `X-Request-Id`, `Access-Control-Request-Method`, where there is one.
    var origin: Int?
    var requestID: Int?
    var requestedMethod: Int?
    /// Length of the head, its empty line included.
    var count = 0

    /// Whether the connection may carry another request after this one (RFC 9112 §9.3).
    var allowsKeepAlive: Bool {
        if hasClose { return false }
        return minorVersion >= 1 || hasKeepAlive
    }

    /// Whether anything follows the head.
    var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// Forgets everything but the storage of `fields`.
    mutating func reset() {
        fields.removeAll(keepingCapacity: true)
        let kept = fields
        fields = []
        self = RequestHead()
        fields = kept
    }
}
