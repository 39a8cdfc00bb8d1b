package import Licensing
package import Storage

/// The rows of `meters`.
package enum MeterStore {
    package static func insert(_ meter: Meter, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO meters (id, product_id, name, limit_count, period, scope, created_at)
            VALUES (:id, :product_id, :name, :limit_count, :period, :scope, :created_at)
            """,
            [
                "id": .id(meter.id), "product_id": .id(meter.product), "name": .text(meter.name.text),
                "limit_count": .integerOrNull(meter.limit.count), "period": .text(meter.period.text),
                "scope": .word(meter.scope), "created_at": .instant(now),
            ]
        )
    }

    /// Writes everything but the name, which plans and clients know the meter by.
    package static func update(_ meter: Meter, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE meters SET limit_count = :limit_count, period = :period, scope = :scope WHERE id = :id",
            [
                "id": .id(meter.id), "limit_count": .integerOrNull(meter.limit.count),
                "period": .text(meter.period.text), "scope": .word(meter.scope),
            ]
        )
    }

    package static func find<DB: Queries & ~Copyable>(
        _ name: MeterName,
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> Meter? {
        try db.first(
            """
            SELECT id, product_id, name, limit_count, period, scope FROM meters
            WHERE product_id = :product_id AND name = :name
            """,
            ["product_id": .id(product), "name": .text(name.text)],
            read
        )
    }

    /// Meters of one product in the order of their names, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of product: Product.ID,
        after cursor: String? = nil,
        limit: Int = Meter.mostInProduct,
        in db: borrowing DB
    ) throws -> [Meter] {
        try db.all(
            """
            SELECT id, product_id, name, limit_count, period, scope FROM meters
            WHERE product_id = :product_id AND name > :cursor ORDER BY name LIMIT :limit
            """,
            ["product_id": .id(product), "cursor": .text(cursor ?? ""), "limit": .int(limit)],
            read
        )
    }

    /// Every meter of a product, by name.
    package static func all<DB: Queries & ~Copyable>(of product: Product.ID, in db: borrowing DB) throws -> [Meter] {
        try db.recall(RecallKey("meters of a product", product), keeping: .many) {
            try list(of: product, in: db)
        } ?? []
    }

    /// The limit of each meter of a product.
    package static func limits<DB: Queries & ~Copyable>(
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> [MeterName: MeterLimit] {
        Dictionary(try list(of: product, in: db).map { ($0.name, $0.limit) }, uniquingKeysWith: { first, _ in first })
    }

    package static func count<DB: Queries & ~Copyable>(of product: Product.ID, in db: borrowing DB) throws -> Int {
        try db.first(
            "SELECT count(*) FROM meters WHERE product_id = :product_id",
            ["product_id": .id(product)],
            { row in try row.size() }
        ) ?? 0
    }

    /// How many licenses may count less when the meter becomes less; with a lower limit alone, those are not among them
    /// whose plan gives as much as before.
    package static func licenseCount<DB: Queries & ~Copyable>(
        hitByLessOf meter: Meter,
        isOnlyLimit: Bool,
        in db: borrowing DB
    ) throws -> Int {
        try db.first(
            """
            SELECT count(*) FROM licenses WHERE product_id = :product_id AND standing <> 'revoked' AND (
                :only_limit = 0 OR NOT EXISTS (
                    SELECT 1 FROM plan_meters
                    WHERE plan_meters.plan_id = licenses.plan_id AND plan_meters.meter_name = :name
                        AND (plan_meters.limit_count IS NULL OR plan_meters.limit_count >= :limit_count)
                )
            )
            """,
            [
                "product_id": .id(meter.product), "only_limit": .bool(isOnlyLimit), "name": .text(meter.name.text),
                "limit_count": .integerOrNull(meter.limit.count),
            ],
            { row in try row.size() }
        ) ?? 0
    }

    private static func read(_ row: inout Row) throws -> Meter {
        Meter(
            id: try row.id(),
            product: try row.id(),
            name: try row.meterName(),
            limit: MeterLimit(try row.countOrNil()),
            period: try row.decoded(row.text(), "a meter's period") { try? MeterPeriod($0) },
            scope: try row.word()
        )
    }
}

/// The rows of `meter_usage`: one a meter, mode and subject.
package enum MeterUsageStore {
    /// The usage of whatever window was counted in last; it may be over.
    package static func find<DB: Queries & ~Copyable>(
        of meter: MeterID,
        mode: Mode,
        by subject: MeterSubject,
        in db: borrowing DB
    ) throws -> MeterUsage? {
        try db.first(
            """
            SELECT window_start, used FROM meter_usage
            WHERE meter_id = :meter_id AND mode = :mode AND subject = :subject
            """,
            ["meter_id": .id(meter), "mode": .word(mode), "subject": .text(subject.text)],
            { row in MeterUsage(windowStart: try row.instant(), used: try row.count()) }
        )
    }

    package static func write(
        _ usage: MeterUsage,
        of meter: MeterID,
        mode: Mode,
        by subject: MeterSubject,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO meter_usage (meter_id, mode, subject, window_start, used)
            VALUES (:meter_id, :mode, :subject, :window_start, :used)
            ON CONFLICT (meter_id, mode, subject) DO UPDATE
            SET window_start = excluded.window_start, used = excluded.used
            """,
            [
                "meter_id": .id(meter), "mode": .word(mode), "subject": .text(subject.text),
                "window_start": .instant(usage.windowStart), "used": .integer(usage.used),
            ]
        )
    }

    /// Removes the count of one subject: the next one opens a new window.
    package static func remove(
        of meter: MeterID,
        mode: Mode,
        by subject: MeterSubject,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            "DELETE FROM meter_usage WHERE meter_id = :meter_id AND mode = :mode AND subject = :subject",
            ["meter_id": .id(meter), "mode": .word(mode), "subject": .text(subject.text)]
        )
    }

    /// Whether anything was ever counted by a meter, in either mode.
    package static func isAnything<DB: Queries & ~Copyable>(
        countedBy meter: MeterID,
        in db: borrowing DB
    ) throws -> Bool {
        try db.first(
            "SELECT 1 FROM meter_usage WHERE meter_id = :meter_id LIMIT 1",
            ["meter_id": .id(meter)],
            { row in try row.bool() }
        ) ?? false
    }
}
