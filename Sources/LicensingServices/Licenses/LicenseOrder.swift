public import Licensing

/// What an administrator says when licenses are issued or imported; what is `nil` follows the plan.
public struct LicenseOrder: Hashable, Sendable {
    /// The plan's code.
    public var plan: PlanCode
    /// Live or test.
    public var mode: Mode
    /// The vendor's name for the order: issuing it again gives the same license.
    public var orderID: String?
    /// An own seat limit.
    public var seatLimit: SeatLimit?
    /// An own seat policy.
    public var seatPolicy: SeatPolicy?
    /// When it ends.
    public var end: EndChoice
    /// When it starts; `nil`: with its issue.
    public var startsAt: Timestamp?
    /// Until when the builds it may run were made.
    public var maintenanceUntil: Timestamp?
    /// An own offline life.
    public var offlineLife: CalendarDuration?
    /// An own environment rule.
    public var environment: EnvironmentRule?
    /// The customer's name.
    public var customerName: String?
    /// The customer's e-mail address: what a customer is recognized by.
    public var customerEmail: EmailAddress?
    /// A key that exists already, as it was sold; `nil`: one is made. A secret.
    public var importedKey: String?

    /// An order for a plan; everything else follows it.
    public init(
        plan: PlanCode,
        mode: Mode = .live,
        orderID: String? = nil,
        seatLimit: SeatLimit? = nil,
        seatPolicy: SeatPolicy? = nil,
        end: EndChoice = .plan,
        startsAt: Timestamp? = nil,
        maintenanceUntil: Timestamp? = nil,
        offlineLife: CalendarDuration? = nil,
        environment: EnvironmentRule? = nil,
        customerName: String? = nil,
        customerEmail: EmailAddress? = nil,
        importedKey: String? = nil
    ) {
        self.plan = plan
        self.mode = mode
        self.orderID = orderID
        self.seatLimit = seatLimit
        self.seatPolicy = seatPolicy
        self.end = end
        self.startsAt = startsAt
        self.maintenanceUntil = maintenanceUntil
        self.offlineLife = offlineLife
        self.environment = environment
        self.customerName = customerName
        self.customerEmail = customerEmail
        self.importedKey = importedKey
    }

    /// The parameters in one text: two orders with one id are the same order when it is the same.
    ///
    /// Times stand in it as they were said, so that a repeat tomorrow is still the same order.
    var parameters: [String] {
        let ends =
            switch end {
            case .plan: "plan"
            case .never: "never"
            case .duration(let duration): duration.iso8601
            case .at(let instant): instant.rfc3339
            }
        return [
            plan.text, mode.rawValue, seatLimit?.text ?? "", seatPolicy?.rawValue ?? "", ends, startsAt?.rfc3339 ?? "",
            maintenanceUntil?.rfc3339 ?? "", offlineLife?.iso8601 ?? "",
            environment.map { String(decoding: $0.json, as: UTF8.self) } ?? "", customerName ?? "",
            customerEmail?.text ?? "", importedKey ?? "",
        ]
    }
}
