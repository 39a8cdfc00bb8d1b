/// An install that asks for a seat.
public struct ActivationRequest: Hashable, Sendable {
    /// The install's row; recorded before the question is put.
    public var install: Install.ID
    /// Keyed digest of its fingerprint, where it sent one.
    public var fingerprint: Digest256?
    /// What it tells about itself.
    public var device: DeviceInfo
    /// The seat that it wants to replace.
    public var replacing: Activation.ID?
    /// Whether the key it showed was replaced by a newer one.
    public var keyIsReplaced: Bool

    /// A request of these members.
    public init(
        install: Install.ID,
        fingerprint: Digest256? = nil,
        device: DeviceInfo = .none,
        replacing: Activation.ID? = nil,
        keyIsReplaced: Bool = false
    ) {
        self.install = install
        self.fingerprint = fingerprint
        self.device = device
        self.replacing = replacing
        self.keyIsReplaced = keyIsReplaced
    }
}

/// What an activation is decided upon: rows to load in the transaction that writes the decision.
public struct SeatFacts: Hashable, Sendable {
    /// Activations of the license whose `releasedAt` is `nil`, lapsed leases included: that of the calling install, those
    /// with its fingerprint that were seen last, the one to replace and, where a full license releases them, so many of
    /// the longest unseen as are too many (`seatsTooMany`). The others are counted in `othersHeld`.
    public var activations: [Activation]
    /// Seats held now (`Activation.isHeld`) that are not among `activations`.
    public var othersHeld: Int
    /// The fingerprint by which a reinstall once took a seat of this license over from the calling install: the newest
    /// such row, or `nil` where it was never replaced so.
    public var replacedByFingerprint: Digest256?
    /// Fingerprints of this license that are known to belong to several machines; those of the request and of
    /// `replacedByFingerprint` are enough.
    public var clonedFingerprints: Set<Digest256>
    /// New seats given since `License.transferPeriodStart(at:)`, released ones included; take-overs are none.
    public var newSeatsInPeriod: Int

    /// Facts of these members.
    public init(
        activations: [Activation],
        othersHeld: Int = 0,
        replacedByFingerprint: Digest256? = nil,
        clonedFingerprints: Set<Digest256> = [],
        newSeatsInPeriod: Int = 0
    ) {
        self.activations = activations
        self.othersHeld = othersHeld
        self.replacedByFingerprint = replacedByFingerprint
        self.clonedFingerprints = clonedFingerprints
        self.newSeatsInPeriod = newSeatsInPeriod
    }

    /// The fingerprint to record as cloned on this license, whatever the decision: a replaced install calls `activate`
    /// again, so two machines share it. `nil` where there is none, or it is recorded already.
    public var newlyClonedFingerprint: Digest256? {
        guard let replacedByFingerprint, !clonedFingerprints.contains(replacedByFingerprint) else { return nil }
        return replacedByFingerprint
    }
}

/// A seat that was granted: what to write.
public struct ActivationGrant: Hashable, Sendable {
    /// Which seat.
    public enum Seat: Hashable, Sendable {
        /// The install's own, refreshed: update its row.
        case alreadySeated(Activation)
        /// One of the same machine before a reinstall: update its row, and record the take-over (license, from which
        /// install, by which fingerprint), so that a clone is known when the old install calls again.
        case takenOver(Activation, from: Install.ID)
        /// A new one: insert `NewSeat.activation(id:)`, after the releases.
        case new(NewSeat)
    }

    /// Which seat.
    public var seat: Seat
    /// Seats that end with it: replaced, idle, or their lease over. To write first.
    public var releasing: [SeatRelease]
    /// When the license is activated for the first time: write `firstActivatedAt`.
    public var firstActivatedAt: Timestamp?
    /// The term that begins to run with it: write it where there is one.
    public var startsTerm: LicenseTerm?
    /// The seats after all is written.
    public var seats: SeatUse

    /// The seat as it is after all is written, or `nil` for a new one, which needs an id first.
    public var activation: Activation? {
        switch seat {
        case .alreadySeated(let activation), .takenOver(let activation, from: _): return activation
        case .new: return nil
        }
    }
}

/// A seat that does not have its id yet.
public struct NewSeat: Hashable, Sendable {
    /// Of which license.
    public var license: License.ID
    /// Who asked for it.
    public var request: ActivationRequest
    /// When.
    public var at: Timestamp
    /// The plan's lease.
    public var leaseSeconds: Int64?

    /// The activation to insert.
    public func activation(id: Activation.ID) -> Activation {
        Activation(
            id: id,
            license: license,
            install: request.install,
            fingerprint: request.fingerprint,
            device: request.device,
            activatedAt: at,
            lastSeenAt: at
        )
        .renewed(at: at, leaseSeconds: leaseSeconds)
    }
}

extension License {
    /// The start of the rolling period whose new seats are counted, or `nil` where the plan has no cap or no seat limit.
    ///
    /// Count activations with `activated_at > start`.
    public func transferPeriodStart(at now: Timestamp) -> Timestamp? {
        guard plan.transferLimit != nil, seatLimit != .unlimited else { return nil }
        return now.subtracting(plan.transferPeriod ?? Plan.standardTransferPeriod)
    }

    /// Decides whether an install may hold a seat at `now`, and which.
    ///
    /// The first matching rule wins: revoked, suspended, not started, expired past its grace, `replace` where customers
    /// may not release seats, already seated, a reinstall on a machine that holds a seat, `replace` of what is no seat,
    /// a new seat with an old key, no seat left, too many new seats.
    ///
    /// - Parameters:
    ///   - request: Who asks for what.
    ///   - facts: What the transaction has read.
    ///   - settings: The product's.
    ///   - now: The time.
    public func activationDecision(
        for request: ActivationRequest,
        given facts: SeatFacts,
        under settings: ProductSettings,
        at now: Timestamp
    ) -> Decision<ActivationGrant> {
        if let denial = denial(at: now) { return .denied(denial) }
        if request.replacing != nil && !plan.selfRelease { return .denied(.selfReleaseOff) }
        let held = seats(held: facts.activations, at: now)
        let used = held.count + facts.othersHeld
        if let seat = held.first(where: { $0.install == request.install }) {
            return .granted(grant(.alreadySeated(refreshed(seat, by: request, at: now)), used: used, at: now))
        }
        let ownLapsed = facts.activations.filter { $0.install == request.install }.compactMap { lapse(of: $0, at: now) }
        if let seat = takeover(by: request, from: held, given: facts, at: now) {
            var taken = refreshed(seat, by: request, at: now)
            taken.install = request.install
            let recent = taken.takeovers.filter { isRecent($0, at: now) }
            taken.takeovers = Array((recent + [now]).suffix(Activation.mostTakeovers))
            let claim = ActivationGrant.Seat.takenOver(taken, from: seat.install)
            return .granted(grant(claim, releasing: ownLapsed, used: used, at: now))
        }
        return newSeatDecision(for: request, given: facts, held: held, under: settings, at: now)
    }

    /// How many of the longest-unseen seats must end so that a new one fits into a license that releases them; 0 where its
    /// policy is another.
    ///
    /// - Parameter held: Seats held now.
    public func releasesNeeded(held: Int) -> Int {
        guard seatPolicy == .releaseOldest, let capacity = seatCapacity, capacity > 0 else { return 0 }
        return max(0, seatsTooMany(held: held, capacity: capacity))
    }

    private func seatsTooMany(held: Int, capacity: Int) -> Int { held - max(0, capacity) + 1 }

    /// Decides about a seat for an install that holds none and can take none over.
    private func newSeatDecision(
        for request: ActivationRequest,
        given facts: SeatFacts,
        held: [Activation],
        under settings: ProductSettings,
        at now: Timestamp
    ) -> Decision<ActivationGrant> {
        let used = held.count + facts.othersHeld
        var releasing: [SeatRelease] = []
        var rest = held
        if let replacing = request.replacing {
            guard let replaced = facts.activations.first(where: { $0.id == replacing && $0.releasedAt == nil }) else {
                return .denied(.replacedSeatNotFound)
            }
            // A seat whose lease is over is free already; it was a seat when the customer saw the list.
            if let index = rest.firstIndex(where: { $0.id == replaced.id }) {
                rest.remove(at: index)
                releasing.append(
                    SeatRelease(activation: replaced.id, install: replaced.install, at: now, reason: .replaced)
                )
            }
        }
        if request.keyIsReplaced { return .denied(.reissued) }
        if let capacity = seatCapacity, let limit = seatLimit.count {
            let excess = seatsTooMany(held: rest.count + facts.othersHeld, capacity: capacity)
            if excess > 0 {
                guard let idle = idleSeats(excess, of: rest, under: settings, at: now) else {
                    return .denied(.noSeats(used: used, limit: limit))
                }
                releasing += idle
            }
            if let transferLimit = plan.transferLimit {
                let (most, overflow) = limit.addingReportingOverflow(transferLimit)
                if !overflow && facts.newSeatsInPeriod >= most { return .denied(.transferLimit(most: most)) }
            }
        }
        let usedAfter = used - releasing.count + 1
        releasing += facts.activations.compactMap { lapse(of: $0, at: now) }
        let seat = NewSeat(license: id, request: request, at: now, leaseSeconds: plan.leaseSeconds)
        return .granted(grant(.new(seat), releasing: releasing, used: usedAfter, at: now))
    }

    /// The seat of the same machine that `request` may take over: the one seen last that was not taken over too often.
    private func takeover(
        by request: ActivationRequest,
        from held: [Activation],
        given facts: SeatFacts,
        at now: Timestamp
    ) -> Activation? {
        guard let fingerprint = request.fingerprint, !facts.clonedFingerprints.contains(fingerprint),
            facts.replacedByFingerprint != fingerprint
        else { return nil }
        return held.first { seat in
            seat.fingerprint == fingerprint
                && seat.takeovers.filter { isRecent($0, at: now) }.count < Activation.mostTakeovers
        }
    }

    private func isRecent(_ takeover: Timestamp, at now: Timestamp) -> Bool {
        now < takeover.adding(Activation.takeoverPeriod)
    }

    /// So many of the longest-unseen seats, where the policy is to release them and each is idle for long enough: all or
    /// none.
    private func idleSeats(
        _ count: Int,
        of held: [Activation],
        under settings: ProductSettings,
        at now: Timestamp
    ) -> [SeatRelease]? {
        guard seatPolicy == .releaseOldest, seatLimit != .limited(0), count <= held.count else { return nil }
        let offlineLife = offlineLife(under: settings)
        let idle = plan.idleBeforeRelease ?? offlineLife
        // `held` begins with the seat seen last.
        let oldest = held.suffix(count).reversed()
        let areIdle = oldest.allSatisfy { seat in
            now >= max(seat.lastSeenAt.adding(idle), seat.lastSeenAt.adding(offlineLife))
        }
        guard areIdle else { return nil }
        return oldest.map { SeatRelease(activation: $0.id, install: $0.install, at: now, reason: .idle) }
    }

    /// The seat after its holder called: what it told kept, seen now, its lease renewed.
    private func refreshed(_ seat: Activation, by request: ActivationRequest, at now: Timestamp) -> Activation {
        var seat = seat.renewed(at: now, leaseSeconds: plan.leaseSeconds)
        seat.fingerprint = request.fingerprint ?? seat.fingerprint
        seat.device = seat.device.updated(by: request.device)
        seat.lastSeenAt = max(seat.lastSeenAt, now)
        return seat
    }

    private func lapse(of activation: Activation, at now: Timestamp) -> SeatRelease? {
        activation.lapse(at: now, leaseSeconds: plan.leaseSeconds)
    }

    private func grant(
        _ seat: ActivationGrant.Seat,
        releasing: [SeatRelease] = [],
        used: Int,
        at now: Timestamp
    ) -> ActivationGrant {
        ActivationGrant(
            seat: seat,
            releasing: releasing,
            firstActivatedAt: firstActivatedAt == nil ? now : nil,
            startsTerm: term.pendingDuration.map { LicenseTerm.counted($0, from: now) },
            seats: SeatUse(used: used, limit: seatLimit)
        )
    }
}
