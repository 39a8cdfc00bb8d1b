// What is asked about seats besides a new one: `validate`, `heartbeat`, `deactivate`, `seats`.

/// The answer to `validate`.
public struct Validation: Hashable, Sendable {
    /// `VALID` or why not.
    public var code: OutcomeCode
    /// The seat the install holds, its lease as it is after `writesLease`; also where the license is not in force.
    public var seat: Activation?
    /// Whether the caller must write the seat's lease, through the writer, before it answers.
    public var writesLease: Bool
    /// Whether the key that was shown was replaced by a newer one: `key_replaced`, told in every case.
    public var keyIsReplaced: Bool

    /// What the code says about the right.
    public var verdict: Verdict { code.verdict }
}

/// A seat whose holder said that it is still there.
public struct SeatRenewal: Hashable, Sendable {
    /// The seat, its lease as it is after `writesLease`.
    public var seat: Activation
    /// When its lease ends, or `nil` where it does not float.
    public var leaseEnd: Timestamp?
    /// Whether the caller must write the seat's lease, through the writer, before it answers.
    public var writesLease: Bool
}

/// The answer to `deactivate`: never a refusal.
public struct Deactivation: Hashable, Sendable {
    /// Whether a seat was held until now: `true` once, then `false`.
    public var isReleased: Bool
    /// What to write, also for a seat whose lease was over: `nil` where the install has no unreleased row.
    public var release: SeatRelease?
}

/// One row of `/v1/seats`.
public struct ListedSeat: Hashable, Sendable {
    /// The most rows that are told: the longest unseen, among which a lost machine is, beside the caller's own.
    public static let mostListed = 100

    /// The seat.
    public var activation: Activation
    /// Whether the calling install holds it.
    public var isThis: Bool

    /// A row of these members.
    public init(activation: Activation, isThis: Bool) {
        self.activation = activation
        self.isThis = isThis
    }
}

extension License {
    /// Answers whether the license is in force at `now` and, where an install asks, whether it holds a seat. Claims nothing.
    ///
    /// The first matching rule wins: revoked, suspended, not started, expired past its grace, not activated, valid. A key
    /// that was replaced changes none of them.
    ///
    /// - Parameters:
    ///   - isInstallGiven: Whether the question named an install.
    ///   - seat: The install's activation of this license whose `releasedAt` is `nil`, if there is one.
    ///   - keyIsReplaced: Whether the key was replaced by a newer one.
    ///   - now: The time.
    public func validation(
        isInstallGiven: Bool,
        seat: Activation?,
        keyIsReplaced: Bool,
        at now: Timestamp
    ) -> Validation {
        let held = seat.flatMap { $0.isHeld(at: now, leaseSeconds: plan.leaseSeconds) ? $0 : nil }
        func answer(_ code: OutcomeCode) -> Validation {
            Validation(code: code, seat: held, writesLease: false, keyIsReplaced: keyIsReplaced)
        }
        if let denial = denial(at: now) { return answer(denial.code) }
        guard isInstallGiven else { return answer(.valid) }
        guard let held else { return answer(.notActivated) }
        let renewal = renewal(of: held, at: now)
        return Validation(
            code: .valid,
            seat: renewal.seat,
            writesLease: renewal.writesLease,
            keyIsReplaced: keyIsReplaced
        )
    }

    /// Decides about `heartbeat`, and about every other call that needs a seat.
    ///
    /// The first matching rule wins: revoked, suspended, not started, expired past its grace, not activated.
    ///
    /// - Parameters:
    ///   - seat: The install's activation of this license whose `releasedAt` is `nil`, if there is one.
    ///   - now: The time.
    public func heartbeatDecision(seat: Activation?, at now: Timestamp) -> Decision<SeatRenewal> {
        if let denial = denial(at: now) { return .denied(denial) }
        guard let seat, seat.isHeld(at: now, leaseSeconds: plan.leaseSeconds) else { return .denied(.notActivated) }
        return .granted(renewal(of: seat, at: now))
    }

    private func renewal(of seat: Activation, at now: Timestamp) -> SeatRenewal {
        let isDue = seat.leaseRenewalIsDue(at: now, leaseSeconds: plan.leaseSeconds)
        let seat = isDue ? seat.renewed(at: now, leaseSeconds: plan.leaseSeconds) : seat
        return SeatRenewal(
            seat: seat,
            leaseEnd: seat.leaseEnd(leaseSeconds: plan.leaseSeconds),
            writesLease: isDue
        )
    }

    /// Releases an install's seat; works whatever the license's status and with any key of it, and can be repeated.
    ///
    /// - Parameters:
    ///   - seat: The install's activation of this license whose `releasedAt` is `nil`, if there is one.
    ///   - reason: Who released it.
    ///   - now: The time.
    public func deactivation(
        of seat: Activation?,
        because reason: ReleaseReason = .deactivated,
        at now: Timestamp
    ) -> Deactivation {
        guard let seat, seat.releasedAt == nil else { return Deactivation(isReleased: false, release: nil) }
        if let lapse = seat.lapse(at: now, leaseSeconds: plan.leaseSeconds) {
            return Deactivation(isReleased: false, release: lapse)
        }
        return Deactivation(
            isReleased: true,
            release: SeatRelease(activation: seat.id, install: seat.install, at: now, reason: reason)
        )
    }

    /// Lists the seats for a customer who wants to release one.
    ///
    /// The first matching rule wins: revoked, suspended, not started, expired past its grace, self-release off. The caller
    /// needs no seat.
    ///
    /// - Parameters:
    ///   - install: Who asks.
    ///   - activations: Activations of the license whose `releasedAt` is `nil`: all, or those that are to be listed.
    ///   - now: The time.
    public func seatListDecision(
        for install: Install.ID,
        given activations: [Activation],
        at now: Timestamp
    ) -> Decision<[ListedSeat]> {
        if let denial = denial(at: now) { return .denied(denial) }
        guard plan.selfRelease else { return .denied(.selfReleaseOff) }
        return .granted(listed(activations, for: install, at: now))
    }

    /// The rows of those of `activations` that are held at `now`, last seen first.
    public func listed(_ activations: [Activation], for install: Install.ID, at now: Timestamp) -> [ListedSeat] {
        seats(held: activations, at: now).map { ListedSeat(activation: $0, isThis: $0.install == install) }
    }
}
