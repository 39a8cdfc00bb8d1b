package import Licensing
package import Storage

/// The rows of `plans`, `plan_features` and `plan_meters`, read through the view `plan_facts`.
package enum PlanStore {
    package static func insert(_ plan: Plan, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO plans (
                id, product_id, code, name, type, duration, expiry_basis, expiry_grace, seat_limit, seat_policy,
                overage_percent, idle_before_release, lease_seconds, offline_life, transfer_limit, transfer_period,
                self_release, environment, created_at
            ) VALUES (
                :id, :product_id, :code, :name, :type, :duration, :expiry_basis, :expiry_grace, :seat_limit,
                :seat_policy, :overage_percent, :idle_before_release, :lease_seconds, :offline_life, :transfer_limit,
                :transfer_period, :self_release, :environment, :created_at
            )
            """,
            [
                "id": .id(plan.id), "product_id": .id(plan.product), "code": .text(plan.code.text),
                "name": .text(plan.name), "type": .word(plan.type), "duration": .durationOrNull(plan.duration),
                "expiry_basis": .word(plan.expiryBasis), "expiry_grace": .duration(plan.expiryGrace),
                "seat_limit": .intOrNull(plan.seatLimit.count), "seat_policy": .word(plan.seatPolicy),
                "overage_percent": .int(plan.overagePercent),
                "idle_before_release": .durationOrNull(plan.idleBeforeRelease),
                "lease_seconds": .integerOrNull(plan.leaseSeconds), "offline_life": .durationOrNull(plan.offlineLife),
                "transfer_limit": .intOrNull(plan.transferLimit),
                "transfer_period": .durationOrNull(plan.transferPeriod), "self_release": .bool(plan.selfRelease),
                "environment": .environmentOrNull(plan.environment), "created_at": .instant(now),
            ]
        )
        try writeFeatures(of: plan, in: db)
        try writeMeters(of: plan, in: db)
    }

    package static func update(_ plan: Plan, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE plans SET name = :name, type = :type, duration = :duration, expiry_basis = :expiry_basis,
                expiry_grace = :expiry_grace, seat_limit = :seat_limit, seat_policy = :seat_policy,
                overage_percent = :overage_percent, idle_before_release = :idle_before_release,
                lease_seconds = :lease_seconds, offline_life = :offline_life, transfer_limit = :transfer_limit,
                transfer_period = :transfer_period, self_release = :self_release, environment = :environment
            WHERE id = :id
            """,
            [
                "id": .id(plan.id), "name": .text(plan.name), "type": .word(plan.type),
                "duration": .durationOrNull(plan.duration), "expiry_basis": .word(plan.expiryBasis),
                "expiry_grace": .duration(plan.expiryGrace), "seat_limit": .intOrNull(plan.seatLimit.count),
                "seat_policy": .word(plan.seatPolicy), "overage_percent": .int(plan.overagePercent),
                "idle_before_release": .durationOrNull(plan.idleBeforeRelease),
                "lease_seconds": .integerOrNull(plan.leaseSeconds), "offline_life": .durationOrNull(plan.offlineLife),
                "transfer_limit": .intOrNull(plan.transferLimit),
                "transfer_period": .durationOrNull(plan.transferPeriod), "self_release": .bool(plan.selfRelease),
                "environment": .environmentOrNull(plan.environment),
            ]
        )
        try db.run("DELETE FROM plan_features WHERE plan_id = :id", ["id": .id(plan.id)])
        try writeFeatures(of: plan, in: db)
        try db.run("DELETE FROM plan_meters WHERE plan_id = :id", ["id": .id(plan.id)])
        try writeMeters(of: plan, in: db)
    }

    /// The product must have the meters.
    private static func writeMeters(of plan: Plan, in db: borrowing WriteTransaction) throws {
        for (name, limit) in plan.meters {
            try db.run(
                """
                INSERT INTO plan_meters (plan_id, product_id, meter_name, limit_count)
                VALUES (:plan_id, :product_id, :meter_name, :limit_count)
                """,
                [
                    "plan_id": .id(plan.id), "product_id": .id(plan.product), "meter_name": .text(name.text),
                    "limit_count": .integerOrNull(limit.count),
                ]
            )
        }
    }

    private static func writeFeatures(of plan: Plan, in db: borrowing WriteTransaction) throws {
        for feature in plan.features {
            try db.run(
                """
                INSERT INTO plan_features (plan_id, product_id, feature_code)
                VALUES (:plan_id, :product_id, :feature_code)
                """,
                [
                    "plan_id": .id(plan.id), "product_id": .id(plan.product), "feature_code": .text(feature.text),
                ]
            )
        }
    }

    package static func find<DB: Queries & ~Copyable>(
        _ code: PlanCode,
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> Plan? {
        try db.first(
            "SELECT * FROM plan_facts WHERE product_id = :product_id AND code = :code",
            ["product_id": .id(product), "code": .text(code.text)],
            { row in try read(&row) }
        )
    }

    /// The plan of this id. Few plans serve many licenses, so it is remembered.
    package static func find<DB: Queries & ~Copyable>(_ id: Plan.ID, in db: borrowing DB) throws -> Plan? {
        try db.recall(RecallKey("plan", id), keeping: .many) {
            try db.first("SELECT * FROM plan_facts WHERE id = :id", ["id": .id(id)], { row in try read(&row) })
        }
    }

    /// Plans of one product in the order of their codes, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of product: Product.ID,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Plan] {
        try db.all(
            """
            SELECT * FROM plan_facts WHERE product_id = :product_id AND code > :cursor ORDER BY code LIMIT :limit
            """,
            ["product_id": .id(product), "cursor": .text(cursor ?? ""), "limit": .int(limit)],
            { row in try read(&row) }
        )
    }

    /// How many licenses follow this plan: those that an edit of it touches.
    package static func licenseCount<DB: Queries & ~Copyable>(of plan: Plan.ID, in db: borrowing DB) throws -> Int {
        try db.first(
            "SELECT count(*) FROM licenses WHERE plan_id = :plan_id",
            ["plan_id": .id(plan)],
            { row in try row.size() }
        ) ?? 0
    }

    /// Reads the columns of `plan_facts`, in their order there.
    static func read(_ row: inout Row) throws -> Plan {
        let id = try row.id(of: Plan.self)
        let product = try row.id(of: Product.self)
        let code = try row.text()
        return Plan(
            id: id,
            product: product,
            code: try row.decoded(code, "a plan code") { try? PlanCode($0) },
            name: try row.text(),
            type: try row.word(),
            features: try row.featureCodes(),
            duration: try row.durationOrNil(),
            seatLimit: SeatLimit(try row.seatCountOrNil()),
            seatPolicy: try row.word(),
            overagePercent: Int(try row.integer(in: 0...10_000)),
            idleBeforeRelease: try row.durationOrNil(),
            leaseSeconds: try row.integerOrNil(in: 1...Plan.longestLeaseSeconds),
            expiryGrace: try row.duration(),
            expiryBasis: try row.word(),
            offlineLife: try row.durationOrNil(),
            transferLimit: try row.countOrNil().map { Int($0) },
            transferPeriod: try row.durationOrNil(),
            selfRelease: try row.bool(),
            environment: try row.environmentOrNil(),
            meters: try row.meterLimits()
        )
    }
}
