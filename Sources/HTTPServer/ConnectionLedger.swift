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
final class ConnectionLedger: Sendable {
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

    /// Enters a connection; one that is refused must not be released.
    func admit(_ peer: PeerAddress) -> ConnectionAdmission {
        let isCounted = isCounted(peer)
        guard limit == 0 || open.load(ordering: .relaxed) < limit, !isCounted || countAddress(peer) else {
            refused.wrappingAdd(1, ordering: .relaxed)
            return .refused
        }
        open.wrappingAdd(1, ordering: .relaxed)
        accepted.wrappingAdd(1, ordering: .relaxed)
        return isCounted ? .counted : .uncounted
    }

    /// Counts a connection that was turned away for another reason than the limits.
    func refuse() { refused.wrappingAdd(1, ordering: .relaxed) }

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
