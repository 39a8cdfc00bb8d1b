package import Licensing
package import Storage

// The machines that hold seats: their fingerprints, what reinstalls took over, and which fingerprints machines share.
extension ActivationStore {
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
}
