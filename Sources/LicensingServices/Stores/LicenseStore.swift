package import Licensing
package import Storage

/// The rows of `licenses`, read through the view `license_facts`.
package enum LicenseStore {
    /// Writes a new license; its key is written by `LicenseKeyStore`.
    package static func insert(
        _ license: License,
        orderDigest: Digest256?,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO licenses (
                id, product_id, plan_id, mode, customer_id, order_id, order_digest, standing, standing_reason, starts_at,
                expires_at, term_anchor, term_months, pending_duration, first_activated_at, maintenance_until,
                seat_limit_kind, seat_limit, seat_policy, offline_life, environment, created_at
            ) VALUES (
                :id, :product_id, :plan_id, :mode, :customer_id, :order_id, :order_digest, :standing, :standing_reason,
                :starts_at, :expires_at, :term_anchor, :term_months, :pending_duration, :first_activated_at,
                :maintenance_until, :seat_limit_kind, :seat_limit, :seat_policy, :offline_life, :environment, :created_at
            )
            """,
            [
                "id": .id(license.id), "product_id": .id(license.product), "plan_id": .id(license.plan.id),
                "mode": .word(license.mode), "customer_id": .idOrNull(license.customer),
                "order_id": .textOrNull(license.orderID), "order_digest": .digestOrNull(orderDigest),
                "standing": .word(license.standing), "standing_reason": .textOrNull(license.standingReason),
                "starts_at": .instantOrNull(license.startsAt), "expires_at": .instantOrNull(license.term.end),
                "term_anchor": .instantOrNull(license.term.anchor), "term_months": .integer(license.term.months),
                "pending_duration": .durationOrNull(license.term.pendingDuration),
                "first_activated_at": .instantOrNull(license.firstActivatedAt),
                "maintenance_until": .instantOrNull(license.maintenanceUntil),
                "seat_limit_kind": .text(license.overrides.seatLimitKind),
                "seat_limit": .intOrNull(license.overrides.seatLimit?.count),
                "seat_policy": .textOrNull(license.overrides.seatPolicy?.rawValue),
                "offline_life": .durationOrNull(license.overrides.offlineLife),
                "environment": .environmentOrNull(license.overrides.environment),
                "created_at": .instant(license.issuedAt),
            ]
        )
    }

    /// Writes everything of a license that may change.
    package static func update(_ license: License, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE licenses SET plan_id = :plan_id, customer_id = :customer_id, standing = :standing,
                standing_reason = :standing_reason, starts_at = :starts_at, expires_at = :expires_at,
                term_anchor = :term_anchor, term_months = :term_months, pending_duration = :pending_duration,
                first_activated_at = :first_activated_at, maintenance_until = :maintenance_until,
                seat_limit_kind = :seat_limit_kind, seat_limit = :seat_limit, seat_policy = :seat_policy,
                offline_life = :offline_life, environment = :environment
            WHERE id = :id
            """,
            [
                "id": .id(license.id), "plan_id": .id(license.plan.id), "customer_id": .idOrNull(license.customer),
                "standing": .word(license.standing), "standing_reason": .textOrNull(license.standingReason),
                "starts_at": .instantOrNull(license.startsAt), "expires_at": .instantOrNull(license.term.end),
                "term_anchor": .instantOrNull(license.term.anchor), "term_months": .integer(license.term.months),
                "pending_duration": .durationOrNull(license.term.pendingDuration),
                "first_activated_at": .instantOrNull(license.firstActivatedAt),
                "maintenance_until": .instantOrNull(license.maintenanceUntil),
                "seat_limit_kind": .text(license.overrides.seatLimitKind),
                "seat_limit": .intOrNull(license.overrides.seatLimit?.count),
                "seat_policy": .textOrNull(license.overrides.seatPolicy?.rawValue),
                "offline_life": .durationOrNull(license.overrides.offlineLife),
                "environment": .environmentOrNull(license.overrides.environment),
            ]
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ id: License.ID, in db: borrowing DB) throws -> License? {
        try db.recall(RecallKey("license", id), keeping: .latest) {
            try db.first(
                """
                SELECT id, product_id, mode, customer_id, standing, standing_reason, created_at, starts_at, expires_at,
                    term_anchor, term_months, pending_duration, maintenance_until, first_activated_at, seat_limit_kind,
                    seat_limit, seat_policy, offline_life, environment, order_id,
                    (SELECT last_four FROM license_keys WHERE license_id = licenses.id AND replaced_at IS NULL),
                    plan_id
                FROM licenses WHERE id = :id
                """,
                ["id": .id(id)],
                { row in try read(&row) { row in try planNamed(&row, in: db) } }
            )
        }
    }

    /// The license of one product and mode; what belongs to another is not there.
    ///
    /// Takes the same way whether there is none or it is another's: what is not there is not read.
    package static func find<DB: Queries & ~Copyable>(
        _ id: License.ID,
        of product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> License? {
        let license = try db.recall(RecallKey("license", id), keeping: .latest) {
            try db.first(
                """
                SELECT id, product_id, mode, customer_id, standing, standing_reason, created_at, starts_at, expires_at,
                    term_anchor, term_months, pending_duration, maintenance_until, first_activated_at, seat_limit_kind,
                    seat_limit, seat_policy, offline_life, environment, order_id,
                    (SELECT last_four FROM license_keys WHERE license_id = licenses.id AND replaced_at IS NULL),
                    plan_id
                FROM licenses WHERE id = :id AND product_id = :product_id AND mode = :mode
                """,
                ["id": .id(id), "product_id": .id(product), "mode": .word(mode)],
                { row in try read(&row) { row in try planNamed(&row, in: db) } }
            )
        }
        guard let license, license.product == product, license.mode == mode else { return nil }
        return license
    }

    /// The plan that the next column names.
    private static func planNamed<DB: Queries & ~Copyable>(_ row: inout Row, in db: borrowing DB) throws -> Plan {
        guard let plan = try PlanStore.find(try row.id(), in: db) else {
            throw StorageError(.corrupt, "a license without its plan")
        }
        return plan
    }

    package static func find<DB: Queries & ~Copyable>(
        orderID: String,
        of product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> License? {
        try db.first(
            "SELECT * FROM license_facts WHERE product_id = :product_id AND mode = :mode AND order_id = :order_id",
            ["product_id": .id(product), "mode": .word(mode), "order_id": .text(orderID)],
            { row in try read(&row) }
        )
    }

    /// Whether a product has any license, in either mode.
    package static func exist<DB: Queries & ~Copyable>(of product: Product.ID, in db: borrowing DB) throws -> Bool {
        try db.first(
            "SELECT 1 FROM licenses WHERE product_id = :product_id LIMIT 1",
            ["product_id": .id(product)],
            { _ in true }
        ) ?? false
    }

    /// Digest of the parameters that the order was issued with.
    package static func orderDigest<DB: Queries & ~Copyable>(
        of license: License.ID,
        in db: borrowing DB
    ) throws -> Digest256? {
        try db.first(
            "SELECT order_digest FROM licenses WHERE id = :id",
            ["id": .id(license)],
            { row in try row.digestOrNil() }
        ).flatMap { $0 }
    }

    /// Licenses that an install holds an unreleased seat of, by id; running out of a lease is not looked at.
    package static func seated<DB: Queries & ~Copyable>(
        _ install: Install.ID,
        in db: borrowing DB
    ) throws -> [License] {
        try ActivationStore.unreleased(heldBy: install, in: db).map(\.license).sorted()
            .map { try find($0, in: db).referred("a license") }
    }

    /// The licenses of one customer for one product and mode.
    package static func all<DB: Queries & ~Copyable>(
        of customer: Customer.ID,
        product: Product.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> [License] {
        try db.all(
            """
            SELECT * FROM license_facts
            WHERE customer_id = :customer_id AND product_id = :product_id AND mode = :mode ORDER BY id
            """,
            ["customer_id": .id(customer), "product_id": .id(product), "mode": .word(mode)],
            { row in try read(&row) }
        )
    }

    /// Reads the columns of `license_facts`, in their order there.
    static func read(_ row: inout Row) throws -> License {
        try read(&row, plan: PlanStore.read)
    }

    /// Reads the columns of a license, those of `license_facts` up to the plan's, which `plan` reads.
    private static func read(_ row: inout Row, plan: (inout Row) throws -> Plan) throws -> License {
        let id = try row.id(of: License.self)
        let product = try row.id(of: Product.self)
        let mode: Mode = try row.word()
        let customer = try row.idOrNil(of: Customer.self)
        let standing: Standing = try row.word()
        let standingReason = try row.textOrNil()
        let issuedAt = try row.instant()
        let startsAt = try row.instantOrNil()
        let end = try row.instantOrNil()
        let anchor = try row.instantOrNil()
        let months = try row.integer(in: 0...CalendarDuration.mostMonths)
        let pending = try row.durationOrNil()
        let maintenanceUntil = try row.instantOrNil()
        let firstActivatedAt = try row.instantOrNil()
        let limitKind = try row.text()
        let limit = try row.seatCountOrNil()
        let overrides = LicenseOverrides(
            seatLimit: limitKind == "plan" ? nil : SeatLimit(limit),
            seatPolicy: try row.wordOrNil(),
            offlineLife: try row.durationOrNil(),
            environment: try row.environmentOrNil()
        )
        let orderID = try row.textOrNil()
        let lastFour = try row.textOrNil() ?? ""
        return License(
            id: id,
            product: product,
            mode: mode,
            plan: try plan(&row),
            customer: customer,
            standing: standing,
            standingReason: standingReason,
            issuedAt: issuedAt,
            startsAt: startsAt,
            term: LicenseTerm(end: end, anchor: anchor, months: months, pending: pending),
            maintenanceUntil: maintenanceUntil,
            firstActivatedAt: firstActivatedAt,
            overrides: overrides,
            orderID: orderID,
            keyLastFour: lastFour
        )
    }
}

extension LicenseOverrides {
    /// `seat_limit_kind`: `plan` follows the plan, `value` and `unlimited` are the license's own.
    fileprivate var seatLimitKind: String {
        switch seatLimit {
        case nil: "plan"
        case .limited: "value"
        case .unlimited: "unlimited"
        }
    }
}

/// The rows of `license_keys`: digests by which licenses are found, and keys sealed for sending them again.
package enum LicenseKeyStore {
    /// What a key leads to.
    package struct Match: Hashable, Sendable {
        package var license: License.ID
        /// The license was reissued since: this key is an old one.
        package var isReplaced: Bool
    }

    /// A key as it is kept for sending it again.
    package struct Sealed: Hashable, Sendable {
        /// What it was sealed under.
        package var digest: Digest256
        /// The key, sealed.
        package var sealed: [UInt8]
    }

    package static func insert(
        _ digest: Digest256,
        of license: License.ID,
        lastFour: String,
        sealed: [UInt8]?,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO license_keys (digest, license_id, last_four, sealed, created_at)
            VALUES (:digest, :license_id, :last_four, :sealed, :created_at)
            """,
            [
                "digest": .digest(digest), "license_id": .id(license), "last_four": .text(lastFour),
                "sealed": .blobOrNull(sealed), "created_at": .instant(now),
            ]
        )
    }

    /// Marks the current key of a license as replaced; it goes on serving installs that hold a seat.
    package static func replaceCurrent(
        of license: License.ID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            "UPDATE license_keys SET replaced_at = :now WHERE license_id = :license_id AND replaced_at IS NULL",
            ["license_id": .id(license), "now": .instant(now)]
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ digest: Digest256, in db: borrowing DB) throws -> Match? {
        try db.first(
            "SELECT license_id, replaced_at IS NOT NULL FROM license_keys WHERE digest = :digest",
            ["digest": .digest(digest)],
            { row in Match(license: try row.id(), isReplaced: try row.bool()) }
        )
    }

    /// The sealed current key with the digest it was sealed under; `nil` where the product does not keep keys.
    package static func sealedCurrent<DB: Queries & ~Copyable>(
        of license: License.ID,
        in db: borrowing DB
    ) throws -> Sealed? {
        try db.first(
            """
            SELECT digest, sealed FROM license_keys
            WHERE license_id = :license_id AND replaced_at IS NULL AND sealed IS NOT NULL
            """,
            ["license_id": .id(license)],
            { row in Sealed(digest: try row.digest(), sealed: try row.blob()) }
        )
    }
}
