import CountersignWire
import Diagnostics
public import HTTPServer
import Licensing
import Synchronization
import SystemPrimitives

/// How much one client may ask for; 0 everywhere: no limit. As many as a rate allows may come at once.
public struct RateLimits: Hashable, Sendable {
    /// Requests from one address a minute; as many again for each connection to a store.
    public var addressPerMinute = 3_000
    /// New installs of one vendor's products from one address a minute.
    public var firstContactsPerMinute = 300
    /// New trials of one vendor's products from one address a day.
    public var trialsPerDay = 20
    /// Unknown license keys of one vendor's products from one address a minute.
    public var wrongKeysPerMinute = 30
    /// Requests with one credential of administration a minute.
    public var administrationPerMinute = 600
    /// Proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies: [NetworkPrefix] = []

    /// The defaults of the configuration file.
    public init() {}

    /// Whether nothing is limited by address.
    var isAddressLimitOff: Bool {
        addressPerMinute == 0 && firstContactsPerMinute == 0 && trialsPerDay == 0 && wrongKeysPerMinute == 0
    }

    func rate(of kind: RateKey.Kind) -> Rate? {
        switch kind {
        case .requests, .notifications: Rate(addressPerMinute, perSeconds: 60)
        case .firstContacts: Rate(firstContactsPerMinute, perSeconds: 60)
        case .trials: Rate(trialsPerDay, perSeconds: 86_400)
        case .wrongKeys: Rate(wrongKeysPerMinute, perSeconds: 60)
        case .administration: Rate(administrationPerMinute, perSeconds: 60)
        }
    }
}

/// The address that answers for a request: an IPv4 address, or the first 64 bits of an IPv6 one.
struct ClientKey: Hashable, Sendable {
    private let site: PeerAddress

    init(_ address: PeerAddress) { site = address.site }

    /// The address's bucket for requests of all kinds, whomever they are for: taken from before that is known.
    var requests: RateKey { RateKey(kind: .requests, high: site.high, low: site.low) }

    /// The address's bucket at one vendor. What strangers do by one vendor's app uses up nothing of another's, although
    /// they share an address with that vendor's customers; all products of a vendor have one, so that a guesser gets no
    /// more tries by having several apps.
    func rateKey(_ kind: RateKey.Kind, at vendor: Vendor.ID) -> RateKey {
        // The 64 last bits of an id are random: a digest already.
        RateKey(kind: kind, high: site.high, low: site.low, owner: vendor.low)
    }

    /// The address's bucket for what claims to come from the store of a connection.
    func notifications(for connection: StoreConnectionID) -> RateKey {
        RateKey(kind: .notifications, high: site.high, low: site.low, owner: connection.low)
    }
}

/// The rates and buckets of one server, shared by its loops.
final class RateLimiter: Sendable {
    private let limits: Guarded<RateLimits>
    /// Counts the changes of `limits`, so that a loop can tell at the price of one load that its copy still holds.
    private let changes = Atomic<Int>(0)
    private let table = RateTable()
    private let now: @Sendable () -> UInt64
    private let hasToldOfLocalPeer = Atomic<Bool>(false)
    private let hasToldOfUnnamedClient = Atomic<Bool>(false)

    /// - Parameter now: nanoseconds of a clock that does not go back; real time, whatever clock licenses follow.
    init(_ limits: RateLimits, now: @escaping @Sendable () -> UInt64 = { MonotonicClock.nanoseconds() }) {
        self.limits = Guarded(limits)
        self.now = now
    }

    /// What holds from now on, in all loops.
    var current: RateLimits {
        get { limits.withLock { $0 } }
        set {
            limits.withLock { $0 = newValue }
            hasToldOfLocalPeer.store(false, ordering: .relaxed)
            hasToldOfUnnamedClient.store(false, ordering: .relaxed)
            changes.wrappingAdd(1, ordering: .releasing)
        }
    }

    /// A loop's copy of the limits.
    struct View: Sendable {
        fileprivate(set) var limits: RateLimits
        fileprivate var changes: Int
    }

    func view() -> View {
        let count = changes.load(ordering: .acquiring)
        return View(limits: current, changes: count)
    }

    /// Brings a copy up to date.
    func refresh(_ view: inout View) {
        if changes.load(ordering: .acquiring) != view.changes { view = self.view() }
    }

    /// Takes one, or only looks whether there is one.
    ///
    /// - Throws: `LimitExceeded`.
    func pass(_ key: RateKey, under limits: RateLimits, takes: Bool = true) throws(LimitExceeded) {
        guard let rate = limits.rate(of: key.kind) else { return }
        let allowance = takes ? table.take(rate, key, at: now()) : table.look(rate, key, at: now())
        guard !allowance.isGranted else { return }
        throw LimitExceeded(
            code: .rateLimited,
            limit: allowance.limit,
            remaining: allowance.remaining,
            resetSeconds: allowance.resetSeconds
        )
    }

    /// Takes one that may have to be given back, under the limits of now.
    ///
    /// - Returns: what gives it back; nil where there is no limit.
    /// - Throws: `LimitExceeded`.
    func take(_ key: RateKey) throws(LimitExceeded) -> (@Sendable () -> Void)? {
        let limits = current
        guard let rate = limits.rate(of: key.kind) else { return nil }
        try pass(key, under: limits)
        return { [table] in table.giveBack(rate, key) }
    }

    /// Gives back what `pass` took, under the limits of now.
    func giveBack(_ key: RateKey) {
        guard let rate = current.rate(of: key.kind) else { return }
        table.giveBack(rate, key)
    }

    /// Who answers for a request; nil where nobody is limited by address.
    func client(_ request: HTTPRequest, under limits: RateLimits, log: Log) -> ClientKey? {
        if limits.isAddressLimitOff { return nil }
        switch request.client(trusting: limits.trustedProxies) {
        case .known(let address): return ClientKey(address)
        case .local:
            if !hasToldOfLocalPeer.exchange(true, ordering: .relaxed) {
                log.warning(
                    "address_not_limited",
                    [
                        "setting": "trusted_proxies",
                        "reason": """
                        a request came from a private or loopback address and no proxy is trusted: such addresses are \
                        not limited
                        """,
                    ]
                )
            }
            return nil
        case .unnamed:
            if !hasToldOfUnnamedClient.exchange(true, ordering: .relaxed) {
                log.warning(
                    "address_not_limited",
                    [
                        "setting": "trusted_proxies",
                        "reason": "a trusted proxy sends no X-Forwarded-For: its clients are not limited",
                    ]
                )
            }
            return nil
        }
    }
}
