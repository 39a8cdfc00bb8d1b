/// What the vendor decided about a license. Expiry is no standing: it follows from the clock.
public enum Standing: String, Hashable, Sendable, CaseIterable {
    /// Good.
    case active
    /// Held back, reversible.
    case suspended
    /// Taken back, final unless reinstated explicitly.
    case revoked
}

/// What a license is at a moment, first match wins in this order: the word on the wire and on the command line.
public enum LicenseStatus: String, Hashable, Sendable, CaseIterable {
    /// Taken back.
    case revoked
    /// Held back.
    case suspended
    /// Its start lies ahead.
    case notStarted = "not_started"
    /// Its end and grace are over.
    case expired
    /// None of these.
    case active
}

/// What a license says for itself; absent members follow the plan.
public struct LicenseOverrides: Hashable, Sendable {
    /// Its own seat limit.
    public var seatLimit: SeatLimit?
    /// Its own policy when full.
    public var seatPolicy: SeatPolicy?
    /// Its own offline life.
    public var offlineLife: CalendarDuration?
    /// Its own environment rule; an empty rule means everywhere.
    public var environment: EnvironmentRule?

    /// Nothing said.
    public static let none = LicenseOverrides()

    /// Overrides of these members.
    public init(
        seatLimit: SeatLimit? = nil,
        seatPolicy: SeatPolicy? = nil,
        offlineLife: CalendarDuration? = nil,
        environment: EnvironmentRule? = nil
    ) {
        self.seatLimit = seatLimit
        self.seatPolicy = seatPolicy
        self.offlineLife = offlineLife
        self.environment = environment
    }
}

/// A right sold to a customer under a plan, with that plan as it is now.
public struct License: Hashable, Sendable, IdentifiedEntity {
    /// `lic_`
    public static let identifierPrefix = "lic_"

    /// Names the license for good.
    public var id: Identifier<License>
    /// Whose license it is.
    public var product: Identifier<Product>
    /// Live or test.
    public var mode: Mode
    /// Its plan as it is now: licenses follow their plan live.
    public var plan: Plan
    /// Who bought it; `nil`: it is its own customer.
    public var customer: Identifier<Customer>?
    /// What the vendor decided.
    public var standing: Standing
    /// Why, where the vendor said so.
    public var standingReason: String?
    /// When it was issued.
    public var issuedAt: Timestamp
    /// Before this it is not started.
    public var startsAt: Timestamp?
    /// Whether and when it ends.
    public var term: LicenseTerm
    /// Until when new versions are included; the client compares it with its build date.
    public var maintenanceUntil: Timestamp?
    /// When an install first took a seat.
    public var firstActivatedAt: Timestamp?
    /// What it says for itself.
    public var overrides: LicenseOverrides
    /// The seller's order, unique within product and mode.
    public var orderID: String?
    /// The last four symbols of its key, for display.
    public var keyLastFour: String

    /// A license of these members.
    public init(
        id: Identifier<License>,
        product: Identifier<Product>,
        mode: Mode,
        plan: Plan,
        customer: Identifier<Customer>? = nil,
        standing: Standing = .active,
        standingReason: String? = nil,
        issuedAt: Timestamp,
        startsAt: Timestamp? = nil,
        term: LicenseTerm = .unending,
        maintenanceUntil: Timestamp? = nil,
        firstActivatedAt: Timestamp? = nil,
        overrides: LicenseOverrides = .none,
        orderID: String? = nil,
        keyLastFour: String
    ) {
        self.id = id
        self.product = product
        self.mode = mode
        self.plan = plan
        self.customer = customer
        self.standing = standing
        self.standingReason = standingReason
        self.issuedAt = issuedAt
        self.startsAt = startsAt
        self.term = term
        self.maintenanceUntil = maintenanceUntil
        self.firstActivatedAt = firstActivatedAt
        self.overrides = overrides
        self.orderID = orderID
        self.keyLastFour = keyLastFour
    }

    /// When it ends, or `nil` for no end, or none yet (`term`).
    public var expiresAt: Timestamp? { term.end }
}
