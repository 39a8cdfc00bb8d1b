/// One field of a response's header section.
public struct HTTPField: Hashable, Sendable {
    /// A token; sent as written.
    public let name: String
    /// Visible ASCII, spaces and tabs.
    public let value: String

    /// A field.
    ///
    /// A value that came from outside must have been parsed before: a line break in it would end the field, and is a
    /// caller's bug.
    public init(_ name: String, _ value: String) {
        precondition(name.utf8.allSatisfy(isToken) && !name.isEmpty, "a field name is a token (RFC 9110 §5.1)")
        precondition(value.utf8.allSatisfy(isFieldContent), "a field value has no control characters (RFC 9110 §5.5)")
        self.name = name
        self.value = value
    }
}

/// What goes back to the client.
///
/// `Date`, `Content-Length`, `Connection` and `X-Request-Id` are the server's and must not be among `fields`;
/// `Cache-Control: no-store` is added unless `fields` says otherwise.
public struct HTTPResponse: Sendable {
    /// The status; with `noContent` the body is not sent.
    public var status: HTTPStatus
    /// The media type of `body`; `nil` sends no `Content-Type`.
    public var contentType: String?
    /// The content.
    public var body: [UInt8]
    /// Further fields, sent in this order.
    public var fields: [HTTPField]
    /// Whether the connection must end after this answer.
    public var closesConnection: Bool

    /// A response; closes nothing.
    public init(
        _ status: HTTPStatus,
        contentType: String? = nil,
        body: [UInt8] = [],
        fields: [HTTPField] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.fields = fields
        closesConnection = false
    }

    /// A response of JSON text.
    public static func json(_ status: HTTPStatus, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status, contentType: "application/json", body: body)
    }

    /// The value of the first field of this name, in any case; the server's own fields are not here yet.
    public func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
