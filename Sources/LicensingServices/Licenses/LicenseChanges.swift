public import Licensing

/// What an administrator says when a license is edited; what is `nil` is left alone.
public struct LicenseChanges: Equatable, Sendable {
    /// Another plan of the product, by its code.
    public var plan: PlanCode?
    /// The seat limit.
    public var seatLimit: PlanChoice<SeatLimit>?
    /// The seat policy.
    public var seatPolicy: PlanChoice<SeatPolicy>?
    /// The end.
    public var end: EndChoice?
    /// Until when the builds it may run were made.
    public var maintenanceUntil: Change<Timestamp>?
    /// The offline life.
    public var offlineLife: PlanChoice<CalendarDuration>?
    /// The environment rule.
    public var environment: PlanChoice<EnvironmentRule>?
    /// The customer's name, on all licenses of that customer.
    public var customerName: String?

    /// Changes of these members.
    public init(
        plan: PlanCode? = nil,
        seatLimit: PlanChoice<SeatLimit>? = nil,
        seatPolicy: PlanChoice<SeatPolicy>? = nil,
        end: EndChoice? = nil,
        maintenanceUntil: Change<Timestamp>? = nil,
        offlineLife: PlanChoice<CalendarDuration>? = nil,
        environment: PlanChoice<EnvironmentRule>? = nil,
        customerName: String? = nil
    ) {
        self.plan = plan
        self.seatLimit = seatLimit
        self.seatPolicy = seatPolicy
        self.end = end
        self.maintenanceUntil = maintenanceUntil
        self.offlineLife = offlineLife
        self.environment = environment
        self.customerName = customerName
    }

    /// Whether nothing was said.
    public var isEmpty: Bool { self == LicenseChanges() }
}
