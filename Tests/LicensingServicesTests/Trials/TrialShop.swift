import Bundles
import Cryptography
import Foundation
import Licensing
import Storage
import Testing

@testable import LicensingServices

/// A database in a folder of its own with one product that may be tried out; opened anew for each step, as after a
/// restart. The folder goes away with it.
final class TrialShop: Sendable {
    let folder: String
    let database: Database
    let keys: DataKeys
    let trials: TrialService
    let installs: InstallDirectory
    let catalog: CatalogService
    let offers: OfferService
    let vendor: Vendor
    let product: Product.ID

    /// 2026-11-30T12:00:00Z.
    static let noon = Timestamp(secondsSinceEpoch: 1_796_040_000)

    init(_ settings: [ProductSetting: String] = [:]) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("trials-\(UUID().uuidString)").path
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
        trials = TrialService(keys: keys, entropy: entropy)
        installs = InstallDirectory(entropy: entropy)
        catalog = CatalogService(keys: keys, entropy: entropy)
        offers = OfferService(keys: keys, entropy: entropy)
        vendor = Vendor(id: try Identifier(at: Self.noon, entropy: entropy), slug: try Slug("acme"), name: "Acme")
        product = try Identifier(at: Self.noon, entropy: entropy)
        let row = Product(id: product, vendor: vendor.id, slug: try Slug("editor"), name: "Editor")
        let feature = try FeatureCode("pro_unlock")
        let plan = Plan(
            id: try Identifier(at: Self.noon, entropy: entropy),
            product: product,
            code: try PlanCode("pro"),
            name: "Pro",
            features: [feature]
        )
        let signing = try SigningKeyService(keys: keys, entropy: entropy).initialKeys(of: vendor.id, at: Self.noon)
        let connection = try database.openForCommandLine(isMade: true)
        try connection.write { db in
            try VendorStore.insert(vendor, at: Self.noon, in: db)
            try ProductStore.insert(row, at: Self.noon, in: db)
            try FeatureStore.insert(Feature(code: feature, name: "Pro"), of: product, at: Self.noon, in: db)
            try PlanStore.insert(plan, at: Self.noon, in: db)
            for key in signing { try SigningKeyStore.insert(key, in: db) }
        }
        var settings = settings
        settings[.trialPlan] = "pro"
        try set(settings)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func read<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
        try database.openForCommandLine(isMade: false).snapshot(body)
    }

    func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try database.openForCommandLine(isMade: false).write(body)
    }

    func actor(day: Int64 = 0) -> Actor { Actor(name: "command-line:test", now: Self.day(day)) }

    static func day(_ day: Int64, second: Int64 = 0) -> Timestamp { noon.adding(seconds: day * 86_400 + second) }

    func row() throws -> Product { try read { db in try #require(try ProductStore.find(product, in: db)) } }

    /// `product set`.
    @discardableResult
    func set(
        _ settings: [ProductSetting: String],
        revivesTrials: Bool = false,
        day: Int64 = 0
    ) throws -> CatalogService.Outcome {
        let changes = ProductChanges(settings: settings.mapValues { $0 })
        return try write { db in
            let row = try #require(try ProductStore.find(product, in: db))
            return try catalog.edit(row, by: changes, revivesTrials: revivesTrials, actor: actor(day: day), in: db)
                .outcome
        }
    }

    func caller(_ mode: Mode = .live) throws -> Caller { Caller(vendor: vendor, product: try row(), mode: mode) }

    func claim(_ install: String, _ fingerprint: String? = nil) throws -> InstallClaim {
        InstallClaim(
            digest: keys.digest(of: try InstallID("the-install-named-\(install)"), product: product),
            fingerprint: try fingerprint.map {
                keys.digest(of: try DeviceFingerprint("the-machine-\($0)"), product: product)
            },
            device: .none,
            subject: "subject-of-\(install)"
        )
    }

    /// Any call but that of `/v1/trial`.
    @discardableResult
    func contact(
        _ install: String,
        _ fingerprint: String? = nil,
        mode: Mode = .live,
        at now: Timestamp = TrialShop.noon
    ) throws -> Install {
        let (claim, caller) = (try claim(install, fingerprint), try caller(mode))
        return try write { db in try installs.record(claim, of: caller, at: now, in: db) }
    }

    /// `/v1/trial`.
    @discardableResult
    func ask(
        _ install: String,
        _ fingerprint: String? = nil,
        start: Bool = true,
        firstLaunchAt: Timestamp? = nil,
        mode: Mode = .live,
        at now: Timestamp = TrialShop.noon
    ) throws -> TrialStatus {
        let (claim, caller) = (try claim(install, fingerprint), try caller(mode))
        let call = TrialCall(asksToStart: start, firstLaunchAt: firstLaunchAt)
        try write { db in try trials.start(call, by: claim, for: caller, at: now, in: db) }
        return try status(install, mode: mode, at: now)
    }

    /// What every answer says at `now`, read by a fresh connection.
    func status(_ install: String, mode: Mode = .live, at now: Timestamp) throws -> TrialStatus {
        try state(install, mode: mode, at: now).trial.status
    }

    func state(_ install: String, mode: Mode = .live, at now: Timestamp) throws -> InstallState {
        let (claim, caller) = (try claim(install), try caller(mode))
        return try read { db in
            let install = try installs.find(claim, of: caller, in: db)
            return try BundleService()
                .state(of: install, subject: claim.subject, nonce: nil, for: caller, at: now, in: db)
        }
    }

    /// The token that the install is told.
    func token(_ install: String, mode: Mode = .live, at now: Timestamp = TrialShop.noon) throws -> String? {
        let (claim, caller) = (try claim(install), try caller(mode))
        let sealed = try read { db -> TrialService.SealedToken? in
            guard let row = try installs.find(claim, of: caller, in: db) else { return nil }
            let standing = try TrialService.standing(of: row, under: caller.product.settings, at: now, in: db)
            return try TrialService.sealedToken(of: standing, for: row, in: db)
        }
        return try sealed.map { try trials.open($0) }
    }

    func trialCount() throws -> Int {
        try read { db in try db.first("SELECT count(*) FROM trials", { try $0.int() }) ?? 0 }
    }

    func installCount() throws -> Int {
        try read { db in try db.first("SELECT count(*) FROM installs", { try $0.int() }) ?? 0 }
    }

    func audited() throws -> [String] {
        try read { db in try db.all("SELECT action FROM audit ORDER BY position") { row in try row.text() } }
    }
}
