/// Features given to whoever has spent enough in a store.
///
/// Nobody is noted as having it: whether an install has it follows from its purchases each time.
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

    /// The most tiers of a product: all of them are looked at for each bundle of an install with purchases.
    public static let mostInProduct = 64

    /// The highest threshold.
    public static let highestThreshold: Int64 = 1_000_000_000_000_000

    /// What its grants refer to: the tier's own bits under the prefix of gifts, the same for every install and for good.
    public var gift: GiftID { GiftID(high: id.high, low: id.low) }

    /// The grants of an install whose spend reached the threshold.
    ///
    /// - Parameters:
    ///   - reached: When it did; `nil` where it has not, or has dropped below since: then it has none.
    ///   - settings: The product's.
    ///   - now: The time.
    public func grants(
        reachedAt reached: Timestamp?,
        under settings: ProductSettings,
        at now: Timestamp
    ) -> [Grant] {
        guard let reached else { return [] }
        let ends = duration.map { reached.adding($0) }
        return features.map {
            Grant(
                feature: $0,
                reference: .gift(gift),
                // The store's clock may be a little ahead of ours: what is paid has begun.
                starts: min(reached, now),
                ends: ends,
                offlineLife: settings.offlineLife
            )
        }
        .filter { $0.isLive(at: now) }
    }

    /// Refuses a tier whose members are out of range.
    ///
    /// - Throws: `SpendTierFault`, with the member's name as in the seed document.
    public func checked() throws(SpendTierFault) -> SpendTier {
        func check(_ member: String, _ reason: String, _ holds: Bool) throws(SpendTierFault) {
            guard holds else { throw SpendTierFault(member: member, reason: reason) }
        }
        let isCurrency = currency.utf8.count == 3 && currency.utf8.allSatisfy { (0x41...0x5A).contains($0) }
        try check("currency", "must be three capital letters (ISO 4217)", isCurrency)
        try check(
            "threshold_milliunits",
            "must be 1 to \(Self.highestThreshold)",
            (1...Self.highestThreshold).contains(thresholdMilliunits)
        )
        try check("features", "must name at least one feature", !features.isEmpty)
        try check("features", "must name a feature once", Set(features).count == features.count)
        try check("duration", "must be longer than nothing", duration.map { !$0.isZero } ?? true)
        return self
    }
}

/// Which member of a spend tier is not as it should be.
public struct SpendTierFault: Error, Hashable, Sendable {
    /// Its name as in the seed document.
    public let member: String
    /// A short sentence that does not repeat the input.
    public let reason: String
}
