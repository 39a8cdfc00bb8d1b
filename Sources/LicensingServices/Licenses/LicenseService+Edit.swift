public import Licensing
public import Storage

// What a license says for itself.
extension LicenseService {
    /// Edits a license; its standing never changes by it. An edit that changes nothing writes nothing.
    ///
    /// A customer's name is that of all licenses of the customer; a license without a customer gets one of its own.
    ///
    /// - Throws: `Refusal` (`PLAN_NOT_FOUND`, `VALIDATION` for an end that is not after the start), `StorageError`, what the
    ///   source of entropy throws.
    public func edit(
        _ license: License,
        of product: Product,
        by changes: LicenseChanges,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        let plan = try changes.plan.map { code in
            guard let plan = try PlanStore.find(code, of: product.id, in: db) else { throw Self.noPlan(code) }
            return plan
        }
        var edited = license.edited(
            by: LicenseEdit(
                plan: plan,
                seatLimit: changes.seatLimit,
                seatPolicy: changes.seatPolicy,
                end: changes.end,
                maintenanceUntil: changes.maintenanceUntil,
                offlineLife: changes.offlineLife,
                environment: changes.environment
            )
        )
        // What was said about the end must make sense; an end that is left alone is not looked at.
        if changes.end != nil { try Self.check(edited) }
        if changes.plan != nil || changes.environment != nil { try Self.checkEnvironment(edited) }
        var isRenamed = false
        if let name = changes.customerName {
            isRenamed = try rename(&edited, to: name, vendor: product.vendor, at: actor.now, in: db)
        }
        guard edited != license || isRenamed else { return license }
        if edited != license { try LicenseStore.update(edited, in: db) }
        try record("license.edit", edited, of: product, before: license, because: reason, by: actor, in: db)
        return edited
    }

    /// Gives the license's customer a name; whether that changed anything.
    private func rename(
        _ license: inout License,
        to name: String,
        vendor: Vendor.ID,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        guard var customer = try license.customer.flatMap({ id in try CustomerStore.find(id, in: db) }) else {
            let customer = Customer(id: try Identifier(at: now, entropy: entropy), vendor: vendor, name: name)
            try CustomerStore.insert(customer, at: now, in: db)
            license.customer = customer.id
            return true
        }
        guard customer.name != name else { return false }
        customer.name = name
        try CustomerStore.update(customer, in: db)
        return true
    }

    static func check(_ license: License) throws(Refusal) {
        if let start = license.startsAt, let end = license.expiresAt, end <= start {
            throw Refusal(.validation, "must be after the start", member: "expires_at")
        }
    }

    /// Every grant carries the rule.
    static func checkEnvironment(_ license: License) throws(Refusal) {
        do throws(ValueFault) {
            try license.environment?.requireRoom(on: license.plan.features.count)
        } catch {
            throw Refusal(.validation, error.reason, member: "environment")
        }
    }

    static func noPlan(_ code: PlanCode) -> Refusal {
        Refusal(.planNotFound, "the product has no plan \(code)", member: "plan")
    }
}
