/// Writes one log line into bytes, in either format.
///
/// A line is always valid UTF-8 on exactly one line: control characters, those of the C1 range included, are escaped in
/// both formats, so that what a client sent cannot forge a line or move the cursor of a terminal.
struct LogLine {
    /// The longest text of one field, in bytes; the rest is left out and an ellipsis written.
    static let longestText = 1_024

    private(set) var bytes: [UInt8] = []
    private let format: LogFormat

    init(_ format: LogFormat, _ level: LogLevel, _ event: StaticString, milliseconds: Int64) {
        self.format = format
        bytes.reserveCapacity(512)
        switch format {
        case .json:
            append("{\"time\":\"")
            appendTime(milliseconds)
            append("\",\"level\":\"")
            append(text: level.rawValue)
            append("\",\"event\":")
            appendQuoted(event)
        case .text:
            appendTime(milliseconds)
            append(" ")
            append(text: level.rawValue)
            for _ in level.rawValue.utf8.count..<8 {
                append(" ")
            }
            append(event)
        }
    }

    mutating func add(_ name: StaticString, _ value: LogValue) {
        switch format {
        case .json:
            append(",")
            appendQuoted(name)
            append(":")
        case .text:
            append(" ")
            append(name)
            append("=")
        }
        switch value {
        case .int(let number): append(text: String(number))
        case .bool(let flag): append(flag ? "true" as StaticString : "false")
        case .string(let text):
            if format == .text && Self.isPlain(text) {
                append(text: text)
            } else {
                appendQuoted(text)
            }
        }
    }

    /// The whole line, its newline included.
    consuming func finished() -> [UInt8] {
        if format == .json {
            append("}")
        }
        append("\n")
        return bytes
    }

    /// Whether `text` needs no quotes in the format for people.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= longestText
            && text.unicodeScalars.allSatisfy {
                $0.value > 0x20 && $0 != "\"" && $0 != "\\" && $0 != "=" && !isControl($0)
            }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func append(text: String) {
        var text = text
        text.withUTF8 { bytes.append(contentsOf: $0) }
    }

    private mutating func appendQuoted(_ text: StaticString) {
        let utf8 = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        if !appendPlain(utf8) { appendEscaped("\(text)") }
    }

    private mutating func appendQuoted(_ text: String) {
        var text = text
        let isDone = text.withUTF8 { appendPlain($0) }
        if !isDone { appendEscaped(text) }
    }

    /// Appends short text in ASCII that needs no escape, as nearly all is; false: it is none, and nothing was appended.
    private mutating func appendPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard text.count <= Self.longestText else { return false }
        for byte in text {
            guard byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") else {
                return false
            }
        }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\""))
        return true
    }

    private mutating func appendEscaped(_ text: String) {
        append("\"")
        var left = Self.longestText
        for scalar in text.unicodeScalars {
            left -= UTF8.width(scalar)
            guard left >= 0 else {
                append("…")
                break
            }
            switch scalar {
            case "\"": append("\\\"")
            case "\\": append("\\\\")
            case "\n": append("\\n")
            case "\r": append("\\r")
            case "\t": append("\\t")
            case _ where Self.isControl(scalar):
                append("\\u")
                appendHexadecimal(scalar.value)
            default:
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        append("\"")
    }

    private mutating func appendHexadecimal(_ value: UInt32) {
        for shift in [12, 8, 4, 0] as [UInt32] {
            let digit = UInt8(truncatingIfNeeded: value >> shift & 0xF)
            bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
    }

    /// RFC 3339 in UTC with milliseconds; the calendar of Howard Hinnant's `civil_from_days`.
    private mutating func appendTime(_ milliseconds: Int64) {
        let (days, ofDay) = milliseconds.floored(by: 86_400_000)
        let (era, dayOfEra) = (days + 719_468).floored(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        appendDigits(yearOfEra + era * 400 + (month <= 2 ? 1 : 0), 4)
        append("-")
        appendDigits(month, 2)
        append("-")
        appendDigits(day, 2)
        append("T")
        appendDigits(ofDay / 3_600_000, 2)
        append(":")
        appendDigits(ofDay / 60_000 % 60, 2)
        append(":")
        appendDigits(ofDay / 1_000 % 60, 2)
        append(".")
        appendDigits(ofDay % 1_000, 3)
        append("Z")
    }

    private mutating func appendDigits(_ value: Int64, _ count: Int) {
        var divisor: Int64 = 1
        for _ in 1..<count {
            divisor *= 10
        }
        while divisor > 0 {
            bytes.append(0x30 + UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }
}

extension Int64 {
    /// Quotient and remainder of a division rounded down, so that the remainder is never negative.
    fileprivate func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
