package import Licensing
package import Storage

/// The rows of `offers`.
package enum OfferStore {
    /// Writes an offer, new or changed.
    package static func write(
        _ offer: Offer,
        of product: Product.ID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO offers (
                product_id, id, plan, kind, price_milliunits, currency, store_product_id, trial_duration, url, starts_at,
                ends_at, created_at
            ) VALUES (
                :product_id, :id, :plan, :kind, :price_milliunits, :currency, :store_product_id, :trial_duration, :url,
                :starts_at, :ends_at, :created_at
            )
            ON CONFLICT (product_id, id) DO UPDATE SET plan = excluded.plan, kind = excluded.kind,
                price_milliunits = excluded.price_milliunits, currency = excluded.currency,
                store_product_id = excluded.store_product_id, trial_duration = excluded.trial_duration,
                url = excluded.url, starts_at = excluded.starts_at, ends_at = excluded.ends_at
            """,
            [
                "product_id": .id(product), "id": .text(offer.id.text), "plan": .textOrNull(offer.plan?.text),
                "kind": .word(offer.kind), "price_milliunits": .integerOrNull(offer.priceMilliunits),
                "currency": .textOrNull(offer.currency), "store_product_id": .textOrNull(offer.storeProductID),
                "trial_duration": .durationOrNull(offer.trialDuration), "url": .textOrNull(offer.url),
                "starts_at": .instantOrNull(offer.from), "ends_at": .instantOrNull(offer.until),
                "created_at": .instant(now),
            ]
        )
    }

    /// Removes an offer; whether it was there.
    package static func remove(_ id: OfferName, of product: Product.ID, in db: borrowing WriteTransaction) throws
        -> Bool
    {
        try db.run(
            "DELETE FROM offers WHERE product_id = :product_id AND id = :id",
            ["product_id": .id(product), "id": .text(id.text)]
        ) > 0
    }

    package static func find<DB: Queries & ~Copyable>(
        _ id: OfferName,
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> Offer? {
        try db.first(
            """
            SELECT id, plan, kind, price_milliunits, currency, store_product_id, trial_duration, url, starts_at, ends_at
            FROM offers WHERE product_id = :product_id AND id = :id
            """,
            ["product_id": .id(product), "id": .text(id.text)],
            read
        )
    }

    /// All offers of a product in the order of their names: there are at most `Offer.mostInProduct`.
    package static func all<DB: Queries & ~Copyable>(of product: Product.ID, in db: borrowing DB) throws -> [Offer] {
        try db.all(
            """
            SELECT id, plan, kind, price_milliunits, currency, store_product_id, trial_duration, url, starts_at, ends_at
            FROM offers WHERE product_id = :product_id ORDER BY id
            """,
            ["product_id": .id(product)],
            read
        )
    }

    package static func count<DB: Queries & ~Copyable>(of product: Product.ID, in db: borrowing DB) throws -> Int {
        try db.first(
            "SELECT count(*) FROM offers WHERE product_id = :product_id",
            ["product_id": .id(product)],
            { row in try row.size() }
        ) ?? 0
    }

    private static func read(_ row: inout Row) throws -> Offer {
        let id = try row.text()
        let plan = try row.textOrNil()
        return Offer(
            id: try row.decoded(id, "an offer's name") { try? OfferName($0) },
            plan: try plan.map { code in try row.decoded(code, "a plan code") { try? PlanCode($0) } },
            kind: try row.word(),
            priceMilliunits: try row.countOrNil(),
            currency: try row.textOrNil(),
            storeProductID: try row.textOrNil(),
            trialDuration: try row.durationOrNil(),
            url: try row.textOrNil(),
            from: try row.instantOrNil(),
            until: try row.instantOrNil()
        )
    }
}
