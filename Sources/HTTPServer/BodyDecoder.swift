/// Takes the framing off a body, from input in pieces of any size (RFC 9112 §6 and §7.1).
///
/// Chunk extensions are skipped and trailers are checked and dropped: neither means anything here, and both are bounded.
struct BodyDecoder: Sendable {
    private enum State {
        case sized, size, sizeLineFeed, extensions, data, dataReturn, dataLineFeed
        case trailerStart, trailerName, trailerValue, trailerLineFeed, lastLineFeed, complete
    }

    /// Extensions of all chunks together, in bytes: RFC 9112 §7.1.1 asks for a limit on their total.
    private static let extensionBytes = 4096
    /// All trailers together, in bytes.
    private static let trailerBytes = 8192
    /// Sixteen would hold every size; the limit is far below.
    private static let sizeDigits = 16

    private let limit: Int
    private var state: State
    private var remaining: Int
    private var digits = 0
    private var extensionCount = 0
    private var trailerCount = 0
    private var total = 0

    /// A decoder for the body that `head` announces.
    ///
    /// - Parameter limit: longest content in bytes; a longer one is thrown as soon as it is announced.
    init(_ head: RequestHead, limit: Int) {
        self.limit = limit
        if head.isChunked {
            state = .size
            remaining = 0
        } else {
            remaining = head.contentLength ?? 0
            state = remaining > 0 ? .sized : .complete
        }
    }

    var isComplete: Bool { state == .complete }

    /// Appends the content found in `input` to `output`; returns how many bytes of `input` belong to the body.
    mutating func decode(_ input: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(HTTPFailure) -> Int {
        var position = 0
        while position < input.count {
            switch state {
            case .complete:
                return position
            case .sized, .data:
                let count = min(remaining, input.count - position)
                output.append(contentsOf: input.slice(position..<position + count))
                position += count
                remaining -= count
                if remaining == 0 { state = state == .sized ? .complete : .dataReturn }
            default:
                try step(input[position])
                position += 1
            }
        }
        return position
    }

    private mutating func step(_ byte: UInt8) throws(HTTPFailure) {
        switch state {
        case .size: try readSize(byte)
        case .extensions:
            extensionCount += 1
            guard extensionCount <= BodyDecoder.extensionBytes else { throw malformed }
            if byte == 0x0D {
                state = .sizeLineFeed
            } else {
                guard isFieldContent(byte) else { throw malformed }
            }
        case .sizeLineFeed:
            guard byte == 0x0A else { throw malformed }
            state = remaining == 0 ? .trailerStart : .data
            digits = 0
        case .dataReturn:
            guard byte == 0x0D else { throw malformed }
            state = .dataLineFeed
        case .dataLineFeed:
            guard byte == 0x0A else { throw malformed }
            state = .size
        case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed: try readTrailer(byte)
        case .lastLineFeed:
            guard byte == 0x0A else { throw malformed }
            state = .complete
        case .sized, .data, .complete: break
        }
    }

    private mutating func readSize(_ byte: UInt8) throws(HTTPFailure) {
        if let digit = hexadecimal(byte) {
            digits += 1
            guard digits <= BodyDecoder.sizeDigits else { throw malformed }
            // Cannot overflow: a size over the limit ends it before another digit is added.
            remaining = remaining << 4 | Int(digit)
            guard remaining <= limit else { throw .bodyTooLarge(limit: limit) }
            return
        }
        guard digits > 0 else { throw malformed }
        total += remaining
        guard total <= limit else { throw .bodyTooLarge(limit: limit) }
        if byte == 0x0D {
            state = .sizeLineFeed
        } else {
            guard byte == UInt8(ascii: ";") else { throw malformed }
            state = .extensions
        }
    }

    private mutating func readTrailer(_ byte: UInt8) throws(HTTPFailure) {
        trailerCount += 1
        guard trailerCount <= BodyDecoder.trailerBytes else { throw .headersTooLarge }
        switch state {
        case .trailerStart where byte == 0x0D: state = .lastLineFeed
        case .trailerStart:
            guard isToken(byte) else { throw malformed }
            state = .trailerName
        case .trailerName where byte == UInt8(ascii: ":"): state = .trailerValue
        case .trailerName:
            guard isToken(byte) else { throw malformed }
        case .trailerValue where byte == 0x0D: state = .trailerLineFeed
        case .trailerValue:
            guard isFieldContent(byte) else { throw malformed }
        default:
            guard byte == 0x0A else { throw malformed }
            state = .trailerStart
        }
    }

    private var malformed: HTTPFailure { .malformedRequest(reason: "The chunked body is malformed.") }
}
