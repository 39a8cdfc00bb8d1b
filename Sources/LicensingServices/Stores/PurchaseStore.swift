public import AppStore
public import Licensing
package import Storage

/// The rows of `purchases` and `renewal_infos`.
package enum PurchaseStore {
    /// All that is known of one original transaction.
    package static func history<DB: Queries & ~Copyable>(
        of originalTransactionID: String,
        under connection: StoreConnectionID,
        in db: borrowing DB
    ) throws -> PurchaseHistory {
        let purchases = try db.all(
            """
            SELECT id, connection_id, original_transaction_id, transaction_id, web_order_line_item_id, store_product_id,
                bundle_id, environment, type, purchased_at, originally_purchased_at, expires_at, signed_ms, revoked_at,
                is_upgraded, is_family_shared, price_milliunits, currency
            FROM purchases
            WHERE connection_id = :connection_id AND original_transaction_id = :original_transaction_id
            """,
            ["connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID)],
            { row in try read(&row).purchase }
        )
        let renewal = try db.first(
            """
            SELECT environment, signed_ms, grace_ends_at, renews, expiration_intent, is_in_billing_retry
            FROM renewal_infos
            WHERE connection_id = :connection_id AND original_transaction_id = :original_transaction_id
            """,
            ["connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID)],
            { row in
                RenewalInfo(
                    originalTransactionID: originalTransactionID,
                    environment: try row.word(),
                    signedMilliseconds: try row.milliseconds(),
                    graceEndsAt: try row.instantOrNil(),
                    renews: try row.integerOrNil().map { $0 != 0 },
                    expirationIntent: try row.integerOrNil(),
                    isInBillingRetry: try row.bool()
                )
            }
        )
        return PurchaseHistory(originalTransactionID: originalTransactionID, purchases: purchases, renewal: renewal)
    }

    package static func insert(
        _ purchase: Purchase,
        under connection: StoreConnectionID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        let transaction = purchase.transaction
        try db.run(
            """
            INSERT INTO purchases (
                id, connection_id, original_transaction_id, purchase_key, transaction_id, web_order_line_item_id,
                store_product_id, bundle_id, environment, type, purchased_at, originally_purchased_at, expires_at,
                signed_ms, revoked_at, is_upgraded, is_family_shared, price_milliunits, currency, recorded_at
            ) VALUES (
                :id, :connection_id, :original_transaction_id, :purchase_key, :transaction_id, :web_order_line_item_id,
                :store_product_id, :bundle_id, :environment, :type, :purchased_at, :originally_purchased_at,
                :expires_at, :signed_ms, :revoked_at, :is_upgraded, :is_family_shared, :price_milliunits, :currency,
                :recorded_at
            )
            """,
            [
                "id": .id(purchase.id), "connection_id": .id(connection),
                "original_transaction_id": .text(transaction.originalTransactionID),
                "purchase_key": .text(purchase.key.text), "transaction_id": .text(transaction.transactionID),
                "web_order_line_item_id": .textOrNull(transaction.webOrderLineItemID),
                "store_product_id": .text(transaction.productID), "bundle_id": .text(transaction.bundleID),
                "environment": .word(transaction.environment), "type": .word(transaction.type),
                "purchased_at": .instant(transaction.purchasedAt),
                "originally_purchased_at": .instant(transaction.originallyPurchasedAt),
                "expires_at": .instantOrNull(transaction.expiresAt),
                "signed_ms": .integer(transaction.signedMilliseconds),
                "revoked_at": .instantOrNull(transaction.revokedAt), "is_upgraded": .bool(transaction.isUpgraded),
                "is_family_shared": .bool(transaction.isFamilyShared),
                "price_milliunits": .integerOrNull(transaction.priceMilliunits),
                "currency": .textOrNull(transaction.currency), "recorded_at": .instant(now),
            ]
        )
    }

    /// Writes the newest copy of a purchase; what names it stays.
    package static func update(_ purchase: Purchase, in db: borrowing WriteTransaction) throws {
        let transaction = purchase.transaction
        try db.run(
            """
            UPDATE purchases SET transaction_id = :transaction_id, web_order_line_item_id = :web_order_line_item_id,
                store_product_id = :store_product_id, bundle_id = :bundle_id, environment = :environment, type = :type,
                purchased_at = :purchased_at, originally_purchased_at = :originally_purchased_at,
                expires_at = :expires_at, signed_ms = :signed_ms, revoked_at = :revoked_at, is_upgraded = :is_upgraded,
                is_family_shared = :is_family_shared, price_milliunits = :price_milliunits, currency = :currency
            WHERE id = :id
            """,
            [
                "id": .id(purchase.id), "transaction_id": .text(transaction.transactionID),
                "web_order_line_item_id": .textOrNull(transaction.webOrderLineItemID),
                "store_product_id": .text(transaction.productID), "bundle_id": .text(transaction.bundleID),
                "environment": .word(transaction.environment), "type": .word(transaction.type),
                "purchased_at": .instant(transaction.purchasedAt),
                "originally_purchased_at": .instant(transaction.originallyPurchasedAt),
                "expires_at": .instantOrNull(transaction.expiresAt),
                "signed_ms": .integer(transaction.signedMilliseconds),
                "revoked_at": .instantOrNull(transaction.revokedAt), "is_upgraded": .bool(transaction.isUpgraded),
                "is_family_shared": .bool(transaction.isFamilyShared),
                "price_milliunits": .integerOrNull(transaction.priceMilliunits),
                "currency": .textOrNull(transaction.currency),
            ]
        )
    }

    /// Removes the purchases of one original transaction but for those that were made last.
    package static func removeOldest(
        of originalTransactionID: String,
        under connection: StoreConnectionID,
        keeping most: Int,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            DELETE FROM purchases WHERE id IN (
                SELECT id FROM purchases
                WHERE connection_id = :connection_id AND original_transaction_id = :original_transaction_id
                ORDER BY purchased_at DESC, id DESC LIMIT -1 OFFSET :most
            )
            """,
            [
                "connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID),
                "most": .int(most),
            ]
        )
    }

    /// Removes the purchases of a connection that were made known first, until there are `most`; one never goes.
    ///
    /// - Returns: The original transactions of those removed; one may be there several times.
    package static func removeFirst(
        under connection: StoreConnectionID,
        keeping most: Int,
        and kept: PurchaseID,
        in db: borrowing WriteTransaction
    ) throws -> [String] {
        let count =
            try db.first(
                "SELECT count(*) FROM purchases WHERE connection_id = :connection_id",
                ["connection_id": .id(connection)],
                { row in try row.size() }
            ) ?? 0
        guard count > most else { return [] }
        let removed = try db.all(
            """
            SELECT id, original_transaction_id FROM purchases WHERE connection_id = :connection_id AND id <> :kept
            ORDER BY id LIMIT :limit
            """,
            ["connection_id": .id(connection), "kept": .id(kept), "limit": .int(count - most)],
            { row in (id: try row.id() as PurchaseID, original: try row.text()) }
        )
        for row in removed { try db.run("DELETE FROM purchases WHERE id = :id", ["id": .id(row.id)]) }
        return removed.map(\.original)
    }

    /// Writes the newest renewal information of a subscription.
    package static func put(
        _ renewal: RenewalInfo,
        under connection: StoreConnectionID,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO renewal_infos (
                connection_id, original_transaction_id, environment, signed_ms, grace_ends_at, renews,
                expiration_intent, is_in_billing_retry
            ) VALUES (
                :connection_id, :original_transaction_id, :environment, :signed_ms, :grace_ends_at, :renews,
                :expiration_intent, :is_in_billing_retry
            )
            ON CONFLICT (connection_id, original_transaction_id) DO UPDATE SET environment = excluded.environment,
                signed_ms = excluded.signed_ms, grace_ends_at = excluded.grace_ends_at, renews = excluded.renews,
                expiration_intent = excluded.expiration_intent, is_in_billing_retry = excluded.is_in_billing_retry
            """,
            [
                "connection_id": .id(connection), "original_transaction_id": .text(renewal.originalTransactionID),
                "environment": .word(renewal.environment), "signed_ms": .integer(renewal.signedMilliseconds),
                "grace_ends_at": .instantOrNull(renewal.graceEndsAt),
                "renews": .integerOrNull(renewal.renews.map { $0 ? 1 : 0 }),
                "expiration_intent": .integerOrNull(renewal.expirationIntent),
                "is_in_billing_retry": .bool(renewal.isInBillingRetry),
            ]
        )
    }

    /// A purchase with the connection it was made under.
    package static func find<DB: Queries & ~Copyable>(
        _ id: PurchaseID,
        in db: borrowing DB
    ) throws -> KeptPurchase? {
        try db.first(
            """
            SELECT id, connection_id, original_transaction_id, transaction_id, web_order_line_item_id, store_product_id,
                bundle_id, environment, type, purchased_at, originally_purchased_at, expires_at, signed_ms, revoked_at,
                is_upgraded, is_family_shared, price_milliunits, currency
            FROM purchases WHERE id = :id
            """,
            ["id": .id(id)],
            read
        )
    }

    /// The connections under which purchases of an original transaction are known.
    package static func connections<DB: Queries & ~Copyable>(
        knowing originalTransactionID: String,
        in db: borrowing DB
    ) throws -> [StoreConnectionID] {
        try db.all(
            """
            SELECT DISTINCT connection_id FROM purchases WHERE original_transaction_id = :original_transaction_id
            ORDER BY connection_id
            """,
            ["original_transaction_id": .text(originalTransactionID)],
            { row in try row.id() }
        )
    }

    /// Purchases under one connection in the order of their recording, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        under connection: StoreConnectionID,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [KeptPurchase] {
        try db.all(
            """
            SELECT id, connection_id, original_transaction_id, transaction_id, web_order_line_item_id, store_product_id,
                bundle_id, environment, type, purchased_at, originally_purchased_at, expires_at, signed_ms, revoked_at,
                is_upgraded, is_family_shared, price_milliunits, currency
            FROM purchases WHERE connection_id = :connection_id AND id > :cursor ORDER BY id LIMIT :limit
            """,
            ["connection_id": .id(connection), "cursor": .text(cursor ?? ""), "limit": .int(limit)],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> KeptPurchase {
        let id: PurchaseID = try row.id()
        let connection: StoreConnectionID = try row.id()
        let originalTransactionID = try row.text()
        let transactionID = try row.text()
        let transaction = StoreTransaction(
            transactionID: transactionID,
            originalTransactionID: originalTransactionID,
            webOrderLineItemID: try row.textOrNil(),
            productID: try row.text(),
            bundleID: try row.text(),
            environment: try row.word(),
            type: StoreProductType(rawValue: try row.text()),
            purchasedAt: try row.instant(),
            originallyPurchasedAt: try row.instant(),
            expiresAt: try row.instantOrNil(),
            signedMilliseconds: try row.milliseconds(),
            revokedAt: try row.instantOrNil(),
            isUpgraded: try row.bool(),
            isFamilyShared: try row.bool(),
            priceMilliunits: try row.integerOrNil(),
            currency: try row.textOrNil()
        )
        return KeptPurchase(purchase: Purchase(id: id, transaction: transaction), connection: connection)
    }
}

/// A purchase and the connection it was made under.
public struct KeptPurchase: Hashable, Sendable {
    /// The purchase.
    public let purchase: Purchase
    /// The connection.
    public let connection: StoreConnectionID
}
