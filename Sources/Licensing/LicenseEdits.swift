/// What an edit says about a member that can follow the plan.
public enum PlanChoice<Value> {
    /// As the plan says.
    case plan
    /// This.
    case own(Value)

    /// What is kept of it: `nil` follows the plan.
    public var override: Value? {
        if case .own(let value) = self { return value }
        return nil
    }
}

extension PlanChoice: Sendable where Value: Sendable {}
extension PlanChoice: Equatable where Value: Equatable {}

/// What an edit says about a member that can be absent.
public enum Change<Value> {
    /// Take it away.
    case unset
    /// This.
    case set(Value)

    /// What is kept of it.
    public var value: Value? {
        if case .set(let value) = self { return value }
        return nil
    }
}

extension Change: Sendable where Value: Sendable {}
extension Change: Equatable where Value: Equatable {}

/// An edit of a license by an administrator; what is `nil` is left alone. It never changes the standing.
public struct LicenseEdit: Equatable, Sendable {
    /// Another plan.
    public var plan: Plan?
    /// `--seats`.
    public var seatLimit: PlanChoice<SeatLimit>?
    /// The seat policy.
    public var seatPolicy: PlanChoice<SeatPolicy>?
    /// `--expires-at`.
    public var end: EndChoice?
    /// `--maintenance-until`.
    public var maintenanceUntil: Change<Timestamp>?
    /// `--offline-life`.
    public var offlineLife: PlanChoice<CalendarDuration>?
    /// The environment rule.
    public var environment: PlanChoice<EnvironmentRule>?

    /// An edit of these members.
    public init(
        plan: Plan? = nil,
        seatLimit: PlanChoice<SeatLimit>? = nil,
        seatPolicy: PlanChoice<SeatPolicy>? = nil,
        end: EndChoice? = nil,
        maintenanceUntil: Change<Timestamp>? = nil,
        offlineLife: PlanChoice<CalendarDuration>? = nil,
        environment: PlanChoice<EnvironmentRule>? = nil
    ) {
        self.plan = plan
        self.seatLimit = seatLimit
        self.seatPolicy = seatPolicy
        self.end = end
        self.maintenanceUntil = maintenanceUntil
        self.offlineLife = offlineLife
        self.environment = environment
    }
}

extension License {
    /// The license after an edit. An end that follows the plan is computed anew, under the new plan where there is one;
    /// another plan alone leaves the end as it is.
    public func edited(by edit: LicenseEdit) -> License {
        var license = self
        if let plan = edit.plan { license.plan = plan }
        if let choice = edit.seatLimit { license.overrides.seatLimit = choice.override }
        if let choice = edit.seatPolicy { license.overrides.seatPolicy = choice.override }
        if let choice = edit.offlineLife { license.overrides.offlineLife = choice.override }
        if let choice = edit.environment { license.overrides.environment = choice.override }
        if let change = edit.maintenanceUntil { license.maintenanceUntil = change.value }
        if let choice = edit.end {
            license.term = LicenseTerm(
                choice,
                under: license.plan,
                from: license.rightStartsAt,
                firstActivatedAt: license.firstActivatedAt
            )
        }
        return license
    }

    /// Decides about a renewal: the new term to write. Works in every standing, and changes none.
    ///
    /// - Parameters:
    ///   - duration: How long; `nil`: the plan's.
    ///   - now: The time.
    public func renewalDecision(by duration: CalendarDuration? = nil, at now: Timestamp) -> Decision<LicenseTerm> {
        guard term != .unending else { return .denied(.notRenewable) }
        guard let duration = duration ?? plan.duration, !duration.isZero else {
            return .denied(.renewalWithoutDuration)
        }
        guard let renewed = term.renewed(by: duration, at: now) else { return .denied(.notRenewable) }
        return .granted(renewed)
    }

    /// Decides about a suspension: the standing to write. Suspending twice changes nothing; a revoked license is refused.
    public func suspensionDecision() -> Decision<Standing> {
        standing == .revoked ? .denied(.revoked) : .granted(.suspended)
    }

    /// Decides about a reinstatement: the standing to write. An active license stays so; a revoked one needs the explicit
    /// word.
    ///
    /// - Parameter includingRevoked: `--revoked` was given.
    public func reinstatementDecision(includingRevoked: Bool) -> Decision<Standing> {
        standing == .revoked && !includingRevoked ? .denied(.revoked) : .granted(.active)
    }

    /// The standing after a revocation, from any other. Revoking twice changes nothing.
    public var revokedStanding: Standing { .revoked }
}
