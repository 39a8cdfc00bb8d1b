package import AppStore
package import Licensing
package import Storage

/// The rows of `purchase_links` and `review_presentations`.
package enum PurchaseLinkStore {
    /// What an install is linked to.
    package struct Linked: Hashable, Sendable {
        package let connection: StoreConnectionID
        package let originalTransactionID: String
    }

    /// Everything an install presented.
    package static func all<DB: Queries & ~Copyable>(of install: Install.ID, in db: borrowing DB) throws -> [Linked] {
        try db.all(
            """
            SELECT connection_id, original_transaction_id FROM purchase_links WHERE install_id = :install_id
            ORDER BY connection_id, original_transaction_id
            """,
            ["install_id": .id(install)],
            { row in Linked(connection: try row.id(), originalTransactionID: try row.text()) }
        )
    }

    /// What an install presented and may have something by: not what was used up, or gives nothing by the map as it is.
    /// What is linked to nothing is told, too: that is damage.
    package static func granting<DB: Queries & ~Copyable>(
        to install: Install.ID,
        in db: borrowing DB
    ) throws -> [Linked] {
        try db.all(
            """
            SELECT connection_id, original_transaction_id FROM purchase_links AS link
            WHERE install_id = :install_id AND (
                EXISTS (
                    SELECT 1 FROM purchases JOIN store_products
                        ON store_products.connection_id = purchases.connection_id
                        AND store_products.store_product_id = purchases.store_product_id
                    WHERE purchases.connection_id = link.connection_id
                        AND purchases.original_transaction_id = link.original_transaction_id
                        AND purchases.type <> :consumable
                ) OR NOT EXISTS (
                    SELECT 1 FROM purchases WHERE connection_id = link.connection_id
                        AND original_transaction_id = link.original_transaction_id
                ) OR EXISTS (
                    SELECT 1 FROM app_purchases WHERE connection_id = link.connection_id
                        AND purchase_key = link.original_transaction_id
                ) OR NOT EXISTS (SELECT 1 FROM store_connections WHERE id = link.connection_id)
            )
            ORDER BY connection_id, original_transaction_id
            """,
            ["install_id": .id(install), "consumable": .word(StoreProductType.consumable)],
            { row in Linked(connection: try row.id(), originalTransactionID: try row.text()) }
        )
    }

    /// What an install presented of one product of the store.
    package static func all<DB: Queries & ~Copyable>(
        of install: Install.ID,
        to storeProductID: String,
        in db: borrowing DB
    ) throws -> [Linked] {
        try db.all(
            """
            SELECT connection_id, original_transaction_id FROM purchase_links AS link
            WHERE install_id = :install_id AND EXISTS (
                SELECT 1 FROM purchases WHERE connection_id = link.connection_id
                    AND original_transaction_id = link.original_transaction_id AND store_product_id = :store_product_id
            )
            ORDER BY connection_id, original_transaction_id
            """,
            ["install_id": .id(install), "store_product_id": .text(storeProductID)],
            { row in Linked(connection: try row.id(), originalTransactionID: try row.text()) }
        )
    }

    /// The links to one original transaction in one mode.
    package static func all<DB: Queries & ~Copyable>(
        to originalTransactionID: String,
        under connection: StoreConnectionID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> [PurchaseLink] {
        try db.all(
            """
            SELECT installs.id, installs.fingerprint, purchase_links.presented_at, installs.last_seen_at
            FROM purchase_links JOIN installs ON installs.id = purchase_links.install_id
            WHERE purchase_links.connection_id = :connection_id
                AND purchase_links.original_transaction_id = :original_transaction_id AND purchase_links.mode = :mode
            ORDER BY purchase_links.presented_at, purchase_links.ordinal, installs.id
            """,
            [
                "connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID),
                "mode": .word(mode),
            ],
            { row in
                PurchaseLink(
                    install: try row.id(),
                    fingerprint: try row.digestOrNil(),
                    presentedAt: try row.instant(),
                    lastSeenAt: try row.instant()
                )
            }
        )
    }

    package static func insert(
        _ install: Install,
        to originalTransactionID: String,
        under connection: StoreConnectionID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO purchase_links (
                connection_id, original_transaction_id, mode, install_id, presented_at, ordinal
            ) VALUES (
                :connection_id, :original_transaction_id, :mode, :install_id, :presented_at,
                (
                    SELECT coalesce(max(ordinal), 0) + 1 FROM purchase_links
                    WHERE connection_id = :connection_id AND original_transaction_id = :original_transaction_id
                        AND mode = :mode
                )
            )
            """,
            [
                "connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID),
                "mode": .word(install.mode), "install_id": .id(install.id), "presented_at": .instant(now),
            ]
        )
    }

    /// Gives the link of one install to another; when it was first presented stays.
    package static func move(
        from old: Install.ID,
        to install: Install,
        of originalTransactionID: String,
        under connection: StoreConnectionID,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            UPDATE purchase_links SET install_id = :install_id
            WHERE connection_id = :connection_id AND original_transaction_id = :original_transaction_id
                AND mode = :mode AND install_id = :old
            """,
            [
                "connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID),
                "mode": .word(install.mode), "install_id": .id(install.id), "old": .id(old),
            ]
        )
    }

    /// Unlinks all installs from what is not known any more.
    package static func removeAll(
        to originalTransactionID: String,
        under connection: StoreConnectionID,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            DELETE FROM purchase_links
            WHERE connection_id = :connection_id AND original_transaction_id = :original_transaction_id
            """,
            ["connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID)]
        )
    }

    // MARK: Review

    /// When this very transaction was first presented in live mode.
    package static func presentation<DB: Queries & ~Copyable>(
        of transactionID: String,
        under connection: StoreConnectionID,
        in db: borrowing DB
    ) throws -> Timestamp? {
        try db.first(
            """
            SELECT presented_at FROM review_presentations
            WHERE connection_id = :connection_id AND transaction_id = :transaction_id
            """,
            ["connection_id": .id(connection), "transaction_id": .text(transactionID)],
            { row in try row.instant() }
        )
    }

    package static func insertPresentation(
        of transactionID: String,
        purchase: PurchaseID,
        under connection: StoreConnectionID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO review_presentations (connection_id, transaction_id, purchase_id, presented_at)
            VALUES (:connection_id, :transaction_id, :purchase_id, :presented_at)
            ON CONFLICT (connection_id, transaction_id) DO NOTHING
            """,
            [
                "connection_id": .id(connection), "transaction_id": .text(transactionID),
                "purchase_id": .id(purchase), "presented_at": .instant(now),
            ]
        )
    }

    /// The latest first presentation of any transaction of each purchase of an original transaction.
    package static func presentations<DB: Queries & ~Copyable>(
        of originalTransactionID: String,
        under connection: StoreConnectionID,
        in db: borrowing DB
    ) throws -> [PurchaseID: Timestamp] {
        var presentations: [PurchaseID: Timestamp] = [:]
        try db.each(
            """
            SELECT purchases.id, max(review_presentations.presented_at)
            FROM purchases JOIN review_presentations ON review_presentations.purchase_id = purchases.id
            WHERE purchases.connection_id = :connection_id
                AND purchases.original_transaction_id = :original_transaction_id
            GROUP BY purchases.id
            """,
            ["connection_id": .id(connection), "original_transaction_id": .text(originalTransactionID)]
        ) { row in
            let id: PurchaseID = try row.id()
            presentations[id] = try row.instant()
        }
        return presentations
    }

    /// How many installs of a product, but for one, are linked in live mode to something presented after `start`.
    package static func reviewedInstalls<DB: Queries & ~Copyable>(
        of product: Product.ID,
        except install: Install.ID,
        presentedAfter start: Timestamp,
        in db: borrowing DB
    ) throws -> Int {
        try db.first(
            """
            SELECT count(DISTINCT purchase_links.install_id)
            FROM store_connections
            JOIN review_presentations ON review_presentations.connection_id = store_connections.id
                AND review_presentations.presented_at > :start
            JOIN purchases ON purchases.id = review_presentations.purchase_id AND purchases.revoked_at IS NULL
            JOIN purchase_links ON purchase_links.connection_id = purchases.connection_id
                AND purchase_links.original_transaction_id = purchases.original_transaction_id
                AND purchase_links.mode = 'live'
            WHERE store_connections.product_id = :product_id AND store_connections.environment = 'Sandbox'
                AND purchase_links.install_id <> :install_id
            """,
            ["product_id": .id(product), "install_id": .id(install), "start": .instant(start)],
            { row in try row.size() }
        ) ?? 0
    }
}
