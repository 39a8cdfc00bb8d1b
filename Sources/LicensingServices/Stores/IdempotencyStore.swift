package import Licensing
package import Storage

/// The rows of `idempotency`: what was decided for a request that a client may send again.
package enum IdempotencyStore {
    /// What an earlier request with the same key was and what was decided.
    package struct Entry: Hashable, Sendable {
        package var bodyDigest: Digest256
        /// JSON.
        package var facts: String
    }

    package static func insert(
        _ digest: Digest256,
        bodyDigest: Digest256,
        facts: String,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO idempotency (digest, body_digest, facts, created_at)
            VALUES (:digest, :body_digest, :facts, :created_at)
            ON CONFLICT (digest) DO UPDATE SET body_digest = excluded.body_digest, facts = excluded.facts,
                created_at = excluded.created_at
            """,
            [
                "digest": .digest(digest), "body_digest": .digest(bodyDigest), "facts": .text(facts),
                "created_at": .instant(now),
            ]
        )
    }

    /// The entry made after `instant` (exclusive): an older one is as good as none.
    package static func find<DB: Queries & ~Copyable>(
        _ digest: Digest256,
        after instant: Timestamp,
        in db: borrowing DB
    ) throws -> Entry? {
        try db.first(
            "SELECT body_digest, facts FROM idempotency WHERE digest = :digest AND created_at > :instant",
            ["digest": .digest(digest), "instant": .instant(instant)],
            { row in Entry(bodyDigest: try row.digest(), facts: try row.text()) }
        )
    }

    /// Removes entries made at or before `instant`, at most `limit`; how many it were.
    package static func removeOld(
        before instant: Timestamp,
        limit: Int,
        in db: borrowing WriteTransaction
    ) throws -> Int {
        try db.run(
            """
            DELETE FROM idempotency WHERE digest IN (
                SELECT digest FROM idempotency WHERE created_at <= :instant ORDER BY created_at LIMIT :limit
            )
            """,
            ["instant": .instant(instant), "limit": .int(limit)]
        )
    }
}
