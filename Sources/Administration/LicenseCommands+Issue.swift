internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

extension LicenseCommands {
    static let issue = Command(
        "admin license issue",
        .writes,
        "issues licenses",
        [
            CommonParameters.product.specification, LicenseParameters.plan.required.specification,
            LicenseParameters.count.specification, LicenseParameters.seats.specification,
            LicenseParameters.expiresAt.specification, LicenseParameters.duration.specification,
            LicenseParameters.startsAt.specification, LicenseParameters.maintenanceUntil.specification,
            LicenseParameters.offlineLife.specification, LicenseParameters.customerName.specification,
            LicenseParameters.customerEmail.specification, LicenseParameters.orderID.specification,
            CommonParameters.mode.specification,
        ],
        example: "admin license issue --product acme/editor --plan pro --customer-email dee@example.com --order-id 4711"
    ) { invocation, context in
        let name = try invocation.required(CommonParameters.product)
        let count = try invocation.value(LicenseParameters.count) ?? 1
        let order = try order(of: invocation)
        guard count == 1 || order.orderID == nil else {
            throw CommandFailure.usage("--order-id names one license: leave out --count", option: "--count")
        }
        let workspace = try context.open()
        let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
        let product = try workspace.read { db in
            try CatalogFinder.product(name.product, of: name.vendor, in: db).product
        }
        let drafts = try service.drafts(count, of: order, for: product, at: workspace.now)
        let issued = try workspace.write { db in
            try drafts.map { draft in
                let issued = try service.issue(draft, of: product, by: workspace.actor, in: db)
                guard let facts = try service.facts(of: issued.license.id, at: workspace.now, in: db) else {
                    throw StorageError(.corrupt, "a license that was just written is not there")
                }
                return (issued: issued, facts: facts)
            }
        }
        let licenses = try issued.map { issued, facts in
            (facts: facts, key: issued.isRepeated ? try service.key(of: facts) : issued.key?.text)
        }
        return report(licenses, isDryRun: context.isDryRun)
    }

    private static func order(of invocation: Invocation) throws -> LicenseOrder {
        let end = try invocation.value(LicenseParameters.expiresAt)
        let duration = try invocation.value(LicenseParameters.duration)
        guard end == nil || duration == nil else {
            throw CommandFailure.usage("--duration does not go together with --expires-at", option: "--duration")
        }
        return LicenseOrder(
            plan: try invocation.required(LicenseParameters.plan),
            mode: try invocation.value(CommonParameters.mode) ?? .live,
            orderID: try invocation.value(LicenseParameters.orderID),
            seatLimit: try invocation.value(LicenseParameters.seats)?.override,
            end: duration.map { .duration($0) } ?? end ?? .plan,
            startsAt: try invocation.value(LicenseParameters.startsAt),
            maintenanceUntil: try invocation.value(LicenseParameters.maintenanceUntil)?.value,
            offlineLife: try invocation.value(LicenseParameters.offlineLife)?.override,
            customerName: try invocation.value(LicenseParameters.customerName),
            customerEmail: try invocation.value(LicenseParameters.customerEmail)
        )
    }

    /// What was issued. A key of a dry run opens nothing, and is not shown.
    private static func report(_ licenses: [(facts: LicenseFacts, key: String?)], isDryRun: Bool) -> Report {
        let isLost = licenses.contains { $0.key == nil }
        let notes =
            isLost && !isDryRun ? ["the product keeps no keys: the key was shown when the order was issued"] : []
        let rows = licenses.map { (facts: $0.facts, key: isDryRun ? nil : $0.key) }
        return Report(text: table(rows), notes: notes) { writer in
            writer.name("licenses")
            writer.array { writer in for row in rows { row.facts.write(to: &writer, key: row.key) } }
            if isDryRun { writer.member("dry_run", true) }
        }
    }

    /// Licenses for people: one line each, what matters most of them.
    static func table(_ licenses: [(facts: LicenseFacts, key: String?)]) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("licenses")
            writer.array { writer in
                for (facts, key) in licenses {
                    let license = facts.license
                    writer.object { writer in
                        writer.member("id", license.id.text)
                        writer.member("key", key ?? "…\(license.keyLastFour)")
                        writer.member("product", facts.productName)
                        writer.member("plan", license.plan.code.text)
                        writer.member("mode", license.mode.rawValue)
                        writer.member("status", license.status(at: facts.now).rawValue)
                        writer.member("seats", "\(facts.seats.used)/\(facts.seats.limit.text)")
                        writer.member("expires_at", orNull: license.expiresAt?.rfc3339)
                        writer.member("customer", orNull: facts.customer?.email ?? facts.customer?.name)
                    }
                }
            }
        }
        return TextForm.text(of: writer.finish())
    }
}
