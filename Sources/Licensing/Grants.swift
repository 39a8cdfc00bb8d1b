extension Grant {
    /// Whether it is live at `now`: started, not ended, its lease not over.
    public func isLive(at now: Timestamp) -> Bool {
        guard starts <= now else { return false }
        if let ends, now >= ends { return false }
        if let leaseEnd, now >= leaseEnd { return false }
        return true
    }

    /// When the proof of it ends that a bundle made at `issuedAt` gives: the earliest of its end, the offline life from
    /// then on, and the end of a floating lease.
    public func until(issuedAt: Timestamp) -> Timestamp {
        var until = issuedAt.adding(offlineLife)
        if let ends { until = min(until, ends) }
        if let leaseEnd { until = min(until, leaseEnd) }
        return until
    }

    /// The most grants of a bundle.
    public static let mostInBundle = 512

    /// The live grants of `grants` as a bundle lists them: by feature, then store, license, gift, trial, then the latest
    /// end, then `ref`. Of more than `most` those that end first are left out, never the last of a feature.
    public static func listed(_ grants: [Grant], at now: Timestamp, most: Int = mostInBundle) -> [Grant] {
        var live = grants.filter { $0.isLive(at: now) }.sorted(by: isListedBefore)
        guard live.count > most else { return live }
        var countByFeature: [FeatureCode: Int] = [:]
        for grant in live { countByFeature[grant.feature, default: 0] += 1 }
        // Of two that end together the later listed goes first.
        let byEnd = live.indices.sorted { left, right in
            let (leftEnd, rightEnd) = (live[left].lastSecond, live[right].lastSecond)
            return leftEnd == rightEnd ? left > right : leftEnd < rightEnd
        }
        var excess = live.count - most
        var dropped: Set<Int> = []
        for index in byEnd where excess > 0 {
            let feature = live[index].feature
            guard let count = countByFeature[feature], count > 1 else { continue }
            countByFeature[feature] = count - 1
            dropped.insert(index)
            excess -= 1
        }
        live = live.indices.filter { !dropped.contains($0) }.map { live[$0] }
        return live
    }

    private static func isListedBefore(_ left: Grant, _ right: Grant) -> Bool {
        if left.feature != right.feature { return left.feature < right.feature }
        if left.source != right.source { return left.source < right.source }
        if left.ends != right.ends { return left.lastSecond > right.lastSecond }
        return precedes(left.reference.text, right.reference.text)
    }

    /// Its end as a number; no end is later than every end.
    private var lastSecond: Int64 { ends?.secondsSinceEpoch ?? .max }
}

extension Entitlement {
    /// The union of the live grants: a row a feature, by feature.
    public static func union(of grants: [Grant], at now: Timestamp) -> [Entitlement] {
        var byFeature: [FeatureCode: Entitlement] = [:]
        for grant in grants where grant.isLive(at: now) {
            guard var entitlement = byFeature[grant.feature] else {
                byFeature[grant.feature] = Entitlement(
                    feature: grant.feature,
                    source: grant.source,
                    expiresAt: grant.ends
                )
                continue
            }
            entitlement.source = min(entitlement.source, grant.source)
            if let end = entitlement.expiresAt {
                entitlement.expiresAt = grant.ends.map { max($0, end) }
            }
            byFeature[grant.feature] = entitlement
        }
        return byFeature.values.sorted { $0.feature < $1.feature }
    }
}

extension License {
    /// The grants that an install has by its seat of this license at `now`: none unless the license is in force and the
    /// seat held.
    ///
    /// - Parameters:
    ///   - seat: The install's activation of this license whose `releasedAt` is `nil`.
    ///   - settings: The product's.
    ///   - now: The time.
    public func grants(for seat: Activation, under settings: ProductSettings, at now: Timestamp) -> [Grant] {
        guard denial(at: now) == nil, seat.isHeld(at: now, leaseSeconds: plan.leaseSeconds) else { return [] }
        let offlineLife = offlineLife(under: settings)
        let leaseEnd = seat.leaseEnd(leaseSeconds: plan.leaseSeconds)
        let (starts, ends, environment) = (rightStart(at: now), rightEndsAt, environment)
        return plan.features.map { feature in
            Grant(
                feature: feature,
                reference: .license(id),
                starts: starts,
                ends: ends,
                offlineLife: offlineLife,
                leaseEnd: leaseEnd,
                environment: environment
            )
        }
    }
}

/// The times of a bundle that follow from its grants.
public struct BundleTimes: Hashable, Sendable {
    /// `iat`: when it was made.
    public let issuedAt: Timestamp
    /// When a client should ask again: the product's setting, never later than half of the time to the first `until`.
    public let refreshAfter: Timestamp
    /// `exp`: the latest `until` of its grants; without grants the product's offline life from `issuedAt` on.
    public let expiresAt: Timestamp

    /// The times of a bundle with these grants.
    ///
    /// - Parameters:
    ///   - grants: Those that are in the bundle.
    ///   - settings: The product's.
    ///   - issuedAt: The time.
    public init(grants: [Grant], under settings: ProductSettings, issuedAt: Timestamp) {
        var earliest: Timestamp?
        var latest: Timestamp?
        for grant in grants {
            let until = grant.until(issuedAt: issuedAt)
            earliest = min(earliest ?? until, until)
            latest = max(latest ?? until, until)
        }
        self.issuedAt = issuedAt
        expiresAt = latest ?? issuedAt.adding(settings.offlineLife)
        let half = (earliest ?? expiresAt).seconds(since: issuedAt) / 2
        refreshAfter = min(issuedAt.adding(settings.refreshAfter), issuedAt.adding(seconds: max(0, half)))
    }
}
