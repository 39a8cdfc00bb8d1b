import AppStore
import Bundles
import Cryptography
import Diagnostics
import Foundation
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import SystemPrimitives
import Testing

@testable import CountersignAPI
@testable import HTTPServer

/// A folder that goes away with its last user.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("api-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A clock that a test sets; without a time it is not trusted.
final class SettableClock: WallClock {
    private let time: Mutex<Timestamp?>

    init(_ time: Timestamp) { self.time = Mutex(time) }

    func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp { try now() }

    func now() throws(ClockUnsure) -> Timestamp {
        guard let now = time.withLock({ $0 }) else { throw ClockUnsure(reason: "a test says so") }
        return now
    }

    func set(_ now: Timestamp) { time.withLock { $0 = now } }

    func advance(by seconds: Int64) { time.withLock { $0 = $0?.adding(seconds: seconds) } }

    func distrust() { time.withLock { $0 = nil } }
}

/// What is sold in these tests: two vendors, one of them with two products, and credentials of all kinds.
struct Catalog: Sendable {
    let folder: TemporaryFolder
    let database: Database
    let queue: APIWriterQueue
    let services: Services
    let clock: SettableClock
    let log: Log
    let metrics: ServerMetrics

    let vendor: Vendor
    let stranger: Vendor
    let editor: Product
    let viewer: Product
    let foreign: Product

    /// Tokens: of the editor's app, live and test; of the viewer's and the stranger's apps; secret and unified ones.
    let appToken: String
    let testToken: String
    let viewerToken: String
    let foreignToken: String
    let secretToken: String
    let productSecretToken: String
    let unifiedToken: String
    let revokedToken: String
    let credential: CredentialID

    static let start = Timestamp(secondsSinceEpoch: 1_800_000_000)

    /// Makes the catalog in a new database, and the writer behind it.
    ///
    /// - Parameters:
    ///   - guarded: the clock of requests and commits, in place of the one that tests set.
    ///   - queueClock: what the writer's queue measures waiting times by.
    static func open(
        settings: ProductSettings = ProductSettings(),
        queueCapacity: Int = 4096,
        guarded: GuardedClock? = nil,
        vfs: String? = nil,
        queueClock: (@Sendable () -> UInt64)? = nil
    ) throws -> sending OpenCatalog {
        let folder = try TemporaryFolder()
        let clock = SettableClock(start)
        var options = Database.Options(now: { 1_800_000_000_000_000 })
        if let guarded { options.date = { (last) throws(StorageError) in try guarded.date(after: last) } }
        options.synchronous = .off
        options.lockWait = .seconds(5)
        // No test is to fail because the machine has other things to do.
        options.batchWait = .seconds(60)
        options.readWait = .seconds(60)
        if let vfs {
            // A disk that can be told to fail must be asked.
            options.synchronous = .full
            options.vfs = vfs
        }
        let database = Database(folder: folder.path, options: options)
        // Nor is a job late in it, or a batch too long: its clock stands still.
        let now = MonotonicClock.nanoseconds()
        let queue = APIWriterQueue(capacity: queueCapacity, clock: queueClock ?? { now })
        let writer = try database.openForServing(queue)
        let services = Services(keys: try DataKeys.random(), clock: guarded ?? clock)
        let vendor = try Vendor(id: .fresh(), slug: Slug("acme"), name: "Acme")
        let stranger = try Vendor(id: .fresh(), slug: Slug("globex"), name: "Globex")
        let editor = try Product(
            id: .fresh(),
            vendor: vendor.id,
            slug: Slug("editor"),
            name: "Editor",
            keyPrefix: KeyPrefix("ACME"),
            settings: settings
        )
        let viewer = try Product(id: .fresh(), vendor: vendor.id, slug: Slug("viewer"), name: "Viewer")
        let foreign = try Product(id: .fresh(), vendor: stranger.id, slug: Slug("editor"), name: "Editor")

        func draft(_ kind: CredentialKind, _ mode: Mode = .live, of product: Product?) throws -> CredentialService.Draft
        {
            try services.credentials.draft(
                kind: kind,
                mode: mode,
                vendor: product?.vendor ?? vendor.id,
                product: product?.id,
                name: "test",
                at: start
            )
        }
        let app = try draft(.publishable, of: editor)
        let test = try draft(.publishable, .test, of: editor)
        let viewerApp = try draft(.publishable, of: viewer)
        let foreignApp = try draft(.publishable, of: foreign)
        let secret = try draft(.secret, of: nil)
        let productSecret = try draft(.secret, of: editor)
        let unified = try draft(.unified, of: nil)
        let revoked = try draft(.publishable, of: editor)
        let keys = try [vendor, stranger].flatMap { try services.signingKeys.initialKeys(of: $0.id, at: start) }
        try writer.write { db in
            for vendor in [vendor, stranger] { try VendorStore.insert(vendor, at: start, in: db) }
            for product in [editor, viewer, foreign] {
                try ProductStore.insert(product, at: start, in: db)
                for code in ["pro", "export"] {
                    try FeatureStore.insert(
                        Feature(code: try FeatureCode(code), name: code),
                        of: product.id,
                        at: start,
                        in: db
                    )
                }
            }
            for key in keys { try SigningKeyStore.insert(key, in: db) }
            for draft in [app, test, viewerApp, foreignApp, secret, productSecret, unified, revoked] {
                try services.credentials.insert(draft, in: db)
            }
            var ended = revoked.issued.record
            ended.revokedAt = start
            try CredentialStore.update(ended, in: db)
        }
        let catalog = Catalog(
            folder: folder,
            database: database,
            queue: queue,
            services: services,
            clock: clock,
            log: Log(milliseconds: { 1_800_000_000_000 }),
            metrics: Routes.makeMetrics(),
            vendor: vendor,
            stranger: stranger,
            editor: editor,
            viewer: viewer,
            foreign: foreign,
            appToken: app.issued.token,
            testToken: test.issued.token,
            viewerToken: viewerApp.issued.token,
            foreignToken: foreignApp.issued.token,
            secretToken: secret.issued.token,
            productSecretToken: productSecret.issued.token,
            unifiedToken: unified.issued.token,
            revokedToken: revoked.issued.token,
            credential: app.issued.record.id
        )
        return OpenCatalog(catalog: catalog, writer: writer)
    }
}

/// A catalog, and the one writer of its database.
struct OpenCatalog: ~Copyable {
    let catalog: Catalog
    let writer: APIWriter
}

extension Identifier {
    static func fresh() throws -> Identifier { try Identifier(at: Catalog.start, entropy: SystemEntropy()) }
}

extension Catalog {
    var shared: ServerShared { shared(limiter: RateLimiter(RateLimits())) }

    func shared(limiter: RateLimiter, routes: [Endpoint] = Routes.all) -> ServerShared {
        ServerShared(
            queue: queue,
            database: database,
            log: log,
            metrics: metrics,
            limiter: limiter,
            baseURL: nil,
            requestLogging: .all,
            routes: routes
        )
    }

    /// The same catalog in a copy of its folder.
    func moved(to folder: TemporaryFolder) -> Catalog {
        Catalog(
            folder: folder,
            database: Database(folder: folder.path, options: database.options),
            queue: APIWriterQueue(capacity: 64),
            services: services,
            clock: clock,
            log: log,
            metrics: metrics,
            vendor: vendor,
            stranger: stranger,
            editor: editor,
            viewer: viewer,
            foreign: foreign,
            appToken: appToken,
            testToken: testToken,
            viewerToken: viewerToken,
            foreignToken: foreignToken,
            secretToken: secretToken,
            productSecretToken: productSecretToken,
            unifiedToken: unifiedToken,
            revokedToken: revokedToken,
            credential: credential
        )
    }

    func sell(
        _ product: Product,
        mode: Mode = .live,
        end: EndChoice = .plan,
        startsAt: Timestamp? = nil,
        _ change: (inout Plan) throws -> Void = { _ in },
        in db: borrowing WriteTransaction
    ) throws -> SoldLicense {
        let id = try Plan.ID.fresh()
        var plan = Plan(
            id: id,
            product: product.id,
            code: try PlanCode("p\(id.low)"),
            name: "Plan",
            features: [try FeatureCode("export"), try FeatureCode("pro")],
            seatLimit: .limited(2)
        )
        try change(&plan)
        try PlanStore.insert(plan, at: Self.start, in: db)
        let service = LicenseService(keys: services.keys, entropy: SystemEntropy())
        let order = LicenseOrder(plan: plan.code, mode: mode, end: end, startsAt: startsAt)
        let draft = try service.draft(order, for: product, at: Self.start)
        let issued = try service.issue(draft, of: product, by: Actor(name: "test", now: Self.start), in: db)
        return SoldLicense(id: issued.license.id, plan: plan, key: try #require(issued.key).text)
    }

    /// Checks a bundle as the editor's app would.
    func verify(_ token: String, for install: Int, nonce: String?, mode: Mode = .live) throws -> LicenseBundle {
        let pins = try database.openReader().snapshot { db in
            try SigningKeyStore.all(of: vendor.id, in: db).filter { $0.mode == mode }
        }
        let verifier = BundleVerifier(
            pinnedKeys: try pins.map { try P256.PublicKey(spki: $0.spki) },
            issuer: vendor.issuer,
            audience: editor.slug.text,
            mode: mode
        )
        return try verifier.verify(
            Array(token.utf8),
            subject: LicenseBundle.subject(product: editor.slug, install: try InstallID(installID(install))),
            context: BundleVerifier.Context(accepted: nil, clock: try clock.now(), floor: nil, requestNonce: nonce)
        )
    }
}
