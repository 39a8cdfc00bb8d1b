internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin meter …`.
enum MeterCommands {
    static let all = [create, edit, list, show, reset, refund]

    // MARK: Definitions

    private static let name = Parameter<MeterName>.option("name", "NAME", "its name in bundles and calls") {
        (text) throws(ValueFault) in try MeterName(text)
    }
    private static let meter = Parameter<MeterName>.option("meter", "NAME", "the meter") {
        (text) throws(ValueFault) in try MeterName(text)
    }
    private static let most = Parameter<MeterLimit>.option("limit", "N|unlimited", "the most in a period (unlimited)") {
        (text) throws(ValueFault) in try MeterLimit(text)
    }
    private static let period = Parameter<MeterPeriod>.option(
        "period",
        "lifetime|day|month|year|D",
        "when the count begins anew; a duration such as P30D is a rolling window (lifetime)"
    ) { (text) throws(ValueFault) in
        do {
            return try MeterPeriod(text)
        } catch {
            throw ValueFault("must be lifetime, day, month, year or a duration like P30D")
        }
    }
    private static let scope = Parameter<MeterScope>.option(
        "scope",
        "install|license|customer",
        "who shares the count (install)"
    ) { (text) throws(ValueFault) in try CommonParameters.word(text) }

    private static func changes(_ call: Invocation) throws(CommandFailure) -> MeterChanges {
        MeterChanges(limit: try call.value(most), period: try call.value(period), scope: try call.value(scope))
    }

    private static let create = Command(
        "admin meter create",
        .writes,
        "makes a meter of a product",
        [
            CommonParameters.product.specification, name.required.specification, most.specification,
            period.specification, scope.specification,
        ],
        example: "admin meter create --product acme/editor --name flow_run --limit 3 --period lifetime --scope install"
    ) { call, context in
        let (productName, name) = (try call.required(CommonParameters.product), try call.required(name.required))
        let changes = try changes(call)
        let work = try context.open()
        let catalog = CatalogService(keys: work.keys, entropy: work.entropy)
        let meter = try work.write { db in
            let product = try CatalogFinder.product(productName.product, of: productName.vendor, in: db).product
            let meter = try catalog.draft(meter: name, of: product.id, changes, at: work.now)
            try catalog.create(meter, of: product, by: work.actor, in: db)
            return meter
        }
        return .one("meter", isDryRun: work.isDryRun) { meter.write(to: &$0) }
    }

    private static let affectsExisting = Parameter.flag(
        "affects-existing",
        "also where it takes something from those who count"
    )

    private static let edit = Command(
        "admin meter edit",
        .writes,
        "changes a meter's limit, period or scope",
        [
            CommonParameters.product.specification, meter.required.specification, most.specification,
            period.specification, scope.specification, affectsExisting.specification,
        ],
        example: "admin meter edit --product acme/editor --meter flow_run --limit 5"
    ) { call, context in
        let (productName, name) = (try call.required(CommonParameters.product), try call.required(meter.required))
        let changes = try changes(call)
        let isAllowed = call.isSet(affectsExisting)
        let work = try context.open()
        let catalog = CatalogService(keys: work.keys, entropy: work.entropy)
        let edited = try work.write { db in
            let product = try CatalogFinder.product(productName.product, of: productName.vendor, in: db).product
            return try catalog.edit(
                CatalogFinder.meter(name, of: product, in: db),
                of: product,
                by: changes,
                affectsExisting: isAllowed,
                actor: work.actor,
                in: db
            ).meter
        }
        return .one("meter", isDryRun: work.isDryRun) { edited.write(to: &$0) }
    }

    private static let list = Command(
        "admin meter list",
        .lists,
        "lists a product's meters",
        [CommonParameters.product.specification],
        example: "admin meter list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let meters = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            try NameCursor.check(cursor) { _ = try CatalogFinder.meter(MeterName($0), of: product, in: db) }
            return try CatalogFinder.meters(of: product, after: cursor, limit: limit + 1, in: db)
        }
        return .page("meters", Page(meters, limit: limit) { $0.name.text }) { $1.write(to: &$0) }
    }

    // MARK: Counts

    private static let install = Parameter<InstallID>.option("install-id", "ID", "the count of an install") {
        (text) throws(ValueFault) in try CommonParameters.installID(text)
    }
    private static let license = Parameter<String>.option("license", "ID|KEY", "the count of a license") {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 512)
    }
    private static let customer = Parameter<EmailAddress>.option("customer-email", "ADDRESS", "the count of a customer")
    {
        (text) throws(ValueFault) in try EmailAddress(text)
    }
    private static let reason = Parameter<String>.option("reason", "TEXT", "why, for the audit log") {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 1000)
    }
    private static let amount = Parameter<Int64>.option("amount", "N", "how much to give back (1)") {
        (text) throws(ValueFault) in
        guard let number = CommonParameters.integer(text, in: 1...Meter.mostAmount) else {
            throw ValueFault("must be 1 to \(Meter.mostAmount)")
        }
        return number
    }

    private static let countSpecifications = [
        CommonParameters.product.specification, meter.required.specification, install.specification,
        license.specification, customer.specification, CommonParameters.mode.specification,
    ]

    /// What names one count.
    private struct Naming {
        let product: ProductName
        let meter: MeterName
        let target: MeterTarget?
        let mode: Mode?

        init(_ call: Invocation) throws {
            product = try call.required(CommonParameters.product)
            meter = try call.required(MeterCommands.meter.required)
            mode = try call.value(CommonParameters.mode)
            let targets = [
                try call.value(MeterCommands.install).map { MeterTarget.install($0) },
                try call.value(MeterCommands.license).map { MeterTarget.license($0) },
                try call.value(MeterCommands.customer).map { MeterTarget.customer($0) },
            ].compactMap { $0 }
            guard targets.count <= 1 else {
                throw CommandFailure.usage("give one of --install-id, --license and --customer-email")
            }
            target = targets.first
        }

        func required() throws(CommandFailure) -> MeterTarget {
            guard let target else {
                throw .usage("say whose count it is: --install-id, --license or --customer-email")
            }
            return target
        }

        /// Looked up before any transaction that writes: a key is found by its keyed digest.
        func count(_ target: MeterTarget, in work: borrowing Workspace) throws -> (product: Product, count: MeterCount)
        {
            let counts = MeterCounts(keys: work.keys, entropy: work.entropy)
            let now = work.now
            return try work.read { db in
                let product = try CatalogFinder.product(product.product, of: product.vendor, in: db).product
                let meter = try CatalogFinder.meter(meter, of: product, in: db)
                return (product, try counts.find(target, of: meter, in: product, mode: mode, at: now, from: db))
            }
        }
    }

    private static let show = Command(
        "admin meter show",
        .reads,
        "shows a meter, and what was counted of it",
        countSpecifications,
        example: "admin meter show --product acme/editor --meter flow_run --license ACME-XXXX-XXXX-XXXX-XXXX"
    ) { call, context in
        let naming = try Naming(call)
        let work = try context.open()
        if let target = naming.target {
            let count = try naming.count(target, in: work).count
            return .one("meter") { count.write(to: &$0) }
        }
        let meter = try work.read { db in
            let product = try CatalogFinder.product(naming.product.product, of: naming.product.vendor, in: db).product
            return try CatalogFinder.meter(naming.meter, of: product, in: db)
        }
        return .one("meter") { meter.write(to: &$0) }
    }

    private static let reset = Command(
        "admin meter reset",
        .writes,
        "forgets what was counted: the whole limit is there again",
        countSpecifications + [reason.specification],
        example: "admin meter reset --product acme/editor --meter flow_run --customer-email jo@example.com"
    ) { call, context in
        let naming = try Naming(call)
        let (target, reason) = (try naming.required(), try call.value(reason))
        let work = try context.open()
        let (product, count) = try naming.count(target, in: work)
        let counts = MeterCounts(keys: work.keys, entropy: work.entropy)
        let after = try work.write { db in
            try counts.reset(count, of: product, because: reason, by: work.actor, in: db)
        }
        return .one("meter", isDryRun: work.isDryRun) { after.write(to: &$0) }
    }

    private static let refund = Command(
        "admin meter refund",
        .writes,
        "gives back what was counted, never below zero",
        countSpecifications + [amount.specification, reason.specification],
        example: "admin meter refund --product acme/editor --meter flow_run --install-id 3f0c…d2 --amount 2"
    ) { call, context in
        let naming = try Naming(call)
        let (target, reason) = (try naming.required(), try call.value(reason))
        let amount = try call.value(amount) ?? 1
        let work = try context.open()
        let (product, count) = try naming.count(target, in: work)
        let counts = MeterCounts(keys: work.keys, entropy: work.entropy)
        let after = try work.write { db in
            try counts.refund(amount, of: count, in: product, because: reason, by: work.actor, in: db)
        }
        return .one("meter", isDryRun: work.isDryRun) { after.write(to: &$0) }
    }
}
