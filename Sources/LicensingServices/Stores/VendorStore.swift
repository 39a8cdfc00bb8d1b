package import Licensing
package import Storage

/// The rows of `vendors`.
package enum VendorStore {
    package static func insert(_ vendor: Vendor, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO vendors (id, slug, name, issuer, issuer_is_configured, validation_quota, created_at)
            VALUES (:id, :slug, :name, :issuer, :issuer_is_configured, :validation_quota, :created_at)
            """,
            [
                "id": .id(vendor.id), "slug": .text(vendor.slug.text), "name": .text(vendor.name),
                "issuer": .text(vendor.issuer), "issuer_is_configured": .bool(vendor.configuredIssuer != nil),
                "validation_quota": .integerOrNull(vendor.validationQuota), "created_at": .instant(now),
            ]
        )
    }

    package static func update(_ vendor: Vendor, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE vendors SET name = :name, issuer = :issuer, issuer_is_configured = :issuer_is_configured,
                validation_quota = :validation_quota
            WHERE id = :id
            """,
            [
                "id": .id(vendor.id), "name": .text(vendor.name), "issuer": .text(vendor.issuer),
                "issuer_is_configured": .bool(vendor.configuredIssuer != nil),
                "validation_quota": .integerOrNull(vendor.validationQuota),
            ]
        )
    }

    package static func find<DB: Queries & ~Copyable>(slug: Slug, in db: borrowing DB) throws -> Vendor? {
        try db.first(
            """
            SELECT id, slug, name, issuer, issuer_is_configured, validation_quota FROM vendors WHERE slug = :slug
            """,
            ["slug": .text(slug.text)],
            read
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ id: Vendor.ID, in db: borrowing DB) throws -> Vendor? {
        try db.recall(RecallKey("vendor", id), keeping: .many) {
            try db.first(
                """
                SELECT id, slug, name, issuer, issuer_is_configured, validation_quota FROM vendors WHERE id = :id
                """,
                ["id": .id(id)],
                read
            )
        }
    }

    /// The vendor that signs as `issuer`, of which there is at most one on a server.
    package static func find<DB: Queries & ~Copyable>(issuer: String, in db: borrowing DB) throws -> Vendor? {
        try db.first(
            """
            SELECT id, slug, name, issuer, issuer_is_configured, validation_quota FROM vendors WHERE issuer = :issuer
            """,
            ["issuer": .text(issuer)],
            read
        )
    }

    /// Vendors in the order of their slugs, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Vendor] {
        try db.all(
            """
            SELECT id, slug, name, issuer, issuer_is_configured, validation_quota FROM vendors
            WHERE slug > :cursor ORDER BY slug LIMIT :limit
            """,
            ["cursor": .text(cursor ?? ""), "limit": .int(limit)],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> Vendor {
        let id = try row.id(of: Vendor.self)
        let slug = try row.text()
        let name = try row.text()
        let issuer = try row.text()
        let isConfigured = try row.bool()
        return Vendor(
            id: id,
            slug: try row.decoded(slug, "a slug") { try? Slug($0) },
            name: name,
            configuredIssuer: isConfigured ? issuer : nil,
            validationQuota: try row.countOrNil()
        )
    }
}
