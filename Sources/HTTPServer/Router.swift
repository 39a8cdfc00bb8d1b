/// One thing the server can do.
public struct Route<Context: LoopContext & ~Copyable>: Sendable {
    /// For logs and metrics: one of few.
    public let name: String
    /// The method; a GET route answers HEAD too.
    public let method: HTTPMethod
    /// The path; a segment in braces matches any one segment: `/v1/vendors/{slug}/jwks.json`.
    public let path: String
    /// Longest body in bytes; `nil` for the server's default.
    public let bodyLimit: Int?
    /// Asked before the body is read, where it is not all there yet. The handler must decide the same again.
    public let admit: Admission<Context>?
    /// Answers the request.
    public let handler: Handler<Context>

    /// A route.
    public init(
        _ name: String,
        _ method: HTTPMethod,
        _ path: String,
        bodyLimit: Int? = nil,
        admit: Admission<Context>? = nil,
        handler: @escaping Handler<Context>
    ) {
        precondition(method != .head && method != .options && method != .unknown, "the server answers these itself")
        self.name = name
        self.method = method
        self.path = path
        self.bodyLimit = bodyLimit
        self.admit = admit
        self.handler = handler
    }
}

/// All routes, found by path and method.
public struct Router<Context: LoopContext & ~Copyable>: Sendable {
    /// The routes in the order given, for a description of the interface made from the table that serves it.
    public let routes: [Route<Context>]
    let table: PathTable

    /// A router. Two routes with one method and path are a caller's bug.
    public init(_ routes: [Route<Context>]) {
        self.routes = routes
        table = PathTable(routes.map { ($0.method, $0.path) })
    }

    /// Runs one whole request as a loop would, without sockets: for tests of routes.
    ///
    /// - Throws: `HTTPFailure` for a request the server would refuse by itself, and what the handler throws.
    public func outcome(
        of bytes: [UInt8],
        from peer: PeerAddress = .loopback,
        in context: inout Context
    ) throws -> Outcome<Context.Job> {
        try bytes.withUnsafeBytes { raw throws -> Outcome<Context.Job> in
            let parsed = try ParsedRequest(raw)
            switch table.match(parsed.head.method, raw.slice(parsed.head.path)) {
            case .notFound: throw HTTPFailure.notFound
            case .methodNotAllowed(let allow): throw HTTPFailure.methodNotAllowed(allow: allow)
            case .route(let index, let parameters):
                return try parsed.withRequest(raw, from: peer, parameters) { request in
                    try routes[index].handler(request, &context)
                }
            }
        }
    }
}

extension HTTPRequest {
    /// Parses one whole request and lends it to `body`: for tests of functions that take a request.
    ///
    /// - Throws: `HTTPFailure` for bytes the server would refuse, and what `body` throws.
    public static func parsing<Result>(
        _ bytes: [UInt8],
        from peer: PeerAddress = .loopback,
        pathParameters: [String: String] = [:],
        _ body: (HTTPRequest) throws -> Result
    ) throws -> Result {
        try bytes.withUnsafeBytes { raw throws -> Result in
            var parameters = PathParameters()
            parameters.values = pathParameters.map { ($0.key, $0.value) }
            return try ParsedRequest(raw).withRequest(raw, from: peer, parameters, body)
        }
    }
}

/// A whole request in one piece, with the limits a server has by default.
private struct ParsedRequest {
    let head: RequestHead
    let body: [UInt8]

    init(_ raw: UnsafeRawBufferPointer) throws {
        let options = ServerOptions()
        var head = RequestHead()
        guard try options.parser.parse(raw, into: &head) else {
            throw HTTPFailure.malformedRequest(reason: "The head is not complete.")
        }
        var decoder = BodyDecoder(head, limit: Int.max / 32)
        var body: [UInt8] = []
        let rest = raw.slice(head.count..<raw.count)
        let consumed = try decoder.decode(rest, into: &body)
        guard decoder.isComplete, consumed == rest.count else {
            throw HTTPFailure.malformedRequest(reason: "The body is not as long as its framing says.")
        }
        self.head = head
        self.body = body
    }

    func withRequest<Result>(
        _ raw: UnsafeRawBufferPointer,
        from peer: PeerAddress,
        _ parameters: PathParameters,
        _ use: (HTTPRequest) throws -> Result
    ) throws -> Result {
        try body.withUnsafeBytes { body in
            let request = HTTPRequest(
                RawSpan(_unsafeBytes: raw),
                head: head,
                body: RawSpan(_unsafeBytes: body),
                requestID: RequestIdentifiers.given(raw, head) ?? "test",
                peer: peer,
                pathParameters: parameters
            )
            return try use(request)
        }
    }
}
