internal import Licensing
internal import LicensingServices

/// `admin credential …`.
enum CredentialCommands {
    static let all = [create, list, show, rotate, revoke]

    private static let id = Parameter<CredentialID>.argument("ID", "the credential's id, crd_…") {
        (text) throws(ValueFault) in try CommonParameters.identifier(text)
    }
    private static let kind = Parameter<CredentialKind>.option(
        "kind",
        "pk|sk|ul",
        "pk for an app, sk for administration over HTTP, ul for UnifiedLicensing",
        isRequired: true
    ) { (text) throws(ValueFault) in try CommonParameters.word(text) }
    private static let vendor = Parameter<Slug>.option("vendor", "SLUG", "for the whole vendor (ul, sk)") {
        (text) throws(ValueFault) in try Slug(text)
    }
    private static let product = Parameter<ProductName>.option("product", "VENDOR/PRODUCT", "for one product (pk, sk)")
    {
        (text) throws(ValueFault) in try ProductName(text)
    }
    private static let reason = Parameter<String>.option("reason", "TEXT", "why, for the audit log") {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 1000)
    }
    private static let overlap = Parameter<CalendarDuration>.option(
        "overlap",
        "D",
        "how long the old one goes on (sk, ul: P7D; pk, which ships in apps: P1Y)"
    ) { (text) throws(ValueFault) in try CalendarDuration(text) }

    private static let create = Command(
        "admin credential create",
        .writes,
        "makes a credential; sk and ul are shown this once",
        [
            product.specification, vendor.specification, kind.specification, CommonParameters.mode.specification,
            CommonParameters.name.specification,
        ],
        example: "admin credential create --product acme/editor --kind pk --mode live"
    ) { call, context in
        let owner = try owner(call)
        let kind = try call.required(kind)
        let mode = try call.value(CommonParameters.mode) ?? .live
        let name = try call.value(CommonParameters.name) ?? kind.rawValue
        let work = try context.open()
        let catalog = work.catalog
        let (vendor, product) = try owner.find(work)
        let draft = try catalog.draft(
            credential: kind,
            mode: mode,
            vendor: vendor.id,
            product: product?.id,
            name: name,
            at: work.now
        )
        try work.write { db in try catalog.create(draft, by: work.actor, in: db) }
        return report(draft.issued, product.map { "\(vendor.slug)/\($0.slug)" }, work)
    }

    private static let list = Command(
        "admin credential list",
        .lists,
        "lists credentials without their tokens",
        [product.specification, vendor.specification],
        example: "admin credential list --vendor acme"
    ) { call, context in
        let owner = try owner(call)
        let (limit, cursor) = (try call.limit(), try call.cursor(of: CredentialEntity.self)?.text)
        let work = try context.open()
        let (vendor, product) = try owner.find(work)
        let (found, products) = try work.read { db in
            (
                try CatalogFinder.credentials(of: vendor, product: product, after: cursor, limit: limit + 1, in: db),
                try CatalogFinder.products(of: vendor, after: nil, limit: .max, in: db)
            )
        }
        let names = Dictionary(uniqueKeysWithValues: products.map { ($0.id, "\(vendor.slug)/\($0.slug)") })
        return .page("credentials", Page(found, limit: limit) { $0.id.text }) { writer, credential in
            credential.write(to: &writer, product: credential.product.flatMap { names[$0] })
        }
    }

    private static let show = Command(
        "admin credential show",
        .reads,
        "shows a credential; of a pk with its token",
        [id.specification],
        example: "admin credential show crd_01J9Z3T5B7QK8M2N4P6R8S0V1W"
    ) { call, context in
        let id = try call.required(id)
        let work = try context.open()
        let catalog = work.catalog
        let (credential, product, token) = try work.read { db in
            let credential = try CatalogFinder.credential(id, in: db)
            let product = try credential.product.flatMap { try CatalogFinder.productName($0, in: db) }
            return (credential, product, try catalog.token(of: id, in: db))
        }
        return work.report("credential") { writer in
            credential.write(to: &writer, product: product, token: token.map { .some($0) } ?? .none)
        }
    }

    private static let rotate = Command(
        "admin credential rotate",
        .writes,
        "makes a new credential in the place of one, which goes on for a while",
        [id.specification, overlap.specification],
        example: "admin credential rotate crd_01J9Z3T5B7QK8M2N4P6R8S0V1W --overlap P14D"
    ) { call, context in
        let id = try call.required(id)
        let overlap = try call.value(overlap)
        let work = try context.open()
        let catalog = work.catalog
        let (old, product) = try work.read { db in
            let credential = try CatalogFinder.credential(id, in: db)
            return (credential, try credential.product.flatMap { try CatalogFinder.productName($0, in: db) })
        }
        let standard = CalendarDuration(
            months: old.kind == .publishable ? 12 : 0,
            days: old.kind == .publishable ? 0 : 7
        )
        let draft = try catalog.draft(
            credential: old.kind,
            mode: old.mode,
            vendor: old.vendor,
            product: old.product,
            name: old.name,
            at: work.now
        )
        let end = work.now.adding(overlap ?? standard)
        let replaced = try work.write { db in
            try catalog.rotate(CatalogFinder.credential(id, in: db), to: draft, until: end, by: work.actor, in: db)
        }
        let note = "the old credential \(id) goes on until \(replaced.expiresAt?.rfc3339 ?? "revoked")"
        return report(draft.issued, product, work, notes: [note])
    }

    private static let revoke = Command(
        "admin credential revoke",
        .writes,
        "ends a credential at once",
        [id.specification, reason.specification],
        example: "admin credential revoke crd_01J9Z3T5B7QK8M2N4P6R8S0V1W --reason 'leaked'"
    ) { call, context in
        let id = try call.required(id)
        let reason = try call.value(reason)
        let work = try context.open()
        let catalog = work.catalog
        let (revoked, product) = try work.write { db in
            let credential = try CatalogFinder.credential(id, in: db)
            let product = try credential.product.flatMap { try CatalogFinder.productName($0, in: db) }
            return (try catalog.revoke(credential, because: reason, by: work.actor, in: db), product)
        }
        return work.report("credential") { revoked.write(to: &$0, product: product) }
    }

    // MARK: Whose

    /// A vendor, or one product of it.
    private enum Owner {
        case vendor(Slug)
        case product(ProductName)

        func find(_ work: borrowing Workspace) throws -> (vendor: Vendor, product: Product?) {
            switch self {
            case .vendor(let slug): return (try work.vendor(slug), nil)
            case .product(let name):
                let found = try work.product(name)
                return (found.vendor, found.product)
            }
        }
    }

    private static func owner(_ call: Invocation) throws -> Owner {
        switch (try call.value(product), try call.value(vendor)) {
        case (let product?, nil): return .product(product)
        case (nil, let vendor?): return .vendor(vendor)
        case (nil, nil):
            throw CommandFailure.usage("\(call.command.name) needs --product or --vendor", option: "--product")
        case (_?, _?):
            throw CommandFailure.usage("--product and --vendor exclude each other", option: "--vendor")
        }
    }

    private static func report(
        _ issued: IssuedCredential,
        _ product: String?,
        _ work: borrowing Workspace,
        notes: [String] = []
    ) -> Report {
        let isKept = issued.record.kind == .publishable
        let once = isKept || work.isDryRun ? [] : ["the token is shown this once"]
        // A token that was not kept opens nothing.
        let token = work.isDryRun ? nil : issued.token
        return work.report("credential", notes: once + notes) { writer in
            issued.record.write(to: &writer, product: product, token: .some(token))
        }
    }
}
