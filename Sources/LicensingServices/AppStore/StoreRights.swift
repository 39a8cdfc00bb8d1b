public import AppStore
public import Licensing
public import Storage

/// What installs have by what they presented from a store.
public enum StoreRights {
    /// One original transaction that an install presented.
    struct Presented: Sendable {
        let connection: StoreConnection
        let history: PurchaseHistory
        /// Ends of review access, by purchase; empty where that has no meaning.
        let limits: [PurchaseID: Timestamp]

        /// Whether the connection still takes what was presented: review and Xcode can be switched off again.
        ///
        /// A connection that is switched off altogether takes nothing new, and takes nothing away.
        func isTaken(in mode: Mode) -> Bool { connection.takes(connection.environment, in: mode) }
    }

    /// The live grants of an install by its purchases, and by the purchase of the app itself.
    ///
    /// - Parameter settings: The product's.
    /// - Throws: `StorageError`.
    public static func grants<DB: Queries & ~Copyable>(
        of install: Install,
        under settings: ProductSettings,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [Grant] {
        let links = try PurchaseLinkStore.granting(to: install.id, in: db)
        guard !links.isEmpty else { return [] }
        var connections = ConnectionTable()
        var grants: [Grant] = []
        for link in links {
            let connection = try connections.connection(link.connection, in: db)
            let presented = try presented(link, under: connection, in: install.mode, in: db)
            if presented.history.purchases.isEmpty {
                _ = try AppPurchaseStore.find(link.originalTransactionID, under: link.connection, in: db)
                    .referred("a purchase")
            }
            if presented.isTaken(in: install.mode) {
                grants += presented.history.grants(
                    under: connection,
                    in: install.mode,
                    at: now,
                    offlineLife: settings.offlineLife,
                    limits: presented.limits
                )
            }
            grants += try grandfatherGrants(link, under: connection, for: install, settings, at: now, in: db)
        }
        return grants
    }

    private static func grandfatherGrants<DB: Queries & ~Copyable>(
        _ link: PurchaseLinkStore.Linked,
        under connection: StoreConnection,
        for install: Install,
        _ settings: ProductSettings,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [Grant] {
        guard let rule = connection.grandfather, connection.takes(connection.environment, in: install.mode),
            let purchase = try AppPurchaseStore.find(link.originalTransactionID, under: connection.id, in: db),
            rule.holds(for: purchase.transaction, in: install.mode)
        else { return [] }
        return rule.features.map { feature in
            Grant(
                feature: feature,
                reference: .purchase(purchase.id),
                starts: min(purchase.transaction.originallyPurchasedAt, now),
                ends: nil,
                offlineLife: settings.offlineLife
            )
        }
    }

    /// What an install has spent in one currency, for spend tiers: live mode and production alone, each purchase once,
    /// for the install that presented it first of those still linked.
    ///
    /// - Parameter currency: Its ISO 4217 code.
    /// - Throws: `StorageError`.
    public static func spend<DB: Queries & ~Copyable>(
        of install: Install,
        in currency: String,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> StoreSpend {
        var spend = StoreSpend(currency: currency)
        guard install.mode == .live else { return spend }
        for link in try PurchaseLinkStore.all(of: install.id, in: db) {
            let links = try PurchaseLinkStore.all(
                to: link.originalTransactionID,
                under: link.connection,
                mode: .live,
                in: db
            ).map { link in
                // Whoever asks is here: what its row says of it may be old, and is written after the answer.
                guard link.install == install.id else { return link }
                var link = link
                link.lastSeenAt = max(link.lastSeenAt, now)
                return link
            }
            guard let first = StoreSpend.firstPresenter(among: links, at: now), first.install == install.id else {
                continue
            }
            let history = try PurchaseStore.history(
                of: link.originalTransactionID,
                under: link.connection,
                in: db
            )
            spend.add(history, presentedAt: first.presentedAt)
        }
        return spend
    }

    // MARK: - Presented

    /// Whether something that the install presented of a product of the store is in force.
    static func isInForce<DB: Queries & ~Copyable>(
        _ storeProductID: String,
        for install: Install,
        of caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> Bool {
        var connections = ConnectionTable()
        return try PurchaseLinkStore.all(of: install.id, to: storeProductID, in: db).contains { link in
            let connection = try connections.connection(link.connection, in: db)
            let presented = try presented(link, under: connection, in: install.mode, in: db)
            return presented.isTaken(in: caller.mode)
                && presented.history.isInForce(
                    storeProductID,
                    under: connection,
                    in: caller.mode,
                    at: now,
                    limits: presented.limits
                )
        }
    }

    private static func presented<DB: Queries & ~Copyable>(
        _ link: PurchaseLinkStore.Linked,
        under connection: StoreConnection,
        in mode: Mode,
        in db: borrowing DB
    ) throws -> Presented {
        Presented(
            connection: connection,
            history: try PurchaseStore.history(of: link.originalTransactionID, under: connection.id, in: db),
            limits: try limits(of: link.originalTransactionID, under: connection, in: mode, in: db)
        )
    }

    /// The ends of review access by purchase of an original transaction.
    static func limits<DB: Queries & ~Copyable>(
        of originalTransactionID: String,
        under connection: StoreConnection,
        in mode: Mode,
        in db: borrowing DB
    ) throws -> [PurchaseID: Timestamp] {
        guard connection.isReview(in: mode) else { return [:] }
        return try PurchaseLinkStore.presentations(of: originalTransactionID, under: connection.id, in: db)
            .mapValues { ReviewAccess.end(firstPresentedAt: $0) }
    }

    /// Connections that were read already.
    private struct ConnectionTable {
        private var connections: [StoreConnectionID: StoreConnection] = [:]

        mutating func connection<DB: Queries & ~Copyable>(
            _ id: StoreConnectionID,
            in db: borrowing DB
        ) throws -> StoreConnection {
            if let known = connections[id] { return known }
            let found = try StoreConnectionStore.find(id, in: db).referred("a connection")
            connections[id] = found
            return found
        }
    }
}
