/// Where a grant comes from, in the order in which a feature's source is reported.
public enum GrantSource: String, Hashable, Sendable, CaseIterable, Comparable {
    /// A store purchase.
    case store
    /// A license.
    case license
    /// A gift.
    case gift
    /// A trial.
    case trial

    /// Reported first before reported later.
    public static func < (left: GrantSource, right: GrantSource) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .store: return 0
        case .license: return 1
        case .gift: return 2
        case .trial: return 3
        }
    }
}

/// What a grant rests on; `ref` on the wire.
public enum GrantReference: Hashable, Sendable {
    /// `pur_…`
    case purchase(PurchaseID)
    /// `lic_…`
    case license(Identifier<License>)
    /// `gft_…`
    case gift(GiftID)
    /// `trl_…`
    case trial(TrialID)

    /// The source that such a reference belongs to.
    public var source: GrantSource {
        switch self {
        case .purchase: return .store
        case .license: return .license
        case .gift: return .gift
        case .trial: return .trial
        }
    }

    /// The identifier's text form.
    public var text: String {
        switch self {
        case .purchase(let id): return id.text
        case .license(let id): return id.text
        case .gift(let id): return id.text
        case .trial(let id): return id.text
        }
    }
}

/// One reason why an install has a feature.
public struct Grant: Hashable, Sendable {
    /// What it gives.
    public var feature: FeatureCode
    /// What it rests on.
    public var reference: GrantReference
    /// The first second of the right.
    public var starts: Timestamp
    /// When the right ends, or `nil` for no end.
    public var ends: Timestamp?
    /// How long a bundle proves it without contact.
    public var offlineLife: CalendarDuration
    /// When the floating lease of the seat it rests on ends.
    public var leaseEnd: Timestamp?
    /// Where it counts, or `nil` for everywhere.
    public var environment: EnvironmentRule?

    /// A grant of these members.
    ///
    /// - Parameter offlineLife: The license's, else the plan's, else the product's; for store, gift and trial the
    ///   product's.
    public init(
        feature: FeatureCode,
        reference: GrantReference,
        starts: Timestamp,
        ends: Timestamp?,
        offlineLife: CalendarDuration,
        leaseEnd: Timestamp? = nil,
        environment: EnvironmentRule? = nil
    ) {
        self.feature = feature
        self.reference = reference
        self.starts = starts
        self.ends = ends
        self.offlineLife = offlineLife
        self.leaseEnd = leaseEnd
        self.environment = environment
    }

    /// Where it comes from.
    public var source: GrantSource { reference.source }
}

/// A feature that an install has, by one or more live grants.
public struct Entitlement: Hashable, Sendable {
    /// The feature.
    public var feature: FeatureCode
    /// The first source of its live grants in the order of `GrantSource`.
    public var source: GrantSource
    /// The end of its last grant, or `nil` for no end.
    public var expiresAt: Timestamp?

    /// An entitlement of these members.
    public init(feature: FeatureCode, source: GrantSource, expiresAt: Timestamp?) {
        self.feature = feature
        self.source = source
        self.expiresAt = expiresAt
    }
}
