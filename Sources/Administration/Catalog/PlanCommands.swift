internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin plan …`.
enum PlanCommands {
    static let all = [create, edit, list, show]

    private static let code = Parameter<PlanCode>.option("code", "CODE", "its name in bundles", isRequired: true) {
        (text) throws(ValueFault) in try PlanCode(text)
    }

    private static let create = Command(
        "admin plan create",
        .writes,
        "makes a plan: features and defaults for licenses",
        [CommonParameters.product.specification, code.specification] + PlanOptions.specifications,
        example:
            "admin plan create --product acme/editor --code pro --features pro_unlock,export --seats 3 --duration P1Y"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let changes = try PlanOptions.changes(call)
        let work = try context.open()
        let catalog = work.catalog
        let product = try work.product(name).product
        let plan = try catalog.draft(plan: code, of: product.id, changes, at: work.now)
        try work.write { db in try catalog.create(plan, of: product, by: work.actor, in: db) }
        return work.report("plan") { plan.write(to: &$0) }
    }

    private static let affectsExisting = Parameter.flag(
        "affects-existing",
        "also where it takes a right from existing licenses"
    )

    private static let edit = Command(
        "admin plan edit",
        .writes,
        "changes a plan, which its licenses follow at once",
        [CommonParameters.product.specification, code.specification] + PlanOptions.specifications
            + [affectsExisting.specification],
        example: "admin plan edit --product acme/editor --code pro --seats 5"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let changes = try PlanOptions.changes(call)
        let isAllowed = call.isSet(affectsExisting)
        let work = try context.open()
        let catalog = work.catalog
        let edited = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try catalog.edit(
                CatalogFinder.plan(code, of: product, in: db),
                of: product,
                by: changes,
                affectsExisting: isAllowed,
                actor: work.actor,
                in: db
            ).plan
        }
        return work.report("plan") { edited.write(to: &$0) }
    }

    private static let list = Command(
        "admin plan list",
        .lists,
        "lists a product's plans",
        [CommonParameters.product.specification],
        example: "admin plan list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let plans = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            try NameCursor.check(cursor) { _ = try CatalogFinder.plan(PlanCode($0), of: product, in: db) }
            return try CatalogFinder.plans(of: product, after: cursor, limit: limit + 1, in: db)
        }
        return .page("plans", Page(plans, limit: limit) { $0.code.text }) { $1.write(to: &$0) }
    }

    private static let show = Command(
        "admin plan show",
        .reads,
        "shows a plan and how many licenses follow it",
        [CommonParameters.product.specification, code.specification],
        example: "admin plan show --product acme/editor --code pro"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let work = try context.open()
        let (plan, count) = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            let plan = try CatalogFinder.plan(code, of: product, in: db)
            return (plan, try CatalogFinder.licenseCount(of: plan, in: db))
        }
        return Report { writer in
            writer.name("plan")
            plan.write(to: &writer)
            writer.member("licenses", count)
        }
    }
}
