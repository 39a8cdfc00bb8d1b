public import Licensing
public import Storage

/// What is said about a meter; what is `nil` is left alone, or has its default in a new meter.
public struct MeterChanges: Hashable, Sendable {
    /// The most in a period; a new meter has none.
    public var limit: MeterLimit?
    /// When the count begins anew; of a new meter never.
    public var period: MeterPeriod?
    /// Who shares the count; of a new meter nobody.
    public var scope: MeterScope?

    /// Changes of these members.
    public init(limit: MeterLimit? = nil, period: MeterPeriod? = nil, scope: MeterScope? = nil) {
        self.limit = limit
        self.period = period
        self.scope = scope
    }

    func apply(to meter: inout Meter) {
        meter.limit = limit ?? meter.limit
        meter.period = period ?? meter.period
        meter.scope = scope ?? meter.scope
    }
}

extension CatalogService {
    /// A meter that is not yet written.
    ///
    /// - Throws: What the source of entropy throws.
    public func draft(
        meter name: MeterName,
        of product: Product.ID,
        _ changes: MeterChanges,
        at now: Timestamp
    ) throws -> Meter {
        var meter = Meter(
            id: try Identifier(at: now, entropy: entropy),
            product: product,
            name: name,
            limit: .unlimited,
            period: .lifetime,
            scope: .install
        )
        changes.apply(to: &meter)
        return meter
    }

    /// Writes a new meter.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`; `VALIDATION` where the product has as many as it may), `StorageError`.
    public func create(
        _ meter: Meter,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        guard try MeterStore.find(meter.name, of: product.id, in: db) == nil else {
            throw Refusal(.alreadyExists, "the product has a meter \(meter.name) already", member: "name")
        }
        guard try MeterStore.count(of: product.id, in: db) < Meter.mostInProduct else {
            throw Refusal(.validation, "a product has at most \(Meter.mostInProduct) meters", member: "name")
        }
        try MeterStore.insert(meter, at: actor.now, in: db)
        try record("meter.create", meter.id.text, of: product.vendor, after: meter.jsonText, by: actor, in: db)
    }

    /// Edits a meter; what was counted stays, as far as the period and the scope that it was counted in do.
    ///
    /// - Parameter affectsExisting: Whether it may take something from those who count: a lower limit, a longer period,
    ///   another scope.
    /// - Throws: `Refusal` (`AFFECTS_EXISTING` with the number of licenses whose allowance it lowers; also where there is
    ///   none and something was counted), `StorageError`.
    public func edit(
        _ meter: Meter,
        of product: Product,
        by changes: MeterChanges,
        affectsExisting: Bool,
        actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (meter: Meter, outcome: Outcome) {
        var edited = meter
        changes.apply(to: &edited)
        guard edited != meter else { return (meter, .unchanged) }
        if !affectsExisting, meter.isLess(whenBecoming: edited) {
            let isOnlyLimit = edited.period == meter.period && edited.scope == meter.scope
            let hit = try MeterStore.licenseCount(hitByLessOf: meter, isOnlyLimit: isOnlyLimit, in: db)
            let isCounted = try MeterUsageStore.isAnything(countedBy: meter.id, in: db)
            if hit > 0 || isCounted { throw Self.refusal(meter, hit) }
        }
        try MeterStore.update(edited, in: db)
        try record(
            "meter.edit",
            meter.id.text,
            of: product.vendor,
            before: meter.jsonText,
            after: edited.jsonText,
            by: actor,
            in: db
        )
        return (edited, .changed)
    }

    private static func refusal(_ meter: Meter, _ hit: Int) -> Refusal {
        let whose = hit > 0 ? "\(hit) existing \(hit == 1 ? "license" : "licenses")" : "installs that have counted"
        return Refusal(
            .affectsExisting,
            "this lowers the allowance of \(whose) in the meter \(meter.name); say --affects-existing (affects_existing in "
                + "a seed document) if that is meant",
            licenses: hit
        )
    }
}

extension CatalogFinder {
    /// A meter of a product.
    ///
    /// - Throws: `Refusal` (`METER_NOT_FOUND`), `StorageError`.
    public static func meter<DB: Queries & ~Copyable>(
        _ name: MeterName,
        of product: Product,
        in db: borrowing DB
    ) throws -> Meter {
        guard let meter = try MeterStore.find(name, of: product.id, in: db) else {
            throw Refusal(.meterNotFound, "the product \(product.slug) has no meter \(name)", member: "meter")
        }
        return meter
    }

    /// Meters of one product in the order of their names, those after `cursor` (exclusive), at most `limit`.
    ///
    /// - Throws: `StorageError`.
    public static func meters<DB: Queries & ~Copyable>(
        of product: Product,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Meter] {
        try MeterStore.list(of: product.id, after: cursor, limit: limit, in: db)
    }
}
