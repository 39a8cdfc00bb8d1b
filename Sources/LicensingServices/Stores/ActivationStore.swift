package import Licensing
package import Storage

/// The rows of `activations`, `seat_takeovers` and `cloned_fingerprints`; those of `seat_counts` follow by themselves.
package enum ActivationStore {
    package static func insert(_ activation: Activation, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO activations (
                id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at
            ) VALUES (
                :id, :license_id, :install_id, :fingerprint, :device_name, :platform, :activated_at, :last_seen_at,
                :lease_renewed_at, :lease_expires_at
            )
            """,
            [
                "id": .id(activation.id), "license_id": .id(activation.license), "install_id": .id(activation.install),
                "fingerprint": .digestOrNull(activation.fingerprint),
                "device_name": .textOrNull(activation.device.name),
                "platform": .textOrNull(activation.device.platform),
                "activated_at": .instant(activation.activatedAt), "last_seen_at": .instant(activation.lastSeenAt),
                "lease_renewed_at": .instantOrNull(activation.leaseRenewedAt),
                "lease_expires_at": .instantOrNull(activation.leaseExpiresAt),
            ]
        )
    }

    /// Writes who holds the seat, what it told of its device, when it was seen and its lease.
    package static func update(_ activation: Activation, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE activations SET install_id = :install_id, fingerprint = :fingerprint, device_name = :device_name,
                platform = :platform, last_seen_at = max(last_seen_at, :last_seen_at),
                lease_renewed_at = :lease_renewed_at, lease_expires_at = :lease_expires_at
            WHERE id = :id
            """,
            [
                "id": .id(activation.id), "install_id": .id(activation.install),
                "fingerprint": .digestOrNull(activation.fingerprint),
                "device_name": .textOrNull(activation.device.name),
                "platform": .textOrNull(activation.device.platform), "last_seen_at": .instant(activation.lastSeenAt),
                "lease_renewed_at": .instantOrNull(activation.leaseRenewedAt),
                "lease_expires_at": .instantOrNull(activation.leaseExpiresAt),
            ]
        )
    }

    /// Releases a seat; whether it was held until now.
    @discardableResult
    package static func release(
        _ id: Activation.ID,
        at instant: Timestamp,
        because reason: ReleaseReason,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        try db.run(
            """
            UPDATE activations SET released_at = :released_at, release_reason = :release_reason
            WHERE id = :id AND released_at IS NULL
            """,
            ["id": .id(id), "released_at": .instant(instant), "release_reason": .word(reason)]
        ) > 0
    }

    /// Releases all seats of a license, by one statement: with one for each, SQLite would look through what it keeps of
    /// those before, for each anew.
    package static func releaseAll(
        of license: License.ID,
        at instant: Timestamp,
        because reason: ReleaseReason,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            UPDATE activations SET released_at = :released_at, release_reason = :release_reason
            WHERE license_id = :license_id AND released_at IS NULL
            """,
            ["license_id": .id(license), "released_at": .instant(instant), "release_reason": .word(reason)]
        )
    }

    /// The seats of a license that are held at `now`, last seen first, without take-overs, at most so many.
    package static func latestSeen<DB: Queries & ~Copyable>(
        of license: License.ID,
        leaseSeconds: Int64?,
        at now: Timestamp,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Activation] {
        try db.all(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations
            WHERE license_id = :license_id AND released_at IS NULL AND (
                :lease_seconds IS NULL
                OR min(
                    coalesce(lease_expires_at, 9223372036854775807),
                    coalesce(lease_renewed_at, max(activated_at, last_seen_at)) + :lease_seconds
                ) > :now
            )
            ORDER BY last_seen_at DESC, id DESC LIMIT :limit
            """,
            [
                "license_id": .id(license), "lease_seconds": .integerOrNull(leaseSeconds), "now": .instant(now),
                "limit": .int(limit),
            ],
            read
        )
    }

    /// The unreleased seat of a license that an install holds; its lease may be over.
    package static func unreleased<DB: Queries & ~Copyable>(
        of license: License.ID,
        heldBy install: Install.ID,
        in db: borrowing DB
    ) throws -> Activation? {
        try db.first(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations WHERE license_id = :license_id AND install_id = :install_id AND released_at IS NULL
            """,
            ["license_id": .id(license), "install_id": .id(install)],
            read
        )
    }

    /// The seats of a license that are held at `now` and were unseen for longest, the longest first, at most so many.
    package static func longestUnseen<DB: Queries & ~Copyable>(
        of license: License.ID,
        leaseSeconds: Int64?,
        at now: Timestamp,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Activation] {
        try db.all(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations
            WHERE license_id = :license_id AND released_at IS NULL AND (
                :lease_seconds IS NULL
                OR min(
                    coalesce(lease_expires_at, 9223372036854775807),
                    coalesce(lease_renewed_at, max(activated_at, last_seen_at)) + :lease_seconds
                ) > :now
            )
            ORDER BY last_seen_at, id LIMIT :limit
            """,
            [
                "license_id": .id(license), "lease_seconds": .integerOrNull(leaseSeconds), "now": .instant(now),
                "limit": .int(limit),
            ],
            read
        )
    }

    /// Unreleased seats of a license whose lease is over at `now`, at most so many.
    package static func lapsed<DB: Queries & ~Copyable>(
        of license: License.ID,
        leaseSeconds: Int64,
        at now: Timestamp,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Activation] {
        try db.all(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations
            WHERE id IN (
                SELECT id FROM activations
                WHERE license_id = :license_id AND released_at IS NULL AND lease_renewed_at <= :now - :lease_seconds
                UNION ALL
                SELECT id FROM activations
                WHERE license_id = :license_id AND released_at IS NULL
                    AND lease_expires_at <= :now AND +lease_renewed_at > :now - :lease_seconds
                UNION ALL
                SELECT id FROM activations
                WHERE license_id = :license_id AND released_at IS NULL AND lease_renewed_at IS NULL
                    AND last_seen_at <= :now - :lease_seconds AND +activated_at <= :now - :lease_seconds
                LIMIT :limit
            )
            """,
            [
                "license_id": .id(license), "lease_seconds": .integer(leaseSeconds), "now": .instant(now),
                "limit": .int(limit),
            ],
            read
        )
    }

    /// The seat of this id, released or not, without its take-overs.
    package static func find<DB: Queries & ~Copyable>(_ id: Activation.ID, in db: borrowing DB) throws -> Activation? {
        try db.first(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations WHERE id = :id
            """,
            ["id": .id(id)],
            read
        )
    }

    /// The unreleased seats an install holds, of any license of its product.
    package static func unreleased<DB: Queries & ~Copyable>(
        heldBy install: Install.ID,
        in db: borrowing DB
    ) throws -> [Activation] {
        try db.recall(RecallKey("seats of an install", install), keeping: .latest) {
            try db.all(
                """
                SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                    lease_renewed_at, lease_expires_at, released_at, release_reason
                FROM activations WHERE install_id = :install_id AND released_at IS NULL ORDER BY id
                """,
                ["install_id": .id(install)],
                read
            )
        } ?? []
    }

    static func read(_ row: inout Row) throws -> Activation {
        Activation(
            id: try row.id(),
            license: try row.id(),
            install: try row.id(),
            fingerprint: try row.digestOrNil(),
            device: DeviceInfo(name: try row.textOrNil(), platform: try row.textOrNil()),
            activatedAt: try row.instant(),
            lastSeenAt: try row.instant(),
            leaseRenewedAt: try row.instantOrNil(),
            leaseExpiresAt: try row.instantOrNil(),
            releasedAt: try row.instantOrNil(),
            releaseReason: try row.wordOrNil()
        )
    }
}
