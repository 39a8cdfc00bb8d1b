public import AppStore
public import Licensing
public import Storage

/// Takes what the App Store signed: from apps that present it, and from the store itself.
///
/// Signatures are checked before, on a worker; every method that writes runs in a write transaction, so that state,
/// links and the answer are one step.
public struct StoreService: Sendable {
    private let entropy: any Entropy
    private let contacts: LastContacts
    private let installs: InstallDirectory
    let audit: AuditTrail
    private let configuredRootDigests: [Digest256]

    /// How long what was signed is kept as it came, and the name of a notification, by which one that comes again is known:
    /// 180 days. Apple sends one again for three days, and lets it be asked for again for 180. One that comes even later
    /// finds a state that is as new, and changes nothing.
    public static let documentLife = CalendarDuration(days: 180)
    /// The most periods of one purchase that are kept where nobody signed them, those that began last: whoever holds a
    /// test key can make any number, and every bundle of their install is made from all of them.
    static let mostUnsignedPeriods = 500
    /// The most purchases, periods of subscriptions counted each, that are kept of a connection where nobody signs them, and
    /// the most purchases of the app. What came first gives way, so that who fills it up locks no developer out: an app
    /// presents what it has at each of its starts.
    static let mostUnsigned = 2000

    /// - Parameters:
    ///   - keys: What the audit log is chained with.
    ///   - entropy: Where identifiers come from.
    ///   - configuredRootDigests: SHA-256 of the DER of roots trusted by every connection, beside the store's own.
    ///   - contacts: What was answered and is not written yet.
    public init(
        keys: DataKeys,
        entropy: any Entropy,
        configuredRootDigests: [Digest256] = [],
        contacts: LastContacts = LastContacts()
    ) {
        self.entropy = entropy
        self.contacts = contacts
        self.configuredRootDigests = configuredRootDigests
        installs = InstallDirectory(entropy: entropy)
        audit = AuditTrail(keys: keys)
    }

    // MARK: - Connections

    /// All connections of a product, with the configured pins.
    ///
    /// - Throws: `StorageError`.
    public func connections<DB: Queries & ~Copyable>(
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> [StoreConnection] {
        try StoreConnectionStore.all(of: product, in: db).map(pinned)
    }

    /// The connection of this name, with the configured pins; `nil` where there is none.
    ///
    /// - Throws: `StorageError`.
    public func connection<DB: Queries & ~Copyable>(
        _ id: StoreConnectionID,
        in db: borrowing DB
    ) throws -> StoreConnection? {
        try StoreConnectionStore.find(id, in: db).map(pinned)
    }

    private func pinned(_ connection: StoreConnection) -> StoreConnection {
        var connection = connection
        connection.rootDigests += configuredRootDigests
        return connection
    }

    // MARK: - Verify

    /// Records what an install presented, links the install to it, and decides what to answer.
    ///
    /// - Parameter evidence: Of a transaction, of the purchase of the app, or of both.
    /// - Throws: `StoreRefusal` where a connection was switched off meanwhile; `StorageError`, or what the source of
    ///   entropy throws.
    public func verify(
        _ evidence: StoreEvidence,
        by claim: InstallClaim,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> StoreVerification {
        let install = try installs.record(claim, of: caller, at: now, in: db)
        let grandfathered = try evidence.appTransaction.map { app in
            try keepApp(app, by: install, for: caller, at: now, in: db)
        }
        guard let presented = evidence.transaction else {
            return StoreVerification(install: install, purchase: nil, outcome: grandfathered ?? .unchanged)
        }

        let connection = try enabledConnection(presented.connection, in: db)
        try keep(presented.jws, .transaction, under: connection, at: now, in: db)
        let (history, purchase) = try apply(presented.value, under: connection, at: now, in: db)

        let condition = history.condition(of: purchase, under: connection, at: now)
        var review = try reviewAccess(presented.value, of: install, under: connection, for: caller, at: now, in: db)
        let link =
            if case .full(let limit)? = review {
                // Not linked: it would share the access of those who are.
                LinkDecision.full(limit: limit)
            } else {
                try self.link(
                    install,
                    to: history.originalTransactionID,
                    under: connection,
                    for: caller,
                    at: now,
                    in: db
                )
            }
        if condition == .active, link.isLinked, case .granted? = review {
            try PurchaseLinkStore.insertPresentation(
                of: presented.value.transactionID,
                purchase: purchase.id,
                under: connection.id,
                at: now,
                in: db
            )
        }
        let limits = try StoreRights.limits(
            of: history.originalTransactionID,
            under: connection,
            in: caller.mode,
            in: db
        )
        let limit = limits[purchase.id]
        if case .over? = review, let limit, now < limit {
            // Another transaction of the same purchase was presented later.
            review = .granted(until: limit)
        }
        return StoreVerification(
            install: install,
            purchase: PresentedPurchase(purchase, of: history, under: connection, at: now, limit: limit),
            outcome: try StoreOutcome.decide(
                condition,
                isAnotherInForce: try StoreRights.isInForce(
                    presented.value.productID,
                    for: install,
                    of: caller,
                    at: now,
                    in: db
                ),
                link: link,
                review: review
            )
        )
    }

    func enabledConnection(
        _ id: StoreConnectionID,
        in db: borrowing WriteTransaction
    ) throws -> StoreConnection {
        guard let connection = try StoreConnectionStore.find(id, in: db), connection.isEnabled else {
            throw StoreRefusal.connectionDisabled
        }
        return connection
    }

    /// Keeps a document as it came, as evidence. What nobody signed is none, and anybody can make any number of it.
    private func keep(
        _ jws: [UInt8],
        _ kind: StoreDocumentStore.Kind,
        under connection: StoreConnection,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        guard connection.environment.isSigned else { return }
        try StoreDocumentStore.keep(jws, kind, under: connection.id, at: now, in: db)
    }

    /// Folds a transaction into what is known of its purchase.
    func apply(
        _ transaction: StoreTransaction,
        under connection: StoreConnection,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> (history: PurchaseHistory, purchase: Purchase) {
        var history = try PurchaseStore.history(
            of: transaction.originalTransactionID,
            under: connection.id,
            in: db
        )
        let change = history.apply(transaction, id: try Identifier(at: now, entropy: entropy))
        guard let purchase = history.purchase(of: transaction) else {
            preconditionFailure("a history has every purchase that was applied to it")
        }
        switch change {
        case .inserted:
            try PurchaseStore.insert(purchase, under: connection.id, at: now, in: db)
            if !connection.environment.isSigned {
                try boundUnsigned(after: purchase, of: history, under: connection, in: db)
            }
        case .updated: try PurchaseStore.update(purchase, in: db)
        case .unchanged: break
        }
        return (history, purchase)
    }

    /// Makes room for a purchase that nobody signed and that was just kept: under its original transaction, then under its
    /// connection.
    private func boundUnsigned(
        after purchase: Purchase,
        of history: PurchaseHistory,
        under connection: StoreConnection,
        in db: borrowing WriteTransaction
    ) throws {
        if history.purchases.count > Self.mostUnsignedPeriods {
            try PurchaseStore.removeOldest(
                of: history.originalTransactionID,
                under: connection.id,
                keeping: Self.mostUnsignedPeriods,
                in: db
            )
        }
        let removed = try PurchaseStore.removeFirst(
            under: connection.id,
            keeping: Self.mostUnsigned,
            and: purchase.id,
            in: db
        )
        for original in removed
        where try PurchaseStore.history(of: original, under: connection.id, in: db).purchases.isEmpty {
            try PurchaseLinkStore.removeAll(to: original, under: connection.id, in: db)
        }
    }

    private func reviewAccess(
        _ transaction: StoreTransaction,
        of install: Install,
        under connection: StoreConnection,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> ReviewAccess? {
        guard connection.isReview(in: caller.mode) else { return nil }
        return ReviewAccess.decide(
            firstPresentedAt: try PurchaseLinkStore.presentation(
                of: transaction.transactionID,
                under: connection.id,
                in: db
            ),
            others: try PurchaseLinkStore.reviewedInstalls(
                of: caller.product.id,
                except: install.id,
                presentedAfter: now.subtracting(ReviewAccess.life),
                in: db
            ),
            at: now
        )
    }

    private func link(
        _ install: Install,
        to originalTransactionID: String,
        under connection: StoreConnection,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> LinkDecision {
        func read() throws -> [PurchaseLink] {
            try PurchaseLinkStore.all(to: originalTransactionID, under: connection.id, mode: install.mode, in: db)
        }
        var links = try read()
        if try contacts.write(of: links.lazy.map { ($0.install, $0.lastSeenAt) }, in: db) { links = try read() }
        let decision = LinkDecision.decide(
            for: install.id,
            fingerprint: install.fingerprint,
            among: links,
            offlineLife: caller.product.settings.offlineLife,
            at: now
        )
        switch decision {
        case .linked, .full: break
        case .added:
            try PurchaseLinkStore.insert(install, to: originalTransactionID, under: connection.id, at: now, in: db)
        case .takesOver(let old):
            try PurchaseLinkStore.move(
                from: old,
                to: install,
                of: originalTransactionID,
                under: connection.id,
                in: db
            )
        }
        return decision
    }

    /// Keeps the purchase of the app, and links the install to it where the connection's rule holds.
    private func keepApp(
        _ app: StoreEvidence.Genuine<AppTransaction>,
        by install: Install,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> StoreOutcome {
        let connection = try enabledConnection(app.connection, in: db)
        try keep(app.jws, .appTransaction, under: connection, at: now, in: db)
        let key = app.value.purchaseKey.text
        var kept: AppPurchase
        if let known = try AppPurchaseStore.find(key, under: connection.id, in: db) {
            kept = known
            if app.value.signedMilliseconds > known.transaction.signedMilliseconds { kept.transaction = app.value }
        } else {
            kept = AppPurchase(id: try Identifier(at: now, entropy: entropy), transaction: app.value)
        }
        try AppPurchaseStore.put(kept, under: connection.id, at: now, in: db)
        if !connection.environment.isSigned {
            let removed = try AppPurchaseStore.removeFirst(
                under: connection.id,
                keeping: Self.mostUnsigned,
                and: kept.id,
                in: db
            )
            for key in removed { try PurchaseLinkStore.removeAll(to: key, under: connection.id, in: db) }
        }
        guard let rule = connection.grandfather, rule.holds(for: kept.transaction, in: caller.mode) else {
            return .unchanged
        }
        switch try link(install, to: key, under: connection, for: caller, at: now, in: db) {
        case .full(let limit): return .noLinkFree(limit: limit)
        case .linked, .added, .takesOver: return .granted
        }
    }

    // MARK: - Keeping

    /// Removes a portion of what was signed and is kept long enough, and of the names of notifications; for the writer's
    /// quiet moments.
    ///
    /// - Returns: Whether there may be more.
    /// - Throws: `StorageError`.
    public static func removeOldDocuments(
        at now: Timestamp,
        portion: Int = 200,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        let start = now.subtracting(documentLife)
        let documents = try StoreDocumentStore.remove(before: start, limit: portion, in: db)
        let names = try StoreDocumentStore.removeNotifications(before: start, limit: portion, in: db)
        return documents == portion || names == portion
    }
}
