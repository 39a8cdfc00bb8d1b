internal import Cryptography
public import Licensing
public import Storage

/// What an administrator does with licenses; used by the command line, the seed document and the `sk_` routes alike.
///
/// Everything that needs cryptography is made ready by a method without a transaction, and written by one with it.
public struct LicenseService: Sendable {
    let keys: DataKeys
    let entropy: any Entropy
    let audit: AuditTrail

    /// - Parameters:
    ///   - keys: What keys are digested and sealed with.
    ///   - entropy: Where keys and identifiers come from.
    public init(keys: DataKeys, entropy: any Entropy) {
        self.keys = keys
        self.entropy = entropy
        audit = AuditTrail(keys: keys)
    }

    // MARK: - Issue

    /// Makes a license ready: its key, digests and identifiers.
    ///
    /// - Throws: `Refusal` for an imported key that no client could use; `CryptographyError`.
    public func draft(_ order: LicenseOrder, for product: Product, at now: Timestamp) throws -> LicenseDraft {
        try LicenseDrafter(keys: keys, entropy: entropy).license(order, for: product, at: now)
    }

    /// Makes several equal licenses ready, all of one customer.
    ///
    /// - Throws: As `draft(_:for:at:)`.
    public func drafts(
        _ count: Int,
        of order: LicenseOrder,
        for product: Product,
        at now: Timestamp
    ) throws -> [LicenseDraft] {
        precondition(
            count == 1 || (order.orderID == nil && order.importedKey == nil),
            "an order or a key is one license"
        )
        let customer: Customer.ID = try Identifier(at: now, entropy: entropy)
        return try (0..<count).map { _ in
            var draft = try draft(order, for: product, at: now)
            draft.customer = customer
            return draft
        }
    }

    /// A license that was issued, or that an order had given before.
    public struct Issued: Sendable {
        /// The license.
        public let license: License
        /// The order id was known: nothing was written.
        public let isRepeated: Bool
        /// The key, where this call made it. A secret.
        public let key: LicenseKey?
    }

    /// Writes a license that was made ready, unless its order id was issued with the same parameters before, or the same
    /// key imported.
    ///
    /// - Throws: `Refusal` (`PLAN_NOT_FOUND`, `ORDER_ID_CONFLICT`, `ALREADY_EXISTS` for a key that is there, `VALIDATION`),
    ///   `StorageError`.
    public func issue(
        _ draft: LicenseDraft,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Issued {
        var plans = KnownPlans(of: product.id)
        return try issue(draft, of: product, by: actor, &plans, in: db).issued
    }

    /// Writes licenses that were made ready together, each as `issue(_:of:by:in:)` does, and tells what they are. What they
    /// share is read once, and of what was just written nothing is read again: others wait for the transaction.
    ///
    /// - Throws: As `issue(_:of:by:in:)`.
    public func issue(
        _ drafts: [LicenseDraft],
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> [(issued: Issued, facts: LicenseFacts)] {
        var plans = KnownPlans(of: product.id)
        guard let product = try ProductStore.find(product.id, in: db),
            let vendor = try VendorStore.find(product.vendor, in: db)
        else { throw StorageError(.corrupt, "licenses are issued of no product or vendor") }
        return try drafts.map { draft in
            let (issued, customer) = try issue(draft, of: product, by: actor, &plans, in: db)
            guard !issued.isRepeated else {
                return (issued, try facts(of: issued.license, .full, at: actor.now, in: db))
            }
            let facts = LicenseFacts(
                vendor: vendor,
                product: product,
                license: issued.license,
                customer: customer,
                seats: issued.license.seatUse(of: [], at: actor.now),
                activations: [],
                clones: [],
                sealedKey: draft.key.sealed.map { LicenseKeyStore.Sealed(digest: draft.key.digest, sealed: $0) },
                now: actor.now
            )
            return (issued, facts)
        }
    }

    private func issue(
        _ draft: LicenseDraft,
        of product: Product,
        by actor: Actor,
        _ plans: inout KnownPlans,
        in db: borrowing WriteTransaction
    ) throws -> (issued: Issued, customer: Customer?) {
        if let id = try known(draft, of: product, &plans, in: db) {
            guard let license = try LicenseStore.find(id, in: db) else { throw Self.notFound }
            return (Issued(license: license, isRepeated: true, key: nil), nil)
        }
        let customer = try customer(of: draft, vendor: product.vendor, at: actor.now, in: db)
        let license = try license(draft, for: customer?.id, of: product, at: actor.now, &plans, in: db)
        try write(license, draft, at: actor.now, in: db)
        try record("license.issue", license, of: product, before: nil, by: actor, in: db)
        return (Issued(license: license, isRepeated: false, key: draft.key.key), customer)
    }

    /// The license that the same order, or the same imported key, gave before; nothing is written.
    ///
    /// - Throws: `Refusal` where the order or the key is there with other parameters; `StorageError`.
    public func repeated<DB: Queries & ~Copyable>(
        _ draft: LicenseDraft,
        of product: Product,
        in db: borrowing DB
    ) throws -> License.ID? {
        var plans = KnownPlans(of: product.id)
        return try known(draft, of: product, &plans, in: db)
    }

    /// Refuses an order that cannot be written under these plans, all of a product.
    ///
    /// - Throws: `Refusal`.
    public func check(_ draft: LicenseDraft, of product: Product, under plans: [PlanCode: Plan], at now: Timestamp)
        throws
    {
        guard let plan = plans[draft.order.plan] else { throw Self.noPlan(draft.order.plan) }
        _ = try license(draft, for: nil, of: product, at: now, under: plan)
    }

    /// The license that the same order, or the same imported key, gave before.
    ///
    /// - Throws: `Refusal` where the order or the key is there with other parameters.
    func known<DB: Queries & ~Copyable>(
        _ draft: LicenseDraft,
        of product: Product,
        _ plans: inout KnownPlans,
        in db: borrowing DB
    ) throws -> License.ID? {
        let order = draft.order
        if let orderID = order.orderID,
            let known = try LicenseStore.order(orderID, of: product.id, mode: order.mode, in: db)
        {
            guard known.digest == draft.orderDigest else {
                throw Refusal(
                    .orderIDConflict,
                    "order \(orderID) was issued with other parameters",
                    member: "order_id"
                )
            }
            return known.license
        }
        guard order.importedKey != nil, let match = try LicenseKeyStore.find(draft.key.digest, in: db) else {
            return nil
        }
        // A license of no order has no digest of what was ordered: what was said must be what it is.
        guard order.orderID == nil, !match.isReplaced, let there = try LicenseStore.find(match.license, in: db),
            there.orderID == nil, there.mode == order.mode, try isSameCustomer(there, order, in: db),
            there.isSame(as: try license(draft, for: there.customer, of: product, at: there.issuedAt, &plans, in: db))
        else { throw Refusal(.alreadyExists, "a license has this key already", member: "key") }
        return match.license
    }

    private func isSameCustomer<DB: Queries & ~Copyable>(
        _ license: License,
        _ order: LicenseOrder,
        in db: borrowing DB
    ) throws -> Bool {
        let customer = try license.customer.flatMap { id in try CustomerStore.find(id, in: db) }
        return customer?.email == order.customerEmail?.text
    }

    /// The license that an order asks for, not yet written.
    func license<DB: Queries & ~Copyable>(
        _ draft: LicenseDraft,
        for customer: Customer.ID?,
        of product: Product,
        at now: Timestamp,
        _ plans: inout KnownPlans,
        in db: borrowing DB
    ) throws -> License {
        guard let plan = try plans.find(draft.order.plan, in: db) else { throw Self.noPlan(draft.order.plan) }
        return try license(draft, for: customer, of: product, at: now, under: plan)
    }

    private func license(
        _ draft: LicenseDraft,
        for customer: Customer.ID?,
        of product: Product,
        at now: Timestamp,
        under plan: Plan
    ) throws -> License {
        let order = draft.order
        let license = License(
            id: draft.id,
            product: product.id,
            mode: order.mode,
            plan: plan,
            customer: customer,
            issuedAt: now,
            startsAt: order.startsAt,
            term: LicenseTerm(order.end, under: plan, from: order.startsAt ?? now),
            maintenanceUntil: order.maintenanceUntil,
            overrides: LicenseOverrides(
                seatLimit: order.seatLimit,
                seatPolicy: order.seatPolicy,
                offlineLife: order.offlineLife,
                environment: order.environment
            ),
            orderID: order.orderID,
            keyLastFour: draft.key.key.lastFour
        )
        try Self.check(license)
        try Self.checkEnvironment(license)
        return license
    }

    /// Writes a new license and its key, without an audit row.
    func write(
        _ license: License,
        _ draft: LicenseDraft,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try LicenseStore.insert(license, orderDigest: draft.orderDigest, in: db)
        try insert(draft.key, of: license.id, at: now, in: db)
    }

    func insert(
        _ key: LicenseKeyDraft,
        of license: License.ID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        try LicenseKeyStore.insert(
            key.digest,
            of: license,
            lastFour: key.key.lastFour,
            sealed: key.sealed,
            at: now,
            in: db
        )
    }

    /// The customer an order names: known by the e-mail address within the vendor, or made.
    func customer(
        of draft: LicenseDraft,
        vendor: Vendor.ID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Customer? {
        let (name, email) = (draft.order.customerName, draft.order.customerEmail)
        guard name != nil || email != nil else { return nil }
        if let email, var known = try CustomerStore.find(email: email.text, of: vendor, in: db) {
            if let name, known.name != name {
                known.name = name
                try CustomerStore.update(known, in: db)
            }
            return known
        }
        // Licenses that were made ready together share a customer that has a name alone.
        if email == nil, let known = try CustomerStore.find(draft.customer, in: db) { return known }
        let customer = Customer(id: draft.customer, vendor: vendor, name: name, email: email?.text)
        try CustomerStore.insert(customer, at: now, in: db)
        return customer
    }

    // MARK: - Audit

    func record(
        _ action: String,
        _ license: License,
        of product: Product,
        before: License?,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: license.id.text,
                reason: reason,
                before: before?.auditText,
                after: license.auditText
            ),
            by: actor,
            in: db
        )
    }
}

/// The plans of a product as one transaction has read them, each once.
struct KnownPlans {
    private let product: Product.ID
    private var plans: [PlanCode: Plan] = [:]

    init(of product: Product.ID) { self.product = product }

    mutating func find<DB: Queries & ~Copyable>(_ code: PlanCode, in db: borrowing DB) throws -> Plan? {
        if let plan = plans[code] { return plan }
        plans[code] = try PlanStore.find(code, of: product, in: db)
        return plans[code]
    }
}

extension License {
    /// Whether the two say the same, whatever their ids, and whatever became of them since.
    fileprivate func isSame(as other: License) -> Bool {
        plan == other.plan && startsAt == other.startsAt && maintenanceUntil == other.maintenanceUntil
            && overrides == other.overrides && (term == other.term || term.isBegun(other.term, at: firstActivatedAt))
    }
}

extension LicenseTerm {
    /// Whether this is what `pending` became with the first activation.
    fileprivate func isBegun(_ pending: LicenseTerm, at start: Timestamp?) -> Bool {
        guard let duration = pending.pendingDuration, let start else { return false }
        return self == .counted(duration, from: start)
    }
}
