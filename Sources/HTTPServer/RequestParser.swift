/// Reads the head of a request, strictly: what two implementations might read differently is refused (RFC 9112 §11).
///
/// Stateless: an incomplete head is parsed again from its start once another line has arrived, so there is nothing to
/// keep for a connection but its bytes. Lines end in CRLF and nothing else; a value has no bare CR, no NUL, no folding.
struct RequestParser: Sendable {
    /// Longest target, in bytes.
    let targetBytes: Int
    /// Longest header section, in bytes, from after the request line.
    let headerBytes: Int
    /// Most field lines.
    let fieldCount: Int

    /// A longer token is taken for no method at all.
    private static let methodBytes = 32

    /// Parses the head at the start of `bytes` into `head`.
    ///
    /// - Returns: false where the head is not complete yet.
    func parse(_ bytes: UnsafeRawBufferPointer, into head: inout RequestHead) throws(HTTPFailure) -> Bool {
        head.reset()
        var position = 0
        // RFC 9112 §2.2: at least one empty line before the request line is ignored.
        while position + 1 < bytes.count, bytes[position] == 0x0D, bytes[position + 1] == 0x0A { position += 2 }
        guard let lineEnd = bytes.firstOffset(of: 0x0A, from: position) else {
            try checkUnfinishedRequestLine(bytes.slice(position..<bytes.count))
            return false
        }
        let requestLine = try HTTPFailure.line(bytes, from: position, toLineFeed: lineEnd)
        let version = try parseRequestLine(bytes, requestLine, into: &head)
        try parseVersion(bytes.slice(version), into: &head)
        position = lineEnd + 1

        let sectionStart = position
        var hosts = 0
        while true {
            guard let lineEnd = bytes.firstOffset(of: 0x0A, from: position) else {
                guard bytes.count - sectionStart <= headerBytes else { throw .headersTooLarge }
                return false
            }
            guard lineEnd + 1 - sectionStart <= headerBytes else { throw .headersTooLarge }
            let line = try HTTPFailure.line(bytes, from: position, toLineFeed: lineEnd)
            position = lineEnd + 1
            if line.isEmpty { break }
            guard head.fields.count < fieldCount else { throw .headersTooLarge }
            let (name, value) = try RequestParser.field(bytes, line)
            try note(bytes, name: name, value: value, into: &head, hosts: &hosts)
            head.fields.append(
                RequestHead.Field(
                    nameStart: UInt32(truncatingIfNeeded: name.lowerBound),
                    nameCount: UInt32(truncatingIfNeeded: name.count),
                    valueStart: UInt32(truncatingIfNeeded: value.lowerBound),
                    valueCount: UInt32(truncatingIfNeeded: value.count)
                )
            )
        }
        head.count = position
        guard hosts == 1 || (hosts == 0 && head.minorVersion == 0) else {
            throw .malformedRequest(reason: "Exactly one Host field is required.")
        }
        if head.isChunked {
            // RFC 9112 §6.1: both, or chunked from a 1.0 client, is how requests are smuggled.
            guard head.contentLength == nil else {
                throw .malformedRequest(reason: "Content-Length and Transfer-Encoding exclude each other.")
            }
            guard head.minorVersion >= 1 else {
                throw .malformedRequest(reason: "HTTP/1.0 has no Transfer-Encoding.")
            }
        }
        if head.minorVersion == 0 {
            head.expectsContinue = false
            head.expectsOther = false
        }
        return true
    }

    // MARK: Request line

    private func checkUnfinishedRequestLine(_ line: UnsafeRawBufferPointer) throws(HTTPFailure) {
        let space = line.firstOffset(of: 0x20)
        // By where the method ends or by how much of it is there: alike however the bytes arrive.
        guard space ?? line.count <= RequestParser.methodBytes else {
            guard line.prefix(RequestParser.methodBytes).allSatisfy(isToken) else {
                throw .malformedRequest(reason: "The method is not a token.")
            }
            throw .methodNotImplemented
        }
        guard let space else { return }
        guard line.count - space <= targetBytes + 16 else { throw .uriTooLong }
    }

    /// Reads method and target; returns where the version is.
    private func parseRequestLine(
        _ bytes: UnsafeRawBufferPointer,
        _ line: Range<Int>,
        into head: inout RequestHead
    ) throws(HTTPFailure) -> Range<Int> {
        guard let methodEnd = bytes.firstOffset(of: 0x20, from: line.lowerBound), methodEnd < line.upperBound,
            methodEnd > line.lowerBound, bytes[line.lowerBound..<methodEnd].allSatisfy(isToken)
        else { throw .malformedRequest(reason: "The request line does not start with a method and a space.") }
        // As where the rest of the line is still on its way.
        guard methodEnd - line.lowerBound <= RequestParser.methodBytes else { throw .methodNotImplemented }
        let targetStart = methodEnd + 1
        guard let targetEnd = bytes.firstOffset(of: 0x20, from: targetStart), targetEnd < line.upperBound,
            targetEnd > targetStart
        else { throw .malformedRequest(reason: "The request line is not method, target, version.") }
        guard targetEnd - targetStart <= targetBytes else { throw .uriTooLong }
        head.method = HTTPMethod(bytes.slice(line.lowerBound..<methodEnd))
        try parseTarget(bytes, targetStart..<targetEnd, into: &head)
        return targetEnd + 1..<line.upperBound
    }

    private func parseTarget(
        _ bytes: UnsafeRawBufferPointer,
        _ target: Range<Int>,
        into head: inout RequestHead
    ) throws(HTTPFailure) {
        var queryStart: Int?
        for index in target {
            let byte = bytes[index]
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else {
                throw .malformedRequest(reason: "The target has characters that must be percent-encoded.")
            }
            if byte == UInt8(ascii: "?"), queryStart == nil { queryStart = index }
        }
        var pathStart = target.lowerBound
        let pathEnd = queryStart ?? target.upperBound
        if let queryStart { head.query = queryStart + 1..<target.upperBound }
        if bytes[pathStart] == UInt8(ascii: "/") {
            head.path = pathStart..<pathEnd
            return
        }
        if target.count == 1, bytes[pathStart] == UInt8(ascii: "*"), head.method == .options {
            head.isAsterisk = true
            return
        }
        // RFC 9112 §3.2.2: a server must accept the absolute form, and its authority beats Host.
        let rest = bytes.slice(target)
        let schemes: [StaticString] = ["http://", "https://"]
        for scheme in schemes where rest.count > scheme.utf8CodeUnitCount {
            guard rest.slice(0..<scheme.utf8CodeUnitCount).equalsIgnoringCase(scheme) else { continue }
            let authorityStart = target.lowerBound + scheme.utf8CodeUnitCount
            pathStart = authorityStart
            while pathStart < pathEnd, bytes[pathStart] != UInt8(ascii: "/") { pathStart += 1 }
            guard pathStart > authorityStart, RequestParser.isHost(bytes.slice(authorityStart..<pathStart)) else {
                break
            }
            guard pathStart == pathEnd else {
                head.path = pathStart..<pathEnd
                return
            }
            // RFC 9110 §4.2.3: an empty path is a slash, of which there is one before the authority; RFC 9112 §3.2.4: to
            // ask for the options of none is to ask for those of the server.
            if head.method == .options && queryStart == nil {
                head.isAsterisk = true
            } else {
                head.path = authorityStart - 1..<authorityStart
            }
            return
        }
        // Authority form is CONNECT's; a method nobody knows is answered as such.
        if head.method == .unknown {
            head.path = target.lowerBound..<target.lowerBound
            return
        }
        throw .malformedRequest(reason: "The target is neither a path nor an http URI.")
    }

    private func parseVersion(_ version: UnsafeRawBufferPointer, into head: inout RequestHead) throws(HTTPFailure) {
        guard version.count == 8, version.slice(0..<5).equals("HTTP/"), version[6] == UInt8(ascii: "."),
            version[5] &- 0x30 < 10, version[7] &- 0x30 < 10
        else { throw .malformedRequest(reason: "The version is not HTTP/1.0 or HTTP/1.1.") }
        guard version[5] == UInt8(ascii: "1") else { throw .versionNotSupported }
        head.minorVersion = version[7] == UInt8(ascii: "0") ? 0 : 1
    }

    // MARK: Fields

    /// Splits a field line; also for trailers.
    static func field(
        _ bytes: UnsafeRawBufferPointer,
        _ line: Range<Int>
    ) throws(HTTPFailure) -> (name: Range<Int>, value: Range<Int>) {
        var colon = line.lowerBound
        while colon < line.upperBound, isToken(bytes[colon]) { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else {
            throw .malformedRequest(reason: "A field line is not a name, a colon and a value.")
        }
        for index in colon + 1..<line.upperBound where !isFieldContent(bytes[index]) {
            throw .malformedRequest(reason: "A field value has control characters.")
        }
        return (line.lowerBound..<colon, bytes.trimmed(colon + 1..<line.upperBound))
    }

    /// Remembers what decides framing and persistence.
    private func note(
        _ bytes: UnsafeRawBufferPointer,
        name nameRange: Range<Int>,
        value valueRange: Range<Int>,
        into head: inout RequestHead,
        hosts: inout Int
    ) throws(HTTPFailure) {
        let name = bytes.slice(nameRange)
        let value = bytes.slice(valueRange)
        switch name.count {
        case 4 where name.equalsIgnoringCase("host"):
            hosts += 1
            guard value.isEmpty || RequestParser.isHost(value) else {
                throw .malformedRequest(reason: "The Host field is not a host with an optional port.")
            }
        case 6 where name.equalsIgnoringCase("expect"):
            if value.equalsIgnoringCase("100-continue") {
                head.expectsContinue = true
            } else {
                head.expectsOther = true
            }
        case 6 where name.equalsIgnoringCase("origin"):
            head.origin = head.origin ?? head.fields.count
        case 10 where name.equalsIgnoringCase("connection"):
            noteConnection(value, into: &head)
        case 12 where name.equalsIgnoringCase("x-request-id"):
            head.requestID = head.requestID ?? head.fields.count
        case 14 where name.equalsIgnoringCase("content-length"):
            guard head.contentLength == nil else {
                throw .malformedRequest(reason: "Content-Length may be given once.")
            }
            head.contentLength = try contentLength(value)
        case 17 where name.equalsIgnoringCase("transfer-encoding"):
            guard !head.isChunked, !value.isEmpty else {
                throw .malformedRequest(reason: "Transfer-Encoding may be given once, and not empty.")
            }
            // The other codings would need their own decoders, also before `chunked`.
            guard value.equalsIgnoringCase("chunked") else { throw .transferCodingNotImplemented }
            head.isChunked = true
        case 29 where name.equalsIgnoringCase("access-control-request-method"):
            head.requestedMethod = head.requestedMethod ?? head.fields.count
        default:
            break
        }
    }

    private func noteConnection(_ value: UnsafeRawBufferPointer, into head: inout RequestHead) {
        var position = 0
        while position < value.count {
            let end = value.firstOffset(of: UInt8(ascii: ","), from: position) ?? value.count
            let option = value.slice(value.trimmed(position..<end))
            if option.equalsIgnoringCase("close") { head.hasClose = true }
            if option.equalsIgnoringCase("keep-alive") { head.hasKeepAlive = true }
            position = end + 1
        }
    }

    /// Digits alone (RFC 9110 §8.6); a number beyond any limit is `Int.max`.
    private func contentLength(_ value: UnsafeRawBufferPointer) throws(HTTPFailure) -> Int {
        guard !value.isEmpty else { throw .malformedRequest(reason: "Content-Length is not a number.") }
        var length = 0
        for byte in value {
            guard byte &- 0x30 < 10 else { throw .malformedRequest(reason: "Content-Length is not a number.") }
            let (product, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = product.addingReportingOverflow(Int(byte &- 0x30))
            length = overflow || overflow2 ? Int.max : sum
            if length > Int.max / 16 { length = Int.max / 16 }
        }
        return length
    }

    /// Whether these bytes are a host and an optional port (RFC 3986 §3.2.2), without userinfo.
    static func isHost(_ value: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        if value.first == UInt8(ascii: "[") {
            guard let end = value.firstOffset(of: UInt8(ascii: "]")), end > 1 else { return false }
            for byte in value[1..<end] where hexadecimal(byte) == nil && byte != 0x3A && byte != 0x2E { return false }
            position = end + 1
        } else {
            while position < value.count, value[position] != UInt8(ascii: ":") {
                guard isHostCharacter(value[position]) else { return false }
                position += 1
            }
            guard position > 0 else { return false }
        }
        if position == value.count { return true }
        guard value[position] == UInt8(ascii: ":"), value.count - position <= 6 else { return false }
        return value[(position + 1)...].allSatisfy { $0 &- 0x30 < 10 }
    }
}

extension HTTPFailure {
    /// The line that ends at a line feed, without its CRLF; a bare LF ends none.
    static func line(
        _ bytes: UnsafeRawBufferPointer,
        from start: Int,
        toLineFeed end: Int
    ) throws(HTTPFailure) -> Range<Int> {
        guard end > start, bytes[end - 1] == 0x0D else {
            throw .malformedRequest(reason: "A line ends in LF without CR.")
        }
        return start..<end - 1
    }
}
