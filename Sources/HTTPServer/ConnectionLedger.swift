import Synchronization
import SystemPrimitives

/// Counts of a server's connections.
public struct ConnectionStatistics: Sendable, Equatable {
    /// Now.
    public let open: Int
    /// Since the start.
    public let accepted: Int
    /// Turned away since the start, for one of the two limits.
    public let refused: Int
}

/// What became of a new connection.
enum ConnectionAdmission: Sendable {
    /// One too many.
    case refused
    /// Entered, and counted for its address.
    case counted
    /// Entered.
    case uncounted
}

/// Counts the connections of all loops against the limits.
///
/// Beyond the limit of all, a few are let in to look for an idle one that gives way (`EventLoop.open`).
final class ConnectionLedger: Sendable {
    /// How many may be on their way to their loops, or stay beyond the limit, at one time.
    private static let mostOnTheirWay = 64
    /// How many from the loopback address may stay beyond the limit: health checks.
    static let spareForLoopback = 8

    private let limit: Int
    private let limitPerAddress: Int
    private let trustedProxies: Guarded<[NetworkPrefix]>
    private let open = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let addresses = Guarded<[PeerAddress: Int]>([:])

    init(_ options: ServerOptions) {
        limit = options.connections
        limitPerAddress = options.connectionsPerAddress
        trustedProxies = Guarded(options.trustedProxies)
    }

    /// Enters a connection, perhaps beyond the limit; one that is refused must not be released.
    func admit(_ peer: PeerAddress) -> ConnectionAdmission {
        let isCounted = isCounted(peer)
        guard limit == 0 || open.load(ordering: .relaxed) < limit + Self.mostOnTheirWay,
            !isCounted || countAddress(peer)
        else {
            refused.wrappingAdd(1, ordering: .relaxed)
            return .refused
        }
        open.wrappingAdd(1, ordering: .relaxed)
        return isCounted ? .counted : .uncounted
    }

    /// Counts a connection that was turned away for another reason than the limits.
    func refuse() { refused.wrappingAdd(1, ordering: .relaxed) }

    /// Takes out a connection that was admitted and found nobody to make room for it.
    func refuse(_ peer: PeerAddress, wasCounted: Bool) {
        release(peer, wasCounted: wasCounted)
        refuse()
    }

    /// Counts a connection that was admitted and is served.
    func accept() { accepted.wrappingAdd(1, ordering: .relaxed) }

    /// How many connections there are beyond the limit, the newest included: its loop is to close an idle one for it.
    var crowd: Int { limit == 0 ? 0 : open.load(ordering: .relaxed) - limit }

    /// Takes out a connection that was admitted.
    ///
    /// - Parameter wasCounted: what `admit` said then; proxies may have become trusted meanwhile.
    func release(_ peer: PeerAddress, wasCounted: Bool) {
        open.wrappingSubtract(1, ordering: .relaxed)
        guard wasCounted else { return }
        addresses.withLock { addresses in
            let count = addresses[peer.site, default: 0]
            addresses[peer.site] = count > 1 ? count - 1 : nil
        }
    }

    var statistics: ConnectionStatistics {
        ConnectionStatistics(
            open: open.load(ordering: .relaxed),
            accepted: accepted.load(ordering: .relaxed),
            refused: refused.load(ordering: .relaxed)
        )
    }

    /// Trusts other proxies from now on.
    func trust(_ proxies: [NetworkPrefix]) { trustedProxies.withLock { $0 = proxies } }

    private func isCounted(_ peer: PeerAddress) -> Bool {
        guard limitPerAddress > 0, !peer.isLocal else { return false }
        return !trustedProxies.withLock { proxies in proxies.contains { $0.contains(peer) } }
    }

    private func countAddress(_ peer: PeerAddress) -> Bool {
        addresses.withLock { addresses in
            let count = addresses[peer.site, default: 0]
            guard count < limitPerAddress else { return false }
            addresses[peer.site] = count + 1
            return true
        }
    }
}
