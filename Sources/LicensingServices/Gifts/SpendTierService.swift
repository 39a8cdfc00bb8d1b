public import Licensing
public import Storage

/// What is said about a spend tier; what is `nil` is left alone.
public struct SpendTierChanges: Equatable, Sendable {
    /// ISO 4217.
    public var currency: String?
    /// Thousandths of the currency's unit.
    public var thresholdMilliunits: Int64?
    /// What it gives: all of it.
    public var features: [FeatureCode]?
    /// How long from the moment the threshold is reached; unset: without end.
    public var duration: Change<CalendarDuration>?

    /// Changes of these members.
    public init(
        currency: String? = nil,
        thresholdMilliunits: Int64? = nil,
        features: [FeatureCode]? = nil,
        duration: Change<CalendarDuration>? = nil
    ) {
        self.currency = currency
        self.thresholdMilliunits = thresholdMilliunits
        self.features = features
        self.duration = duration
    }

    func applied(to tier: SpendTier) -> SpendTier {
        var tier = tier
        if let currency { tier.currency = currency }
        if let thresholdMilliunits { tier.thresholdMilliunits = thresholdMilliunits }
        if let features { tier.features = features.sorted() }
        if let duration { tier.duration = duration.value }
        return tier
    }
}

/// Makes, edits and removes the spend tiers of products, each with its row in the audit log.
///
/// A change counts from the next bundle on, for everybody: who has a tier is written nowhere.
public struct SpendTierService: Sendable {
    private let audit: AuditTrail

    /// - Parameter keys: What the audit log is chained with.
    public init(keys: DataKeys) { audit = AuditTrail(keys: keys) }

    /// Makes a tier.
    ///
    /// - Parameters:
    ///   - id: Names the tier.
    ///   - changes: With currency, threshold and features.
    /// - Throws: `Refusal` (`ALREADY_EXISTS`, `FEATURE_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func create(
        _ id: SpendTierID,
        _ code: PlanCode,
        with changes: SpendTierChanges,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> SpendTier {
        let known = try SpendTierStore.all(of: product.id, in: db)
        guard !known.contains(where: { $0.code == code }) else {
            throw Refusal(.alreadyExists, "the product has a spend tier \(code) already", member: "code")
        }
        guard known.count < SpendTier.mostInProduct else {
            throw Refusal(
                .validation,
                "a product has at most \(SpendTier.mostInProduct) spend tiers",
                member: "code"
            )
        }
        guard let currency = changes.currency else { throw Self.missing("currency") }
        guard let threshold = changes.thresholdMilliunits else { throw Self.missing("threshold_milliunits") }
        guard let features = changes.features else { throw Self.missing("features") }
        let new = SpendTier(
            id: id,
            product: product.id,
            code: code,
            currency: currency,
            thresholdMilliunits: threshold,
            features: features
        )
        let tier = try checked(changes.applied(to: new), in: db)
        try SpendTierStore.insert(tier, at: actor.now, in: db)
        try record("tier.create", tier.id, of: product, before: nil, after: tier, by: actor, in: db)
        return tier
    }

    /// Changes a tier; an edit that changes nothing writes nothing.
    ///
    /// - Throws: `Refusal` (`SPEND_TIER_NOT_FOUND`, `FEATURE_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func edit(
        _ code: PlanCode,
        by changes: SpendTierChanges,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (tier: SpendTier, outcome: CatalogService.Outcome) {
        let before = try Self.tier(code, of: product, in: db)
        let tier = try checked(changes.applied(to: before), in: db)
        guard tier != before else { return (before, .unchanged) }
        try SpendTierStore.update(tier, in: db)
        try record("tier.edit", tier.id, of: product, before: before, after: tier, by: actor, in: db)
        return (tier, .changed)
    }

    /// Makes a tier as described, whether it is there or not: for the seed document.
    ///
    /// - Parameter id: Names it, should it be new.
    /// - Throws: As `create` and `edit`.
    public func put(
        _ id: SpendTierID,
        _ code: PlanCode,
        with changes: SpendTierChanges,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> CatalogService.Outcome {
        guard try SpendTierStore.find(code, of: product.id, in: db) == nil else {
            return try edit(code, by: changes, of: product, by: actor, in: db).outcome
        }
        _ = try create(id, code, with: changes, of: product, by: actor, in: db)
        return .created
    }

    /// Removes a tier, and with it what it gives to whoever reached it.
    ///
    /// - Throws: `Refusal` (`SPEND_TIER_NOT_FOUND`), `StorageError`.
    public func delete(
        _ code: PlanCode,
        of product: Product,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> SpendTier {
        let tier = try Self.tier(code, of: product, in: db)
        try SpendTierStore.remove(tier, in: db)
        try record("tier.delete", tier.id, of: product, before: tier, after: nil, because: reason, by: actor, in: db)
        return tier
    }

    /// A tier of a product.
    ///
    /// - Throws: `Refusal` (`SPEND_TIER_NOT_FOUND`), `StorageError`.
    public static func tier<DB: Queries & ~Copyable>(
        _ code: PlanCode,
        of product: Product,
        in db: borrowing DB
    ) throws -> SpendTier {
        guard let tier = try SpendTierStore.find(code, of: product.id, in: db) else {
            throw Refusal(.spendTierNotFound, "the product has no spend tier \(code)", member: "code")
        }
        return tier
    }

    /// All tiers of a product in the order of their codes.
    ///
    /// - Throws: `StorageError`.
    public static func all<DB: Queries & ~Copyable>(of product: Product, in db: borrowing DB) throws -> [SpendTier] {
        try SpendTierStore.all(of: product.id, in: db)
    }

    private static func missing(_ member: String) -> Refusal { Refusal(.validation, "is required", member: member) }

    private func checked(_ tier: SpendTier, in db: borrowing WriteTransaction) throws -> SpendTier {
        let checked: SpendTier
        do throws(SpendTierFault) {
            checked = try tier.checked()
        } catch {
            throw Refusal(.validation, error.reason, member: error.member)
        }
        for code in checked.features where try FeatureStore.find(code, of: checked.product, in: db) == nil {
            throw Refusal(.featureNotFound, "the product has no feature \(code)", member: "features")
        }
        return checked
    }

    private func record(
        _ action: String,
        _ id: SpendTierID,
        of product: Product,
        before: SpendTier?,
        after: SpendTier?,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: id.text,
                reason: reason,
                before: before?.jsonText,
                after: after?.jsonText
            ),
            by: actor,
            in: db
        )
    }
}
