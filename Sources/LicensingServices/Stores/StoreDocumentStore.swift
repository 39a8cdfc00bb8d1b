package import AppStore
internal import Cryptography
package import Licensing
package import Storage

/// The rows of `store_notifications` and `store_documents`.
package enum StoreDocumentStore {
    /// What a signed document is.
    package enum Kind: String, Sendable {
        case transaction
        case appTransaction = "app_transaction"
        case notification
    }

    /// Keeps what was signed, as it came; what is there already keeps its time.
    package static func keep(
        _ jws: [UInt8],
        _ kind: Kind,
        under connection: StoreConnectionID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO store_documents (connection_id, digest, kind, jws, received_at)
            VALUES (:connection_id, :digest, :kind, :jws, :received_at)
            ON CONFLICT (connection_id, digest) DO NOTHING
            """,
            [
                "connection_id": .id(connection), "digest": .blob(SHA256.digest(of: jws)), "kind": .word(kind),
                "jws": .blob(jws), "received_at": .instant(now),
            ]
        )
    }

    /// Removes at most `limit` documents that came before `start`.
    ///
    /// - Returns: How many.
    package static func remove(
        before start: Timestamp,
        limit: Int,
        in db: borrowing WriteTransaction
    ) throws -> Int {
        try db.run(
            """
            DELETE FROM store_documents WHERE rowid IN (
                SELECT rowid FROM store_documents WHERE received_at < :start ORDER BY received_at LIMIT :limit
            )
            """,
            ["start": .instant(start), "limit": .int(limit)]
        )
    }

    /// Removes at most `limit` names of notifications that came before `start`.
    ///
    /// - Returns: How many.
    package static func removeNotifications(
        before start: Timestamp,
        limit: Int,
        in db: borrowing WriteTransaction
    ) throws -> Int {
        try db.run(
            """
            DELETE FROM store_notifications WHERE (connection_id, uuid) IN (
                SELECT connection_id, uuid FROM store_notifications
                WHERE received_at < :start ORDER BY received_at LIMIT :limit
            )
            """,
            ["start": .instant(start), "limit": .int(limit)]
        )
    }

    /// Records a notification, once.
    ///
    /// - Returns: Whether it is new.
    package static func insert(
        _ notification: StoreNotification,
        under connection: StoreConnectionID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        try db.run(
            """
            INSERT INTO store_notifications (connection_id, uuid, type, subtype, signed_ms, received_at)
            VALUES (:connection_id, :uuid, :type, :subtype, :signed_ms, :received_at)
            ON CONFLICT (connection_id, uuid) DO NOTHING
            """,
            [
                "connection_id": .id(connection), "uuid": .text(notification.uuid), "type": .text(notification.type),
                "subtype": .textOrNull(notification.subtype),
                "signed_ms": .integer(notification.signedMilliseconds), "received_at": .instant(now),
            ]
        ) > 0
    }
}
