import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The address of a client: 128 bits, IPv4 as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2).
public struct PeerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The first and the last 64 bits, in host order.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// An address from its bits.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// 127.0.0.1
    public static let loopback = PeerAddress(high: 0, low: 0xFFFF_7F00_0001)

    /// Reads `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`; nothing else, no port, no name.
    public init?(parsing text: String) {
        // C would read up to the NUL and take the rest for nothing.
        guard !text.utf8.contains(0) else { return nil }
        var text = text
        if text.hasPrefix("[") && text.hasSuffix("]") {
            text = String(text.dropFirst().dropLast())
            guard text.utf8.contains(UInt8(ascii: ":")) else { return nil }
        }
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4)
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self.init(v6)
    }

    init(_ v4: in_addr) {
        self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: v4.s_addr)))
    }

    init(_ v6: in6_addr) {
        let words = withUnsafeBytes(of: v6) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        self.init(high: words.0, low: words.1)
    }

    /// Whether this is an IPv4 address.
    public var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// Loopback, private (RFC 1918, RFC 4193), link-local or shared (RFC 6598): an address of nobody in particular.
    public var isLocal: Bool {
        if isIPv4 {
            let v4 = UInt32(truncatingIfNeeded: low)
            return v4 >> 24 == 127 || v4 >> 24 == 10 || v4 >> 20 == 0xAC1 || v4 >> 16 == 0xC0A8 || v4 >> 16 == 0xA9FE
                || v4 >> 22 == 0x64_40 >> 6
        }
        return high == 0 && low == 1 || high >> 57 == 0xFC >> 1 || high >> 54 == 0xFE80 >> 6
    }

    /// Whether this is this machine itself.
    var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    /// The first 64 bits of an IPv6 address, the whole of an IPv4 one: what one customer's line is taken to be.
    public var site: PeerAddress {
        isIPv4 ? self : PeerAddress(high: high, low: 0)
    }

    /// The usual text form.
    public var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            guard let base = text.baseAddress else { return "" }
            if isIPv4 {
                var v4 = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
                inet_ntop(AF_INET, &v4, base, socklen_t(INET6_ADDRSTRLEN))
            } else {
                var words = (high.bigEndian, low.bigEndian)
                inet_ntop(AF_INET6, &words, base, socklen_t(INET6_ADDRSTRLEN))
            }
            return String(cString: base)
        }
    }
}

/// A block of addresses, as `10.0.0.0/8` or `2001:db8::/32` say it.
public struct NetworkPrefix: Hashable, Sendable, CustomStringConvertible {
    private let address: PeerAddress
    private let length: Int

    /// Reads an address with a prefix length, or an address alone, which is a block of one.
    ///
    /// `nil` for anything else, and where bits after the prefix are set: `10.0.0.1/8` is a slip, not a block.
    public init?(parsing text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = PeerAddress(parsing: String(parts[0])) else { return nil }
        let bits = address.isIPv4 ? 32 : 128
        var length = bits
        if parts.count == 2 {
            let digits = parts[1]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(digits), value <= bits else {
                return nil
            }
            length = value
        }
        self.address = address
        self.length = length + 128 - bits
        guard NetworkPrefix.masked(address, self.length) == address else { return nil }
    }

    /// Whether `candidate` lies in the block.
    public func contains(_ candidate: PeerAddress) -> Bool {
        candidate.isIPv4 == address.isIPv4 && NetworkPrefix.masked(candidate, length) == address
    }

    /// As `init(parsing:)` reads it; a block of one without its length.
    public var description: String {
        length == 128 ? "\(address)" : "\(address)/\(address.isIPv4 ? length - 96 : length)"
    }

    private static func masked(_ address: PeerAddress, _ length: Int) -> PeerAddress {
        // Swift's `<<` of a whole word or more gives 0.
        let high = length >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(length))
        let low = length <= 64 ? 0 : ~(UInt64.max >> UInt64(length - 64))
        return PeerAddress(high: address.high & high, low: address.low & low)
    }
}
