internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

extension LicenseCommands {
    static let show = Command(
        "admin license show",
        .reads,
        "shows a license, its customer, its seats, and its key where the product keeps keys",
        [LicenseParameters.license.specification, LicenseParameters.product.specification],
        example: "admin license show lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E"
    ) { invocation, context in
        let target = try Target(invocation)
        let workspace = try context.open()
        let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
        let facts = try workspace.read { db in
            // Nobody waits for a command that reads.
            try service.facts(of: try target.find(service, in: db), .everySeat, at: workspace.now, in: db)
        }
        guard let facts else { throw Refusal(.licenseNotFound, "there is no such license") }
        let key = try service.key(of: facts)
        return Report.one("license") { writer in facts.write(to: &writer, key: key) }
    }

    static let explain = Command(
        "admin license explain",
        .reads,
        "shows the ordered checks behind the verdict on a license",
        [
            LicenseParameters.license.specification, LicenseParameters.product.specification,
            LicenseParameters.installID.specification,
        ],
        example: "admin license explain ACME-7Q2M-0V9K-4D3T-XW1H --install-id 0d9f6a52-8c1e-4b7a-9a53-3c8f2f1e7b10"
    ) { invocation, context in
        let target = try Target(invocation)
        let install = try invocation.value(LicenseParameters.installID)
        let workspace = try context.open()
        let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
        let explained = try workspace.read { db in
            try service.explain(
                target.name,
                of: try target.product(in: db),
                for: install,
                at: workspace.now,
                in: db
            )
        }
        return Report { writer in
            writer.name("license")
            explained.facts.write(to: &writer)
            explained.explanation.writeMembers(to: &writer)
        }
    }

    static let list = Command(
        "admin license list",
        .lists,
        "lists licenses",
        [LicenseParameters.productFilter.specification] + filters,
        example: "admin license list --product acme/editor --status expired"
    ) { invocation, context in
        let name = try invocation.value(LicenseParameters.productFilter)
        var filter = try filter(of: invocation)
        let limit = try invocation.limit()
        let cursor = try invocation.cursor(of: License.self)
        let workspace = try context.open()
        let service = LicenseService(keys: workspace.keys, entropy: workspace.entropy)
        let page = try workspace.read { db in
            filter.product = try name.map { try CatalogFinder.product($0.product, of: $0.vendor, in: db).product.id }
            return try service.list(filter, after: cursor, limit: limit, at: workspace.now, in: db)
        }
        let notes = page.next.map { ["there are more: --cursor \($0)"] } ?? []
        // The cursor is a member of its own for programs.
        let shown = context.options.isJSON ? [] : notes
        return Report(text: table(page.licenses.map { ($0, nil) }), notes: shown) { writer in
            writer.name("licenses")
            writer.array { writer in for facts in page.licenses { facts.write(to: &writer) } }
            writer.member("next", orNull: page.next?.text)
        }
    }

    static let filters = [
        LicenseParameters.plan.specification, LicenseParameters.status.specification,
        LicenseParameters.customerEmail.specification, LicenseParameters.modeFilter.specification,
        LicenseParameters.orderID.specification,
    ]

    static func filter(of invocation: Invocation) throws -> LicenseFilter {
        LicenseFilter(
            plan: try invocation.value(LicenseParameters.plan),
            status: try invocation.value(LicenseParameters.status),
            customerEmail: try invocation.value(LicenseParameters.customerEmail),
            mode: try invocation.value(LicenseParameters.modeFilter),
            orderID: try invocation.value(LicenseParameters.orderID)
        )
    }

    /// The license that a command is about, as it was named.
    struct Target: Sendable {
        let name: String
        private let productName: ProductName?

        init(_ invocation: Invocation) throws {
            name = try invocation.required(LicenseParameters.license)
            productName = try invocation.value(LicenseParameters.product)
        }

        func product<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Product? {
            try productName.map { try CatalogFinder.product($0.product, of: $0.vendor, in: db).product }
        }

        func find<DB: Queries & ~Copyable>(_ service: LicenseService, in db: borrowing DB) throws -> License.ID {
            try service.find(name, of: try product(in: db), in: db)
        }
    }
}
