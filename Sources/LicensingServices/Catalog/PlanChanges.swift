public import Licensing

/// What is said about a plan; what is `nil` is left alone, or has its default in a new plan.
public struct PlanChanges: Equatable, Sendable {
    /// For people.
    public var name: String?
    /// What it sells; a new plan sells a subscription when it has a duration, else a purchase.
    public var type: EntitlementType?
    /// What its licenses give: all of it.
    public var features: [FeatureCode]?
    /// How long a license lasts; unset: without end.
    public var duration: Change<CalendarDuration>?
    /// How many installs may hold a seat.
    public var seatLimit: SeatLimit?
    /// What happens when they do.
    public var seatPolicy: SeatPolicy?
    /// Percent of the seat limit beyond it.
    public var overagePercent: Int?
    /// How long a seat must be unseen to be released; unset: the offline life.
    public var idleBeforeRelease: Change<CalendarDuration>?
    /// Seconds a floating seat is held; unset: seats do not end by themselves.
    public var leaseSeconds: Change<Int64>?
    /// How long after its end a license still counts.
    public var expiryGrace: CalendarDuration?
    /// Where the duration is counted from.
    public var expiryBasis: ExpiryBasis?
    /// How long a bundle proves its grants; unset: the product's.
    public var offlineLife: Change<CalendarDuration>?
    /// New seats beyond the limit in a period; unset: no cap.
    public var transferLimit: Change<Int>?
    /// The rolling period of that; unset: 30 days.
    public var transferPeriod: Change<CalendarDuration>?
    /// Whether customers may release seats themselves.
    public var selfRelease: Bool?
    /// Where its grants count; unset: everywhere.
    public var environment: Change<EnvironmentRule>?
    /// Meters whose limit it raises: all of them.
    public var meters: [MeterName: MeterLimit]?

    /// No changes.
    public init() {}

    func apply(to plan: inout Plan) {
        func set<Value>(_ place: inout Value, _ value: Value?) {
            if let value { place = value }
        }
        func set<Value>(_ place: inout Value?, _ change: Change<Value>?) {
            switch change {
            case nil: break
            case .unset?: place = nil
            case .set(let value)?: place = value
            }
        }
        set(&plan.name, name)
        set(&plan.type, type)
        set(&plan.features, features?.sorted())
        set(&plan.duration, duration)
        set(&plan.seatLimit, seatLimit)
        set(&plan.seatPolicy, seatPolicy)
        set(&plan.overagePercent, overagePercent)
        set(&plan.idleBeforeRelease, idleBeforeRelease)
        set(&plan.leaseSeconds, leaseSeconds)
        set(&plan.expiryGrace, expiryGrace)
        set(&plan.expiryBasis, expiryBasis)
        set(&plan.offlineLife, offlineLife)
        set(&plan.transferLimit, transferLimit)
        set(&plan.transferPeriod, transferPeriod)
        set(&plan.selfRelease, selfRelease)
        set(&plan.environment, environment)
        set(&plan.meters, meters)
    }
}
