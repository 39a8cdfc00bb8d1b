/// What a response needs to know of its request, for as long as that is in flight.
struct Exchange: Sendable {
    let outline: RequestOutline
    /// False once the connection must end after the answer.
    var keepsAlive: Bool
    /// HTTP/1.0 must be told that a connection stays.
    let minorVersion: Int
    /// The fields for the origin that asked, where the policy allows it; those of the policy that held then.
    let origin: [UInt8]?
    /// On the monotonic clock, in nanoseconds.
    let startedAt: UInt64
}

/// Makes the bytes of responses.
struct ResponseWriter {
    private let cors: [[UInt8]]
    private let varies: Bool
    private let origins: [String]
    private let preflight: [HTTPField]
    var date = DateField()

    init(_ policy: CORSPolicy?) {
        origins = policy?.allowedOrigins ?? []
        varies = policy != nil && !origins.isEmpty
        let exposed = (policy?.exposedHeaders ?? []).joined(separator: ", ")
        cors = origins.map { origin in
            var text = "Access-Control-Allow-Origin: \(origin)\r\n"
            if !exposed.isEmpty { text += "Access-Control-Expose-Headers: \(exposed)\r\n" }
            return Array(text.utf8)
        }
        guard let policy else {
            preflight = []
            return
        }
        preflight = [
            HTTPField("Access-Control-Allow-Headers", policy.allowedHeaders.joined(separator: ", ")),
            HTTPField("Access-Control-Max-Age", String(policy.maxAgeSeconds)),
        ]
    }

    /// The fields for the allowed origin that these bytes are.
    func origin(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
        origins.firstIndex { $0.utf8.elementsEqual(value) }.map { cors[$0] }
    }

    /// The answer to a browser that asks before it sends (Fetch §3.3.5).
    func preflightResponse(allow: String) -> HTTPResponse {
        HTTPResponse(
            .noContent,
            fields: [HTTPField("Allow", allow), HTTPField("Access-Control-Allow-Methods", allow)] + preflight
        )
    }

    /// Appends the response; `isHead` leaves out its content but not its length.
    func append(_ response: HTTPResponse, for exchange: Exchange, to output: inout [UInt8]) {
        output.append("HTTP/1.1 ")
        output.append(decimal: response.status.code)
        output.append(" ")
        output.append(response.status.reason)
        output.append("\r\nDate: ")
        output.append(contentsOf: date.bytes)
        if let contentType = response.contentType {
            output.append("\r\nContent-Type: ")
            output.append(text: contentType)
        }
        let hasContent = response.status.code != 204 && response.status.code != 304
        if hasContent {
            output.append("\r\nContent-Length: ")
            output.append(decimal: response.body.count)
        }
        output.append("\r\nX-Request-Id: ")
        output.append(text: exchange.outline.requestID)
        output.append("\r\n")
        var isCacheable = false
        for field in response.fields {
            if field.name.utf8.count == 13, field.name.lowercased() == "cache-control" { isCacheable = true }
            output.append(text: field.name)
            output.append(": ")
            output.append(text: field.value)
            output.append("\r\n")
        }
        if !isCacheable { output.append("Cache-Control: no-store\r\n") }
        if let origin = exchange.origin { output.append(contentsOf: origin) }
        if varies { output.append("Vary: Origin\r\n") }
        if !exchange.keepsAlive {
            output.append("Connection: close\r\n")
        } else if exchange.minorVersion == 0 {
            output.append("Connection: keep-alive\r\n")
        }
        output.append("\r\n")
        if hasContent && exchange.outline.method != .head { output.append(contentsOf: response.body) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    fileprivate mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }

    fileprivate mutating func append(decimal number: Int) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = number
            var start = 20
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            append(contentsOf: digits[start...])
        }
    }
}
