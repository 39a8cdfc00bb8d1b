/// Something that is named by an `Identifier` with a prefix of its own.
public protocol IdentifiedEntity {
    /// What the text form begins with, the underscore included: `lic_`.
    static var identifierPrefix: String { get }
}

extension IdentifiedEntity {
    /// The name of one such thing.
    public typealias ID = Identifier<Self>
}

/// The 128 bits of a ULID, the name of one `Entity`: a license's identifier never type-checks where an activation's
/// is due.
///
/// 48 bits of milliseconds since 1970 and 80 random bits (github.com/ulid/spec), fresh for each identifier: no two made
/// in one millisecond are neighbors. The text form is the entity's prefix and 26 symbols; rows keep the text.
public struct Identifier<Entity: IdentifiedEntity>: Hashable, Sendable {
    /// The 48 bits of time and the first 16 random ones.
    public let high: UInt64
    /// The last 64 random bits.
    public let low: UInt64

    /// The identifier of these bits.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A new identifier.
    ///
    /// - Parameters:
    ///   - milliseconds: Since 1970; only the lower 48 bits count, and a time before 1970 counts as 1970.
    ///   - entropy: Gives the 80 random bits.
    /// - Throws: What `entropy` throws.
    public init(milliseconds: Int64, entropy: some Entropy) throws {
        let random = try entropy.bytes(10)
        precondition(random.count == 10, "a source of entropy must give as many bytes as it was asked for")
        let time = UInt64(max(0, milliseconds)) & 0xFFFF_FFFF_FFFF
        high = time << 16 | UInt64(random[0]) << 8 | UInt64(random[1])
        low = random[2...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A new identifier made at `now`.
    ///
    /// - Throws: What `entropy` throws.
    public init(at now: Timestamp, entropy: some Entropy) throws {
        try self.init(
            milliseconds: now.secondsSinceEpoch.multipliedReportingOverflow(by: 1000).partialValue,
            entropy: entropy
        )
    }

    /// Reads the text form strictly: the entity's prefix, then 26 symbols in upper case, the first at most `7`.
    ///
    /// `nil` for anything else, another entity's identifier included.
    public init?(_ text: some StringProtocol) {
        self.init(utf8: Array(text.utf8).span)
    }

    /// Reads the text form from its bytes, by the same rules.
    public init?(utf8 text: Span<UInt8>) {
        guard let bits = ULID.read(text, after: Entity.identifierPrefix) else { return nil }
        self.init(high: bits.high, low: bits.low)
    }

    /// The text form, `lic_01J9Z3…`.
    public var text: String { ULID.text(high: high, low: low, after: Entity.identifierPrefix) }
}

/// The text form of 128 bits; not generic, so that it is compiled once and for all entities.
private enum ULID {
    static func read(_ text: Span<UInt8>, after prefix: String) -> (high: UInt64, low: UInt64)? {
        let start = prefix.utf8.count
        guard text.count == start + 26 else { return nil }
        var index = 0
        for byte in prefix.utf8 {
            guard text[index] == byte else { return nil }
            index += 1
        }
        // Of 130 bits the upper two must be 0.
        guard let first = Base32.value(of: text[start]), first < 8 else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        while index < text.count {
            guard let symbol = Base32.value(of: text[index]) else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | UInt64(symbol)
            index += 1
        }
        return (high, low)
    }

    static func text(high: UInt64, low: UInt64, after prefix: String) -> String {
        let start = prefix.utf8.count
        return unsafe String(unsafeUninitializedCapacity: start + 26) { text in
            var index = 0
            for byte in prefix.utf8 {
                unsafe text[index] = byte
                index += 1
            }
            var (high, low) = (high, low)
            index = start + 26
            while index > start {
                index -= 1
                unsafe text[index] = Base32.symbol(UInt8(low & 31))
                low = low >> 5 | high << 59
                high >>= 5
            }
            return start + 26
        }
    }
}

extension Identifier: Comparable {
    /// Older before newer (by the millisecond), otherwise by the random bits: the order of the text form.
    public static func < (left: Self, right: Self) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension Identifier: CustomStringConvertible {
    /// The text form: an identifier is no secret.
    public var description: String { text }
}
