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
        // RFC 9110 §5.6.1.2: a recipient ignores empty elements of a list.
        let hops = forwardedFor().flatMap { $0.split(separator: ",") }
            .map { $0.trimmingBlanks() }
            .filter { !$0.isEmpty }
        guard !hops.isEmpty else {
            self = .unnamed
            return
        }
        var client = peer
        for hop in hops.reversed() {
            guard let address = Self.address(of: hop) else { break }
            client = address
            if !isTrusted(address) { break }
        }
        self = .known(client)
    }

    /// An address, perhaps with a port: some proxies append `192.0.2.1:4711` or `[2001:db8::1]:4711`.
    private static func address(of hop: Substring) -> PeerAddress? {
        if let address = PeerAddress(parsing: String(hop)) { return address }
        guard let colon = hop.lastIndex(of: ":") else { return nil }
        let port = hop[hop.index(after: colon)...]
        let host = hop[..<colon]
        guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            host.last == "]" || !host.contains(":")
        else { return nil }
        return PeerAddress(parsing: String(host))
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

extension Substring {
    fileprivate func trimmingBlanks() -> Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
