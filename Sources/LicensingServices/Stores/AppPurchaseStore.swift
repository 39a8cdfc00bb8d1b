package import AppStore
package import Licensing
package import Storage

/// The purchase of the app itself, as its newest signed copy describes it; a row of `app_purchases`.
package struct AppPurchase: Hashable, Sendable {
    /// `ref` of what is kept by it.
    package let id: PurchaseID
    package var transaction: AppTransaction
}

/// The rows of `app_purchases`.
package enum AppPurchaseStore {
    package static func find<DB: Queries & ~Copyable>(
        _ key: String,
        under connection: StoreConnectionID,
        in db: borrowing DB
    ) throws -> AppPurchase? {
        try db.first(
            """
            SELECT id, app_transaction_id, bundle_id, environment, originally_purchased_ms, original_version, signed_ms
            FROM app_purchases WHERE connection_id = :connection_id AND purchase_key = :purchase_key
            """,
            ["connection_id": .id(connection), "purchase_key": .text(key)],
            { row in
                AppPurchase(
                    id: try row.id(),
                    transaction: AppTransaction(
                        appTransactionID: try row.textOrNil(),
                        bundleID: try row.text(),
                        environment: try row.word(),
                        originalPurchaseMilliseconds: try row.milliseconds(),
                        originalVersion: try row.text(),
                        signedMilliseconds: try row.milliseconds()
                    )
                )
            }
        )
    }

    /// Writes a purchase of the app, new or in a newer copy.
    package static func put(
        _ purchase: AppPurchase,
        under connection: StoreConnectionID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        let transaction = purchase.transaction
        try db.run(
            """
            INSERT INTO app_purchases (
                id, connection_id, purchase_key, app_transaction_id, bundle_id, environment, originally_purchased_ms,
                original_version, signed_ms, recorded_at
            ) VALUES (
                :id, :connection_id, :purchase_key, :app_transaction_id, :bundle_id, :environment,
                :originally_purchased_ms, :original_version, :signed_ms, :recorded_at
            )
            ON CONFLICT (connection_id, purchase_key) DO UPDATE SET
                originally_purchased_ms = excluded.originally_purchased_ms,
                original_version = excluded.original_version, signed_ms = excluded.signed_ms
            """,
            [
                "id": .id(purchase.id), "connection_id": .id(connection),
                "purchase_key": .text(transaction.purchaseKey.text),
                "app_transaction_id": .textOrNull(transaction.appTransactionID),
                "bundle_id": .text(transaction.bundleID), "environment": .word(transaction.environment),
                "originally_purchased_ms": .integer(transaction.originalPurchaseMilliseconds),
                "original_version": .text(transaction.originalVersion),
                "signed_ms": .integer(transaction.signedMilliseconds), "recorded_at": .instant(now),
            ]
        )
    }
    /// Removes the purchases of the app under a connection that were made known first, until there are `most`; one never
    /// goes.
    ///
    /// - Returns: The keys of those removed.
    package static func removeFirst(
        under connection: StoreConnectionID,
        keeping most: Int,
        and kept: PurchaseID,
        in db: borrowing WriteTransaction
    ) throws -> [String] {
        let count =
            try db.first(
                "SELECT count(*) FROM app_purchases WHERE connection_id = :connection_id",
                ["connection_id": .id(connection)],
                { row in try row.size() }
            ) ?? 0
        guard count > most else { return [] }
        let removed = try db.all(
            """
            SELECT id, purchase_key FROM app_purchases WHERE connection_id = :connection_id AND id <> :kept
            ORDER BY id LIMIT :limit
            """,
            ["connection_id": .id(connection), "kept": .id(kept), "limit": .int(count - most)],
            { row in (id: try row.id() as PurchaseID, key: try row.text()) }
        )
        for row in removed { try db.run("DELETE FROM app_purchases WHERE id = :id", ["id": .id(row.id)]) }
        return removed.map(\.key)
    }
}
