package import Licensing
package import Storage

/// The rows of `features`.
package enum FeatureStore {
    package static func insert(
        _ feature: Feature,
        of product: Product.ID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO features (product_id, code, name, created_at)
            VALUES (:product_id, :code, :name, :created_at)
            """,
            [
                "product_id": .id(product), "code": .text(feature.code.text), "name": .text(feature.name),
                "created_at": .instant(now),
            ]
        )
    }

    package static func rename(_ feature: Feature, of product: Product.ID, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE features SET name = :name WHERE product_id = :product_id AND code = :code",
            ["product_id": .id(product), "code": .text(feature.code.text), "name": .text(feature.name)]
        )
    }

    package static func find<DB: Queries & ~Copyable>(
        _ code: FeatureCode,
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> Feature? {
        try db.first(
            "SELECT name FROM features WHERE product_id = :product_id AND code = :code",
            ["product_id": .id(product), "code": .text(code.text)],
            { row in Feature(code: code, name: try row.text()) }
        )
    }

    package static func count<DB: Queries & ~Copyable>(of product: Product.ID, in db: borrowing DB) throws -> Int {
        try db.first(
            "SELECT count(*) FROM features WHERE product_id = :product_id",
            ["product_id": .id(product)],
            { row in try row.size() }
        ) ?? 0
    }

    /// Features of one product in the order of their codes, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of product: Product.ID,
        after cursor: String? = nil,
        limit: Int = Feature.mostInProduct,
        in db: borrowing DB
    ) throws -> [Feature] {
        try db.all(
            """
            SELECT code, name FROM features WHERE product_id = :product_id AND code > :cursor
            ORDER BY code LIMIT :limit
            """,
            ["product_id": .id(product), "cursor": .text(cursor ?? ""), "limit": .int(limit)],
            { row in
                let code = try row.text()
                return Feature(
                    code: try row.decoded(code, "a feature code") { try? FeatureCode($0) },
                    name: try row.text()
                )
            }
        )
    }
}
