/// 256 bits of a digest or a keyed digest: how secrets such as install ids and license keys are kept.
///
/// Four words instead of an array: a digest is compared and hashed often and never allocates.
/// `==` is not constant in time. That is right for the keyed digests kept here, whose key an attacker does not have;
/// compare tokens with the constant-time comparison of `Cryptography`.
public struct Digest256: Hashable, Sendable {
    /// Bytes 0 to 7, big-endian.
    public let word0: UInt64
    /// Bytes 8 to 15, big-endian.
    public let word1: UInt64
    /// Bytes 16 to 23, big-endian.
    public let word2: UInt64
    /// Bytes 24 to 31, big-endian.
    public let word3: UInt64

    /// The digest in `bytes`, or `nil` unless there are exactly 32.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        func word(_ start: Int) -> UInt64 {
            bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        word0 = word(0)
        word1 = word(8)
        word2 = word(16)
        word3 = word(24)
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        for word in [word0, word1, word2, word3] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        return bytes
    }
}
