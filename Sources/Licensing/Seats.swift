/// How many seats of a license are held, and how many may be: `seats` on the wire.
public struct SeatUse: Hashable, Sendable {
    /// Seats held; may exceed the limit by overage, or where the limit was lowered.
    public var used: Int
    /// The license's limit, without overage.
    public var limit: SeatLimit

    /// A use of these members.
    public init(used: Int, limit: SeatLimit) {
        self.used = used
        self.limit = limit
    }
}

/// A seat that ends: what the caller writes to the activation's row.
public struct SeatRelease: Hashable, Sendable {
    /// The seat.
    public var activation: Activation.ID
    /// Who held it.
    public var install: Install.ID
    /// When it ended: now, or when its lease did.
    public var at: Timestamp
    /// Why.
    public var reason: ReleaseReason

    /// A release of these members.
    public init(activation: Activation.ID, install: Install.ID, at: Timestamp, reason: ReleaseReason) {
        self.activation = activation
        self.install = install
        self.at = at
        self.reason = reason
    }
}

extension Activation {
    /// When the floating lease ends, or `nil` where the plan has none.
    ///
    /// The length was the plan's at the last renewal, but a plan that was shortened since cuts the lease. A seat from
    /// before the plan had a lease counts as renewed when it was last seen.
    ///
    /// - Parameter leaseSeconds: The plan's, as it is now.
    public func leaseEnd(leaseSeconds: Int64?) -> Timestamp? {
        guard let leaseSeconds else { return nil }
        let byPlan = (leaseRenewedAt ?? max(activatedAt, lastSeenAt)).adding(seconds: leaseSeconds)
        guard let leaseExpiresAt else { return byPlan }
        return min(leaseExpiresAt, byPlan)
    }

    /// Whether the seat is held at `now`: not released, and no lease of it over.
    ///
    /// A count in SQL must say the same: `released_at IS NULL`, and with a lease on the plan
    /// `min(coalesce(lease_expires_at, …), coalesce(lease_renewed_at, max(activated_at, last_seen_at)) + lease_seconds) > now`.
    public func isHeld(at now: Timestamp, leaseSeconds: Int64?) -> Bool {
        guard releasedAt == nil else { return false }
        guard let end = leaseEnd(leaseSeconds: leaseSeconds) else { return true }
        return now < end
    }

    /// Whether a validation or heartbeat should write the lease: half of it is over, none was kept yet, or one was kept
    /// that the plan has no more.
    func leaseRenewalIsDue(at now: Timestamp, leaseSeconds: Int64?) -> Bool {
        guard let leaseSeconds, let end = leaseEnd(leaseSeconds: leaseSeconds) else { return leaseRenewedAt != nil }
        return leaseExpiresAt == nil || end.seconds(since: now) <= leaseSeconds / 2
    }

    /// The seat after its lease was renewed at `now`, or a moment later already by a call that read the clock later and was
    /// written before: no holder's lease ends earlier than a bundle says. One that a wrong clock renewed is put right.
    ///
    /// Where the plan has none, one from before is forgotten: should the plan have one again, it must not be found over
    /// that of a seat whose holder was here all the time.
    func renewed(at now: Timestamp, leaseSeconds: Int64?) -> Activation {
        var activation = self
        let former = leaseRenewedAt.flatMap { $0 > now.adding(seconds: ClockGuard.mostBehind) ? nil : $0 }
        let renewed = max(former ?? now, now)
        activation.leaseRenewedAt = leaseSeconds == nil ? nil : renewed
        activation.leaseExpiresAt = leaseSeconds.map { renewed.adding(seconds: $0) }
        return activation
    }

    /// How this seat ends where its lease is over at `now`, otherwise `nil`.
    func lapse(at now: Timestamp, leaseSeconds: Int64?) -> SeatRelease? {
        guard releasedAt == nil, let end = leaseEnd(leaseSeconds: leaseSeconds), now >= end else { return nil }
        return SeatRelease(activation: id, install: install, at: end, reason: .leaseEnded)
    }
}

extension License {
    /// The seats among `activations` that are held at `now`, in the order of `/v1/seats`: last seen first.
    public func seats(held activations: [Activation], at now: Timestamp) -> [Activation] {
        activations
            .filter { $0.isHeld(at: now, leaseSeconds: plan.leaseSeconds) }
            .sorted { ($1.lastSeenAt, $1.id) < ($0.lastSeenAt, $0.id) }
    }

    /// How many seats are held at `now`, those that were only counted included.
    public func seatUse(given facts: SeatFacts, at now: Timestamp) -> SeatUse {
        SeatUse(used: seatUse(of: facts.activations, at: now).used + facts.othersHeld, limit: seatLimit)
    }

    /// How many seats are held at `now`.
    ///
    /// - Parameters:
    ///   - activations: Every activation of the license whose `releasedAt` is `nil`.
    ///   - now: The time.
    public func seatUse(of activations: [Activation], at now: Timestamp) -> SeatUse {
        SeatUse(
            used: activations.reduce(0) { $0 + ($1.isHeld(at: now, leaseSeconds: plan.leaseSeconds) ? 1 : 0) },
            limit: seatLimit
        )
    }
}
