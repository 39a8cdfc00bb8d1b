internal import Licensing
internal import LicensingServices

/// `admin vendor …`.
enum VendorCommands {
    static let all = [create, edit, list, show]

    private static let slug = Parameter<Slug>.option("slug", "SLUG", "its name in addresses", isRequired: true) {
        (text) throws(ValueFault) in try Slug(text)
    }
    private static let named = Parameter<Slug>.argument("VENDOR", "the vendor's slug") {
        (text) throws(ValueFault) in try Slug(text)
    }
    private static let issuer = Parameter<Change<String>>.option(
        "issuer",
        "URL",
        "the issuer of its bundles; empty: countersign:SLUG"
    ) { (text) throws(ValueFault) in text.isEmpty ? .unset : .set(try CatalogLimits.checkedIssuer(text)) }
    private static let quota = Parameter<Change<Int64>>.option(
        "validation-quota",
        "N|none",
        "validations a calendar month"
    ) { (text) throws(ValueFault) in
        if text == "none" { return .unset }
        guard let number = CommonParameters.integer(text, in: 0 ... .max) else {
            throw ValueFault("must be a whole number from 0 on, or none")
        }
        return .set(number)
    }

    private static let create = Command(
        "admin vendor create",
        .writes,
        "makes a vendor with its signing keys, and the database where there is none",
        [
            slug.specification, CommonParameters.name.specification, issuer.specification, quota.specification,
        ],
        example: "admin vendor create --slug acme --name 'Acme Software'"
    ) { call, context in
        let slug = try call.required(slug)
        let changes = try changes(call)
        let work = try context.open(makes: true)
        let catalog = work.catalog
        let draft = try catalog.draft(vendor: slug, changes, at: work.now)
        try work.write { db in try catalog.create(draft, by: work.actor, in: db) }
        let made = work.vault.isNew && !work.isDryRun
        let notes =
            made
            ? [
                "the master key was made at \(work.vault.file.path); without it nobody reads the database: keep a copy "
                    + "elsewhere (countersign admin master-key export FILE)"
            ] : []
        return work.report("vendor", notes: notes) { draft.vendor.write(to: &$0) }
    }

    private static let edit = Command(
        "admin vendor edit",
        .writes,
        "changes a vendor's name, issuer or quota",
        [named.specification, CommonParameters.name.specification, issuer.specification, quota.specification],
        example: "admin vendor edit acme --validation-quota 100000"
    ) { call, context in
        let slug = try call.required(named)
        let changes = try changes(call)
        let work = try context.open()
        let catalog = work.catalog
        let vendor = try work.vendor(slug)
        let edited = try work.write { db in
            try catalog.edit(CatalogFinder.vendor(slug, in: db), by: changes, actor: work.actor, in: db).vendor
        }
        let notes =
            edited.issuer == vendor.issuer
            ? [] : ["apps that pin the issuer \(vendor.issuer) refuse bundles from now on until they ship the new one"]
        return work.report("vendor", notes: notes) { edited.write(to: &$0) }
    }

    private static let list = Command(
        "admin vendor list",
        .lists,
        "lists vendors",
        example: "admin vendor list"
    ) { call, context in
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let vendors = try work.read { db in
            try NameCursor.check(cursor) { _ = try CatalogFinder.vendor(Slug($0), in: db) }
            return try CatalogFinder.vendors(after: cursor, limit: limit + 1, in: db)
        }
        return .page("vendors", Page(vendors, limit: limit) { $0.slug.text }) { $1.write(to: &$0) }
    }

    private static let show = Command(
        "admin vendor show",
        .reads,
        "shows a vendor",
        [named.specification],
        example: "admin vendor show acme"
    ) { call, context in
        let slug = try call.required(named)
        let work = try context.open()
        let vendor = try work.vendor(slug)
        return work.report("vendor") { vendor.write(to: &$0) }
    }

    private static func changes(_ call: Invocation) throws -> VendorChanges {
        VendorChanges(
            name: try call.value(CommonParameters.name),
            issuer: try call.value(issuer),
            validationQuota: try call.value(quota)
        )
    }
}
