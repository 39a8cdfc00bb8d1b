package import Licensing
package import Storage

/// The rows of `trials`.
package enum TrialStore {
    package static func insert(
        _ trial: Trial,
        tokenDigest: Digest256? = nil,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO trials (
                id, product_id, mode, install_id, started_at, ends_at, extended_until, token_digest,
                created_at
            ) VALUES (
                :id, :product_id, :mode, :install_id, :started_at, :ends_at, :extended_until,
                :token_digest, :created_at
            )
            """,
            [
                "id": .id(trial.id), "product_id": .id(trial.product), "mode": .word(trial.mode),
                "install_id": .idOrNull(trial.install), "started_at": .instant(trial.startedAt),
                "ends_at": .instantOrNull(trial.endsAt), "extended_until": .instantOrNull(trial.extendedUntil),
                "token_digest": .digestOrNull(tokenDigest),
                "created_at": .instant(now),
            ]
        )
    }

    /// Writes everything but whose it is and its token.
    package static func update(_ trial: Trial, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE trials SET install_id = :install_id, started_at = :started_at, ends_at = :ends_at,
                extended_until = :extended_until
            WHERE id = :id
            """,
            [
                "id": .id(trial.id), "install_id": .idOrNull(trial.install), "started_at": .instant(trial.startedAt),
                "ends_at": .instantOrNull(trial.endsAt), "extended_until": .instantOrNull(trial.extendedUntil),
            ]
        )
    }

    /// The trials that may count for an install: the one it shares, and the one that its machine is known by.
    package static func candidates<DB: Queries & ~Copyable>(
        for install: Install,
        in db: borrowing DB
    ) throws -> [Trial] {
        try candidates(
            shared: install.trial,
            fingerprint: install.fingerprint,
            of: install.product,
            mode: install.mode,
            in: db
        )
    }

    /// The trials that may count for an install that shares `trial`, on a machine with `fingerprint`.
    package static func candidates<DB: Queries & ~Copyable>(
        shared trial: TrialID?,
        fingerprint: Digest256?,
        of product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> [Trial] {
        guard trial != nil || fingerprint != nil else { return [] }
        return try db.all(
            """
            SELECT id, product_id, mode, install_id, started_at, ends_at, extended_until FROM trials
            WHERE id = :id OR id = (
                SELECT trial_id FROM trial_fingerprints
                WHERE product_id = :product_id AND mode = :mode AND fingerprint = :fingerprint
            )
            """,
            [
                "id": .idOrNull(trial), "product_id": .id(product), "mode": .word(mode),
                "fingerprint": .digestOrNull(fingerprint),
            ],
            read
        )
    }

    /// The most machines that one trial is known by. Fingerprints drift; an app that tells another one in each call must
    /// not fill the database.
    package static let mostMachines = 32

    /// Has a machine be known by a trial from now on, unless it is known by one already, or the trial by too many.
    package static func note(
        _ fingerprint: Digest256,
        of trial: Trial,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO trial_fingerprints (product_id, mode, fingerprint, trial_id)
            SELECT :product_id, :mode, :fingerprint, :trial_id
            WHERE (SELECT count(*) FROM trial_fingerprints WHERE trial_id = :trial_id) < :most
            ON CONFLICT (product_id, mode, fingerprint) DO NOTHING
            """,
            [
                "product_id": .id(trial.product), "mode": .word(trial.mode), "fingerprint": .digest(fingerprint),
                "trial_id": .id(trial.id), "most": .int(Self.mostMachines),
            ]
        )
    }

    package static func find<DB: Queries & ~Copyable>(
        _ id: TrialID,
        of product: Product.ID,
        in db: borrowing DB
    ) throws -> Trial? {
        try db.first(
            """
            SELECT id, product_id, mode, install_id, started_at, ends_at, extended_until FROM trials
            WHERE id = :id AND product_id = :product_id
            """,
            ["id": .id(id), "product_id": .id(product)],
            read
        )
    }

    /// The trial that a token stands for.
    package static func find<DB: Queries & ~Copyable>(
        token: Digest256,
        of product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> Trial? {
        try db.first(
            """
            SELECT id, product_id, mode, install_id, started_at, ends_at, extended_until FROM trials
            WHERE token_digest = :token_digest AND product_id = :product_id AND mode = :mode
            """,
            ["token_digest": .digest(token), "product_id": .id(product), "mode": .word(mode)],
            read
        )
    }

    /// Trials of one product and mode in the order they were made, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of product: Product.ID,
        mode: Mode,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Trial] {
        try db.all(
            """
            SELECT id, product_id, mode, install_id, started_at, ends_at, extended_until FROM trials
            WHERE product_id = :product_id AND id > :cursor AND mode = :mode ORDER BY id LIMIT :limit
            """,
            [
                "product_id": .id(product), "mode": .word(mode), "cursor": .text(cursor ?? ""), "limit": .int(limit),
            ],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> Trial {
        Trial(
            id: try row.id(),
            product: try row.id(),
            mode: try row.word(),
            install: try row.idOrNil(),
            startedAt: try row.instant(),
            endsAt: try row.instantOrNil(),
            extendedUntil: try row.instantOrNil()
        )
    }
}

// MARK: - Tokens

extension TrialStore {
    /// A token as it is kept.
    package struct KeptToken: Hashable, Sendable {
        package var digest: Digest256
        /// Nil where it was shown once and is not told again.
        package var sealed: [UInt8]?
    }

    package static func token<DB: Queries & ~Copyable>(of id: TrialID, in db: borrowing DB) throws -> KeptToken? {
        try db.first(
            "SELECT token_digest, token_sealed FROM trials WHERE id = :id AND token_digest IS NOT NULL",
            ["id": .id(id)],
            { row in KeptToken(digest: try row.digest(), sealed: try row.blobOrNil()) }
        )
    }

    package static func write(_ token: KeptToken, of id: TrialID, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE trials SET token_digest = :digest, token_sealed = :sealed WHERE id = :id",
            ["id": .id(id), "digest": .digest(token.digest), "sealed": .blobOrNull(token.sealed)]
        )
    }
}

// MARK: - Changes of the length

extension TrialStore {
    /// Writes what `Trial.end(afterChangeTo:isReviving:at:)` says of every trial of a product, in one statement.
    ///
    /// The calendar's months are counted as `Timestamp.adding(_:)` counts them: the same day so many months later, or the
    /// month's last one.
    ///
    /// - Returns: How many trials have another end now.
    package static func changeLength(
        to length: CalendarDuration,
        of product: Product.ID,
        start: TrialStart,
        isReviving: Bool,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Int {
        try db.run(
            """
            WITH months AS (
                SELECT id, started_at,
                    unixepoch(started_at, 'unixepoch', 'start of month', :months) AS first_day,
                    unixepoch(started_at, 'unixepoch', 'start of month', :months, '+1 month') AS next_month
                FROM trials
                WHERE product_id = :product_id AND CASE
                    WHEN ends_at IS NULL AND extended_until IS NULL THEN :starts_at_contact
                    ELSE :is_reviving OR ends_at > :now OR extended_until > :now
                END
            ),
            ends AS (
                SELECT id, min(
                    :latest,
                    coalesce(
                        first_day + started_at % 86400 + 86400 * (min(
                            CAST(strftime('%d', started_at, 'unixepoch') AS INTEGER),
                            coalesce((next_month - first_day) / 86400, 31)
                        ) - 1),
                        :latest
                    ) + :seconds
                ) AS ends_at
                FROM months
            )
            UPDATE trials SET ends_at = ends.ends_at FROM ends
            WHERE trials.id = ends.id AND trials.ends_at IS NOT ends.ends_at
            """,
            [
                "product_id": .id(product), "months": .text("+\(length.months) months"),
                "seconds": .integer(length.days * 86_400 + length.seconds), "latest": .instant(.latest),
                "starts_at_contact": .bool(start == .firstContact), "is_reviving": .bool(isReviving),
                "now": .instant(now),
            ]
        )
    }
}

// MARK: - Removal of installs

extension TrialStore {
    /// Removes a trial that is the recorded first contact of nobody: its last install is gone. What has begun, and what a
    /// machine is known by, stays.
    package static func removeOrphan(_ id: TrialID, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            DELETE FROM trials WHERE id = :id AND ends_at IS NULL AND extended_until IS NULL
                AND NOT EXISTS (SELECT 1 FROM trial_fingerprints WHERE trial_fingerprints.trial_id = trials.id)
                AND NOT EXISTS (SELECT 1 FROM installs WHERE installs.trial_id = trials.id)
            """,
            ["id": .id(id)]
        )
    }
}
