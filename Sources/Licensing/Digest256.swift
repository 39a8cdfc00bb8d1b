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
        self.init(bytes.span)
    }

    /// The digest in `bytes`, or `nil` unless there are exactly 32.
    public init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 32 else { return nil }
        func word(_ start: Int) -> UInt64 {
            var word: UInt64 = 0
            for index in start..<start + 8 { word = word << 8 | UInt64(bytes[index]) }
            return word
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
        append(word0, to: &bytes)
        append(word1, to: &bytes)
        append(word2, to: &bytes)
        append(word3, to: &bytes)
        return bytes
    }

    private func append(_ word: UInt64, to bytes: inout [UInt8]) {
        var shift: UInt64 = 64
        while shift > 0 {
            shift -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> shift))
        }
    }
}
