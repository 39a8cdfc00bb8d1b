public import Licensing
public import Storage

extension CatalogService {
    /// A plan that is not yet written.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) naming the member, what the source of entropy throws.
    public func draft(
        plan code: PlanCode,
        of product: Product.ID,
        _ changes: PlanChanges,
        at now: Timestamp
    ) throws -> Plan {
        var plan = Plan(
            id: try Identifier(at: now, entropy: entropy),
            product: product,
            code: code,
            name: code.text
        )
        try Self.apply(changes, to: &plan)
        if changes.type == nil { plan.type = plan.duration == nil ? .purchase : .subscription }
        return plan
    }

    /// Writes a new plan.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`, `FEATURE_NOT_FOUND`, `METER_NOT_FOUND`), `StorageError`.
    public func create(
        _ plan: Plan,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        guard try PlanStore.find(plan.code, of: product.id, in: db) == nil else {
            throw Refusal(.alreadyExists, "the product has a plan \(plan.code) already", member: "code")
        }
        try requireFeatures(of: plan, in: db)
        try requireMeters(of: plan, in: db)
        try PlanStore.insert(plan, at: actor.now, in: db)
        try record("plan.create", plan.id.text, of: product.vendor, after: plan.jsonText, by: actor, in: db)
    }

    /// Edits a plan, which its licenses follow at once.
    ///
    /// - Parameter affectsExisting: Whether it may take a right from licenses that there are.
    /// - Throws: `Refusal` (`VALIDATION`, `FEATURE_NOT_FOUND`, `METER_NOT_FOUND`, and `AFFECTS_EXISTING` with the number of
    ///   licenses that would lose a right), `StorageError`.
    public func edit(
        _ plan: Plan,
        of product: Product,
        by changes: PlanChanges,
        affectsExisting: Bool,
        actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (plan: Plan, outcome: Outcome) {
        var edited = plan
        try Self.apply(changes, to: &edited)
        guard edited != plan else { return (plan, .unchanged) }
        try requireFeatures(of: edited, in: db)
        try requireMeters(of: edited, in: db)
        let taken = plan.rightsTaken(
            byBecoming: edited,
            under: product.settings,
            meterLimits: try MeterStore.limits(of: product.id, in: db)
        )
        if !affectsExisting, !taken.isEmpty {
            let hit = try PlanStore.licenseCount(of: plan.id, hitBy: taken, in: db)
            if hit > 0 { throw Self.refusal(taken, hit, of: "the plan \(plan.code)") }
        }
        try PlanStore.update(edited, in: db)
        try record(
            "plan.edit",
            plan.id.text,
            of: product.vendor,
            before: plan.jsonText,
            after: edited.jsonText,
            by: actor,
            in: db
        )
        return (edited, .changed)
    }

    static func refusal(_ taken: [TakenRight], _ hit: Int, of whose: String, member: String? = nil) -> Refusal {
        let members = taken.map(\.text).joined(separator: ", ")
        return Refusal(
            .affectsExisting,
            "this takes a right (\(members)) from \(hit) existing \(hit == 1 ? "license" : "licenses") of \(whose); say "
                + "--affects-existing (affects_existing in a seed document) if that is meant",
            member: member,
            licenses: hit
        )
    }

    private static func apply(_ changes: PlanChanges, to plan: inout Plan) throws(Refusal) {
        changes.apply(to: &plan)
        plan.name = try checkedName(plan.name)
        do throws(PlanFault) {
            plan = try plan.checked()
        } catch {
            throw Refusal(.validation, error.reason, member: error.member)
        }
    }

    private func requireFeatures(of plan: Plan, in db: borrowing WriteTransaction) throws {
        for code in plan.features where try FeatureStore.find(code, of: plan.product, in: db) == nil {
            throw Refusal(.featureNotFound, "the product has no feature \(code)", member: "features")
        }
    }

    private func requireMeters(of plan: Plan, in db: borrowing WriteTransaction) throws {
        for name in plan.meters.keys.sorted() where try MeterStore.find(name, of: plan.product, in: db) == nil {
            throw Refusal(.meterNotFound, "the product has no meter \(name)", member: "meters")
        }
    }
}

extension PlanStore {
    /// How many licenses of the plan lose one of `taken`: the rule is that of `License.isHit(by:)`.
    static func licenseCount<DB: Queries & ~Copyable>(
        of plan: Plan.ID,
        hitBy taken: [TakenRight],
        in db: borrowing DB
    ) throws -> Int {
        var isAlways = false
        var (seats, offlineLife, environment) = (false, false, false)
        for right in taken {
            switch right {
            case .seatLimit: seats = true
            case .offlineLife: offlineLife = true
            case .environment: environment = true
            case .feature, .lease, .expiryGrace, .meter: isAlways = true
            }
        }
        return try db.first(
            """
            SELECT count(*) FROM licenses WHERE plan_id = :plan_id AND standing <> 'revoked' AND (
                :always = 1 OR (:seats = 1 AND seat_limit_kind = 'plan') OR (:offline = 1 AND offline_life IS NULL)
                OR (:environment = 1 AND environment IS NULL)
            )
            """,
            [
                "plan_id": .id(plan), "always": .bool(isAlways), "seats": .bool(seats), "offline": .bool(offlineLife),
                "environment": .bool(environment),
            ],
            { row in try row.size() }
        ) ?? 0
    }

    /// How many licenses lose one of `taken` by an edit of their product's settings: those that may lose it at all, and
    /// whose plan has no word of its own either.
    static func licenseCount<DB: Queries & ~Copyable>(
        of product: Product.ID,
        hitBy taken: [TakenRight],
        in db: borrowing DB
    ) throws -> Int {
        try list(of: product, after: nil, limit: .max, in: db).reduce(0) { sum, plan in
            let rest = taken.filter { $0 != .offlineLife || plan.offlineLife == nil }
            return try rest.isEmpty ? sum : sum + licenseCount(of: plan.id, hitBy: rest, in: db)
        }
    }
}
