/// Who sent a request, as far as the connection and the proxies in front of it can be believed.
public enum ClientAddress: Hashable, Sendable {
    /// The address to hold responsible.
    case known(PeerAddress)
    /// A private or loopback peer while no proxy is trusted: a neighbor, or a proxy that hides everybody.
    case local
    /// A trusted proxy that named nobody.
    case unnamed

    /// Finds the client: the peer itself, or where that is a trusted proxy the right-most address of its
    /// `X-Forwarded-For` that is none.
    ///
    /// Each hop appends whom it heard from, so that the list is believed from its right end for as long as those who
    /// wrote it are trusted; what stands further left is the client's own invention. An entry that is no address ends
    /// the walk at the hop that wrote it. Where all are trusted proxies, the left-most is the client.
    ///
    /// - Parameter forwardedFor: the field's lines in their order; asked for only where they count.
    public init(
        peer: PeerAddress,
        trusting proxies: [NetworkPrefix],
        forwardedFor: () -> [String]
    ) {
        func isTrusted(_ address: PeerAddress) -> Bool { proxies.contains { $0.contains(address) } }
        guard isTrusted(peer) else {
            self = peer.isLocal && proxies.isEmpty ? .local : .known(peer)
            return
        }
        var client = peer
        var hops = 0
        // From the right, and no further than somebody is believed: what stands left of that may be of any length.
        walk: for line in forwardedFor().reversed() {
            let bytes = Array(line.utf8)
            var end = bytes.count
            while end >= 0 {
                var start = end
                while start > 0, bytes[start - 1] != UInt8(ascii: ",") { start -= 1 }
                let hop = bytes[bytes.withUnsafeBytes { $0.trimmed(start..<end) }]
                end = start - 1
                // RFC 9110 §5.6.1.2: a recipient ignores empty elements of a list.
                if hop.isEmpty { continue }
                hops += 1
                guard hops <= Self.mostHops, let address = Self.address(of: hop) else { break walk }
                client = address
                if !isTrusted(address) { break walk }
            }
        }
        guard hops > 0 else {
            self = .unnamed
            return
        }
        self = .known(client)
    }

    /// Proxies that may stand behind one another; the one that comes next is taken for the client.
    private static let mostHops = 16
    /// The longest text of an address in brackets with a port, zone and all, and more.
    private static let longestHop = 64

    /// An address, perhaps with a port: some proxies append `192.0.2.1:4711` or `[2001:db8::1]:4711`.
    private static func address(of hop: ArraySlice<UInt8>) -> PeerAddress? {
        guard hop.count <= longestHop else { return nil }
        if let address = PeerAddress(parsing: String(decoding: hop, as: UTF8.self)) { return address }
        guard let colon = hop.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let port = hop[(colon + 1)...]
        let host = hop[..<colon]
        guard (1...5).contains(port.count), port.allSatisfy({ (0x30...0x39).contains($0) }),
            host.last == UInt8(ascii: "]") || !host.contains(UInt8(ascii: ":"))
        else { return nil }
        return PeerAddress(parsing: String(decoding: host, as: UTF8.self))
    }
}

extension HTTPRequest {
    /// Who sent the request; see `ClientAddress`.
    public func client(trusting proxies: [NetworkPrefix]) -> ClientAddress {
        // What is no UTF-8 is no address, repaired or not, and ends the walk at its place in the list.
        let lines = proxies.isEmpty ? [] : headerLines("x-forwarded-for").map { String(decoding: $0, as: UTF8.self) }
        return ClientAddress(peer: peer, trusting: proxies) { lines }
    }
}
