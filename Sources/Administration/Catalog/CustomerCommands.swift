internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin customer …`.
enum CustomerCommands {
    static let all = [list, show, erase]

    private static let named = Parameter<CustomerName>.argument("CUSTOMER", "an id, cus_…, or an e-mail address") {
        (text) throws(ValueFault) in
        if let id = Customer.ID(text) { return .id(id) }
        do {
            return .email(try EmailAddress(text))
        } catch {
            throw ValueFault("must be an id that begins with cus_, or an e-mail address")
        }
    }
    private static let vendor = Parameter<Slug>.option("vendor", "SLUG", "whose customer, needed with an address") {
        (text) throws(ValueFault) in try Slug(text)
    }

    private static let list = Command(
        "admin customer list",
        .lists,
        "lists a vendor's customers",
        [CommonParameters.vendor.specification],
        example: "admin customer list --vendor acme"
    ) { call, context in
        let slug = try call.required(CommonParameters.vendor)
        let (limit, cursor) = (try call.limit(), try call.cursor(of: Customer.self)?.text)
        let work = try context.open()
        let customers = try work.read { db in
            let vendor = try CatalogFinder.vendor(slug, in: db)
            return try CatalogFinder.customers(of: vendor, after: cursor, limit: limit + 1, in: db)
        }
        return .page("customers", Page(customers, limit: limit) { $0.customer.id.text }) { $1.write(to: &$0) }
    }

    private static let show = Command(
        "admin customer show",
        .reads,
        "shows a customer",
        [named.specification, vendor.specification],
        example: "admin customer show jane@example.com --vendor acme"
    ) { call, context in
        let (name, slug) = (try call.required(named), try call.value(vendor))
        let work = try context.open()
        let facts = try work.read { db in
            try CatalogFinder.customer(name, of: slug.map { try CatalogFinder.vendor($0, in: db) }, in: db)
        }
        return work.report("customer") { facts.write(to: &$0) }
    }

    private static let erase = Command(
        "admin customer erase",
        .writes,
        "removes a person's name and address, also from the audit log, in any case; licenses and their order ids stay",
        [named.specification, vendor.specification],
        example: "admin customer erase jane@example.com --vendor acme"
    ) { call, context in
        let (name, slug) = (try call.required(named), try call.value(vendor))
        let work = try context.open()
        let catalog = work.catalog
        let known = try work.read { db in
            let vendor = try slug.map { try CatalogFinder.vendor($0, in: db) }
            return try CatalogService.mentions(of: CatalogFinder.customer(name, of: vendor, in: db), in: db)
        }
        let erasure = try work.write { db in
            let vendor = try slug.map { try CatalogFinder.vendor($0, in: db) }
            return try catalog.erase(
                CatalogFinder.customer(name, of: vendor, in: db),
                mentioned: known,
                by: work.actor,
                in: db
            )
        }
        let isDryRun = work.isDryRun
        var notes = ["backups made before still hold the name: they go as they grow old"]
        if erasure.namedOrders > 0 {
            notes.append(
                "\(erasure.namedOrders) of its order ids hold the name or address: they stay, since orders are found by them"
            )
        }
        return Report(notes: notes) { writer in
            writer.name("customer")
            erasure.facts.write(to: &writer)
            writer.member("audit_rows", erasure.auditRows)
            if isDryRun { writer.member("dry_run", true) }
        }
    }
}
