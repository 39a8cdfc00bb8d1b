import Bundles
import Cryptography
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

/// A product in one mode, by its key, and what its things are called in scenarios.
final class Shop {
    static let features = ["a", "b", "c", "d"]

    let realm: Realm
    unowned let town: Town
    /// What its apps send.
    private let token: String
    let product: Product.ID
    let plans: [Plan.ID]
    /// Of both modes.
    let storefront: Storefront?
    /// Every key of each license, oldest first.
    var keys: [[String]] = []
    var licenses: [License.ID] = []
    var gifts: [GiftID] = []
    var seats: [Activation.ID: Int] = [:]
    var seatIDs: [Activation.ID] = []
    var trials: [String: Int] = [:]
    private var references: [String: Paper.Reference] = [:]
    /// `seq` of the last bundle.
    var sequence: Int64 = 0

    var market: Market { town.market }
    var mode: Mode { realm.isTest ? .test : .live }
    var time: Timestamp { Timestamp(secondsSinceEpoch: town.now) }
    var actor: Actor { Actor(name: "model", now: time) }
    var services: Services { market.services }
    var licensing: LicenseService { LicenseService(keys: services.keys, entropy: market.entropy) }
    var catalog: CatalogService { CatalogService(keys: services.keys, entropy: market.entropy) }

    init(_ realm: Realm, selling catalog: Catalog, in town: Town, _ opened: borrowing Opened) throws {
        (self.realm, self.town) = (realm, town)
        (product, plans, storefront) = (catalog.product, catalog.plans, catalog.storefront)
        let services = CredentialService(keys: town.market.services.keys, entropy: town.market.entropy)
        let draft = try services.draft(
            kind: .publishable,
            mode: realm.isTest ? .test : .live,
            vendor: catalog.vendor.id,
            product: catalog.product,
            name: "App",
            at: Timestamp(secondsSinceEpoch: town.now)
        )
        token = draft.issued.token
        try opened.writer.write { db in try services.insert(draft, in: db) }
    }

    // MARK: Names

    /// The text of a key; one that nobody has, where the license is not there.
    func key(_ key: KeySpec) -> String {
        let keys = key.realm.map { town.shops[$0]?.keys ?? [] } ?? keys
        guard keys.indices.contains(key.license) else { return "SOLD-BY-NOBODY-\(key.license)" }
        let all = keys[key.license]
        return all[all.count - 1 - min(key.age, all.count - 1)]
    }

    static func install(_ number: Int) -> String { "install-number-\(number)-of-the-model" }

    func claim(_ number: Int, _ fingerprint: Int? = nil) throws -> InstallClaim {
        InstallClaim(
            digest: services.keys.digest(of: try InstallID(Self.install(number)), product: product),
            fingerprint: try fingerprint.map {
                services.keys.digest(of: try DeviceFingerprint("machine-\($0)"), product: product)
            },
            device: .none,
            subject: ""
        )
    }

    func number(of seat: Activation.ID) -> Int {
        if let known = seats[seat] { return known }
        seats[seat] = seatIDs.count
        seatIDs.append(seat)
        return seatIDs.count - 1
    }

    /// The seat at a place among all that were ever given; where there is none, one of another realm, or of nobody.
    func seat(_ place: Int) -> Activation.ID {
        let shops = [self] + town.realms.filter { $0 != realm }.compactMap { town.shops[$0] }
        let seats = shops.compactMap { $0.seatIDs.indices.contains(place) ? $0.seatIDs[place] : nil }
        return seats.first ?? Activation.ID(high: 1, low: UInt64(place))
    }

    func email(ofCustomer number: Int) throws -> EmailAddress {
        try EmailAddress("c\(number)@\(town.number).example.com")
    }

    func remember(_ license: License.ID) {
        references[license.text] = .license(licenses.count)
        licenses.append(license)
    }

    func remember(_ gift: GiftID) {
        references[gift.text] = .gift(gifts.count)
        gifts.append(gift)
    }

    func reference(_ text: String) -> Paper.Reference {
        if let known = references[text] ?? storefront?.names[text] { return known }
        let reference = Paper.Reference.trial(trials.count)
        trials[text] = trials.count
        references[text] = reference
        return reference
    }

    func caller<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Caller {
        let principal = try CredentialService.principal(token: Array(token.utf8), at: time, in: db)
        return try #require(principal?.caller)
    }
}
