public import AppStore
public import Licensing
public import Storage
internal import StrictJSON

// What the store tells by itself.
extension StoreService {
    /// Takes a notification into account, once: state, the notification's name and the audit row are one step.
    ///
    /// - Parameters:
    ///   - jws: The notification as it came.
    ///   - id: The connection in the path.
    ///   - requestID: For the audit log.
    /// - Returns: Whether it is new.
    /// - Throws: `StoreRefusal` where the connection was switched off meanwhile; `StorageError`, or what the source of
    ///   entropy throws.
    @discardableResult
    public func record(
        _ notification: StoreNotification,
        jws: [UInt8],
        under id: StoreConnectionID,
        requestID: String?,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        let connection = try enabledConnection(id, in: db)
        guard try StoreDocumentStore.insert(notification, under: id, at: now, in: db) else { return false }
        try StoreDocumentStore.keep(jws, .notification, under: id, at: now, in: db)
        var before: Purchase?
        var after: (history: PurchaseHistory, purchase: Purchase)?
        if let transaction = notification.transaction {
            before = try PurchaseStore.history(of: transaction.originalTransactionID, under: id, in: db)
                .purchase(of: transaction)
            after = try apply(transaction, under: connection, at: now, in: db)
        }
        if let renewal = notification.renewal {
            var history = try PurchaseStore.history(of: renewal.originalTransactionID, under: id, in: db)
            if history.apply(renewal) != .unchanged { try PurchaseStore.put(renewal, under: id, in: db) }
            if renewal.originalTransactionID == after?.history.originalTransactionID { after?.history = history }
        }
        let vendor = try ProductStore.find(connection.product, in: db)?.vendor
        try audit.record(
            AuditedChange(
                vendor: vendor,
                action: "store.notification",
                target: after?.purchase.id.text ?? connection.id.text,
                before: before.map { Self.auditText($0.transaction) },
                after: Self.auditText(notification, after?.purchase.transaction)
            ),
            by: Actor(name: "store:\(connection.id)", requestID: requestID, now: now),
            in: db
        )
        return true
    }

    private static func auditText(_ transaction: StoreTransaction) -> String {
        var writer = JSONWriter(capacity: 256)
        writer.object { write(transaction, to: &$0) }
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private static func auditText(_ notification: StoreNotification, _ transaction: StoreTransaction?) -> String {
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.member("notification", notification.uuid)
            writer.member("type", notification.type)
            writer.member("subtype", ifPresent: notification.subtype)
            writer.member("status", ifPresent: notification.status)
            if notification.refundsEarlierPeriod { writer.member("refunds_earlier_period", true) }
            if let transaction { write(transaction, to: &writer) }
            if let renewal = notification.renewal {
                writer.member("grace_ends_at", orNull: renewal.graceEndsAt?.rfc3339)
                writer.member("is_known_not_to_renew", renewal.isKnownNotToRenew)
            }
        }
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    private static func write(_ transaction: StoreTransaction, to writer: inout JSONWriter) {
        writer.member("original_transaction_id", transaction.originalTransactionID)
        writer.member("product", transaction.productID)
        writer.member("expires_at", orNull: transaction.expiresAt?.rfc3339)
        writer.member("revoked_at", orNull: transaction.revokedAt?.rfc3339)
        writer.member("is_upgraded", transaction.isUpgraded)
    }
}
