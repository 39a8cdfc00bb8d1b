internal import Licensing
internal import LicensingServices

/// `admin product …`.
enum ProductCommands {
    static let all = [create, set, list, show, ProductSetup.command]

    static let named = Parameter<ProductName>.argument("VENDOR/PRODUCT", "the product") {
        (text) throws(ValueFault) in try ProductName(text)
    }
    private static let slug = Parameter<Slug>.option("slug", "SLUG", "its name in addresses", isRequired: true) {
        (text) throws(ValueFault) in try Slug(text)
    }
    private static let prefix = Parameter<KeyPrefix>.option(
        "key-prefix",
        "PREFIX",
        "what its license keys begin with (CS)"
    ) { (text) throws(ValueFault) in try KeyPrefix(text) }
    private static let settings = Parameter<(ProductSetting, String?)>.argument(
        "SETTING=VALUE",
        "a setting: " + ProductSetting.allCases.map(\.rawValue).joined(separator: ", ") + "; nothing after = unsets it",
        isRequired: false,
        isRepeatable: true
    ) { (text) throws(ValueFault) in try setting(text) }

    private static let create = Command(
        "admin product create",
        .writes,
        "makes a product",
        [
            CommonParameters.vendor.specification, slug.specification, CommonParameters.name.specification,
            prefix.specification,
        ],
        example: "admin product create --vendor acme --slug editor --name Editor --key-prefix ACME"
    ) { call, context in
        let (vendorSlug, slug) = (try call.required(CommonParameters.vendor), try call.required(slug))
        let changes = ProductChanges(
            name: try call.value(CommonParameters.name),
            keyPrefix: try call.value(prefix)
        )
        let work = try context.open()
        let catalog = work.catalog
        let vendor = try work.vendor(vendorSlug)
        let product = try catalog.draft(product: slug, of: vendor.id, changes, at: work.now)
        try work.write { db in try catalog.create(product, by: work.actor, in: db) }
        return work.report("product") { product.write(to: &$0, of: vendor.slug) }
    }

    private static let affectsExisting = Parameter.flag(
        "affects-existing",
        "also where it takes a right from existing licenses"
    )
    private static let revive = Parameter.flag("revive", "give trials that are over the trial_duration named here, too")

    private static let set = Command(
        "admin product set",
        .writes,
        "changes a product's settings",
        [
            named.specification, settings.specification, CommonParameters.name.specification, prefix.specification,
            revive.specification, affectsExisting.specification,
        ],
        example: "admin product set acme/editor trial_duration=P14D trial_plan=pro free_tier=false"
    ) { call, context in
        let name = try call.required(named)
        let given = try call.values(settings)
        guard Set(given.map(\.0)).count == given.count else {
            throw CommandFailure.usage("a setting is there twice", option: "SETTING=VALUE")
        }
        let changes = ProductChanges(
            name: try call.value(CommonParameters.name),
            keyPrefix: try call.value(prefix),
            settings: Dictionary(uniqueKeysWithValues: given)
        )
        guard changes != ProductChanges() else {
            throw CommandFailure.usage("admin product set needs a SETTING=VALUE", option: "SETTING=VALUE")
        }
        let isReviving = call.isSet(revive)
        guard !isReviving || given.contains(where: offersTrial) else {
            throw CommandFailure.usage("--revive needs a trial_duration=D longer than nothing", option: "--revive")
        }
        let isAllowed = call.isSet(affectsExisting)
        let work = try context.open()
        let catalog = work.catalog
        let edited = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try catalog.edit(
                product,
                by: changes,
                revivesTrials: isReviving,
                affectsExisting: isAllowed,
                actor: work.actor,
                in: db
            ).product
        }
        return work.report("product") { edited.write(to: &$0, of: name.vendor) }
    }

    private static let list = Command(
        "admin product list",
        .lists,
        "lists a vendor's products",
        [CommonParameters.vendor.specification],
        example: "admin product list --vendor acme"
    ) { call, context in
        let slug = try call.required(CommonParameters.vendor)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let products = try work.read { db in
            let vendor = try CatalogFinder.vendor(slug, in: db)
            try NameCursor.check(cursor) { _ = try CatalogFinder.product(Slug($0), of: slug, in: db) }
            return try CatalogFinder.products(of: vendor, after: cursor, limit: limit + 1, in: db)
        }
        return .page("products", Page(products, limit: limit) { $0.slug.text }) { $1.write(to: &$0, of: slug) }
    }

    private static let show = Command(
        "admin product show",
        .reads,
        "shows a product with its settings",
        [named.specification],
        example: "admin product show acme/editor"
    ) { call, context in
        let name = try call.required(named)
        let work = try context.open()
        let product = try work.product(name).product
        return work.report("product") { product.write(to: &$0, of: name.vendor) }
    }

    /// Whether a setting, which was read before, gives trials a length.
    private static func offersTrial(_ setting: ProductSetting, _ value: String?) -> Bool {
        var settings = ProductSettings()
        guard setting == .trialDuration, (try? settings.set(setting, to: value)) != nil else { return false }
        return settings.trialLength != nil
    }

    /// Reads `name=value`, and the value as that setting takes it: a mistake is told before anything is opened.
    private static func setting(_ text: String) throws(ValueFault) -> (ProductSetting, String?) {
        guard let equals = text.firstIndex(of: "=") else { throw ValueFault("must be a setting, = and its value") }
        let name = String(text[..<equals])
        guard let setting = ProductSetting(rawValue: name) else {
            let known = ProductSetting.allCases.map(\.rawValue)
            throw ValueFault(
                "knows no setting '\(name)'\(Spelling.hint(name, in: known)); there are \(known.joined(separator: ", "))"
            )
        }
        let value = String(text[text.index(after: equals)...])
        var settings = ProductSettings()
        do {
            try settings.set(setting, to: value)
        } catch {
            throw ValueFault("\(name) \(error.reason)")
        }
        return (setting, value.isEmpty ? nil : value)
    }
}
