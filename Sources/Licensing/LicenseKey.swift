/// The secret that proves a license: `PREFIX-XXXX-XXXX-XXXX-XXXX`, in test mode `PREFIX-TEST-XXXX-XXXX-XXXX-XXXX`, or a
/// text of its own form that was imported from elsewhere.
///
/// Kept as a keyed digest of `canonical`. It has no description, so that it does not end up in a log.
public struct LicenseKey: Hashable, Sendable {
    /// Cleaned, upper-cased, without dashes: equal for all spellings of one key. What digests are made of. A secret.
    public let canonical: String
    /// Whether it has the product's own form, with a good check; otherwise it was imported, or is nobody's.
    public let isProductForm: Bool

    /// The most characters (Unicode scalars) that are read.
    public static let longest = 128
    /// Symbols of the random part, its check included.
    static let symbolCount = 16
    /// What follows the prefix in test mode.
    static let testMark = "TEST"

    /// The last four symbols, for display; fewer where the key is shorter.
    public var lastFour: String {
        String(String.UnicodeScalarView(canonical.unicodeScalars.suffix(4)))
    }

    /// The key as it is shown and sent to a customer, with dashes where it has the product's own form. A secret.
    public var text: String {
        guard isProductForm else { return canonical }
        let head = canonical.dropLast(Self.symbolCount)
        var parts: [Substring] = []
        if head.hasSuffix(Self.testMark) {
            parts = [head.dropLast(Self.testMark.count), head.suffix(Self.testMark.count)]
        } else {
            parts = [head]
        }
        var rest = canonical.suffix(Self.symbolCount)
        while !rest.isEmpty {
            parts.append(rest.prefix(4))
            rest = rest.dropFirst(4)
        }
        return parts.joined(separator: "-")
    }

    private init(canonical: String, isProductForm: Bool) {
        self.canonical = canonical
        self.isProductForm = isProductForm
    }
}

// MARK: - Making

extension LicenseKey {
    /// A new key with 75 random bits and its check.
    ///
    /// - Parameters:
    ///   - prefix: The product's.
    ///   - mode: Test keys say so.
    ///   - entropy: Gives 15 bytes, of each of which five bits are used.
    /// - Throws: What `entropy` throws.
    public static func make(prefix: KeyPrefix, mode: Mode, entropy: some Entropy) throws -> LicenseKey {
        let random = try entropy.bytes(symbolCount - 1)
        precondition(random.count == symbolCount - 1, "a source of entropy must give as many bytes as it was asked for")
        var values = random.map { $0 & 31 }
        values.append(CheckCode.check(of: values))
        let head = mode == .test ? prefix.text + testMark : prefix.text
        let body = String(decoding: values.map { Base32.symbols[Int($0)] }, as: UTF8.self)
        return LicenseKey(canonical: head + body, isProductForm: true)
    }
}

// MARK: - Reading

extension LicenseKey {
    /// Why a text is no key that could be looked up.
    public enum Fault: Error, Hashable, Sendable {
        /// Longer than `longest`: `VALIDATION`.
        case tooLong
        /// Nothing is left of it once cleaned: `VALIDATION`.
        case empty
        /// The product's prefix and 16 letters or digits that are no key: `LICENSE_KEY_MALFORMED`. A slip of typing, told
        /// without a look-up.
        case malformed
    }

    /// Reads a key forgivingly.
    ///
    /// Full-width forms are folded, letters upper-cased, every blank, control, dash and zero-width character dropped. What
    /// then is the product's prefix, perhaps `TEST`, and 16 letters or digits is a key of the product's own form: there
    /// `O` counts as `0`, `I` and `L` as `1`, and the check must hold. Anything else is a key of another form, to be looked
    /// up as it stands.
    ///
    /// - Parameters:
    ///   - text: As typed or pasted.
    ///   - prefix: The product's.
    /// - Throws: `Fault`.
    public init(_ text: some StringProtocol, prefix: KeyPrefix) throws(Fault) {
        // Four bytes are the most a scalar has.
        guard text.utf8.count <= Self.longest * 4 else { throw .tooLong }
        let bytes = Array(text.utf8)
        let cleaned: [UInt8]
        if bytes.allSatisfy({ $0 < 0x80 }) {
            guard bytes.count <= Self.longest else { throw .tooLong }
            cleaned = Self.cleanedASCII(bytes)
        } else {
            guard text.unicodeScalars.count <= Self.longest else { throw .tooLong }
            let folded = Self.cleanedUnicode(text)
            // Some letters are several in upper case: a key must be able to read its own spelling.
            guard folded.unicodeScalars.count <= Self.longest else { throw .tooLong }
            cleaned = Array(folded.utf8)
        }
        guard !cleaned.isEmpty else { throw .empty }
        guard let values = try Self.values(of: cleaned, prefix: prefix) else {
            self.init(canonical: String(decoding: cleaned, as: UTF8.self), isProductForm: false)
            return
        }
        var canonical = cleaned
        for (place, value) in values.enumerated() {
            canonical[cleaned.count - Self.symbolCount + place] = Base32.symbol(value)
        }
        self.init(canonical: String(decoding: canonical, as: UTF8.self), isProductForm: true)
    }

    /// The 16 values of a key of the product's own form, or `nil` where it has another form.
    private static func values(of cleaned: [UInt8], prefix: KeyPrefix) throws(Fault) -> [UInt8]? {
        guard cleaned.count > symbolCount else { return nil }
        let head = cleaned.dropLast(symbolCount)
        let mark = prefix.text.utf8
        guard head.starts(with: mark) else { return nil }
        let rest = head.dropFirst(mark.count)
        guard rest.isEmpty || rest.elementsEqual(testMark.utf8) else { return nil }
        let body = cleaned.suffix(symbolCount)
        let isSpelled = body.allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard isSpelled else { return nil }
        let values = body.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "O"): return 0
            case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
            default: return Base32.value(of: byte)
            }
        }
        guard values.count == symbolCount, CheckCode.holds(for: values) else { throw .malformed }
        return values
    }

    /// What `cleanedUnicode` makes of text in ASCII: nearly all there is, and much faster read.
    static func cleanedASCII(_ text: [UInt8]) -> [UInt8] {
        var cleaned: [UInt8] = []
        cleaned.reserveCapacity(text.count)
        for byte in text {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): cleaned.append(byte - 0x20)
            case 0...0x20, 0x7F, UInt8(ascii: "-"): break
            default: cleaned.append(byte)
            }
        }
        return cleaned
    }

    /// The text folded and without what people's hands and mail programs add.
    static func cleanedUnicode(_ text: some StringProtocol) -> String {
        var cleaned = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                switch scalar {
                case "a"..."z": cleaned.append(Unicode.Scalar(UInt8(scalar.value) - 0x20))
                case "\u{0}"..." ", "\u{7F}", "-": break
                default: cleaned.append(scalar)
                }
            } else if (0xFF01...0xFF5E).contains(scalar.value), let narrow = Unicode.Scalar(scalar.value - 0xFEE0) {
                // Full-width forms mirror ASCII from `!` to `~` (Unicode chart FF00).
                if narrow != "-" { cleaned.append(contentsOf: narrow.properties.uppercaseMapping.unicodeScalars) }
            } else if !isDropped(scalar) {
                cleaned.append(contentsOf: scalar.properties.uppercaseMapping.unicodeScalars)
            }
        }
        return String(cleaned)
    }

    private static func isDropped(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .dashPunctuation, .spaceSeparator, .lineSeparator, .paragraphSeparator: return true
        default: break
        }
        // Minus signs and the hyphen bullet are dashes to the eye; some zero-width characters are marks.
        return ["\u{2212}", "\u{2043}", "\u{02D7}", "\u{2796}"].contains(scalar)
            || scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
    }
}

extension LicenseKey: CustomStringConvertible, CustomReflectable {
    /// Tells nothing: the key is a secret.
    public var description: String { "LicenseKey(secret)" }
    /// Tells nothing: the key is a secret.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// The check of a key: in GF(32) with x^5 + x^2 + 1, the sum of α^i·s_i over i = 1…16 is 0, α = 2.
///
/// α has order 31, so the weights are all different and none is 0: no single wrong symbol and no swap of two neighbors
/// leaves the sum at 0.
enum CheckCode {
    /// α^0 to α^30.
    private static let powers: [UInt8] = {
        var powers: [UInt8] = [1]
        for _ in 1..<31 {
            let doubled = UInt16(powers[powers.count - 1]) << 1
            powers.append(UInt8(doubled & 32 == 0 ? doubled : doubled ^ 0b100101))
        }
        return powers
    }()

    private static let logarithms: [Int] = {
        var logarithms = [Int](repeating: 0, count: 32)
        for (exponent, power) in powers.enumerated() {
            logarithms[Int(power)] = exponent
        }
        return logarithms
    }()

    /// `value`·α^`exponent`.
    private static func times(_ value: UInt8, _ exponent: Int) -> UInt8 {
        value == 0 ? 0 : powers[(logarithms[Int(value)] + exponent) % 31]
    }

    private static func sum(_ values: [UInt8]) -> UInt8 {
        var sum: UInt8 = 0
        for (index, value) in values.enumerated() {
            sum ^= times(value, index + 1)
        }
        return sum
    }

    /// The 16th value for these 15.
    static func check(of values: [UInt8]) -> UInt8 {
        // In characteristic 2 a value is its own negative; dividing by α^16 is multiplying by α^15.
        times(sum(values), 15)
    }

    static func holds(for values: [UInt8]) -> Bool {
        sum(values) == 0
    }
}
