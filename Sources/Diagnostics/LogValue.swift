/// The value of one field of a log line.
///
/// Never a license key, an install id, a token or a body: identifiers go in by `masked`.
public enum LogValue: Sendable, Equatable {
    /// Text, of which the first 1,024 bytes are written.
    case string(String)
    /// A whole number.
    case int(Int64)
    /// Yes or no.
    case bool(Bool)

    /// A number of any integer type; what lies outside Int64 is clamped to it.
    public static func integer(_ value: some BinaryInteger) -> LogValue { .int(Int64(clamping: value)) }

    /// An identifier that can be recognized by who knows it, and not be used by who does not: `lic_…W3XK`.
    public static func masked(_ identifier: String) -> LogValue { .string(Masked.identifier(identifier)) }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral
{
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// Yes or no.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// Names in the form in which they may appear in a log.
public enum Masked {
    /// `identifier` with all but its prefix and its last four characters left out: `lic_…W3XK`.
    ///
    /// The prefix is what stands before the first underscore, if that is at most 8 letters and digits. Where fewer than
    /// 8 characters would be left out nothing but the prefix is shown, so that a short secret is not half told.
    public static func identifier(_ identifier: String) -> String {
        var identifier = identifier
        return identifier.withUTF8 { text in
            text.allSatisfy { $0 < 0x80 } ? ascii(text) : nil
        } ?? unicode(identifier)
    }

    /// What `unicode` says, for text in ASCII: all identifiers of ours.
    static func ascii(_ text: UnsafeBufferPointer<UInt8>) -> String {
        let underscore = text.prefix(9).firstIndex(of: UInt8(ascii: "_")) ?? 0
        let isPrefix = text[..<underscore].allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        let prefix = underscore > 0 && isPrefix ? underscore + 1 : 0
        let isLong = text.count - prefix >= 12
        // Fifteen bytes or fewer, which Swift keeps without allocating, where the prefix has three letters.
        return String(unsafeUninitializedCapacity: prefix + 3 + 4) { masked in
            var count = 0
            for byte in text[..<prefix] {
                masked[count] = byte
                count += 1
            }
            for byte in "…".utf8 {
                masked[count] = byte
                count += 1
            }
            for byte in text.suffix(isLong ? 4 : 0) {
                masked[count] = byte
                count += 1
            }
            return count
        }
    }

    static func unicode(_ identifier: String) -> String {
        let characters = Array(identifier.unicodeScalars)
        var prefix = ""
        var rest = characters[...]
        if let underscore = characters.firstIndex(of: "_"), (1...8).contains(underscore),
            characters[..<underscore].allSatisfy({
                $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0)
            })
        {
            prefix.unicodeScalars.append(contentsOf: characters[...underscore])
            rest = characters[(underscore + 1)...]
        }
        guard rest.count >= 12 else { return prefix + "…" }
        var masked = prefix + "…"
        masked.unicodeScalars.append(contentsOf: rest.suffix(4))
        return masked
    }
}
