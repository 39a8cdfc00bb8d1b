internal import Licensing
internal import LicensingServices
internal import Storage

/// `admin tier …`: features for whoever has spent enough in a store.
enum TierCommands {
    static let all = [create, edit, list, delete]

    private static let code = Parameter<PlanCode>.option("code", "CODE", "its name", isRequired: true) {
        (text) throws(ValueFault) in try PlanCode(text)
    }
    private static let currency = Parameter<String>.option("currency", "CODE", "what counts: ISO 4217, like USD") {
        (text) throws(ValueFault) in text
    }
    private static let threshold = Parameter<Int64>.option(
        "threshold-milliunits",
        "N",
        "how much must be spent, in thousandths of the currency's unit"
    ) { (text) throws(ValueFault) in
        guard let number = CommonParameters.integer(text, in: 1...SpendTier.highestThreshold) else {
            throw ValueFault("must be 1 to \(SpendTier.highestThreshold)")
        }
        return number
    }
    private static let features = Parameter<[FeatureCode]>.option("features", "FEATURE,…", "what it gives") {
        (text) throws(ValueFault) in try CommonParameters.featureCodes(text)
    }
    private static let duration = Parameter<Change<CalendarDuration>>.option(
        "duration",
        "D|none",
        "how long, from the moment the threshold is reached (none: without end)"
    ) { (text) throws(ValueFault) in text == "none" ? .unset : .set(try CalendarDuration(text)) }

    private static func changes(_ call: Invocation) throws(CommandFailure) -> SpendTierChanges {
        SpendTierChanges(
            currency: try call.value(currency),
            thresholdMilliunits: try call.value(threshold),
            features: try call.value(features),
            duration: try call.value(duration)
        )
    }

    private static let create = Command(
        "admin tier create",
        .writes,
        "makes a spend tier: features for installs whose own store purchases add up to enough; what a family shares is "
            + "no spend of theirs",
        [
            CommonParameters.product.specification, code.specification, currency.required.specification,
            threshold.required.specification, features.required.specification, duration.specification,
        ],
        example: "admin tier create --product acme/editor --code patron --currency USD "
            + "--threshold-milliunits 50000 --features export --duration P1Y"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let changes = try changes(call)
        let work = try context.open()
        let service = SpendTierService(keys: work.keys)
        let id = try SpendTierID(at: work.now, entropy: work.entropy)
        let tier = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try service.create(id, code, with: changes, of: product, by: work.actor, in: db)
        }
        return work.report("tier") { tier.write(to: &$0) }
    }

    private static let edit = Command(
        "admin tier edit",
        .writes,
        "changes a spend tier, for everybody at once",
        [
            CommonParameters.product.specification, code.specification, currency.specification,
            threshold.specification, features.specification, duration.specification,
        ],
        example: "admin tier edit --product acme/editor --code patron --threshold-milliunits 40000"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let changes = try changes(call)
        let work = try context.open()
        let service = SpendTierService(keys: work.keys)
        let tier = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try service.edit(code, by: changes, of: product, by: work.actor, in: db).tier
        }
        return work.report("tier") { tier.write(to: &$0) }
    }

    private static let list = Command(
        "admin tier list",
        .lists,
        "lists a product's spend tiers",
        [CommonParameters.product.specification],
        example: "admin tier list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let tiers = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try SpendTierService.all(of: product, in: db)
        }
        let page = try Page(all: tiers, limit: limit, after: cursor) { $0.code.text }
        return .page("tiers", page) { $1.write(to: &$0) }
    }

    private static let delete = Command(
        "admin tier delete",
        .writes,
        "removes a spend tier, and what it gives to whoever reached it",
        [CommonParameters.product.specification, code.specification, LicenseParameters.reason.specification],
        example: "admin tier delete --product acme/editor --code patron"
    ) { call, context in
        let (name, code) = (try call.required(CommonParameters.product), try call.required(code))
        let reason = try call.value(LicenseParameters.reason)
        let work = try context.open()
        let service = SpendTierService(keys: work.keys)
        let tier = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try service.delete(code, of: product, because: reason, by: work.actor, in: db)
        }
        return work.report("tier") { tier.write(to: &$0) }
    }
}
