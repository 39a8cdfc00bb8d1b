/// What the braces of a route's pattern matched, decoded.
public struct PathParameters: Sendable {
    var values: [(name: String, value: String)] = []

    /// The value for a name of the route's pattern; never empty. `nil` for another name.
    public subscript(name: String) -> String? {
        values.first { $0.name == name }?.value
    }
}

/// A request as a handler sees it: a view of the loop's own buffer, valid during the call and not to be kept.
public struct HTTPRequest: ~Escapable {
    private let bytes: RawSpan
    /// The content, decoded from chunks where it came in chunks; empty while an admission looks at the head.
    public let body: RawSpan
    private let head: RequestHead
    /// The client's `X-Request-Id` where it is 1 to 128 of `A-Z a-z 0-9 . _ -`, else a made one.
    public let requestID: String
    /// The other end of the connection: a proxy, where there is one.
    public let peer: PeerAddress
    /// What the braces of the route's pattern matched.
    public let pathParameters: PathParameters
    /// Whether the route's admission was asked for this very request before its body came.
    public let wasAdmitted: Bool

    @_lifetime(copy bytes, copy body)
    init(
        _ bytes: RawSpan,
        head: RequestHead,
        body: RawSpan,
        requestID: String,
        peer: PeerAddress,
        pathParameters: PathParameters,
        wasAdmitted: Bool = false
    ) {
        self.bytes = bytes
        self.body = body
        self.head = head
        self.requestID = requestID
        self.peer = peer
        self.pathParameters = pathParameters
        self.wasAdmitted = wasAdmitted
    }

    /// The method; a HEAD is `head` although the route says GET.
    public var method: HTTPMethod { head.method }

    /// The path as sent, unreserved characters decoded (RFC 3986 §6.2.2.2).
    public var path: String {
        bytes.withUnsafeBytes { String(decoding: PathTable.decoded($0.slice(head.path)), as: UTF8.self) }
    }

    /// The query as sent, without its question mark; `nil` without one.
    public var query: String? {
        guard let query = head.query else { return nil }
        return bytes.withUnsafeBytes { String(decoding: $0.slice(query), as: UTF8.self) }
    }

    /// The content as an array.
    public func bodyBytes() -> [UInt8] {
        body.withUnsafeBytes { [UInt8]($0) }
    }

    /// The first value of a field, without surrounding space; `nil` where there is none, and where it is no UTF-8.
    ///
    /// Never repaired: of two values that differ, the texts differ.
    ///
    /// - Parameter name: in lower case.
    public func header(_ name: StaticString) -> String? {
        headerBytes(name).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The bytes of all values of a field, one for each of its lines, in their order.
    ///
    /// - Parameter name: in lower case.
    public func headerLines(_ name: StaticString) -> [[UInt8]] {
        bytes.withUnsafeBytes { bytes in
            var values: [[UInt8]] = []
            for field in head.fields where bytes.slice(field.name).equalsIgnoringCase(name) {
                values.append([UInt8](bytes.slice(field.value)))
            }
            return values
        }
    }

    /// The bytes of the first value of a field.
    ///
    /// - Parameter name: in lower case.
    public func headerBytes(_ name: StaticString) -> [UInt8]? {
        bytes.withUnsafeBytes { bytes in
            for field in head.fields where bytes.slice(field.name).equalsIgnoringCase(name) {
                return [UInt8](bytes.slice(field.value))
            }
            return nil
        }
    }

    /// How many lines a field has.
    ///
    /// - Parameter name: in lower case.
    public func headerCount(_ name: StaticString) -> Int {
        bytes.withUnsafeBytes { bytes in
            head.fields.count { bytes.slice($0.name).equalsIgnoringCase(name) }
        }
    }

    /// The pairs of the query in their order, percent-decoded; a name may come twice, `+` is a plus sign (RFC 3986).
    ///
    /// - Throws: `HTTPFailure.malformedRequest` for broken percent-encoding, an empty name, or bytes that are no UTF-8.
    public func queryParameters() throws(HTTPFailure) -> [QueryParameter] {
        guard let query = head.query else { return [] }
        let text = bytes.withUnsafeBytes { [UInt8]($0.slice(query)) }
        var parameters: [QueryParameter] = []
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = percentDecoded(pair[..<equals]), !name.isEmpty,
                let value = percentDecoded(pair[equals...].dropFirst())
            else { throw .malformedRequest(reason: "The query is not a list of percent-encoded pairs.") }
            parameters.append(QueryParameter(name: name, value: value))
        }
        return parameters
    }
}

/// One pair of a query.
public struct QueryParameter: Hashable, Sendable {
    /// Decoded, never empty.
    public let name: String
    /// Decoded; empty where there was no equals sign.
    public let value: String
}

private func percentDecoded(_ bytes: ArraySlice<UInt8>) -> String? {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
        guard bytes[index] == UInt8(ascii: "%") else {
            decoded.append(bytes[index])
            index += 1
            continue
        }
        guard index + 2 < bytes.endIndex, let high = hexadecimal(bytes[index + 1]),
            let low = hexadecimal(bytes[index + 2])
        else { return nil }
        decoded.append(high << 4 | low)
        index += 3
    }
    return String(validating: decoded, as: UTF8.self)
}
