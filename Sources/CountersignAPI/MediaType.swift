import CountersignWire
import HTTPServer

/// Whether a body is what every route with a body takes: JSON in UTF-8, as it is.
enum MediaType {
    /// Refuses another type, none, another charset, or a coding.
    ///
    /// - Throws: `Problem` with `UNSUPPORTED_MEDIA_TYPE`.
    static func check(_ request: HTTPRequest) throws {
        guard request.headerCount("content-encoding") == 0 else {
            throw Problem(.unsupportedMediaType, "The body must come without a Content-Encoding.")
        }
        guard request.headerCount("content-type") == 1, let value = request.headerBytes("content-type"), isJSON(value)
        else {
            throw Problem(.unsupportedMediaType, "The Content-Type must be application/json, in UTF-8 if it says so.")
        }
    }

    /// A longer value is none: it is read before the credential is looked at.
    static let longest = 256

    /// Whether this field value is `application/json`, perhaps with `charset=utf-8` (RFC 9110 §8.3.1); parameters of
    /// another name mean nothing to JSON (RFC 8259 §11) and may stand there.
    static func isJSON(_ value: [UInt8]) -> Bool {
        if value.elementsEqual("application/json".utf8) { return true }
        guard value.count <= longest else { return false }
        var reader = Reader(rest: value[...])
        reader.skipBlanks()
        guard reader.token() == "application", reader.skip("/"), reader.token() == "json" else { return false }
        while true {
            reader.skipBlanks()
            if reader.rest.isEmpty { return true }
            guard reader.skip(";") else { return false }
            reader.skipBlanks()
            // RFC 9110 §5.6.6 lets a semicolon stand alone.
            if reader.rest.isEmpty || reader.rest.first == UInt8(ascii: ";") { continue }
            guard let name = reader.token(), reader.skip("="), let text = reader.tokenOrQuoted() else { return false }
            if name == "charset" && text != "utf-8" { return false }
        }
    }

    /// Reads tokens and quoted strings (RFC 9110 §5.6), letters in lower case: nothing compared here tells case apart.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func skipBlanks() {
            while let byte = rest.first, byte == 0x20 || byte == 0x09 { rest.removeFirst() }
        }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func token() -> String? {
            let token = rest.prefix(while: isToken)
            guard !token.isEmpty else { return nil }
            rest = rest.dropFirst(token.count)
            return String(decoding: token, as: UTF8.self).lowercased()
        }

        mutating func tokenOrQuoted() -> String? {
            guard skip("\"") else { return token() }
            var text: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self).lowercased()
                case UInt8(ascii: "\\"):
                    guard let escaped = rest.popFirst() else { return nil }
                    text.append(escaped)
                default: text.append(byte)
                }
            }
            return nil
        }
    }
}
