package import Licensing
package import Storage

/// The rows of `gifts` and `gift_features`.
package enum GiftStore {
    package static func insert(_ gift: Gift, in db: borrowing WriteTransaction) throws {
        var (install, license, customer): (Install.ID?, License.ID?, Customer.ID?)
        switch gift.target {
        case .install(let id): install = id
        case .license(let id): license = id
        case .customer(let id): customer = id
        }
        try db.run(
            """
            INSERT INTO gifts (
                id, product_id, mode, install_id, license_id, customer_id, starts_at, ends_at, withdrawn_at
            ) VALUES (
                :id, :product_id, :mode, :install_id, :license_id, :customer_id, :starts_at, :ends_at, :withdrawn_at
            )
            """,
            [
                "id": .id(gift.id), "product_id": .id(gift.product), "mode": .word(gift.mode),
                "install_id": .idOrNull(install), "license_id": .idOrNull(license),
                "customer_id": .idOrNull(customer), "starts_at": .instant(gift.starts),
                "ends_at": .instantOrNull(gift.ends), "withdrawn_at": .instantOrNull(gift.withdrawnAt),
            ]
        )
        for feature in gift.features {
            try db.run(
                """
                INSERT INTO gift_features (gift_id, feature_code, product_id)
                VALUES (:gift_id, :feature_code, :product_id)
                """,
                [
                    "gift_id": .id(gift.id), "feature_code": .text(feature.text), "product_id": .id(gift.product),
                ]
            )
        }
    }

    /// Writes when a gift was taken back; nothing else of it ever changes.
    package static func withdraw(_ gift: Gift, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE gifts SET withdrawn_at = :withdrawn_at WHERE id = :id",
            ["id": .id(gift.id), "withdrawn_at": .instantOrNull(gift.withdrawnAt)]
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ id: GiftID, in db: borrowing DB) throws -> Gift? {
        try db.first(
            """
            SELECT id, product_id, mode, install_id, license_id, customer_id, starts_at, ends_at, withdrawn_at,
                (SELECT group_concat(code, ' ') FROM gift_codes WHERE gift_id = gifts.id)
            FROM gifts WHERE id = :id
            """,
            ["id": .id(id)],
            read
        )
    }

    /// The gifts that may be for an install: its own, and those for the licenses it has seats of and their customers.
    package static func candidates<DB: Queries & ~Copyable>(
        for install: Install.ID,
        in db: borrowing DB
    ) throws -> [Gift] {
        try db.all(
            """
            SELECT id, product_id, mode, install_id, license_id, customer_id, starts_at, ends_at, withdrawn_at,
                (SELECT group_concat(code, ' ') FROM gift_codes WHERE gift_id = gifts.id)
            FROM gifts WHERE withdrawn_at IS NULL AND id IN (
                SELECT id FROM gifts WHERE install_id = :install_id
                UNION ALL
                SELECT gifts.id FROM activations JOIN gifts ON gifts.license_id = activations.license_id
                WHERE activations.install_id = :install_id AND activations.released_at IS NULL
                UNION ALL
                SELECT gifts.id FROM activations JOIN licenses ON licenses.id = activations.license_id
                    JOIN gifts ON gifts.customer_id = licenses.customer_id
                WHERE activations.install_id = :install_id AND activations.released_at IS NULL
            ) ORDER BY id
            """,
            ["install_id": .id(install)],
            read
        )
    }

    /// Which gifts a list shows; a member that is `nil` asks for nothing.
    package struct Filter: Hashable, Sendable {
        package var mode: Mode?
        package var target: GiftTarget?

        package init(mode: Mode? = nil, target: GiftTarget? = nil) {
            self.mode = mode
            self.target = target
        }
    }

    /// Gifts of one product in the order of their making, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of product: Product.ID,
        _ filter: Filter,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Gift] {
        var (install, license, customer): (Install.ID?, License.ID?, Customer.ID?)
        switch filter.target {
        case .install(let id): install = id
        case .license(let id): license = id
        case .customer(let id): customer = id
        case nil: break
        }
        return try db.all(
            """
            SELECT id, product_id, mode, install_id, license_id, customer_id, starts_at, ends_at, withdrawn_at,
                (SELECT group_concat(code, ' ') FROM gift_codes WHERE gift_id = gifts.id)
            FROM gifts WHERE product_id = :product_id AND id > :cursor AND (:mode IS NULL OR mode = :mode)
                AND (:install_id IS NULL OR install_id = :install_id)
                AND (:license_id IS NULL OR license_id = :license_id)
                AND (:customer_id IS NULL OR customer_id = :customer_id)
            ORDER BY id LIMIT :limit
            """,
            [
                "product_id": .id(product), "cursor": .text(cursor ?? ""),
                "mode": .textOrNull(filter.mode?.rawValue), "install_id": .idOrNull(install),
                "license_id": .idOrNull(license), "customer_id": .idOrNull(customer), "limit": .int(limit),
            ],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> Gift {
        let id: GiftID = try row.id()
        let product = try row.id(of: Product.self)
        let mode: Mode = try row.word()
        let install = try row.idOrNil(of: Install.self)
        let license = try row.idOrNil(of: License.self)
        let customer = try row.idOrNil(of: Customer.self)
        guard
            let target = install.map({ GiftTarget.install($0) }) ?? license.map({ .license($0) })
                ?? customer.map({ .customer($0) })
        else { throw StorageError(.corrupt, "a gift is for nobody") }
        let (starts, ends, withdrawnAt) = (try row.instant(), try row.instantOrNil(), try row.instantOrNil())
        return Gift(
            id: id,
            product: product,
            mode: mode,
            target: target,
            features: try row.featureCodes(),
            starts: starts,
            ends: ends,
            withdrawnAt: withdrawnAt
        )
    }
}
