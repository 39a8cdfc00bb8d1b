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

/// Counts the connections of all loops against the limits.
final class ConnectionLedger: Sendable {
    private let limit: Int
    private let limitPerAddress: Int
    private let trustedProxies: [NetworkPrefix]
    private let open = Atomic<Int>(0)
    private let accepted = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let addresses = Guarded<[PeerAddress: Int]>([:])

    init(_ options: ServerOptions) {
        limit = options.connections
        limitPerAddress = options.connectionsPerAddress
        trustedProxies = options.trustedProxies
    }

    /// Enters a connection; false where it is one too many, and then it must not be released.
    func admit(_ peer: PeerAddress) -> Bool {
        let isAdmitted = (limit == 0 || open.load(ordering: .relaxed) < limit) && countAddress(peer)
        guard isAdmitted else {
            refused.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        open.wrappingAdd(1, ordering: .relaxed)
        accepted.wrappingAdd(1, ordering: .relaxed)
        return true
    }

    /// Takes out a connection that was admitted.
    func release(_ peer: PeerAddress) {
        open.wrappingSubtract(1, ordering: .relaxed)
        guard isCounted(peer) else { return }
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

    private func isCounted(_ peer: PeerAddress) -> Bool {
        limitPerAddress > 0 && !peer.isLocal && !trustedProxies.contains { $0.contains(peer) }
    }

    private func countAddress(_ peer: PeerAddress) -> Bool {
        guard isCounted(peer) else { return true }
        return addresses.withLock { addresses in
            let count = addresses[peer.site, default: 0]
            guard count < limitPerAddress else { return false }
            addresses[peer.site] = count + 1
            return true
        }
    }
}
