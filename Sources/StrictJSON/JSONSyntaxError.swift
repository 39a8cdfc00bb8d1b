/// Why and where a text is not the JSON this package accepts.
public struct JSONSyntaxError: Error, Hashable, Sendable {
    /// The rule that was broken.
    public enum Reason: String, Hashable, Sendable {
        /// No bytes, or blanks alone.
        case empty
        /// A byte order mark: RFC 8259 §8.1 lets a parser refuse it.
        case byteOrderMark
        /// Bytes that are not UTF-8: overlong forms, surrogates, above U+10FFFF or cut short (RFC 3629 §4).
        case invalidUTF8
        /// A byte that cannot stand there.
        case unexpectedByte
        /// The text ends in the middle of a value.
        case unexpectedEnd
        /// A number that breaks RFC 8259 §6, such as `01`, `1.` or `+1`.
        case invalidNumber
        /// A control character below U+0020 inside a string.
        case controlCharacter
        /// A backslash followed by what RFC 8259 §7 does not list.
        case invalidEscape
        /// Half of a surrogate pair in `\u` escapes: not a character.
        case loneSurrogate
        /// Two members of one object whose names are the same bytes once unescaped.
        case duplicateMember
        /// More arrays and objects inside each other than allowed.
        case tooDeep
        /// Something after the one value.
        case trailingContent
        /// More than 2²⁸ − 1 bytes.
        case tooLarge
    }

    /// The rule that was broken.
    public let reason: Reason

    /// The place, in bytes from the start.
    public let offset: Int

    /// The line of that place, from 1; lines end with a line feed.
    public let line: Int

    /// The place within its line, in bytes, from 1.
    public let column: Int

    init(_ reason: Reason, at offset: Int, in text: UnsafeBufferPointer<UInt8>) {
        self.reason = reason
        self.offset = offset
        var line = 1
        var lineStart = 0
        for index in 0..<min(offset, text.count) where text[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        self.line = line
        column = offset - lineStart + 1
    }
}

extension JSONSyntaxError: CustomStringConvertible {
    /// One line for a person; it never quotes the text, which may hold a secret.
    public var description: String {
        let what =
            switch reason {
            case .empty: "there is no value"
            case .byteOrderMark: "a byte order mark is not allowed"
            case .invalidUTF8: "not UTF-8"
            case .unexpectedByte: "unexpected character"
            case .unexpectedEnd: "the text ends too early"
            case .invalidNumber: "not a number"
            case .controlCharacter: "a control character must be escaped"
            case .invalidEscape: "no such escape"
            case .loneSurrogate: "half of a surrogate pair"
            case .duplicateMember: "the same member name twice"
            case .tooDeep: "nested too deeply"
            case .trailingContent: "something after the value"
            case .tooLarge: "too many bytes"
            }
        return "\(what) (line \(line), column \(column))"
    }
}
