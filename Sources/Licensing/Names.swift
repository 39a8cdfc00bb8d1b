/// The name of a vendor or a product in addresses and options: `[a-z0-9][a-z0-9_-]{0,62}`.
public struct Slug: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The slug as written.
    public let text: String

    /// Reads a slug; nothing is folded.
    ///
    /// - Throws: `ValueFault` where the text is not one.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        guard isCode(text, longest: 63, inner: { $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }) else {
            throw ValueFault("must be 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit")
        }
        self.text = String(text)
    }

    /// By bytes.
    public static func < (left: Slug, right: Slug) -> Bool { precedes(left.text, right.text) }

    /// The slug as written.
    public var description: String { text }
}

/// The name of a feature or a meter within its product: `[a-z0-9][a-z0-9._-]{0,63}`.
public struct FeatureCode: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The code as written.
    public let text: String

    /// Reads a code; nothing is folded.
    ///
    /// - Throws: `ValueFault` where the text is not one.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        self.text = try code(text)
    }

    /// By bytes: the order of features in a bundle.
    public static func < (left: FeatureCode, right: FeatureCode) -> Bool { precedes(left.text, right.text) }

    /// The code as written.
    public var description: String { text }
}

/// The name of a meter: the characters of a feature's.
public typealias MeterName = FeatureCode

/// The name of a plan within its product: the characters of a feature's.
public struct PlanCode: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The code as written.
    public let text: String

    /// Reads a code; nothing is folded.
    ///
    /// - Throws: `ValueFault` where the text is not one.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        self.text = try code(text)
    }

    /// By bytes.
    public static func < (left: PlanCode, right: PlanCode) -> Bool { precedes(left.text, right.text) }

    /// The code as written.
    public var description: String { text }
}

/// Whether real customers are served or the vendor tries things out: the two never mix and sign with different keys.
public enum Mode: String, Hashable, Sendable, CaseIterable {
    /// Customers.
    case live
    /// The vendor's tests.
    case test
}

/// What a product's license keys begin with: 2 to 8 of `A-Z0-9`, never ending in `TEST`.
public struct KeyPrefix: Hashable, Sendable, CustomStringConvertible {
    /// The prefix as written.
    public let text: String

    /// `CS`, for a product that names none.
    public static let standard = KeyPrefix(unchecked: "CS")

    private init(unchecked text: String) {
        self.text = text
    }

    /// Reads a prefix; nothing is folded.
    ///
    /// - Throws: `ValueFault` where the text is not one.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        let isSpelled = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard (2...8).contains(text.utf8.count), isSpelled else {
            throw ValueFault("must be 2 to 8 of A-Z and 0-9")
        }
        guard !text.hasSuffix("TEST") else {
            throw ValueFault("must not end in TEST, which marks the keys of test mode")
        }
        self.text = String(text)
    }

    /// The prefix as written.
    public var description: String { text }
}

/// Compares by bytes: a `String`'s own order follows Unicode and may differ between systems.
func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
}

private func code(_ text: some StringProtocol) throws(ValueFault) -> String {
    let isInner = { (byte: UInt8) in
        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
    guard isCode(text, longest: 64, inner: isInner) else {
        throw ValueFault("must be 1 to 64 of a-z, 0-9, ., _ and -, beginning with a letter or digit")
    }
    return String(text)
}

private func isCode(_ text: some StringProtocol, longest: Int, inner: (UInt8) -> Bool) -> Bool {
    var count = 0
    for byte in text.utf8 {
        let isPlain =
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        guard isPlain || (count > 0 && inner(byte)) else { return false }
        count += 1
    }
    return (1...longest).contains(count)
}
