public import AppStore
public import Licensing
public import Storage

/// Connects products to the App Store, for the command line and the seed document alike.
public struct StoreConnectionService: Sendable {
    private let audit: AuditTrail

    /// - Parameter keys: What the audit log is chained with.
    public init(keys: DataKeys) { audit = AuditTrail(keys: keys) }

    /// Connects a product.
    ///
    /// - Parameters:
    ///   - id: Names the connection; part of the path that notifications are sent to.
    ///   - environment: Which environment it takes; with the bundle identifier it names the connection.
    ///   - bundleID: The app's.
    /// - Throws: `Refusal` (`ALREADY_EXISTS`, `FEATURE_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func connect(
        _ id: StoreConnectionID,
        _ environment: StoreEnvironment,
        bundleID: String,
        with changes: StoreConnectionChanges,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> StoreConnection {
        guard try find(environment, bundleID: bundleID, of: product, in: db) == nil else {
            throw Refusal(
                .alreadyExists,
                "the product is connected to \(environment.rawValue) as \(bundleID) already: edit that connection",
                member: "bundle_id"
            )
        }
        let new = StoreConnection(id: id, product: product.id, environment: environment, bundleID: bundleID)
        let connection = try changes.applied(to: new)
        try check(connection, in: db)
        try StoreConnectionStore.insert(connection, at: actor.now, in: db)
        try record("store.connect", connection, before: nil, of: product, by: actor, in: db)
        return connection
    }

    /// Changes a connection; an edit that changes nothing writes nothing.
    ///
    /// - Throws: `Refusal` (`CONNECTION_NOT_FOUND`, `FEATURE_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func edit(
        _ id: StoreConnectionID,
        by changes: StoreConnectionChanges,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (connection: StoreConnection, outcome: CatalogService.Outcome) {
        let before = try Self.connection(id, in: db)
        guard let product = try ProductStore.find(before.product, in: db) else {
            throw StorageError(.corrupt, "a connection is of a product that is not there")
        }
        let connection = try changes.applied(to: before)
        guard connection != before else { return (before, .unchanged) }
        try check(connection, in: db)
        try StoreConnectionStore.update(connection, in: db)
        try record("store.edit", connection, before: before, of: product, by: actor, in: db)
        return (connection, .changed)
    }

    /// Makes a connection as described, whether it is there or not: for the seed document.
    ///
    /// - Parameter id: Names it, should it be new.
    /// - Throws: As `connect` and `edit`.
    public func put(
        _ id: StoreConnectionID,
        _ environment: StoreEnvironment,
        bundleID: String,
        with changes: StoreConnectionChanges,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (connection: StoreConnection, outcome: CatalogService.Outcome) {
        if let known = try find(environment, bundleID: bundleID, of: product, in: db) {
            return try edit(known.id, by: changes, by: actor, in: db)
        }
        let connection = try connect(
            id,
            environment,
            bundleID: bundleID,
            with: changes,
            of: product,
            by: actor,
            in: db
        )
        return (connection, .created)
    }

    private func find(
        _ environment: StoreEnvironment,
        bundleID: String,
        of product: Product,
        in db: borrowing WriteTransaction
    ) throws -> StoreConnection? {
        try StoreConnectionStore.all(of: product.id, in: db).first {
            $0.environment == environment && $0.bundleID.utf8.elementsEqual(bundleID.utf8)
        }
    }

    private func check(_ connection: StoreConnection, in db: borrowing WriteTransaction) throws {
        guard !connection.bundleID.isEmpty, connection.bundleID.utf8.count <= 255 else {
            throw Refusal(.validation, "must be 1 to 255 bytes", member: "bundle_id")
        }
        if connection.allowsXcode && connection.environment.isSigned {
            throw Refusal(
                .validation,
                "only a connection of the environment Xcode takes what nobody signed",
                member: "allow_xcode"
            )
        }
        for product in connection.products {
            guard !product.id.isEmpty, product.id.utf8.count <= 255 else {
                throw Refusal(.validation, "must name the store's product in 1 to 255 bytes", member: "products")
            }
        }
        if case .versionBelow(let version)? = connection.grandfather?.condition, !GrandfatherRule.isVersion(version) {
            throw Refusal(.validation, "must be a version like 2.0", member: "grandfather")
        }
        let features = connection.products.flatMap(\.features) + (connection.grandfather?.features ?? [])
        for feature in Set(features).sorted() {
            guard try FeatureStore.find(feature, of: connection.product, in: db) != nil else {
                throw Refusal(.featureNotFound, "the product has no feature \(feature)", member: "features")
            }
        }
    }

    private func record(
        _ action: String,
        _ connection: StoreConnection,
        before: StoreConnection?,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: connection.id.text,
                before: before?.jsonText,
                after: connection.jsonText
            ),
            by: actor,
            in: db
        )
    }
}

// MARK: - Reading

extension StoreConnectionService {
    /// The connection of this name.
    ///
    /// - Throws: `Refusal` (`CONNECTION_NOT_FOUND`), `StorageError`.
    public static func connection<DB: Queries & ~Copyable>(
        _ id: StoreConnectionID,
        in db: borrowing DB
    ) throws -> StoreConnection {
        guard let connection = try StoreConnectionStore.find(id, in: db) else {
            throw Refusal(.connectionNotFound, "there is no connection \(id)", member: "connection")
        }
        return connection
    }

    /// All connections of a product, the oldest first.
    ///
    /// - Throws: `StorageError`.
    public static func connections<DB: Queries & ~Copyable>(
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> [StoreConnection] {
        try StoreConnectionStore.all(of: product, in: db)
    }

    /// What is known of a purchase, for people.
    public struct PurchaseFacts: Sendable {
        /// The connection it was made under.
        public let connection: StoreConnection
        /// It and its like: everything of its original transaction.
        public let history: PurchaseHistory
        /// The purchase.
        public let purchase: Purchase
        /// Which installs presented it, by mode.
        public let links: [(mode: Mode, link: PurchaseLink)]
    }

    /// Purchases under a connection in the order of their recording, those after `cursor` (exclusive), at most `limit`.
    ///
    /// - Throws: `StorageError`.
    public static func purchases<DB: Queries & ~Copyable>(
        under connection: StoreConnection,
        after cursor: PurchaseID?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [PurchaseFacts] {
        try PurchaseStore.list(under: connection.id, after: cursor?.text, limit: limit, in: db).map { kept in
            try facts(of: kept.purchase, under: connection, in: db)
        }
    }

    /// Purchases by what an administrator knows: the id of one, or the original transaction of several.
    ///
    /// - Throws: `StorageError`.
    public static func purchases<DB: Queries & ~Copyable>(
        named name: String,
        in db: borrowing DB
    ) throws -> [PurchaseFacts] {
        if let id = PurchaseID(name) {
            guard let kept = try PurchaseStore.find(id, in: db) else { return [] }
            return [try facts(of: kept.purchase, under: try connection(kept.connection, in: db), in: db)]
        }
        return try PurchaseStore.connections(knowing: name, in: db).flatMap { id in
            let connection = try connection(id, in: db)
            return try PurchaseStore.history(of: name, under: id, in: db).purchases
                .sorted { ($0.transaction.purchasedAt, $0.id) < ($1.transaction.purchasedAt, $1.id) }
                .map { try facts(of: $0, under: connection, in: db) }
        }
    }

    private static func facts<DB: Queries & ~Copyable>(
        of purchase: Purchase,
        under connection: StoreConnection,
        in db: borrowing DB
    ) throws -> PurchaseFacts {
        let original = purchase.transaction.originalTransactionID
        return PurchaseFacts(
            connection: connection,
            history: try PurchaseStore.history(of: original, under: connection.id, in: db),
            purchase: purchase,
            links: try Mode.allCases.flatMap { mode in
                try PurchaseLinkStore.all(to: original, under: connection.id, mode: mode, in: db)
                    .map { (mode: mode, link: $0) }
            }
        )
    }
}
