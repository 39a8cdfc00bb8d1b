package import AppStore
package import Licensing
package import Storage

/// The rows of `store_connections`, with their roots, maps and grandfathered features.
package enum StoreConnectionStore {
    package static func insert(
        _ connection: StoreConnection,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        let (before, versionBelow) = columns(of: connection.grandfather)
        try db.run(
            """
            INSERT INTO store_connections (
                id, product_id, store, environment, bundle_id, app_apple_id, allow_xcode, review_access, renewal_leeway,
                grandfather_before, grandfather_version_below, is_enabled, created_at
            ) VALUES (
                :id, :product_id, 'apple', :environment, :bundle_id, :app_apple_id, :allow_xcode, :review_access,
                :renewal_leeway, :grandfather_before, :grandfather_version_below, :is_enabled, :created_at
            )
            """,
            [
                "id": .id(connection.id), "product_id": .id(connection.product),
                "environment": .word(connection.environment), "bundle_id": .text(connection.bundleID),
                "app_apple_id": .integerOrNull(connection.appAppleID), "allow_xcode": .bool(connection.allowsXcode),
                "review_access": .bool(connection.allowsReview),
                "renewal_leeway": .duration(connection.renewalLeeway), "grandfather_before": .instantOrNull(before),
                "grandfather_version_below": .textOrNull(versionBelow), "is_enabled": .bool(connection.isEnabled),
                "created_at": .instant(now),
            ]
        )
        try insertDetails(of: connection, in: db)
    }

    /// Writes everything but product, environment and bundle identifier: those name the connection.
    package static func update(_ connection: StoreConnection, in db: borrowing WriteTransaction) throws {
        let (before, versionBelow) = columns(of: connection.grandfather)
        try db.run(
            """
            UPDATE store_connections SET app_apple_id = :app_apple_id, allow_xcode = :allow_xcode,
                review_access = :review_access, renewal_leeway = :renewal_leeway,
                grandfather_before = :grandfather_before, grandfather_version_below = :grandfather_version_below,
                is_enabled = :is_enabled
            WHERE id = :id
            """,
            [
                "id": .id(connection.id), "app_apple_id": .integerOrNull(connection.appAppleID),
                "allow_xcode": .bool(connection.allowsXcode), "review_access": .bool(connection.allowsReview),
                "renewal_leeway": .duration(connection.renewalLeeway), "grandfather_before": .instantOrNull(before),
                "grandfather_version_below": .textOrNull(versionBelow), "is_enabled": .bool(connection.isEnabled),
            ]
        )
        let id: Value = .id(connection.id)
        try db.run("DELETE FROM store_roots WHERE connection_id = :id", ["id": id])
        try db.run("DELETE FROM store_product_features WHERE connection_id = :id", ["id": id])
        try db.run("DELETE FROM store_products WHERE connection_id = :id", ["id": id])
        try db.run("DELETE FROM grandfathered_features WHERE connection_id = :id", ["id": id])
        try insertDetails(of: connection, in: db)
    }

    private static func insertDetails(of connection: StoreConnection, in db: borrowing WriteTransaction) throws {
        for digest in connection.additionalRootDigests {
            try db.run(
                "INSERT INTO store_roots (connection_id, digest) VALUES (:connection_id, :digest)",
                ["connection_id": .id(connection.id), "digest": .digest(digest)]
            )
        }
        for product in connection.products {
            try db.run(
                """
                INSERT INTO store_products (connection_id, store_product_id, duration)
                VALUES (:connection_id, :store_product_id, :duration)
                """,
                [
                    "connection_id": .id(connection.id), "store_product_id": .text(product.id),
                    "duration": .durationOrNull(product.duration),
                ]
            )
            for feature in Set(product.features) {
                try db.run(
                    """
                    INSERT INTO store_product_features (connection_id, store_product_id, product_id, feature_code)
                    VALUES (:connection_id, :store_product_id, :product_id, :feature_code)
                    """,
                    [
                        "connection_id": .id(connection.id), "store_product_id": .text(product.id),
                        "product_id": .id(connection.product), "feature_code": .text(feature.text),
                    ]
                )
            }
        }
        for feature in Set(connection.grandfather?.features ?? []) {
            try db.run(
                """
                INSERT INTO grandfathered_features (connection_id, product_id, feature_code)
                VALUES (:connection_id, :product_id, :feature_code)
                """,
                [
                    "connection_id": .id(connection.id), "product_id": .id(connection.product),
                    "feature_code": .text(feature.text),
                ]
            )
        }
    }

    package static func find<DB: Queries & ~Copyable>(
        _ id: StoreConnectionID,
        in db: borrowing DB
    ) throws -> StoreConnection? {
        let found = try db.first(
            """
            SELECT id, product_id, environment, bundle_id, app_apple_id, allow_xcode, review_access, renewal_leeway,
                grandfather_before, grandfather_version_below, is_enabled
            FROM store_connections WHERE id = :id
            """,
            ["id": .id(id)],
            read
        )
        return try found.map { try completed($0, in: db) }
    }

    /// All connections of a product to the App Store, the oldest first.
    package static func all<DB: Queries & ~Copyable>(
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> [StoreConnection] {
        let found = try db.all(
            """
            SELECT id, product_id, environment, bundle_id, app_apple_id, allow_xcode, review_access, renewal_leeway,
                grandfather_before, grandfather_version_below, is_enabled
            FROM store_connections WHERE product_id = :product_id ORDER BY id
            """,
            ["product_id": .id(product)],
            read
        )
        return try found.map { try completed($0, in: db) }
    }

    private static func completed<DB: Queries & ~Copyable>(
        _ connection: StoreConnection,
        in db: borrowing DB
    ) throws -> StoreConnection {
        var connection = connection
        let id: Value = .id(connection.id)
        connection.rootDigests += try db.all(
            "SELECT digest FROM store_roots WHERE connection_id = :id ORDER BY digest",
            ["id": id],
            { row in try row.digest() }
        )
        connection.products = try db.all(
            """
            SELECT store_products.store_product_id, store_products.duration, (
                SELECT group_concat(code, ' ') FROM store_product_codes
                WHERE store_product_codes.connection_id = store_products.connection_id
                    AND store_product_codes.store_product_id = store_products.store_product_id
            )
            FROM store_products WHERE connection_id = :id ORDER BY store_product_id
            """,
            ["id": id],
            { row in
                let id = try row.text()
                let duration = try row.durationOrNil()
                return StoreProduct(id: id, features: try row.featureCodes(), duration: duration)
            }
        )
        connection.grandfather?.features =
            try db.first(
                "SELECT group_concat(code, ' ') FROM grandfathered_codes WHERE connection_id = :id",
                ["id": id],
                { row in try row.featureCodes() }
            ) ?? []
        return connection
    }

    private static func columns(of rule: GrandfatherRule?) -> (before: Timestamp?, versionBelow: String?) {
        switch rule?.condition {
        case nil: (nil, nil)
        case .before(let instant): (instant, nil)
        case .versionBelow(let version): (nil, version)
        }
    }

    private static func read(_ row: inout Row) throws -> StoreConnection {
        let id: StoreConnectionID = try row.id()
        var connection = StoreConnection(
            id: id,
            product: try row.id(),
            environment: try row.word(),
            bundleID: try row.text(),
            appAppleID: try row.integerOrNil(),
            allowsXcode: try row.bool(),
            allowsReview: try row.bool(),
            renewalLeeway: try row.duration()
        )
        if let before = try row.instantOrNil() {
            connection.grandfather = GrandfatherRule(condition: .before(before), features: [])
        }
        if let version = try row.textOrNil() {
            connection.grandfather = GrandfatherRule(condition: .versionBelow(version), features: [])
        }
        connection.isEnabled = try row.bool()
        return connection
    }
}

extension StoreConnection {
    /// The pins that are this connection's own, beside those that every one has.
    package var additionalRootDigests: [Digest256] {
        var known = Set(Self.appleRootDigests)
        return rootDigests.filter { known.insert($0).inserted }
    }
}
