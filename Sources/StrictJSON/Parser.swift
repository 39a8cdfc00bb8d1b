/// The one pass over a text that fills the tape.
struct Parser {
    let text: UnsafeBufferPointer<UInt8>
    let maximumDepth: Int
    var tape: [Token] = []

    private var position = 0
    private var depth = 0
    /// The place on the tape of the innermost open container; `noContainer` outside of all.
    private var container = Parser.noContainer

    private static let noContainer = Token.limit + 1

    init(text: UnsafeBufferPointer<UInt8>, maximumDepth: Int) {
        self.text = text
        self.maximumDepth = maximumDepth
        tape.reserveCapacity(min(text.count / 12 + 8, 4096))
    }

    mutating func parse() throws(JSONSyntaxError) {
        guard text.count <= Token.limit else { throw failure(.tooLarge, at: 0) }
        skipBlanks()
        guard position < text.count else { throw failure(.empty, at: position) }
        repeat {
            try readValueOrOpen()
            try closeWhatEnds()
        } while container != Parser.noContainer
        skipBlanks()
        guard position == text.count else { throw failure(.trailingContent, at: position) }
    }

    // MARK: Structure

    /// Reads one scalar or empty container, or opens containers down to their first scalar.
    private mutating func readValueOrOpen() throws(JSONSyntaxError) {
        while true {
            guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
            switch text[position] {
            case UInt8(ascii: "{"):
                try open(.object)
                if try takeIfPresent(UInt8(ascii: "}")) { return close() }
                try readName()
            case UInt8(ascii: "["):
                try open(.array)
                if try takeIfPresent(UInt8(ascii: "]")) { return close() }
            case UInt8(ascii: "\""):
                return try readString()
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                return try readNumber()
            case UInt8(ascii: "t"):
                return try readLiteral("true", .true)
            case UInt8(ascii: "f"):
                return try readLiteral("false", .false)
            case UInt8(ascii: "n"):
                return try readLiteral("null", .null)
            case 0xEF where position == 0 && text.count >= 3 && text[1] == 0xBB && text[2] == 0xBF:
                throw failure(.byteOrderMark, at: 0)
            default:
                throw failure(.unexpectedByte, at: position)
            }
        }
    }

    /// After a value: closes every container that ends here, and steps over the comma to the next value.
    private mutating func closeWhatEnds() throws(JSONSyntaxError) {
        while container != Parser.noContainer {
            tape[container].countOneMore()
            skipBlanks()
            guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
            let byte = text[position]
            let isObject = tape[container].isObject
            if byte == UInt8(ascii: ",") {
                position += 1
                skipBlanks()
                if isObject { try readName() }
                return
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw failure(.unexpectedByte, at: position)
            }
            if isObject { try refuseDuplicates(inObjectAt: container) }
            position += 1
            close()
        }
    }

    private mutating func open(_ kind: Token.Kind) throws(JSONSyntaxError) {
        guard depth < maximumDepth else { throw failure(.tooDeep, at: position) }
        depth += 1
        tape.append(Token(kind, start: position, end: 0, next: container))
        container = tape.count - 1
        position += 1
        skipBlanks()
    }

    private mutating func close() {
        depth -= 1
        let around = Int(tape[container].next)
        tape[container].end = UInt32(truncatingIfNeeded: position)
        tape[container].next = UInt32(truncatingIfNeeded: tape.count)
        container = around
    }

    private mutating func takeIfPresent(_ byte: UInt8) throws(JSONSyntaxError) -> Bool {
        guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
        guard text[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func readName() throws(JSONSyntaxError) {
        guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
        guard text[position] == UInt8(ascii: "\"") else { throw failure(.unexpectedByte, at: position) }
        try readString()
        skipBlanks()
        guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
        guard text[position] == UInt8(ascii: ":") else { throw failure(.unexpectedByte, at: position) }
        position += 1
        skipBlanks()
    }

    private mutating func skipBlanks() {
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): position += 1
            default: return
            }
        }
    }

    private mutating func append(_ kind: Token.Kind, from start: Int, to end: Int) {
        tape.append(Token(kind, start: start, end: end, next: tape.count + 1))
    }

    private func failure(_ reason: JSONSyntaxError.Reason, at offset: Int) -> JSONSyntaxError {
        JSONSyntaxError(reason, at: offset, in: text)
    }

    // MARK: Literals and numbers

    private mutating func readLiteral(_ word: StaticString, _ kind: Token.Kind) throws(JSONSyntaxError) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
            guard text[position] == word.utf8Start[index] else { throw failure(.unexpectedByte, at: position) }
            position += 1
        }
        append(kind, from: start, to: position)
    }

    /// RFC 8259 §6: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
    private mutating func readNumber() throws(JSONSyntaxError) {
        let start = position
        if text[position] == UInt8(ascii: "-") { position += 1 }
        if peek() == UInt8(ascii: "0") {
            position += 1
            if isDigit(peek()) { throw failure(.invalidNumber, at: start) }
        } else {
            try readDigits(of: start)
        }
        if peek() == UInt8(ascii: ".") {
            position += 1
            try readDigits(of: start)
        }
        if peek() | 0x20 == UInt8(ascii: "e") {
            position += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
            try readDigits(of: start)
        }
        append(.number, from: start, to: position)
    }

    private mutating func readDigits(of start: Int) throws(JSONSyntaxError) {
        guard isDigit(peek()) else {
            throw position < text.count ? failure(.invalidNumber, at: start) : failure(.unexpectedEnd, at: position)
        }
        repeat { position += 1 } while isDigit(peek())
    }

    /// The byte at the position, or NUL, which no number contains, at the end.
    private func peek() -> UInt8 { position < text.count ? text[position] : 0 }

    private func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    // MARK: Strings

    private mutating func readString() throws(JSONSyntaxError) {
        position += 1
        let start = position
        var isEscaped = false
        while true {
            skipPlainBytes()
            guard position < text.count else { throw failure(.unexpectedEnd, at: position) }
            switch text[position] {
            case UInt8(ascii: "\""):
                append(isEscaped ? .escapedString : .string, from: start, to: position)
                position += 1
                return
            case UInt8(ascii: "\\"):
                isEscaped = true
                try readEscape()
            case 0x80...0xFF:
                try readMultibyte()
            default:
                throw failure(.controlCharacter, at: position)
            }
        }
    }

    /// Steps over ASCII that needs no look: neither control character, quotation mark nor backslash.
    private mutating func skipPlainBytes() {
        guard let base = text.baseAddress else { return }
        while position + 8 <= text.count {
            let word = UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self)
            if hasSpecialByte(word) { break }
            position += 8
        }
        while position < text.count {
            let byte = text[position]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return }
            position += 1
        }
    }

    private mutating func readEscape() throws(JSONSyntaxError) {
        let start = position
        guard start + 1 < text.count else { throw failure(.unexpectedEnd, at: text.count) }
        switch text[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            let unit = try readCodeUnit(at: start)
            position += 6
            switch unit {
            case 0xD800...0xDBFF:
                guard position + 1 < text.count, text[position] == UInt8(ascii: "\\"),
                    text[position + 1] == UInt8(ascii: "u")
                else {
                    throw failure(.loneSurrogate, at: start)
                }
                guard case 0xDC00...0xDFFF = try readCodeUnit(at: position) else {
                    throw failure(.loneSurrogate, at: start)
                }
                position += 6
            case 0xDC00...0xDFFF:
                throw failure(.loneSurrogate, at: start)
            default:
                break
            }
        default:
            throw failure(.invalidEscape, at: start)
        }
    }

    /// The four hexadecimal digits of the escape whose backslash is at `start`.
    private func readCodeUnit(at start: Int) throws(JSONSyntaxError) -> UInt32 {
        var unit: UInt32 = 0
        for index in start + 2..<start + 6 {
            guard index < text.count else { throw failure(.unexpectedEnd, at: text.count) }
            guard let digit = hexadecimalValue(text[index]) else { throw failure(.invalidEscape, at: start) }
            unit = unit << 4 | digit
        }
        return unit
    }

    /// One character beyond ASCII; the ranges of second bytes are those of Unicode's table 3-7.
    private mutating func readMultibyte() throws(JSONSyntaxError) {
        let (length, second): (Int, ClosedRange<UInt8>) =
            switch text[position] {
            case 0xC2...0xDF: (2, 0x80...0xBF)
            case 0xE0: (3, 0xA0...0xBF)
            case 0xED: (3, 0x80...0x9F)
            case 0xE1...0xEF: (3, 0x80...0xBF)
            case 0xF0: (4, 0x90...0xBF)
            case 0xF1...0xF3: (4, 0x80...0xBF)
            case 0xF4: (4, 0x80...0x8F)
            default: throw failure(.invalidUTF8, at: position)
            }
        guard position + length <= text.count, second.contains(text[position + 1]) else {
            throw failure(.invalidUTF8, at: position)
        }
        for index in position + 2..<max(position + 2, position + length) where text[index] & 0xC0 != 0x80 {
            throw failure(.invalidUTF8, at: position)
        }
        position += length
    }
}

/// The value of one hexadecimal digit in either case, `nil` for any other byte.
func hexadecimalValue(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
}

/// Whether one of the eight bytes of `word` is a control character, a quotation mark, a backslash or beyond ASCII.
func hasSpecialByte(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
    let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
    // Subtracting sets the high bit of a byte that was below; borrows only spill over from bytes that are special.
    let special = (quotes &- ones) | (backslashes &- ones) | (word &- ones &* 0x20) | word
    return special & (ones &* 0x80) != 0
}
