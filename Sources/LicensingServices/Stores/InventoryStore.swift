import Licensing
public import Storage

/// How many rows a product has in one mode and standing.
public struct InventoryCount: Hashable, Sendable {
    /// `vendor/product`.
    public let product: String
    /// `live` or `test`.
    public let mode: String
    /// A license's standing; empty for installs.
    public let standing: String
    /// How many.
    public let count: Int64
}

/// Counts for the metrics: reads whole indexes, so it is for a thread that holds up nobody.
public enum InventoryStore {
    /// Licenses by product, mode and standing.
    ///
    /// - Throws: `StorageError`.
    public static func licenses<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> [InventoryCount] {
        try db.all(
            """
            SELECT vendors.slug, products.slug, counted.mode, counted.standing, counted.count
            FROM (SELECT product_id, mode, standing, count(*) AS count FROM licenses GROUP BY product_id, mode, standing)
                AS counted
            JOIN products ON products.id = counted.product_id
            JOIN vendors ON vendors.id = products.vendor_id
            ORDER BY vendors.slug, products.slug, counted.mode, counted.standing
            """,
            [:],
            { row in
                InventoryCount(
                    product: "\(try row.text())/\(try row.text())",
                    mode: try row.text(),
                    standing: try row.text(),
                    count: try row.count()
                )
            }
        )
    }

    /// Installs by product and mode.
    ///
    /// - Throws: `StorageError`.
    public static func installs<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> [InventoryCount] {
        try db.all(
            """
            SELECT vendors.slug, products.slug, counted.mode, counted.count
            FROM (SELECT product_id, mode, count(*) AS count FROM installs GROUP BY product_id, mode) AS counted
            JOIN products ON products.id = counted.product_id
            JOIN vendors ON vendors.id = products.vendor_id
            ORDER BY vendors.slug, products.slug, counted.mode
            """,
            [:],
            { row in
                InventoryCount(
                    product: "\(try row.text())/\(try row.text())",
                    mode: try row.text(),
                    standing: "",
                    count: try row.count()
                )
            }
        )
    }
}
