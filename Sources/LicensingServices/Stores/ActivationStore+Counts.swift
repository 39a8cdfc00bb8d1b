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

// How many seats of a license there are.
extension ActivationStore {
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
}
