package import Licensing
package import Storage

extension LicenseStore {
    /// The license of one vendor and mode; what belongs to another is not there.
    package static func find<DB: Queries & ~Copyable>(
        _ id: License.ID,
        of vendor: Vendor.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> License? {
        try db.first(
            """
            SELECT * FROM license_facts WHERE id = :id AND mode = :mode
                AND product_id IN (SELECT products.id FROM products WHERE products.vendor_id = :vendor_id)
            """,
            ["id": .id(id), "mode": .word(mode), "vendor_id": .id(vendor)],
            { row in try read(&row) }
        )
    }

    /// The licenses of one vendor and mode that were issued for an order, in one product or in all: at most one in each.
    package static func find<DB: Queries & ~Copyable>(
        orderID: String,
        of vendor: Vendor.ID,
        product: Product.ID?,
        mode: Mode,
        in db: borrowing DB
    ) throws -> [License] {
        try db.all(
            """
            SELECT * FROM license_facts WHERE mode = :mode AND order_id = :order_id
                AND product_id IN (
                    SELECT products.id FROM products
                    WHERE products.vendor_id = :vendor_id AND (:product_id IS NULL OR products.id = :product_id)
                )
            ORDER BY id
            """,
            [
                "mode": .word(mode), "order_id": .text(orderID), "vendor_id": .id(vendor),
                "product_id": .idOrNull(product),
            ],
            { row in try read(&row) }
        )
    }

    /// The order ids of a customer's licenses.
    package static func orderIDs<DB: Queries & ~Copyable>(
        of customer: Customer,
        in db: borrowing DB
    ) throws -> [String] {
        try db.all(
            "SELECT order_id FROM licenses WHERE customer_id = :customer_id AND order_id IS NOT NULL",
            ["customer_id": .id(customer.id)],
            { row in try row.text() }
        )
    }

    /// The license that an order gave, and the digest of what was ordered.
    package static func order<DB: Queries & ~Copyable>(
        _ orderID: String,
        of product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> (license: License.ID, digest: Digest256)? {
        try db.first(
            """
            SELECT id, order_digest FROM licenses
            WHERE product_id = :product_id AND mode = :mode AND order_id = :order_id
            """,
            ["product_id": .id(product), "mode": .word(mode), "order_id": .text(orderID)],
            { row in (try row.id(), try row.digest()) }
        )
    }

    /// Where a list gets to that looks at `count` licenses of each product behind `cursor`; `nil`: at the end of all.
    package static func place<DB: Queries & ~Copyable>(
        after count: Int,
        of filter: LicenseFilter,
        after cursor: License.ID?,
        in db: borrowing DB
    ) throws -> License.ID? {
        try db.first(
            """
            SELECT min(place) FROM (
                SELECT (
                    SELECT licenses.id FROM licenses
                    WHERE licenses.product_id = products.id AND licenses.id > :cursor
                    ORDER BY licenses.id LIMIT 1 OFFSET :count
                ) AS place
                FROM products
                WHERE (:product_id IS NULL OR products.id = :product_id)
                    AND (:vendor_id IS NULL OR products.vendor_id = :vendor_id)
            )
            """,
            [
                "cursor": .text(cursor?.text ?? ""), "count": .int(count), "product_id": .idOrNull(filter.product),
                "vendor_id": .idOrNull(filter.vendor),
            ],
            { row in try row.idOrNil() }
        ) ?? nil
    }

    /// Licenses in the order of their ids, those after `cursor` (exclusive) and up to `end` (inclusive), at most `limit`.
    ///
    /// A status is looked at only as far as columns say it: grace is counted in calendar months, so whoever asks for
    /// `expired` or `active` must ask each license again.
    package static func list<DB: Queries & ~Copyable>(
        _ filter: LicenseFilter,
        after cursor: License.ID?,
        through end: License.ID? = nil,
        limit: Int,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [License] {
        var conditions: [String] = []
        var parameters: [String: Value] = ["limit": .int(limit)]
        func add(_ name: String, _ value: Value, _ condition: String) {
            conditions.append(condition)
            parameters[name] = value
        }
        if let cursor { add("cursor", .id(cursor), "id > :cursor") }
        if let end { add("end", .id(end), "id <= :end") }
        if let product = filter.product { add("product_id", .id(product), "product_id = :product_id") }
        if let vendor = filter.vendor {
            add(
                "vendor_id",
                .id(vendor),
                "product_id IN (SELECT products.id FROM products WHERE products.vendor_id = :vendor_id)"
            )
        }
        if let plan = filter.plan { add("plan", .text(plan.text), "plan_code = :plan") }
        if let mode = filter.mode { add("mode", .word(mode), "mode = :mode") }
        if let order = filter.orderID { add("order_id", .text(order), "order_id = :order_id") }
        if let email = filter.customerEmail {
            add(
                "email",
                .text(email.text),
                "customer_id IN (SELECT customers.id FROM customers WHERE customers.email = :email)"
            )
        }
        let isActive = "standing = 'active' AND coalesce(starts_at, 0) <= :now"
        switch filter.status {
        case nil: break
        case .revoked: conditions.append("standing = 'revoked'")
        case .suspended: conditions.append("standing = 'suspended'")
        case .notStarted: add("now", .instant(now), "standing = 'active' AND starts_at > :now")
        case .expired: add("now", .instant(now), "\(isActive) AND expires_at <= :now")
        case .active: add("now", .instant(now), isActive)
        }
        let condition = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        return try db.all(
            built: "SELECT * FROM license_facts \(condition) ORDER BY id LIMIT :limit",
            parameters,
            { row in try read(&row) }
        )
    }
}

extension ProductStore {
    /// Every product of the server, in the order of their ids.
    package static func all<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> [Product] {
        let ids = try db.all("SELECT id FROM products ORDER BY id") { row in try row.id(of: Product.self) }
        return try ids.compactMap { id in try find(id, in: db) }
    }
}
