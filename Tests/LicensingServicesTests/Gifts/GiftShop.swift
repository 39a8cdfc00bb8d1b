import AppStore
import Bundles
import Cryptography
import Foundation
import Licensing
import Storage
import Testing

@testable import LicensingServices

/// A database in a folder of its own with one product that is sold in every way there is; opened anew for each step, as
/// after a restart. The folder goes away with it.
final class GiftShop: Sendable {
    let folder: String
    let database: Database
    let keys: DataKeys
    let gifts: GiftService
    let tiers: SpendTierService
    let store: StoreService
    let seats: SeatService
    let licenses: LicenseService
    let installs: InstallDirectory
    let vendor: Vendor
    let product: Product
    let production: StoreConnectionID
    let sandbox: StoreConnectionID

    /// 2026-11-30T12:00:00Z.
    static let noon = Timestamp(secondsSinceEpoch: 1_796_040_000)

    static func day(_ day: Int64, second: Int64 = 0) -> Timestamp { noon.adding(seconds: day * 86_400 + second) }

    init(trial: CalendarDuration? = nil, leaseSeconds: Int64? = nil) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("gifts-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        var options = Database.Options(now: { 1_796_040_000_000_000 })
        options.synchronous = .off
        database = Database(folder: folder, options: options)
        keys = try DataKeys.random()
        let entropy = SystemEntropy()
        gifts = GiftService(keys: keys)
        tiers = SpendTierService(keys: keys)
        store = StoreService(keys: keys, entropy: entropy)
        seats = SeatService(entropy: entropy)
        licenses = LicenseService(keys: keys, entropy: entropy)
        installs = InstallDirectory(entropy: entropy)
        vendor = Vendor(id: try Identifier(at: Self.noon, entropy: entropy), slug: try Slug("acme"), name: "Acme")
        let code = try PlanCode("pro")
        let productID = try Product.ID(at: Self.noon, entropy: entropy)
        product = Product(
            id: productID,
            vendor: vendor.id,
            slug: try Slug("editor"),
            name: "Editor",
            settings: ProductSettings(trialDuration: trial, trialPlan: code)
        )
        let features = try ["pro", "export"].map { try FeatureCode($0) }
        let plan = Plan(
            id: try Identifier(at: Self.noon, entropy: entropy),
            product: product.id,
            code: code,
            name: "Pro",
            features: [features[0]],
            leaseSeconds: leaseSeconds
        )
        let signing = try SigningKeyService(keys: keys, entropy: entropy).initialKeys(of: vendor.id, at: Self.noon)
        let made = try [StoreEnvironment.production, .sandbox].map { environment in
            StoreConnection(
                id: try Identifier(at: Self.noon, entropy: entropy),
                product: productID,
                environment: environment,
                bundleID: "com.example.editor",
                renewalLeeway: .zero,
                products: [StoreProduct(id: "monthly", features: [features[0]])]
            )
        }
        (production, sandbox) = (made[0].id, made[1].id)
        let connection = try database.openForCommandLine(isMade: true)
        try connection.write { db in
            try VendorStore.insert(vendor, at: Self.noon, in: db)
            try ProductStore.insert(product, at: Self.noon, in: db)
            for feature in features {
                try FeatureStore.insert(
                    Feature(code: feature, name: feature.text),
                    of: product.id,
                    at: Self.noon,
                    in: db
                )
            }
            try PlanStore.insert(plan, at: Self.noon, in: db)
            for key in signing { try SigningKeyStore.insert(key, in: db) }
            for connection in made { try StoreConnectionStore.insert(connection, at: Self.noon, in: db) }
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func read<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
        try database.openForCommandLine(isMade: false).snapshot(body)
    }

    func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try database.openForCommandLine(isMade: false).write(body)
    }

    func actor(at now: Timestamp = GiftShop.noon) -> Actor { Actor(name: "command-line:test", now: now) }

    func caller(_ mode: Mode = .live) -> Caller { Caller(vendor: vendor, product: product, mode: mode) }

    // MARK: Installs

    func digest(_ install: String) throws -> Digest256 {
        keys.digest(of: try InstallID("the-install-named-\(install)"), product: product.id)
    }

    func claim(_ install: String) throws -> InstallClaim {
        InstallClaim(digest: try digest(install), fingerprint: nil, device: .none, subject: "subject-of-\(install)")
    }

    @discardableResult
    func contact(_ install: String, mode: Mode = .live, at now: Timestamp = GiftShop.noon) throws -> Install {
        let claim = try claim(install)
        return try write { db in try installs.record(claim, of: caller(mode), at: now, in: db) }
    }

    /// What the install's bundle is made from at `now`.
    func state(_ install: String, mode: Mode = .live, at now: Timestamp = GiftShop.noon) throws -> InstallState {
        let claim = try claim(install)
        return try read { db in
            let row = try installs.find(claim, of: caller(mode), in: db)
            return try BundleService()
                .state(of: row, subject: claim.subject, nonce: nil, for: caller(mode), at: now, in: db)
        }
    }

    /// Its live grants: `feature source`, and those by gifts alone.
    func grants(_ install: String, mode: Mode = .live, at now: Timestamp = GiftShop.noon) throws -> [String] {
        try Grant.listed(state(install, mode: mode, at: now).facts.grants, at: now)
            .map { "\($0.feature) \($0.source.rawValue)" }
    }

    func giftGrants(_ install: String, mode: Mode = .live, at now: Timestamp = GiftShop.noon) throws -> [Grant] {
        try state(install, mode: mode, at: now).facts.grants.filter { $0.source == .gift && $0.isLive(at: now) }
    }

    // MARK: Gifts and tiers

    @discardableResult
    func give(
        _ features: [String] = ["export"],
        to recipient: GiftRecipient,
        mode: Mode? = nil,
        until end: Timestamp? = nil,
        at now: Timestamp = GiftShop.noon
    ) throws -> Gift {
        let codes = try features.map { try FeatureCode($0) }
        let id = try GiftID(at: now, entropy: SystemEntropy())
        return try write { db in
            try gifts.create(
                id,
                of: codes,
                to: recipient,
                mode: mode,
                until: end,
                of: product,
                by: actor(at: now),
                in: db
            )
        }
    }

    @discardableResult
    func end(_ gift: Gift, at now: Timestamp = GiftShop.noon) throws -> CatalogService.Outcome {
        try write { db in try gifts.end(gift.id, by: actor(at: now), in: db).outcome }
    }

    @discardableResult
    func tier(
        _ code: String,
        _ threshold: Int64,
        currency: String = "USD",
        duration: CalendarDuration? = nil
    ) throws -> SpendTier {
        let code = try PlanCode(code)
        let changes = SpendTierChanges(
            currency: currency,
            thresholdMilliunits: threshold,
            features: [try FeatureCode("export")],
            duration: duration.map { .set($0) }
        )
        let id = try SpendTierID(at: Self.noon, entropy: SystemEntropy())
        return try write { db in try tiers.create(id, code, with: changes, of: product, by: actor(), in: db) }
    }

    /// The codes of the tiers that an install has.
    func reached(_ install: String, mode: Mode = .live, at now: Timestamp = GiftShop.noon) throws -> [String] {
        let tiers = try read { db in try SpendTierService.all(of: product, in: db) }
        let references = Set(try giftGrants(install, mode: mode, at: now).map(\.reference))
        return tiers.filter { references.contains(.gift($0.gift)) }.map(\.code.text)
    }

    // MARK: Licenses

    /// A license with its key.
    func issue(
        mode: Mode = .live,
        end: EndChoice = .plan,
        customer: String? = nil
    ) throws -> (license: License, key: LicenseKey) {
        let order = LicenseOrder(
            plan: try PlanCode("pro"),
            mode: mode,
            end: end,
            customerEmail: try customer.map { text in try EmailAddress(text) }
        )
        let draft = try licenses.draft(order, for: product, at: Self.noon)
        let issued = try write { db in try licenses.issue(draft, of: product, by: actor(), in: db) }
        return (issued.license, try #require(issued.key))
    }

    func activate(_ key: LicenseKey, on install: String, mode: Mode = .live, at now: Timestamp = GiftShop.noon) throws {
        let (key, claim) = (KeyClaim(digest: keys.digest(of: key, product: product.id)), try claim(install))
        let outcome = try write { db in
            try seats.activate(key, on: claim, replacing: nil, for: caller(mode), at: now, in: db)
        }
        guard case .granted? = outcome?.decision else {
            Issue.record("the seat was refused")
            return
        }
    }

    // MARK: The store

    /// A paid period of `line`; what is signed later is newer.
    func purchase(
        _ line: String,
        period: Int = 1,
        price: Int64? = 20_000,
        currency: String = "USD",
        environment: StoreEnvironment = .production,
        at purchasedAt: Timestamp = GiftShop.day(-1),
        expiresAt: Timestamp = GiftShop.day(1000),
        revokedAt: Timestamp? = nil,
        signed: Int64 = 1
    ) -> StoreTransaction {
        StoreTransaction(
            transactionID: "\(line)-\(period)",
            originalTransactionID: line,
            webOrderLineItemID: "\(line)-\(period)",
            productID: "monthly",
            bundleID: "com.example.editor",
            environment: environment,
            type: .autoRenewable,
            purchasedAt: purchasedAt,
            originallyPurchasedAt: purchasedAt,
            expiresAt: expiresAt,
            signedMilliseconds: signed,
            revokedAt: revokedAt,
            priceMilliunits: price,
            currency: currency
        )
    }

    /// An app presents a transaction that was found genuine.
    func present(
        _ transaction: StoreTransaction,
        by install: String,
        mode: Mode = .live,
        at now: Timestamp = GiftShop.noon
    ) throws {
        var evidence = StoreEvidence()
        evidence.transaction = StoreEvidence.Genuine(
            value: transaction,
            connection: transaction.environment == .production ? production : sandbox,
            jws: Array("\(transaction)".utf8)
        )
        let (shown, claim) = (evidence, try claim(install))
        _ = try write { db in try store.verify(shown, by: claim, for: caller(mode), at: now, in: db) }
    }

    // MARK: The audit log

    func audited() throws -> [String] {
        try read { db in
            guard case .sound = try AuditTrail(keys: keys).verify(in: db) else {
                Issue.record("the audit chain is broken")
                return []
            }
            return try AuditTrail.list(of: vendor.id, before: nil, limit: 1000, in: db).reversed().map(\.action)
        }
    }
}

/// Every order of `items`.
func orders<Item>(_ items: [Item]) -> [[Item]] {
    guard let first = items.first else { return [[]] }
    return orders(Array(items.dropFirst())).flatMap { rest in
        (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
    }
}
