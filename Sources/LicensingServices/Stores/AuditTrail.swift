public import Licensing
package import Storage

/// One change by an administrator, the command line, a store notification or a webhook.
public struct AuditedChange: Sendable {
    /// Whose it is; `nil`: about the server itself.
    public var vendor: Vendor.ID?
    /// What was done: `license.suspend`.
    public var action: String
    /// The id of what it was done to.
    public var target: String
    /// Why, in the administrator's words.
    public var reason: String?
    /// What it was before, as JSON; never keys, tokens or sealed values.
    public var before: String?
    /// What it is after, as JSON; never keys, tokens or sealed values.
    public var after: String?

    /// A change to be recorded.
    public init(
        vendor: Vendor.ID?,
        action: String,
        target: String,
        reason: String? = nil,
        before: String? = nil,
        after: String? = nil
    ) {
        self.vendor = vendor
        self.action = action
        self.target = target
        self.reason = reason
        self.before = before
        self.after = after
    }
}

/// Who makes a change, and when.
public struct Actor: Sendable {
    /// `command-line:<user name or uid>`, `credential:<id>`, `store:<connection>`.
    public let name: String
    /// The request that asked for it, where there was one.
    public let requestID: String?
    /// The one reading of the clock that everything in this change carries.
    public let now: Timestamp

    /// Somebody who acts at `now`.
    public init(name: String, requestID: String? = nil, now: Timestamp) {
        self.name = name
        self.requestID = requestID
        self.now = now
    }
}

/// One row of the audit log, as read.
public struct AuditEntry: Hashable, Sendable {
    /// Its place in the chain, from 1 on, without gaps.
    public let position: Int64
    /// Whose it is.
    public let vendor: Vendor.ID?
    /// When it happened.
    public let at: Timestamp
    /// Who did it.
    public let actor: String
    /// What was done.
    public let action: String
    /// The id of what it was done to.
    public let target: String
    /// The request that asked for it.
    public let requestID: String?
    /// Why; `nil` where none was given or a person was erased.
    public let reason: String?
    /// `{"before":…,"after":…}`; `nil` once a person named in it was erased.
    public let detail: String?
    /// What the chain holds in place of reason and detail.
    let detailDigest: Digest256
    /// Authenticates this row and every one before it.
    public let code: [UInt8]
}

/// The rows of `audit`, a chain in which each authenticates the one before, and those of `outbox`.
package struct AuditTrail: Sendable {
    private let keys: DataKeys

    package init(keys: DataKeys) { self.keys = keys }

    /// Appends one row to the chain and one event to the outbox, in the transaction of the change.
    package func record(_ change: AuditedChange, by actor: Actor, in db: borrowing WriteTransaction) throws {
        let last = try db.first(
            "SELECT position, mac FROM audit ORDER BY position DESC LIMIT 1",
            [:],
            { row in (position: try row.position(), code: try row.blob()) }
        )
        let position = (last?.position ?? 0) + 1
        let detail = Self.detail(of: change)
        let detailDigest = keys.auditDetailDigest([change.reason ?? "", detail ?? ""])
        let code = keys.auditCode(
            Self.chained(
                position,
                change.vendor,
                actor.now,
                actor.name,
                change.action,
                change.target,
                actor.requestID,
                detailDigest
            ),
            after: last?.code ?? []
        )
        try db.run(
            """
            INSERT INTO audit (
                position, vendor_id, at, actor, action, target, request_id, reason, detail, detail_digest, mac
            ) VALUES (
                :position, :vendor_id, :at, :actor, :action, :target, :request_id, :reason, :detail, :detail_digest, :mac
            )
            """,
            [
                "position": .integer(position), "vendor_id": .idOrNull(change.vendor), "at": .instant(actor.now),
                "actor": .text(actor.name), "action": .text(change.action), "target": .text(change.target),
                "request_id": .textOrNull(actor.requestID), "reason": .textOrNull(change.reason),
                "detail": .textOrNull(detail), "detail_digest": .digest(detailDigest), "mac": .blob(code),
            ]
        )
        guard let vendor = change.vendor else { return }
        try db.run(
            """
            INSERT INTO outbox (vendor_id, at, event, target, payload)
            VALUES (:vendor_id, :at, :event, :target, :payload)
            """,
            [
                "vendor_id": .id(vendor), "at": .instant(actor.now), "event": .text(change.action),
                "target": .text(change.target), "payload": .text(change.after ?? "{}"),
            ]
        )
    }

    /// Removes events of the outbox that came before `start`, of the first `limit` rows that there are. The newest stays, so
    /// that positions only rise.
    ///
    /// - Returns: How many.
    package static func removeEvents(
        before start: Timestamp,
        limit: Int,
        in db: borrowing WriteTransaction
    ) throws -> Int {
        // Positions rise with time: where the first rows are not old enough none is, and no index is needed to know.
        try db.run(
            """
            DELETE FROM outbox WHERE position IN (
                SELECT position FROM (SELECT position, at FROM outbox ORDER BY position LIMIT :limit)
                WHERE at < :start AND position < (SELECT max(position) FROM outbox)
            )
            """,
            ["start": .instant(start), "limit": .int(limit)]
        )
    }

    /// Rows of one vendor (`nil`: every row), newest first, those before `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID?,
        before cursor: Int64?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [AuditEntry] {
        try db.all(
            """
            SELECT position, vendor_id, at, actor, action, target, request_id, reason, detail, detail_digest, mac
            FROM audit WHERE (:vendor_id IS NULL OR vendor_id = :vendor_id) AND position < :cursor
            ORDER BY position DESC LIMIT :limit
            """,
            ["vendor_id": .idOrNull(vendor), "cursor": .integer(cursor ?? .max), "limit": .int(limit)],
            read
        )
    }

    /// What `verify` found.
    package enum Verification: Hashable, Sendable {
        /// Every row is as it was written; `head` is the last one's code, to be kept elsewhere, `nil` without a row.
        case sound(rows: Int64, head: Digest256?)
        /// The first row that is not as it was written, or that is missing.
        case broken(at: Int64, why: String)
    }

    /// Walks the chain from its beginning.
    package func verify<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Verification {
        var previous: [UInt8] = []
        var expected: Int64 = 1
        var fault: Verification?
        try db.each(
            """
            SELECT position, vendor_id, at, actor, action, target, request_id, reason, detail, detail_digest, mac
            FROM audit ORDER BY position
            """,
            [:]
        ) { row in
            let entry = try Self.read(&row)
            guard fault == nil else { return }
            guard entry.position == expected else {
                fault = .broken(at: expected, why: "the row is missing")
                return
            }
            let isErased = entry.detail == nil && entry.reason == nil
            let digest = keys.auditDetailDigest([entry.reason ?? "", entry.detail ?? ""])
            guard isErased || digest == entry.detailDigest else {
                fault = .broken(at: expected, why: "its texts were changed")
                return
            }
            let code = keys.auditCode(
                Self.chained(
                    entry.position,
                    entry.vendor,
                    entry.at,
                    entry.actor,
                    entry.action,
                    entry.target,
                    entry.requestID,
                    entry.detailDigest
                ),
                after: previous
            )
            guard code == entry.code else {
                fault = .broken(at: expected, why: "the row, or one before it, was changed")
                return
            }
            previous = entry.code
            expected += 1
        }
        return fault ?? .sound(rows: expected - 1, head: Digest256(bytes: previous))
    }

    private static func chained(
        _ position: Int64,
        _ vendor: Vendor.ID?,
        _ at: Timestamp,
        _ actor: String,
        _ action: String,
        _ target: String,
        _ requestID: String?,
        _ detailDigest: Digest256
    ) -> [String] {
        [
            String(position), vendor?.text ?? "", String(at.secondsSinceEpoch), actor, action, target, requestID ?? "",
            [detailDigest.word0, detailDigest.word1, detailDigest.word2, detailDigest.word3]
                .map { String($0, radix: 16) }.joined(separator: "."),
        ]
    }

    private static func detail(of change: AuditedChange) -> String? {
        guard change.before != nil || change.after != nil else { return nil }
        return "{\"before\":\(change.before ?? "null"),\"after\":\(change.after ?? "null")}"
    }

    private static func read(_ row: inout Row) throws -> AuditEntry {
        AuditEntry(
            position: try row.position(),
            vendor: try row.idOrNil(),
            at: try row.instant(),
            actor: try row.text(),
            action: try row.text(),
            target: try row.text(),
            requestID: try row.textOrNil(),
            reason: try row.textOrNil(),
            detail: try row.textOrNil(),
            detailDigest: try row.digest(),
            code: try row.blob()
        )
    }
}
