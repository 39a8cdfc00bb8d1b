/// Whom a gift is for.
public enum GiftTarget: Hashable, Sendable {
    /// One install.
    case install(Install.ID)
    /// The installs that hold a seat of a license.
    case license(License.ID)
    /// The installs that hold a seat of a license of a customer.
    case customer(Customer.ID)
}

/// Features given for nothing: by an administrator, or for what was spent.
public struct Gift: Hashable, Sendable {
    /// Names the gift for good.
    public var id: GiftID
    /// Of which product.
    public var product: Product.ID
    /// Live or test.
    public var mode: Mode
    /// Whom it is for.
    public var target: GiftTarget
    /// What it gives.
    public var features: [FeatureCode]
    /// The first second of the right.
    public var starts: Timestamp
    /// When the right ends, or `nil` for no end.
    public var ends: Timestamp?
    /// When it was taken back, or `nil`.
    public var withdrawnAt: Timestamp?
    /// The spend tier that gave it, or `nil` for an administrator's.
    public var tier: SpendTierID?

    /// A gift of these members.
    public init(
        id: GiftID,
        product: Product.ID,
        mode: Mode,
        target: GiftTarget,
        features: [FeatureCode],
        starts: Timestamp,
        ends: Timestamp? = nil,
        withdrawnAt: Timestamp? = nil,
        tier: SpendTierID? = nil
    ) {
        self.id = id
        self.product = product
        self.mode = mode
        self.target = target
        self.features = features
        self.starts = starts
        self.ends = ends
        self.withdrawnAt = withdrawnAt
        self.tier = tier
    }

    /// The grants that an install has by this gift, where it is one that the gift is for.
    ///
    /// - Parameters:
    ///   - install: Who has it.
    ///   - seated: The licenses that the install holds a seat of, in force or not: a gift is a right of its own.
    ///   - settings: The product's.
    ///   - now: The time.
    public func grants(
        for install: Install.ID,
        seatedBy seated: [License],
        under settings: ProductSettings,
        at now: Timestamp
    ) -> [Grant] {
        guard withdrawnAt == nil, reaches(install, seatedBy: seated) else { return [] }
        return
            features
            .map {
                Grant(
                    feature: $0,
                    reference: .gift(id),
                    starts: starts,
                    ends: ends,
                    offlineLife: settings.offlineLife
                )
            }
            .filter { $0.isLive(at: now) }
    }

    private func reaches(_ install: Install.ID, seatedBy seated: [License]) -> Bool {
        switch target {
        case .install(let id): return id == install
        case .license(let id): return seated.contains { $0.id == id }
        case .customer(let id): return seated.contains { $0.customer == id }
        }
    }
}

/// A store transaction as far as spend tiers are concerned.
public struct SpendFact: Hashable, Sendable {
    /// `price`, in thousandths of the currency's unit, not multiplied by a quantity; `nil` where the store told none.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String
    /// When the server first recorded it.
    public var recordedAt: Timestamp
    /// Whether it was made for real money in the store's production environment.
    public var isProduction: Bool
    /// Whether it was refunded or revoked.
    public var isRefunded: Bool

    /// A fact of these members.
    public init(
        priceMilliunits: Int64?,
        currency: String,
        recordedAt: Timestamp,
        isProduction: Bool,
        isRefunded: Bool
    ) {
        self.priceMilliunits = priceMilliunits
        self.currency = currency
        self.recordedAt = recordedAt
        self.isProduction = isProduction
        self.isRefunded = isRefunded
    }
}

/// Features given to whoever has spent enough.
public struct SpendTier: Hashable, Sendable {
    /// Names the tier for good.
    public var id: SpendTierID
    /// Of which product.
    public var product: Product.ID
    /// Unique within the product.
    public var code: PlanCode
    /// ISO 4217.
    public var currency: String
    /// Thousandths of the currency's unit.
    public var thresholdMilliunits: Int64
    /// What it gives.
    public var features: [FeatureCode]
    /// How long, from the moment the threshold is reached, or `nil` for no end.
    public var duration: CalendarDuration?

    /// A tier of these members.
    public init(
        id: SpendTierID,
        product: Product.ID,
        code: PlanCode,
        currency: String,
        thresholdMilliunits: Int64,
        features: [FeatureCode],
        duration: CalendarDuration? = nil
    ) {
        self.id = id
        self.product = product
        self.code = code
        self.currency = currency
        self.thresholdMilliunits = thresholdMilliunits
        self.features = features
        self.duration = duration
    }

    /// The moment the spend of an install reached the threshold, or `nil` where it is below: then a gift is withdrawn.
    ///
    /// Refunded, sandbox and foreign-currency transactions count nothing.
    ///
    /// - Parameter facts: The transactions of the purchases that this install presented first and is still linked to, each
    ///   purchase once.
    public func reachedAt(by facts: [SpendFact]) -> Timestamp? {
        var spend: Int64 = 0
        for fact in facts.sorted(by: { $0.recordedAt < $1.recordedAt }) {
            guard fact.isProduction, !fact.isRefunded, fact.currency == currency, let price = fact.priceMilliunits,
                price > 0
            else { continue }
            let (sum, overflow) = spend.addingReportingOverflow(price)
            spend = overflow ? .max : sum
            if spend >= thresholdMilliunits { return fact.recordedAt }
        }
        return nil
    }

    /// When a gift of this tier ends that was reached at `reached`, or `nil` for no end.
    public func giftEnd(reachedAt reached: Timestamp) -> Timestamp? {
        duration.map { reached.adding($0) }
    }
}
