import Bundles
import Licensing
import LicensingServices
import Storage
import Synchronization
import Testing

/// All products of a scenario in both modes, and the time.
final class Town {
    let market: Market
    /// Tells the customers of one scenario from those of others.
    let number: Int
    var now: Int64 { didSet { tell() } }
    let realms: [Realm]
    private let catalogs: [Catalog]
    private(set) var shops: [Realm: Shop] = [:]

    init(_ setup: Setup, in market: Market, _ opened: borrowing Opened) throws {
        self.market = market
        number = market.nextNumber()
        now = setup.start
        realms = setup.realms
        market.microseconds.withLock { $0 = setup.start * 1_000_000 }
        let catalogs = try setup.products.map { try Catalog($0, at: setup.start, in: market, opened) }
        self.catalogs = catalogs
        for realm in realms { shops[realm] = try Shop(realm, selling: catalogs[realm.product], in: self, opened) }
    }

    private func tell() { market.microseconds.withLock { $0 = now * 1_000_000 } }

    func shop(_ realm: Realm) throws -> Shop { try #require(shops[realm], "the scenario has no such realm") }

    /// Which product and mode a bundle names and is signed for; nil where these are of several.
    func realm(of state: InstallState) -> Realm? {
        let (facts, key) = (state.facts, state.signingKey)
        return realms.first { realm in
            let (catalog, mode) = (catalogs[realm.product], realm.isTest ? Mode.test : .live)
            return (facts.product, facts.issuer, facts.mode) == (catalog.slug, catalog.vendor.issuer, mode)
                && (key.vendor, key.mode) == (catalog.vendor.id, mode)
        }
    }
}

/// A product and its plans.
struct Catalog {
    let vendor: Vendor
    let slug: Slug
    let product: Product.ID
    let plans: [Plan.ID]
    let storefront: Storefront?

    init(_ spec: ProductSpec, at start: Int64, in market: Market, _ opened: borrowing Opened) throws {
        let time = Timestamp(secondsSinceEpoch: start)
        let vendor = market.vendors[spec.vendor]
        let id: Product.ID = try Identifier(at: time, entropy: market.entropy)
        let rows = try spec.plans.enumerated().map { try $1.plan(number: $0, of: id, at: time, market.entropy) }
        slug = try Slug("p\(market.nextNumber())")
        (self.vendor, product, plans) = (vendor, id, rows.map(\.id))
        let row = Product(
            id: id,
            vendor: vendor.id,
            slug: slug,
            name: "Product",
            settings: try spec.settings.settings()
        )
        let meters = try spec.meters.enumerated().map { number, spec in
            Meter(
                id: try Identifier(at: time, entropy: market.entropy),
                product: id,
                name: try MeterName("m\(number)"),
                limit: MeterLimit(spec.limit),
                period: spec.period.period,
                scope: try #require(MeterScope(rawValue: spec.scope))
            )
        }
        try opened.writer.write { db in
            try ProductStore.insert(row, at: time, in: db)
            for code in Shop.features {
                try FeatureStore.insert(Feature(code: try FeatureCode(code), name: code), of: id, at: time, in: db)
            }
            for meter in meters { try MeterStore.insert(meter, at: time, in: db) }
            for row in rows { try PlanStore.insert(row, at: time, in: db) }
        }
        let actor = Actor(name: "model", now: time)
        storefront = try spec.store.map { try Storefront($0, of: row, by: actor, in: market, opened) }
    }
}
