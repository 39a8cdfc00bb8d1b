import SystemPrimitives

/// So many in so long, as many at once: a token bucket that is full at the start.
struct Rate: Hashable, Sendable {
    /// How many; at least 1.
    let limit: Int64
    /// How long one takes to come back, in nanoseconds, rounded up: never more than the limit.
    let interval: UInt64

    /// `limit` in `seconds`; nil where there is no limit, said as 0.
    init?(_ limit: Int, perSeconds seconds: UInt64) {
        guard limit > 0 else { return nil }
        self.limit = Int64(limit)
        interval = (seconds * 1_000_000_000 + UInt64(limit) - 1) / UInt64(limit)
    }

    /// How long an empty bucket takes to fill, in nanoseconds.
    var filling: UInt64 { interval * UInt64(limit) }
}

/// What a bucket belongs to.
struct RateKey: Hashable, Sendable {
    /// What is counted; the numbers only tell buckets apart.
    enum Kind: UInt64, Sendable, CaseIterable {
        case requests = 1, firstContacts, trials, wrongKeys, notifications, administration
    }

    let kind: Kind
    /// 128 bits of an address or of a credential's id.
    let high: UInt64
    let low: UInt64
    /// Whose of the buckets of one address it is: 64 random bits of a vendor's id, or of a store connection's; 0 where the
    /// address has one for all.
    let owner: UInt64

    init(kind: Kind, high: UInt64, low: UInt64, owner: UInt64 = 0) {
        self.kind = kind
        self.high = high
        self.low = low
        self.owner = owner
    }
}

/// What a bucket answered.
struct Allowance: Hashable, Sendable {
    /// Whether there was something to take.
    let isGranted: Bool
    /// The bucket's size.
    let limit: Int64
    /// What is left in it.
    let remaining: Int64
    /// Whole seconds, rounded up, until the next may be taken; 0 where it may be at once.
    let resetSeconds: Int64
}

/// The token buckets of all loops: at most 65,536, of a fixed size each, made as they are needed.
///
/// A bucket is one number, the moment at which it is full again (the "theoretical arrival time" of the generic cell rate
/// algorithm, ITU-T I.371). One that is full by now is as good as none, so that room is made by forgetting whichever of
/// sixteen neighbors is full first: whoever floods the table from many addresses forgives the others something, and never
/// the longer waits before the shorter ones.
///
/// Shared by the loops, so that a rate holds whatever loop a connection belongs to; in 64 parts with a lock each, held for
/// a scan of sixteen entries, so that two loops rarely meet.
final class RateTable: Sendable {
    private struct Bucket {
        var key: RateKey?
        var fullAt: UInt64 = 0
    }

    private struct Part {
        /// Empty until the part is first used: 1,024 buckets take 40 KiB.
        var buckets: [Bucket] = []
    }

    /// The most buckets there are.
    static let most = parts * setsInPart * ways
    private static let parts = 64
    private static let setsInPart = 64
    private static let ways = 16

    private let parts: [Guarded<Part>]

    init() {
        parts = (0..<Self.parts).map { _ in Guarded(Part()) }
    }

    /// Takes one from the bucket of `key`, if one is there.
    ///
    /// - Parameter now: nanoseconds of a clock that does not go back.
    func take(_ rate: Rate, _ key: RateKey, at now: UInt64) -> Allowance {
        ask(rate, key, at: now, takes: true)
    }

    /// What `take` would answer.
    func look(_ rate: Rate, _ key: RateKey, at now: UInt64) -> Allowance {
        ask(rate, key, at: now, takes: false)
    }

    /// Puts back what `take` took by this rate; a bucket that was forgotten meanwhile is full already.
    func giveBack(_ rate: Rate, _ key: RateKey) {
        let (part, start) = place(of: key)
        parts[part].withLock { part in
            guard !part.buckets.isEmpty else { return }
            for candidate in start..<start + Self.ways where part.buckets[candidate].key == key {
                let fullAt = part.buckets[candidate].fullAt
                part.buckets[candidate].fullAt = fullAt > rate.interval ? fullAt - rate.interval : 0
            }
        }
    }

    /// Buckets in use; for tests.
    var count: Int {
        parts.reduce(0) { sum, part in sum + part.withLock { $0.buckets.count { $0.key != nil } } }
    }

    /// Where the sixteen entries are of which a bucket has one.
    private func place(of key: RateKey) -> (part: Int, start: Int) {
        var hasher = Hasher()  // seeded anew in each process: nobody can choose addresses that share a set
        hasher.combine(key)
        let hash = UInt(bitPattern: hasher.finalize())
        return (Int(hash % UInt(Self.parts)), Int(hash / UInt(Self.parts) % UInt(Self.setsInPart)) * Self.ways)
    }

    private func ask(_ rate: Rate, _ key: RateKey, at now: UInt64, takes: Bool) -> Allowance {
        let (part, start) = place(of: key)
        return parts[part].withLock { part in
            if part.buckets.isEmpty {
                guard takes else { return Self.allowance(rate, fullAt: now, at: now).0 }
                part.buckets = Array(repeating: Bucket(), count: Self.setsInPart * Self.ways)
            }
            var place = start
            for candidate in start..<start + Self.ways {
                if part.buckets[candidate].key == key {
                    place = candidate
                    break
                }
                if part.buckets[candidate].fullAt < part.buckets[place].fullAt { place = candidate }
            }
            let isKnown = part.buckets[place].key == key
            let (allowance, fullAt) = Self.allowance(rate, fullAt: isKnown ? part.buckets[place].fullAt : 0, at: now)
            if takes && allowance.isGranted { part.buckets[place] = Bucket(key: key, fullAt: fullAt) }
            return allowance
        }
    }

    /// What a bucket answers, and when it is full again once that was taken.
    private static func allowance(_ rate: Rate, fullAt: UInt64, at now: UInt64) -> (Allowance, fullAt: UInt64) {
        // A rate that was lowered meanwhile must not keep anybody waiting longer than its own bucket takes to fill.
        let before = min(max(fullAt, now), now + rate.filling)
        let after = before + rate.interval
        let room = now + rate.filling
        guard after <= room else {
            return (
                Allowance(
                    isGranted: false,
                    limit: rate.limit,
                    remaining: 0,
                    resetSeconds: Int64((after - room + 999_999_999) / 1_000_000_000)
                ),
                before
            )
        }
        return (
            Allowance(
                isGranted: true,
                limit: rate.limit,
                remaining: Int64((room - after) / rate.interval),
                resetSeconds: 0
            ),
            after
        )
    }
}
