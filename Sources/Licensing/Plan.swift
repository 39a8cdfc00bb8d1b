/// How many seats: a number, 0 included, or without end.
public enum SeatLimit: Hashable, Sendable {
    /// At most so many, not negative.
    case limited(Int)
    /// Any number.
    case unlimited

    /// The number, or `nil` where there is no limit: the wire's `limit`.
    public var count: Int? {
        if case .limited(let count) = self { return count }
        return nil
    }

    /// The limit of an optional number: `nil` is unlimited.
    public init(_ count: Int?) {
        self = count.map { .limited($0) } ?? .unlimited
    }

    /// The highest number that is taken, wherever it is said; who wants more says `unlimited`.
    public static let highest = Int(Int32.max)
}

/// What a full license does with one more install.
public enum SeatPolicy: String, Hashable, Sendable, CaseIterable {
    /// Refuses it.
    case deny
    /// Releases the longest-unseen seat where that is idle for long enough, otherwise refuses.
    case releaseOldest = "release_oldest"
    /// Lets a percentage more in, then refuses.
    case allowOverage = "allow_overage"
}

/// Where a license's duration is counted from.
public enum ExpiryBasis: String, Hashable, Sendable, CaseIterable {
    /// From its start, or its issue where it has none.
    case issue
    /// From its first activation.
    case firstActivation = "first_activation"
}

/// What a plan sells.
public enum EntitlementType: String, Hashable, Sendable, CaseIterable {
    /// A try-out.
    case trial
    /// A right for a time, renewed.
    case subscription
    /// A right for good.
    case purchase
}

/// A meter's limit in a period.
public enum MeterLimit: Hashable, Sendable {
    /// At most so many, not negative.
    case limited(Int64)
    /// Any number.
    case unlimited

    /// The number, or `nil` where there is no limit: the wire's `limit`.
    public var count: Int64? {
        if case .limited(let count) = self { return count }
        return nil
    }

    /// The limit of an optional number: `nil` is unlimited.
    public init(_ count: Int64?) {
        self = count.map { .limited($0) } ?? .unlimited
    }
}

extension MeterLimit: Comparable {
    /// Fewer before more, unlimited last.
    public static func < (left: MeterLimit, right: MeterLimit) -> Bool {
        switch (left, right) {
        case (.limited(let left), .limited(let right)): return left < right
        case (.limited, .unlimited): return true
        case (.unlimited, _): return false
        }
    }
}

/// Where a grant counts; the client applies it. Empty parts say nothing.
public struct EnvironmentRule: Hashable, Sendable {
    /// Host names, each with at most one leading wildcard label: `*.example.com`.
    public var hosts: [String]
    /// Digests of public keys (SPKI), base64.
    public var spki: [String]
    /// Attributes that must be equal.
    public var attributes: [String: String]

    /// A rule of these parts.
    public init(hosts: [String] = [], spki: [String] = [], attributes: [String: String] = [:]) {
        self.hosts = hosts
        self.spki = spki
        self.attributes = attributes
    }

    /// Whether it restricts nothing.
    public var isEmpty: Bool { hosts.isEmpty && spki.isEmpty && attributes.isEmpty }
}

/// A named set of features of a product and the defaults of its licenses, which follow it live.
public struct Plan: Hashable, Sendable, IdentifiedEntity {
    /// `pln_`
    public static let identifierPrefix = "pln_"

    /// Names the plan for good.
    public var id: Identifier<Plan>
    /// Whose plan it is.
    public var product: Identifier<Product>
    /// Unique within the product.
    public var code: PlanCode
    /// For people.
    public var name: String
    /// What it sells.
    public var type: EntitlementType
    /// What its licenses give.
    public var features: [FeatureCode]
    /// How long a license lasts, or `nil` for no end.
    public var duration: CalendarDuration?
    /// How many installs may hold a seat at once.
    public var seatLimit: SeatLimit
    /// What happens when they do.
    public var seatPolicy: SeatPolicy
    /// Percent of the seat limit that `allow_overage` lets in beyond it.
    public var overagePercent: Int
    /// How long a seat must be unseen before `release_oldest` may release it; never less than the offline life.
    public var idleBeforeRelease: CalendarDuration?
    /// Floating: a seat ends so long after it was last renewed. `nil`: seats do not end by themselves.
    public var leaseSeconds: Int64?
    /// How long after its end a license still counts as active.
    public var expiryGrace: CalendarDuration
    /// Where the duration is counted from.
    public var expiryBasis: ExpiryBasis
    /// How long a bundle proves this plan's grants without contact, or `nil` for the product's.
    public var offlineLife: CalendarDuration?
    /// New seats beyond the seat limit that may be given in a `transferPeriod`, or `nil` for no cap.
    public var transferLimit: Int?
    /// The rolling period of `transferLimit`; `nil` counts as `standardTransferPeriod`.
    public var transferPeriod: CalendarDuration?
    /// Whether customers may list and release seats themselves.
    public var selfRelease: Bool
    /// Where its grants count, or `nil` for everywhere.
    public var environment: EnvironmentRule?
    /// Meters whose limit it raises.
    public var meters: [MeterName: MeterLimit]

    /// 30 days.
    public static let standardTransferPeriod = CalendarDuration(days: 30)

    /// A plan of these members; the defaults are those of a new plan.
    public init(
        id: Identifier<Plan>,
        product: Identifier<Product>,
        code: PlanCode,
        name: String,
        type: EntitlementType = .purchase,
        features: [FeatureCode] = [],
        duration: CalendarDuration? = nil,
        seatLimit: SeatLimit = .unlimited,
        seatPolicy: SeatPolicy = .deny,
        overagePercent: Int = 0,
        idleBeforeRelease: CalendarDuration? = nil,
        leaseSeconds: Int64? = nil,
        expiryGrace: CalendarDuration = .zero,
        expiryBasis: ExpiryBasis = .issue,
        offlineLife: CalendarDuration? = nil,
        transferLimit: Int? = nil,
        transferPeriod: CalendarDuration? = nil,
        selfRelease: Bool = true,
        environment: EnvironmentRule? = nil,
        meters: [MeterName: MeterLimit] = [:]
    ) {
        self.id = id
        self.product = product
        self.code = code
        self.name = name
        self.type = type
        self.features = features
        self.duration = duration
        self.seatLimit = seatLimit
        self.seatPolicy = seatPolicy
        self.overagePercent = overagePercent
        self.idleBeforeRelease = idleBeforeRelease
        self.leaseSeconds = leaseSeconds
        self.expiryGrace = expiryGrace
        self.expiryBasis = expiryBasis
        self.offlineLife = offlineLife
        self.transferLimit = transferLimit
        self.transferPeriod = transferPeriod
        self.selfRelease = selfRelease
        self.environment = environment
        self.meters = meters
    }
}
