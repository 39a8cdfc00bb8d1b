package import Licensing
package import Storage

/// The rows of `spend_tiers` and `spend_tier_features`.
package enum SpendTierStore {
    package static func insert(_ tier: SpendTier, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO spend_tiers (id, product_id, code, currency, threshold_milliunits, duration, created_at)
            VALUES (:id, :product_id, :code, :currency, :threshold_milliunits, :duration, :created_at)
            """,
            [
                "id": .id(tier.id), "product_id": .id(tier.product), "code": .text(tier.code.text),
                "currency": .text(tier.currency), "threshold_milliunits": .integer(tier.thresholdMilliunits),
                "duration": .durationOrNull(tier.duration), "created_at": .instant(now),
            ]
        )
        try writeFeatures(of: tier, in: db)
    }

    package static func update(_ tier: SpendTier, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE spend_tiers SET currency = :currency, threshold_milliunits = :threshold_milliunits,
                duration = :duration
            WHERE id = :id
            """,
            [
                "id": .id(tier.id), "currency": .text(tier.currency),
                "threshold_milliunits": .integer(tier.thresholdMilliunits),
                "duration": .durationOrNull(tier.duration),
            ]
        )
        try removeFeatures(of: tier, in: db)
        try writeFeatures(of: tier, in: db)
    }

    package static func remove(_ tier: SpendTier, in db: borrowing WriteTransaction) throws {
        try removeFeatures(of: tier, in: db)
        try db.run("DELETE FROM spend_tiers WHERE id = :id", ["id": .id(tier.id)])
    }

    private static func removeFeatures(of tier: SpendTier, in db: borrowing WriteTransaction) throws {
        try db.run("DELETE FROM spend_tier_features WHERE tier_id = :id", ["id": .id(tier.id)])
    }

    private static func writeFeatures(of tier: SpendTier, in db: borrowing WriteTransaction) throws {
        for feature in tier.features {
            try db.run(
                """
                INSERT INTO spend_tier_features (tier_id, feature_code, product_id)
                VALUES (:tier_id, :feature_code, :product_id)
                """,
                [
                    "tier_id": .id(tier.id), "feature_code": .text(feature.text), "product_id": .id(tier.product),
                ]
            )
        }
    }

    package static func find<DB: Queries & ~Copyable>(
        _ code: PlanCode,
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> SpendTier? {
        try db.first(
            """
            SELECT id, product_id, code, currency, threshold_milliunits, duration,
                (SELECT group_concat(spend_tier_codes.code, ' ') FROM spend_tier_codes WHERE tier_id = spend_tiers.id)
            FROM spend_tiers WHERE product_id = :product_id AND code = :code
            """,
            ["product_id": .id(product), "code": .text(code.text)],
            read
        )
    }

    /// All tiers of one product in the order of their codes.
    package static func all<DB: Queries & ~Copyable>(
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> [SpendTier] {
        try db.all(
            """
            SELECT id, product_id, code, currency, threshold_milliunits, duration,
                (SELECT group_concat(spend_tier_codes.code, ' ') FROM spend_tier_codes WHERE tier_id = spend_tiers.id)
            FROM spend_tiers WHERE product_id = :product_id ORDER BY code
            """,
            ["product_id": .id(product)],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> SpendTier {
        let id: SpendTierID = try row.id()
        let product = try row.id(of: Product.self)
        let code = try row.text()
        let (currency, threshold) = (try row.text(), try row.integer(in: 1...SpendTier.highestThreshold))
        let duration = try row.durationOrNil()
        return SpendTier(
            id: id,
            product: product,
            code: try row.decoded(code, "a tier's code") { try? PlanCode($0) },
            currency: currency,
            thresholdMilliunits: threshold,
            features: try row.featureCodes(),
            duration: duration
        )
    }
}
