internal import Licensing
internal import LicensingServices
internal import Storage

/// `admin gift …`: features that an administrator gives for nothing.
enum GiftCommands {
    static let all = [create, list, show, end]

    private static let gift = Parameter<GiftID>.argument("GIFT", "its id, gft_…") {
        (text) throws(ValueFault) in try CommonParameters.identifier(text)
    }
    private static let features = Parameter<[FeatureCode]>.option(
        "features",
        "FEATURE,…",
        "what it gives",
        isRequired: true
    ) { (text) throws(ValueFault) in try CommonParameters.featureCodes(text) }
    private static let until = Parameter<Timestamp>.option(
        "until",
        "T",
        "when it ends; a date ends with that day, UTC (never)"
    ) { (text) throws(ValueFault) in try Timestamp(text, as: .end) }
    private static let mode = Parameter<Mode>.option("mode", "live|test", "live or test (the license's, else live)") {
        (text) throws(ValueFault) in try CommonParameters.word(text)
    }
    private static let modeFilter = Parameter<Mode>.option("mode", "live|test", "live or test ones") {
        (text) throws(ValueFault) in try CommonParameters.word(text)
    }

    private static let create = Command(
        "admin gift create",
        .writes,
        "gives features to an install, or to the installs of a license or a customer",
        [CommonParameters.product.specification, features.specification] + Recipient.specifications
            + [until.specification, mode.specification, LicenseParameters.reason.specification],
        example: "admin gift create --product acme/editor --features export --customer-email jane@example.com "
            + "--until 2027-06-30"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (features, recipient) = (try call.required(features), try Recipient(call))
        let (end, mode, reason) = (
            try call.value(until), try call.value(mode), try call.value(LicenseParameters.reason)
        )
        guard let recipient else {
            throw CommandFailure.usage(
                "admin gift create needs --install-id, --license or --customer-email",
                option: "--install-id"
            )
        }
        let work = try context.open()
        let service = GiftService(keys: work.keys)
        let product = try work.product(name).product
        let named = try recipient.digested(for: product, in: work)
        let id = try GiftID(at: work.now, entropy: work.entropy)
        let gift = try work.write { db in
            try service.create(
                id,
                of: features,
                to: named,
                mode: mode,
                until: end,
                of: product,
                because: reason,
                by: work.actor,
                in: db
            )
        }
        return work.report("gift") { gift.write(to: &$0, at: work.now) }
    }

    private static let list = Command(
        "admin gift list",
        .lists,
        "lists a product's gifts by the second they were made in, then by id, those included that are over",
        [CommonParameters.product.specification] + Recipient.specifications + [modeFilter.specification],
        example: "admin gift list --product acme/editor --customer-email jane@example.com"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (recipient, mode) = (try Recipient(call), try call.value(modeFilter))
        let (limit, cursor) = (try call.limit(), try call.cursor(of: GiftEntity.self)?.text)
        let work = try context.open()
        let now = work.now
        let product = try work.product(name).product
        let named = try recipient?.digested(for: product, in: work)
        let gifts = try work.read { db in
            try GiftService.list(of: product, to: named, mode: mode, after: cursor, limit: limit + 1, in: db)
        }
        return .page("gifts", Page(gifts, limit: limit) { $0.id.text }) { $1.write(to: &$0, at: now) }
    }

    private static let show = Command(
        "admin gift show",
        .reads,
        "shows a gift",
        [gift.specification],
        example: "admin gift show gft_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E"
    ) { call, context in
        let id = try call.required(gift)
        let work = try context.open()
        let gift = try work.read { db in try GiftService.gift(id, in: db) }
        return work.report("gift") { gift.write(to: &$0, at: work.now) }
    }

    private static let end = Command(
        "admin gift end",
        .writes,
        "takes a gift back for good; what else gives the same features stays",
        [gift.specification, LicenseParameters.reason.specification],
        example: "admin gift end gft_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E --reason 'given by mistake'"
    ) { call, context in
        let (id, reason) = (try call.required(gift), try call.value(LicenseParameters.reason))
        let work = try context.open()
        let service = GiftService(keys: work.keys)
        let gift = try work.write { db in try service.end(id, because: reason, by: work.actor, in: db).gift }
        return work.report("gift") { gift.write(to: &$0, at: work.now) }
    }
}

/// Whom a command's gift is for, as the line names it.
private enum Recipient {
    case install(InstallID)
    case license(String)
    case customer(EmailAddress)

    private static let install = Parameter<InstallID>.option("install-id", "ID", "for an install") {
        (text) throws(ValueFault) in try CommonParameters.installID(text)
    }
    private static let license = Parameter<String>.option("license", "ID|KEY", "for the installs of a license") {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 512)
    }
    private static let customer = Parameter<EmailAddress>.option(
        "customer-email",
        "ADDRESS",
        "for the installs of a customer's licenses"
    ) { (text) throws(ValueFault) in try EmailAddress(text) }

    static let specifications = [install.specification, license.specification, customer.specification]

    /// `nil` where the line names none.
    init?(_ call: Invocation) throws(CommandFailure) {
        let named = [
            try call.value(Self.install).map { Recipient.install($0) },
            try call.value(Self.license).map { Recipient.license($0) },
            try call.value(Self.customer).map { Recipient.customer($0) },
        ].compactMap { $0 }
        guard named.count <= 1 else {
            throw .usage("give one of --install-id, --license and --customer-email", option: "--install-id")
        }
        guard let recipient = named.first else { return nil }
        self = recipient
    }

    /// Before any transaction that writes: ids and keys are found by their keyed digests.
    func digested(for product: Product, in work: borrowing Workspace) throws -> GiftRecipient {
        switch self {
        case .install(let id): return .install(work.keys.digest(of: id, product: product.id))
        case .license(let text):
            let licenses = LicenseService(keys: work.keys, entropy: work.entropy)
            return .license(try work.read { db in try licenses.find(text, of: product, in: db) })
        case .customer(let email): return .customer(email)
        }
    }
}
