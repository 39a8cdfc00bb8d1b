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
        let bytes = Array(text.utf8)
        let prefix = Array(Entity.identifierPrefix.utf8)
        guard bytes.count == prefix.count + 26, bytes.starts(with: prefix) else { return nil }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for (index, byte) in bytes[prefix.count...].enumerated() {
            guard let symbol = Base32.value(of: byte), index > 0 || symbol < 8 else { return nil }
            high = high << 5 | low >> 59
            low = low << 5 | UInt64(symbol)
        }
        self.init(high: high, low: low)
    }

    /// The text form, `lic_01J9Z3…`.
    public var text: String {
        var symbols: [UInt8] = Array(Entity.identifierPrefix.utf8)
        symbols.reserveCapacity(symbols.count + 26)
        for place in 0..<26 {
            let shift = (25 - place) * 5
            let bits: UInt64
            if shift >= 64 {
                bits = high >> UInt64(shift - 64)
            } else if shift > 59 {
                bits = low >> UInt64(shift) | high << UInt64(64 - shift)
            } else {
                bits = low >> UInt64(shift)
            }
            symbols.append(Base32.symbols[Int(bits & 31)])
        }
        return String(decoding: symbols, as: UTF8.self)
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
