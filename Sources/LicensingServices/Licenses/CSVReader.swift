/// One record of a CSV text.
struct CSVRecord: Hashable, Sendable {
    /// The line of the text it begins on, from 1 on.
    let line: Int
    /// Its fields, unquoted.
    let fields: [String]
}

/// Why a text is no CSV.
struct CSVFault: Error, Hashable, Sendable {
    /// The line where it went wrong, from 1 on.
    let line: Int
    /// A short sentence.
    let reason: String
}

/// Reads CSV strictly by RFC 4180: commas, lines ended by CRLF or LF, fields quoted as a whole or not at all, quotes
/// inside doubled. A byte order mark at the beginning is skipped, since spreadsheets write one, and so are empty lines at
/// the end, which editors leave.
///
/// Not in the RFC, and refused because it would be guessed at: other separators, blanks around quotes, a lone CR, NUL.
struct CSVReader {
    private let bytes: ArraySlice<UInt8>
    private var position = 0
    private var line = 1

    init(_ bytes: [UInt8]) {
        var text = bytes[...]
        while let shorter = Self.withoutLineBreak(text), Self.withoutLineBreak(shorter) != nil { text = shorter }
        self.bytes = text
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// The text before the LF or CRLF that it ends with; `nil` where it ends with none.
    private static func withoutLineBreak(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard text.last == lineFeed else { return nil }
        return text.dropLast().last == carriageReturn ? text.dropLast(2) : text.dropLast()
    }

    private static let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
    private static let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))

    /// The next record; `nil` at the end. A line break at the very end ends the last record and begins none.
    ///
    /// - Throws: `CSVFault`, after which nothing more can be read.
    mutating func next() throws(CSVFault) -> CSVRecord? {
        guard position < bytes.count else { return nil }
        let start = line
        var fields: [String] = []
        while true {
            fields.append(try field())
            guard position < bytes.count else { return CSVRecord(line: start, fields: fields) }
            if bytes[position] == Self.comma {
                position += 1
                continue
            }
            try lineBreak()
            return CSVRecord(line: start, fields: fields)
        }
    }

    private mutating func lineBreak() throws(CSVFault) {
        if bytes[position] == Self.carriageReturn {
            guard position + 1 < bytes.count, bytes[position + 1] == Self.lineFeed else {
                throw fault("has a carriage return without a line feed")
            }
            position += 1
        }
        position += 1
        line += 1
    }

    /// A field up to the comma or line break that ends it.
    private mutating func field() throws(CSVFault) -> String {
        guard position < bytes.count, bytes[position] == Self.quote else { return try plainField() }
        position += 1
        let start = line
        var field: [UInt8] = []
        while true {
            guard position < bytes.count else {
                throw CSVFault(line: start, reason: "has a quote that is never closed")
            }
            let byte = bytes[position]
            position += 1
            if byte == Self.quote {
                guard position < bytes.count, bytes[position] == Self.quote else { break }
                position += 1
            } else if byte == Self.lineFeed {
                line += 1
            }
            field.append(byte)
        }
        if position < bytes.count {
            let byte = bytes[position]
            guard byte == Self.comma || byte == Self.lineFeed || byte == Self.carriageReturn else {
                throw fault("has text after a closing quote")
            }
        }
        return try text(field[...])
    }

    private mutating func plainField() throws(CSVFault) -> String {
        let start = position
        while position < bytes.count {
            let byte = bytes[position]
            if byte == Self.comma || byte == Self.lineFeed || byte == Self.carriageReturn { break }
            guard byte != Self.quote else { throw fault("has a quote inside a field that does not begin with one") }
            position += 1
        }
        return try text(bytes[start..<position])
    }

    private func text(_ field: ArraySlice<UInt8>) throws(CSVFault) -> String {
        guard !field.contains(0) else { throw fault("has a NUL byte") }
        guard let text = String(validating: field, as: UTF8.self) else { throw fault("is not UTF-8") }
        return text
    }

    private func fault(_ reason: String) -> CSVFault { CSVFault(line: line, reason: reason) }
}

/// Writes CSV by RFC 4180: CRLF, quotes where they are needed.
struct CSVWriter {
    private(set) var bytes: [UInt8] = []

    /// Appends one record.
    mutating func record(_ fields: some Sequence<String>) {
        let start = bytes.count
        var isFirst = true
        for field in fields {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            let utf8 = field.utf8
            let needsQuotes = utf8.contains { byte in
                byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")
                    || byte == UInt8(ascii: "\r")
            }
            guard needsQuotes else {
                bytes.append(contentsOf: utf8)
                continue
            }
            bytes.append(UInt8(ascii: "\""))
            for byte in utf8 {
                if byte == UInt8(ascii: "\"") { bytes.append(byte) }
                bytes.append(byte)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        // One empty field alone must not look like an empty line, which is none at the end.
        if bytes.count == start { bytes.append(contentsOf: "\"\"".utf8) }
        bytes.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
    }
}

/// Text for a spreadsheet, which runs as a formula whatever begins in a certain way (OWASP, "CSV Injection").
///
/// An apostrophe before such a text says that it is none. A text that begins with apostrophes and would then be taken
/// for a neutralized one gets one more, so that reading takes away exactly what writing added.
enum SpreadsheetText {
    /// What a formula begins with, in plain and in full width.
    private static let beginnings: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\t", "\r", "\n", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]

    static func neutralized(_ text: String) -> String { isFormula(text) ? "'" + text : text }

    static func restored(_ text: String) -> String {
        text.hasPrefix("'") && isFormula(text.dropFirst()) ? String(text.dropFirst()) : text
    }

    /// Whether the text, but for apostrophes before it, begins as a formula does.
    private static func isFormula(_ text: some StringProtocol) -> Bool {
        guard let first = text.unicodeScalars.first(where: { $0 != "'" }) else { return false }
        return beginnings.contains(first)
    }
}
