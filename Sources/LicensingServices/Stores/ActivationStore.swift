package import Licensing
package import Storage

/// Seats of a license, counted.
package struct SeatCount: Hashable, Sendable {
    /// Those that are not released.
    package let unreleased: Int
    /// Those among them whose lease is over.
    package let lapsed: Int

    /// Those that are held.
    package var held: Int { max(0, unreleased - lapsed) }
}

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

    /// Every unreleased seat of a license, oldest first, without take-overs; a lease that ran out is still among them. For
    /// the administration: what an app asks reads no more than it needs.
    package static func unreleased<DB: Queries & ~Copyable>(
        of license: License.ID,
        in db: borrowing DB
    ) throws -> [Activation] {
        try db.all(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations WHERE license_id = :license_id AND released_at IS NULL ORDER BY activated_at, id
            """,
            ["license_id": .id(license)],
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

    /// The seats of a license that are held at `now` by machines of this fingerprint, with their take-overs: those seen
    /// last, at most so many.
    package static func held<DB: Queries & ~Copyable>(
        of license: License.ID,
        by fingerprint: Digest256,
        leaseSeconds: Int64?,
        at now: Timestamp,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Activation] {
        var seats = try db.all(
            """
            SELECT id, license_id, install_id, fingerprint, device_name, platform, activated_at, last_seen_at,
                lease_renewed_at, lease_expires_at, released_at, release_reason
            FROM activations
            WHERE license_id = :license_id AND fingerprint = :fingerprint AND released_at IS NULL AND (
                :lease_seconds IS NULL
                OR min(
                    coalesce(lease_expires_at, 9223372036854775807),
                    coalesce(lease_renewed_at, max(activated_at, last_seen_at)) + :lease_seconds
                ) > :now
            )
            ORDER BY last_seen_at DESC, id DESC LIMIT :limit
            """,
            [
                "license_id": .id(license), "fingerprint": .digest(fingerprint),
                "lease_seconds": .integerOrNull(leaseSeconds), "now": .instant(now), "limit": .int(limit),
            ],
            read
        )
        for index in seats.indices {
            seats[index].takeovers = try db.all(
                """
                SELECT taken_over_at FROM (
                    SELECT taken_over_at FROM seat_takeovers WHERE activation_id = :activation_id
                    ORDER BY taken_over_at DESC LIMIT :most
                ) ORDER BY taken_over_at
                """,
                ["activation_id": .id(seats[index].id), "most": .int(Activation.mostTakeovers)],
                { row in try row.instant() }
            )
        }
        return seats
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

    /// How many seats of a license are not released, and of how many among them the lease is over at `now`.
    ///
    /// No seat that is held is looked at: the first is one number, and what is over is found by when it was (a plus keeps
    /// SQLite from an index that does not say that). Says in SQL what `Activation.isHeld` says.
    ///
    /// - Parameter leaseSeconds: the plan's; nil where it has none, so that no lease is over.
    package static func seatCount<DB: Queries & ~Copyable>(
        of license: License.ID,
        leaseSeconds: Int64?,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> SeatCount {
        let unreleased =
            try db.first(
                "SELECT unreleased FROM seat_counts WHERE license_id = :license_id",
                ["license_id": .id(license)],
                { row in try row.seatCount() }
            ) ?? 0
        guard let leaseSeconds, unreleased > 0 else { return SeatCount(unreleased: unreleased, lapsed: 0) }
        let lapsed =
            try db.first(
                """
                SELECT (
                    SELECT count(*) FROM activations
                    WHERE license_id = :license_id AND released_at IS NULL AND lease_renewed_at <= :now - :lease_seconds
                ) + (
                    SELECT count(*) FROM activations
                    WHERE license_id = :license_id AND released_at IS NULL
                        AND lease_expires_at <= :now AND +lease_renewed_at > :now - :lease_seconds
                ) + (
                    SELECT count(*) FROM activations
                    WHERE license_id = :license_id AND released_at IS NULL AND lease_renewed_at IS NULL
                        AND last_seen_at <= :now - :lease_seconds AND +activated_at <= :now - :lease_seconds
                ) AS lapsed
                """,
                ["license_id": .id(license), "lease_seconds": .integer(leaseSeconds), "now": .instant(now)],
                { row in try row.seatCount() }
            ) ?? 0
        return SeatCount(unreleased: unreleased, lapsed: lapsed)
    }

    /// How many seats of a license began after `instant` (exclusive) and are held, or were released by the customer:
    /// what counts toward the cap on new seats. Ends of leases and what administrators released do not count, nor does a
    /// seat whose lease is over and which nobody wrote down as ended yet.
    package static func newSeats<DB: Queries & ~Copyable>(
        of license: License.ID,
        leaseSeconds: Int64?,
        after instant: Timestamp,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> Int {
        try db.first(
            """
            SELECT (
                SELECT count(*) FROM activations
                WHERE license_id = :license_id AND activated_at > :instant
                    AND release_reason IN ('deactivated', 'replaced', 'idle')
            ) + (
                SELECT count(*) FROM activations
                WHERE license_id = :license_id AND activated_at > :instant AND released_at IS NULL AND (
                    :lease_seconds IS NULL
                    OR min(
                        coalesce(lease_expires_at, 9223372036854775807),
                        coalesce(lease_renewed_at, max(activated_at, last_seen_at)) + :lease_seconds
                    ) > :now
                )
            ) AS given
            """,
            [
                "license_id": .id(license), "instant": .instant(instant),
                "lease_seconds": .integerOrNull(leaseSeconds), "now": .instant(now),
            ],
            { row in try row.size() }
        ) ?? 0
    }

    /// Notes that a reinstall took the seat over.
    package static func insertTakeover(
        of activation: Activation,
        from old: Install.ID,
        by fingerprint: Digest256,
        at instant: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO seat_takeovers (
                activation_id, license_id, from_install_id, to_install_id, fingerprint, taken_over_at
            ) VALUES (
                :activation_id, :license_id, :from_install_id, :to_install_id, :fingerprint, :taken_over_at
            ) ON CONFLICT DO NOTHING
            """,
            [
                "activation_id": .id(activation.id), "license_id": .id(activation.license),
                "from_install_id": .id(old), "to_install_id": .id(activation.install),
                "fingerprint": .digest(fingerprint), "taken_over_at": .instant(instant),
            ]
        )
    }

    /// The fingerprint by which a reinstall last took a seat of this license over from the install, unless it is known
    /// that two machines share it: instants are no order, several take-overs may share one and a clock may go back.
    package static func fingerprintOfReplacement<DB: Queries & ~Copyable>(
        of install: Install.ID,
        on license: License.ID,
        in db: borrowing DB
    ) throws -> Digest256? {
        try db.first(
            """
            SELECT fingerprint FROM seat_takeovers
            WHERE license_id = :license_id AND from_install_id = :install_id AND fingerprint NOT IN (
                SELECT fingerprint FROM cloned_fingerprints WHERE license_id = :license_id
            )
            ORDER BY taken_over_at DESC LIMIT 1
            """,
            ["license_id": .id(license), "install_id": .id(install)],
            { row in try row.digest() }
        )
    }

    /// Notes that two machines share this fingerprint: it takes no seat over on this license any more.
    package static func insertClone(
        _ fingerprint: Digest256,
        of license: License.ID,
        at instant: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO cloned_fingerprints (license_id, fingerprint, noticed_at)
            VALUES (:license_id, :fingerprint, :noticed_at) ON CONFLICT DO NOTHING
            """,
            ["license_id": .id(license), "fingerprint": .digest(fingerprint), "noticed_at": .instant(instant)]
        )
    }

    /// Whether more than one machine of this license has the fingerprint.
    package static func isCloned<DB: Queries & ~Copyable>(
        _ fingerprint: Digest256,
        on license: License.ID,
        in db: borrowing DB
    ) throws -> Bool {
        try db.first(
            "SELECT 1 FROM cloned_fingerprints WHERE license_id = :license_id AND fingerprint = :fingerprint",
            ["license_id": .id(license), "fingerprint": .digest(fingerprint)],
            { _ in true }
        ) ?? false
    }

    /// Fingerprints that more than one machine of this license has.
    package static func clones<DB: Queries & ~Copyable>(
        of license: License.ID,
        in db: borrowing DB
    ) throws -> Set<Digest256> {
        Set(
            try db.all(
                "SELECT fingerprint FROM cloned_fingerprints WHERE license_id = :license_id",
                ["license_id": .id(license)],
                { row in try row.digest() }
            )
        )
    }

    private static func read(_ row: inout Row) throws -> Activation {
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
