internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// `admin offer …`.
enum OfferCommands {
    static let all = [create, edit, delete, list, show]

    private static let id = Parameter<OfferName>.option("id", "NAME", "how the app calls it; made where left out") {
        (text) throws(ValueFault) in try OfferName(text)
    }

    private static let create = Command(
        "admin offer create",
        .writes,
        "makes an offer: what may be bought, for the app to show",
        [CommonParameters.product.specification, id.specification] + OfferOptions.specifications,
        example:
            "admin offer create --product acme/editor --id yearly --plan pro --kind subscription "
            + "--price-milliunits 49990 --currency USD --url https://acme.example/buy"
    ) { call, context in
        let (name, id) = (try call.required(CommonParameters.product), try call.value(id))
        let changes = try OfferOptions.changes(call)
        guard let kind = changes.kind else {
            throw CommandFailure.missing(OfferOptions.kind.specification, call.command)
        }
        let work = try context.open()
        let offers = work.offers
        let offer = changes.applied(to: Offer(id: try id ?? offers.freshName(at: work.now), kind: kind))
        try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            try offers.create(offer, of: product, by: work.actor, in: db)
        }
        return work.report("offer") { offer.write(to: &$0) }
    }

    private static let edit = Command(
        "admin offer edit",
        .writes,
        "changes an offer",
        [CommonParameters.product.specification, id.required.specification] + OfferOptions.specifications,
        example: "admin offer edit --product acme/editor --id yearly --until 2027-01-31"
    ) { call, context in
        let (name, id) = (try call.required(CommonParameters.product), try call.required(id))
        let changes = try OfferOptions.changes(call)
        let work = try context.open()
        let offers = work.offers
        let edited = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            let offer = changes.applied(to: try OfferService.offer(id, of: product, in: db))
            _ = try offers.edit(offer, of: product, by: work.actor, in: db)
            return offer
        }
        return work.report("offer") { edited.write(to: &$0) }
    }

    private static let delete = Command(
        "admin offer delete",
        .writes,
        "removes an offer: apps are not told of it any more",
        [CommonParameters.product.specification, id.required.specification],
        example: "admin offer delete --product acme/editor --id yearly"
    ) { call, context in
        let (name, id) = (try call.required(CommonParameters.product), try call.required(id))
        let work = try context.open()
        let offers = work.offers
        let offer = try work.write { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            let offer = try OfferService.offer(id, of: product, in: db)
            try offers.delete(id, of: product, by: work.actor, in: db)
            return offer
        }
        return work.report("offer") { offer.write(to: &$0) }
    }

    private static let list = Command(
        "admin offer list",
        .lists,
        "lists a product's offers, those included that have ended",
        [CommonParameters.product.specification],
        example: "admin offer list --product acme/editor"
    ) { call, context in
        let name = try call.required(CommonParameters.product)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let offers = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try OfferService.all(of: product, in: db)
        }
        let page = try Page(all: offers, limit: limit, after: cursor) { $0.id.text }
        return .page("offers", page) { $1.write(to: &$0) }
    }

    private static let show = Command(
        "admin offer show",
        .reads,
        "shows an offer",
        [CommonParameters.product.specification, id.required.specification],
        example: "admin offer show --product acme/editor --id yearly"
    ) { call, context in
        let (name, id) = (try call.required(CommonParameters.product), try call.required(id))
        let work = try context.open()
        let offer = try work.read { db in
            let product = try CatalogFinder.product(name.product, of: name.vendor, in: db).product
            return try OfferService.offer(id, of: product, in: db)
        }
        return work.report("offer") { offer.write(to: &$0) }
    }
}

/// The members of an offer as options, `none` for what is to be unset.
enum OfferOptions {
    static let kind = Parameter<EntitlementType>.option("kind", "KIND", "trial, subscription or purchase") {
        (text) throws(ValueFault) in try CommonParameters.word(text)
    }
    private static let plan = optional("plan", "CODE", "the plan it sells") { text throws(ValueFault) in
        try PlanCode(text)
    }
    private static let price = optional("price-milliunits", "N", "the price in thousandths of the currency's unit") {
        text throws(ValueFault) -> Int64 in
        guard let price = CommonParameters.integer(text, in: 0...Int64.max) else {
            throw ValueFault("must be a whole number from 0 on")
        }
        return price
    }
    private static let currency = optional("currency", "CODE", "ISO 4217, like USD") { text throws(ValueFault) in text }
    private static let storeProduct = optional("store-product-id", "ID", "the product of a store that sells it") {
        text throws(ValueFault) in text
    }
    private static let trial = optional("trial-duration", "D", "how long it may be tried out, like P14D") {
        text throws(ValueFault) in try CalendarDuration(text)
    }
    private static let url = optional("url", "URL", "where to buy it") { text throws(ValueFault) in text }
    private static let from = optional("from", "T", "when it begins; a date begins with that day, UTC") {
        text throws(ValueFault) in try Timestamp(text, as: .start)
    }
    private static let until = optional("until", "T", "when it ends; a date ends with that day, UTC") {
        text throws(ValueFault) in try Timestamp(text, as: .end)
    }

    static let specifications = [
        kind.specification, plan.specification, price.specification, currency.specification,
        storeProduct.specification, trial.specification, url.specification, from.specification, until.specification,
    ]

    /// What the options say; what is left out stays as it is.
    static func changes(_ call: Invocation) throws(CommandFailure) -> OfferChanges {
        OfferChanges(
            kind: try call.value(kind),
            plan: try call.value(plan),
            priceMilliunits: try call.value(price),
            currency: try call.value(currency),
            storeProductID: try call.value(storeProduct),
            trialDuration: try call.value(trial),
            url: try call.value(url),
            from: try call.value(from),
            until: try call.value(until)
        )
    }

    private static func optional<Value: Sendable>(
        _ name: String,
        _ placeholder: String,
        _ help: String,
        _ parse: @escaping @Sendable (String) throws(ValueFault) -> Value
    ) -> Parameter<Change<Value>> {
        .option(name, "\(placeholder)|none", help) { (text) throws(ValueFault) in
            text == "none" ? .unset : .set(try parse(text))
        }
    }
}
