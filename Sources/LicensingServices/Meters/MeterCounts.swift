public import Licensing
public import Storage
public import StrictJSON

/// Whose count an administrator means.
public enum MeterTarget: Sendable {
    /// That of an install, by its id.
    case install(InstallID)
    /// That of a license, by its id or key; with customer scope that of its customer.
    case license(String)
    /// That of a customer.
    case customer(EmailAddress)
}

/// One count of a meter: whose it is and what holds for it now.
public struct MeterCount: Hashable, Sendable {
    /// The meter.
    public let meter: Meter
    /// Live and test are counted apart.
    public let mode: Mode
    /// Whose it is.
    public let subject: MeterSubject
    /// The limit that counts, plans included.
    public let limit: MeterLimit
    /// What was counted, in whatever window.
    public let usage: MeterUsage?
    /// The moment for which this holds.
    public let now: Timestamp

    /// What apps are told.
    public var report: MeterReport {
        let question = MeterQuestion(meter: meter, limit: limit, usage: usage)
        return MeterQuestion.peek([question], at: now).reports[0]
    }

    /// Writes the meter's members and `usage`: `{"subject","mode","used","limit","left","resets_at"}`.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            meter.writeMembers(to: &writer)
            writer.name("usage")
            writeUsage(to: &writer)
        }
    }

    private func writeUsage(to writer: inout JSONWriter) {
        let report = report
        writer.object { writer in
            writer.member("subject", subject.text)
            writer.member("mode", mode.rawValue)
            writer.member("used", report.used)
            writer.member("limit", orNull: report.limit.count)
            writer.member("left", orNull: report.left)
            writer.member("resets_at", orNull: report.resetsAt?.rfc3339)
        }
    }

    fileprivate var auditText: String {
        var writer = JSONWriter()
        writeUsage(to: &writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}

/// Shows and mends what was counted; used by the command line.
public struct MeterCounts: Sendable {
    private let keys: DataKeys
    private let licenses: LicenseService
    private let audit: AuditTrail

    /// - Parameters:
    ///   - keys: What installs and license keys are looked up with.
    ///   - entropy: Where identifiers come from.
    public init(keys: DataKeys, entropy: any Entropy) {
        self.keys = keys
        licenses = LicenseService(keys: keys, entropy: entropy)
        audit = AuditTrail(keys: keys)
    }

    /// Finds the count that an administrator names.
    ///
    /// - Parameter mode: Live where it is `nil`; a license has its own, which another one named here does not find.
    /// - Throws: `Refusal` (`VALIDATION` where the meter's scope counts for another kind of thing, `INSTALL_NOT_FOUND`,
    ///   `LICENSE_NOT_FOUND`, `AMBIGUOUS`, `LICENSE_KEY_MALFORMED`, `CUSTOMER_NOT_FOUND`), `StorageError`.
    public func find<DB: Queries & ~Copyable>(
        _ target: MeterTarget,
        of meter: Meter,
        in product: Product,
        mode: Mode?,
        at now: Timestamp,
        from db: borrowing DB
    ) throws -> MeterCount {
        func count(_ subject: MeterSubject, _ mode: Mode, _ plans: [Plan]) throws -> MeterCount {
            MeterCount(
                meter: meter,
                mode: mode,
                subject: subject,
                limit: meter.limit(raisedBy: plans),
                usage: try MeterUsageStore.find(of: meter.id, mode: mode, by: subject, in: db),
                now: now
            )
        }
        switch (target, meter.scope) {
        case (.install(let id), .install):
            let mode = mode ?? .live
            let digest = keys.digest(of: id, product: product.id)
            guard let install = try InstallStore.find(digest, of: product.id, mode: mode, in: db) else {
                throw Refusal(.installNotFound, "the product has no such install in mode \(mode.rawValue)")
            }
            let held = try HeldLicenses.read(by: install, in: db)
            return try count(.install(install.id), mode, held.active(at: now).map(\.plan))
        case (.license(let text), .license), (.license(let text), .customer):
            let id = try licenses.find(text, of: product, in: db)
            guard let license = try LicenseStore.find(id, in: db), mode == nil || mode == license.mode else {
                throw LicenseService.notFound
            }
            guard meter.scope == .customer, let customer = license.customer else {
                return try count(.license(id), license.mode, license.isInForce(at: now) ? [license.plan] : [])
            }
            return try count(.customer(customer), license.mode, plans(of: customer, license.mode))
        case (.customer(let email), .customer):
            let mode = mode ?? .live
            guard let customer = try CustomerStore.find(email: email.text, of: product.vendor, in: db) else {
                throw Refusal(.customerNotFound, "the vendor has no customer with this e-mail address")
            }
            return try count(.customer(customer.id), mode, plans(of: customer.id, mode))
        case (.install, _), (.license, _), (.customer, _):
            throw Refusal(
                .validation,
                "the meter \(meter.name) counts by \(meter.scope.rawValue): name \(meter.scope.targetWords)",
                member: target.member
            )
        }
        func plans(of customer: Customer.ID, _ mode: Mode) throws -> [Plan] {
            try LicenseStore.all(of: customer, product: product.id, mode: mode, in: db)
                .filter { $0.isInForce(at: now) }.map(\.plan)
        }
    }

    /// Forgets what was counted: the whole limit is there again, and a rolling window opens with the next count.
    ///
    /// - Throws: `StorageError`.
    public func reset(
        _ count: MeterCount,
        of product: Product,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> MeterCount {
        try change(count, to: nil, "meter.reset", of: product, because: reason, by: actor, in: db)
    }

    /// Gives an amount back; never below zero, and nothing of a window that is over.
    ///
    /// - Parameter amount: 1 to `Meter.mostAmount`.
    /// - Throws: `StorageError`.
    public func refund(
        _ amount: Int64,
        of count: MeterCount,
        in product: Product,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> MeterCount {
        // Read again: a server may have counted since.
        let count = try count.current(in: db)
        guard let usage = count.usage, usage.isCurrent(for: count.meter.period, at: actor.now) else { return count }
        let refunded = usage.refunded(amount)
        return try change(count, to: refunded, "meter.refund", of: product, because: reason, by: actor, in: db)
    }

    private func change(
        _ count: MeterCount,
        to usage: MeterUsage?,
        _ action: String,
        of product: Product,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> MeterCount {
        let before = try count.current(in: db)
        guard before.usage != usage else { return before }
        let id = before.meter.id
        if let usage {
            try MeterUsageStore.write(usage, of: id, mode: before.mode, by: before.subject, in: db)
        } else {
            try MeterUsageStore.remove(of: id, mode: before.mode, by: before.subject, in: db)
        }
        let after = try before.current(in: db)
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: id.text,
                reason: reason,
                before: before.auditText,
                after: after.auditText
            ),
            by: actor,
            in: db
        )
        return after
    }
}

extension MeterCount {
    /// The same with what is counted in this transaction.
    fileprivate func current(in db: borrowing WriteTransaction) throws -> MeterCount {
        MeterCount(
            meter: meter,
            mode: mode,
            subject: subject,
            limit: limit,
            usage: try MeterUsageStore.find(of: meter.id, mode: mode, by: subject, in: db),
            now: now
        )
    }
}

extension MeterTarget {
    /// The option or member that names it.
    fileprivate var member: String {
        switch self {
        case .install: "install_id"
        case .license: "license"
        case .customer: "customer_email"
        }
    }
}

extension MeterScope {
    /// What an administrator names a count of this scope by.
    fileprivate var targetWords: String {
        switch self {
        case .install: "an install id"
        case .license: "a license"
        case .customer: "a customer's e-mail address or a license"
        }
    }
}

extension License {
    fileprivate func isInForce(at now: Timestamp) -> Bool { status(at: now) == .active }
}
