package import Licensing
package import Storage

/// The rows of `installs`.
package enum InstallStore {
    package static func insert(_ install: Install, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO installs (
                id, product_id, mode, digest, fingerprint, device_name, platform, app_version, os_version, model, arch,
                first_seen_at, last_seen_at, trial_id
            ) VALUES (
                :id, :product_id, :mode, :digest, :fingerprint, :device_name, :platform, :app_version, :os_version,
                :model, :arch, :first_seen_at, :last_seen_at, :trial_id
            )
            """,
            [
                "id": .id(install.id), "product_id": .id(install.product), "mode": .word(install.mode),
                "digest": .digest(install.digest), "fingerprint": .digestOrNull(install.fingerprint),
                "device_name": .textOrNull(install.device.name), "platform": .textOrNull(install.device.platform),
                "app_version": .textOrNull(install.device.appVersion),
                "os_version": .textOrNull(install.device.osVersion), "model": .textOrNull(install.device.model),
                "arch": .textOrNull(install.device.arch), "first_seen_at": .instant(install.firstContactAt),
                "last_seen_at": .instant(install.lastSeenAt), "trial_id": .idOrNull(install.trial),
            ]
        )
    }

    /// Writes what an install told of itself and when it was seen, never an earlier time than is there.
    package static func refresh(_ install: Install, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE installs SET fingerprint = :fingerprint, device_name = :device_name, platform = :platform,
                app_version = :app_version, os_version = :os_version, model = :model, arch = :arch,
                last_seen_at = max(last_seen_at, :last_seen_at)
            WHERE id = :id
            """,
            [
                "id": .id(install.id), "fingerprint": .digestOrNull(install.fingerprint),
                "device_name": .textOrNull(install.device.name), "platform": .textOrNull(install.device.platform),
                "app_version": .textOrNull(install.device.appVersion),
                "os_version": .textOrNull(install.device.osVersion), "model": .textOrNull(install.device.model),
                "arch": .textOrNull(install.device.arch), "last_seen_at": .instant(install.lastSeenAt),
            ]
        )
    }

    /// Notes that an install was seen at `instant`, and so were the seats it holds.
    package static func touch(_ id: Install.ID, at instant: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE installs SET last_seen_at = :instant WHERE id = :id AND last_seen_at < :instant",
            ["id": .id(id), "instant": .instant(instant)]
        )
        try db.run(
            """
            UPDATE activations SET last_seen_at = :instant
            WHERE install_id = :id AND released_at IS NULL AND last_seen_at < :instant
            """,
            ["id": .id(id), "instant": .instant(instant)]
        )
    }

    /// A place among installs in the order in which they were last seen.
    package struct Place: Hashable, Sendable {
        fileprivate var lastSeen: Int64
        fileprivate var row: Int64

        /// Before all of them.
        package static let start = Place(lastSeen: .min, row: .min)
    }

    /// Looks at the next installs that were last seen at `instant` or before, and removes those that nothing ties: no seat
    /// past or present, purchase, gift, usage, or trial with an end. A trial that is left without them goes, too, unless
    /// it keeps a machine's first contact.
    ///
    /// - Returns: Where to go on; `nil` at the end.
    package static func removeUnseen(
        since instant: Timestamp,
        after place: Place,
        lookingAt limit: Int,
        in db: borrowing WriteTransaction
    ) throws -> Place? {
        struct Unseen {
            let place: Place
            let install: Install.ID
            let trial: TrialID?
            let isFree: Bool
        }
        let unseen = try db.all(
            """
            SELECT last_seen_at, rowid, id, trial_id,
                NOT EXISTS (SELECT 1 FROM activations WHERE activations.install_id = installs.id)
                AND NOT EXISTS (SELECT 1 FROM seat_takeovers WHERE from_install_id = installs.id)
                AND NOT EXISTS (SELECT 1 FROM seat_takeovers WHERE to_install_id = installs.id)
                AND NOT EXISTS (SELECT 1 FROM purchase_links WHERE purchase_links.install_id = installs.id)
                AND NOT EXISTS (SELECT 1 FROM meter_usage WHERE meter_usage.install_id = installs.id)
                AND NOT EXISTS (SELECT 1 FROM gifts WHERE gifts.install_id = installs.id)
                AND NOT EXISTS (
                    SELECT 1 FROM trials WHERE trials.id = installs.trial_id
                        AND (trials.ends_at IS NOT NULL OR trials.extended_until IS NOT NULL)
                )
            FROM installs
            WHERE last_seen_at <= :instant AND last_seen_at >= :seen AND (last_seen_at > :seen OR rowid > :row)
            ORDER BY last_seen_at, rowid LIMIT :limit
            """,
            [
                "instant": .instant(instant), "seen": .integer(place.lastSeen), "row": .integer(place.row),
                "limit": .int(limit),
            ],
            { row in
                let place = Place(lastSeen: try row.integer(), row: try row.integer())
                return Unseen(place: place, install: try row.id(), trial: try row.idOrNil(), isFree: try row.bool())
            }
        )
        for unseen in unseen where unseen.isFree {
            try db.run("DELETE FROM installs WHERE id = :id", ["id": .id(unseen.install)])
            if let trial = unseen.trial { try TrialStore.removeOrphan(trial, in: db) }
        }
        return unseen.count == limit ? unseen.last?.place : nil
    }

    /// Has an install share a trial.
    package static func share(_ trial: TrialID, by id: Install.ID, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE installs SET trial_id = :trial_id WHERE id = :id",
            ["id": .id(id), "trial_id": .id(trial)]
        )
    }

    package static func find<DB: Queries & ~Copyable>(
        _ digest: Digest256,
        of product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> Install? {
        try db.first(
            """
            SELECT id, product_id, mode, digest, fingerprint, device_name, platform, app_version, os_version, model,
                arch, first_seen_at, last_seen_at, trial_id
            FROM installs WHERE product_id = :product_id AND mode = :mode AND digest = :digest
            """,
            ["product_id": .id(product), "mode": .word(mode), "digest": .digest(digest)],
            read
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ id: Install.ID, in db: borrowing DB) throws -> Install? {
        try db.first(
            """
            SELECT id, product_id, mode, digest, fingerprint, device_name, platform, app_version, os_version, model,
                arch, first_seen_at, last_seen_at, trial_id
            FROM installs WHERE id = :id
            """,
            ["id": .id(id)],
            read
        )
    }

    /// Installs of one product in the order of their ids, those after `cursor` (exclusive), at most `limit`.
    ///
    /// - Parameter mode: Those of it alone; `nil`: both.
    package static func list<DB: Queries & ~Copyable>(
        of product: Product.ID,
        mode: Mode?,
        after cursor: Install.ID?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Install] {
        try db.all(
            """
            SELECT id, product_id, mode, digest, fingerprint, device_name, platform, app_version, os_version, model,
                arch, first_seen_at, last_seen_at, trial_id
            FROM installs WHERE product_id = :product_id AND (:mode IS NULL OR mode = :mode) AND id > :cursor
            ORDER BY id LIMIT :limit
            """,
            [
                "product_id": .id(product), "mode": .textOrNull(mode?.rawValue), "cursor": .text(cursor?.text ?? ""),
                "limit": .int(limit),
            ],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> Install {
        Install(
            id: try row.id(),
            product: try row.id(),
            mode: try row.word(),
            digest: try row.digest(),
            fingerprint: try row.digestOrNil(),
            device: DeviceInfo(
                name: try row.textOrNil(),
                platform: try row.textOrNil(),
                appVersion: try row.textOrNil(),
                osVersion: try row.textOrNil(),
                model: try row.textOrNil(),
                arch: try row.textOrNil()
            ),
            firstContactAt: try row.instant(),
            lastSeenAt: try row.instant(),
            trial: try row.idOrNil()
        )
    }
}
