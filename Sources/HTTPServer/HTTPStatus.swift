/// A status code (RFC 9110 §15).
public struct HTTPStatus: Hashable, Sendable {
    /// Three digits, 200 to 599.
    public let code: Int

    /// A status by its number.
    public init(_ code: Int) {
        precondition((200...599).contains(code), "a final status has three digits and is at least 200")
        self.code = code
    }

    /// 200
    public static let ok = HTTPStatus(200)
    /// 201
    public static let created = HTTPStatus(201)
    /// 202
    public static let accepted = HTTPStatus(202)
    /// 204, always without content
    public static let noContent = HTTPStatus(204)
    /// 400
    public static let badRequest = HTTPStatus(400)
    /// 401
    public static let unauthorized = HTTPStatus(401)
    /// 403
    public static let forbidden = HTTPStatus(403)
    /// 404
    public static let notFound = HTTPStatus(404)
    /// 405
    public static let methodNotAllowed = HTTPStatus(405)
    /// 408
    public static let requestTimeout = HTTPStatus(408)
    /// 409
    public static let conflict = HTTPStatus(409)
    /// 410
    public static let gone = HTTPStatus(410)
    /// 413
    public static let contentTooLarge = HTTPStatus(413)
    /// 414
    public static let uriTooLong = HTTPStatus(414)
    /// 415
    public static let unsupportedMediaType = HTTPStatus(415)
    /// 417
    public static let expectationFailed = HTTPStatus(417)
    /// 429
    public static let tooManyRequests = HTTPStatus(429)
    /// 431
    public static let headersTooLarge = HTTPStatus(431)
    /// 500
    public static let internalServerError = HTTPStatus(500)
    /// 501
    public static let notImplemented = HTTPStatus(501)
    /// 503
    public static let serviceUnavailable = HTTPStatus(503)
    /// 505
    public static let versionNotSupported = HTTPStatus(505)

    /// The phrase after the code; empty for a code without one here, which RFC 9112 §4 allows.
    var reason: StaticString {
        switch code {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
