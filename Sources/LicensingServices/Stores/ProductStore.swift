package import Licensing
package import Storage
internal import StrictJSON

/// The rows of `products`, with their settings.
package enum ProductStore {
    package static func insert(_ product: Product, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        let settings = product.settings
        try db.run(
            """
            INSERT INTO products (
                id, vendor_id, slug, name, key_prefix, trial_duration, trial_plan, trial_start, offline_life,
                refresh_after, free_tier, keep_license_keys, minimum_version, extra, created_at
            ) VALUES (
                :id, :vendor_id, :slug, :name, :key_prefix, :trial_duration, :trial_plan, :trial_start, :offline_life,
                :refresh_after, :free_tier, :keep_license_keys, :minimum_version, :extra, :created_at
            )
            """,
            [
                "id": .id(product.id), "vendor_id": .id(product.vendor), "slug": .text(product.slug.text),
                "name": .text(product.name), "key_prefix": .text(product.keyPrefix.text),
                "trial_duration": .durationOrNull(settings.trialDuration),
                "trial_plan": .textOrNull(settings.trialPlan?.text), "trial_start": .word(settings.trialStart),
                "offline_life": .duration(settings.offlineLife), "refresh_after": .duration(settings.refreshAfter),
                "free_tier": .bool(settings.freeTier), "keep_license_keys": .bool(settings.keepLicenseKeys),
                "minimum_version": .textOrNull(settings.minimumVersion), "extra": .textOrNull(settings.extra),
                "created_at": .instant(now),
            ]
        )
    }

    /// Writes name, key prefix and settings; the slug is the audience of every bundle and stays.
    package static func update(_ product: Product, in db: borrowing WriteTransaction) throws {
        let settings = product.settings
        try db.run(
            """
            UPDATE products SET name = :name, key_prefix = :key_prefix, trial_duration = :trial_duration,
                trial_plan = :trial_plan, trial_start = :trial_start, offline_life = :offline_life,
                refresh_after = :refresh_after, free_tier = :free_tier, keep_license_keys = :keep_license_keys,
                minimum_version = :minimum_version, extra = :extra
            WHERE id = :id
            """,
            [
                "id": .id(product.id), "name": .text(product.name), "key_prefix": .text(product.keyPrefix.text),
                "trial_duration": .durationOrNull(settings.trialDuration),
                "trial_plan": .textOrNull(settings.trialPlan?.text), "trial_start": .word(settings.trialStart),
                "offline_life": .duration(settings.offlineLife), "refresh_after": .duration(settings.refreshAfter),
                "free_tier": .bool(settings.freeTier), "keep_license_keys": .bool(settings.keepLicenseKeys),
                "minimum_version": .textOrNull(settings.minimumVersion), "extra": .textOrNull(settings.extra),
            ]
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ id: Product.ID, in db: borrowing DB) throws -> Product? {
        try db.recall(RecallKey("product", id), keeping: .many) {
            try db.first(
                """
                SELECT id, vendor_id, slug, name, key_prefix, trial_duration, trial_plan, trial_start, offline_life,
                    refresh_after, free_tier, keep_license_keys, minimum_version, extra
                FROM products WHERE id = :id
                """,
                ["id": .id(id)],
                read
            )
        }
    }

    package static func find<DB: Queries & ~Copyable>(
        slug: Slug,
        of vendor: Vendor.ID,
        in db: borrowing DB
    ) throws -> Product? {
        try db.first(
            """
            SELECT id, vendor_id, slug, name, key_prefix, trial_duration, trial_plan, trial_start, offline_life,
                refresh_after, free_tier, keep_license_keys, minimum_version, extra
            FROM products WHERE vendor_id = :vendor_id AND slug = :slug
            """,
            ["vendor_id": .id(vendor), "slug": .text(slug.text)],
            read
        )
    }

    /// Products of one vendor in the order of their slugs, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Product] {
        try db.all(
            """
            SELECT id, vendor_id, slug, name, key_prefix, trial_duration, trial_plan, trial_start, offline_life,
                refresh_after, free_tier, keep_license_keys, minimum_version, extra
            FROM products WHERE vendor_id = :vendor_id AND slug > :cursor ORDER BY slug LIMIT :limit
            """,
            ["vendor_id": .id(vendor), "cursor": .text(cursor ?? ""), "limit": .int(limit)],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> Product {
        let id = try row.id(of: Product.self)
        let vendor = try row.id(of: Vendor.self)
        let slug = try row.text()
        let name = try row.text()
        let prefix = try row.text()
        let trialDuration = try row.durationOrNil()
        let trialPlan = try row.textOrNil()
        let settings = ProductSettings(
            trialDuration: trialDuration,
            trialPlan: try trialPlan.map { code in try row.decoded(code, "a plan code") { try? PlanCode($0) } },
            trialStart: try row.word(),
            offlineLife: try row.duration(),
            refreshAfter: try row.duration(),
            freeTier: try row.bool(),
            keepLicenseKeys: try row.bool(),
            minimumVersion: try row.textOrNil(),
            extra: try row.textOrNil().map { text in
                // It stands as it is in what is signed.
                try row.decoded(text, "an object of JSON") { text in
                    let root = (try? JSONDocument(parsing: Array(text.utf8)))?.root
                    return root?.kind == .object ? text : nil
                }
            }
        )
        return Product(
            id: id,
            vendor: vendor,
            slug: try row.decoded(slug, "a slug") { try? Slug($0) },
            name: name,
            keyPrefix: try row.decoded(prefix, "a key prefix") { try? KeyPrefix($0) },
            settings: settings
        )
    }
}
