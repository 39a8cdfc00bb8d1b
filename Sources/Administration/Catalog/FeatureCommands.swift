internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin feature …`.
enum FeatureCommands {
    static let all = [create, edit, list, show]

    private static let code = Parameter<FeatureCode>.option("code", "CODE", "its name in bundles", isRequired: true) {
        (text) throws(ValueFault) in try FeatureCode(text)
    }

    private static let create = Command(
        "admin feature create",
        .writes,
        "makes a feature of a product",
        [CommonParameters.product.specification, code.specification, CommonParameters.name.specification],
        example: "admin feature create --product acme/editor --code pro_unlock --name Pro"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let feature = Feature(code: code, name: try call.value(CommonParameters.name) ?? code.text)
        let work = try context.open()
        let catalog = work.catalog
        try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            try catalog.create(feature, of: product, by: work.actor, in: db)
        }
        return work.report("feature") { feature.write(to: &$0) }
    }

    private static let edit = Command(
        "admin feature edit",
        .writes,
        "gives a feature another name",
        [
            CommonParameters.product.specification, code.specification, CommonParameters.name.required.specification,
        ],
        example: "admin feature edit --product acme/editor --code pro_unlock --name 'Pro pack'"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let newName = try call.required(CommonParameters.name)
        let work = try context.open()
        let catalog = work.catalog
        let feature = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try catalog.rename(code, to: newName, of: product, by: work.actor, in: db).feature
        }
        return work.report("feature") { feature.write(to: &$0) }
    }

    private static let list = Command(
        "admin feature list",
        .lists,
        "lists a product's features",
        [CommonParameters.product.specification],
        example: "admin feature list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let features = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            try NameCursor.check(cursor) { _ = try CatalogFinder.feature(FeatureCode($0), of: product, in: db) }
            return try CatalogFinder.features(of: product, after: cursor, limit: limit + 1, in: db)
        }
        return .page("features", Page(features, limit: limit) { $0.code.text }) { $1.write(to: &$0) }
    }

    private static let show = Command(
        "admin feature show",
        .reads,
        "shows a feature and the plans that give it",
        [CommonParameters.product.specification, code.specification],
        example: "admin feature show --product acme/editor --code pro_unlock"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let work = try context.open()
        let (feature, plans) = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            let feature = try CatalogFinder.feature(code, of: product, in: db)
            let plans = try CatalogFinder.plans(of: product, after: nil, limit: .max, in: db)
            return (feature, plans.filter { $0.features.contains(code) })
        }
        return Report { writer in
            writer.name("feature")
            feature.write(to: &writer)
            writer.name("plans")
            writer.array { writer in for plan in plans { writer.value(plan.code.text) } }
        }
    }
}
