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
import Testing

@testable import CountersignAPI
@testable import HTTPServer

/// A folder that goes away with its last user.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("api-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
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
    /// - Parameter guarded: the clock of requests and commits, in place of the one that tests set.
    static func open(
        settings: ProductSettings = ProductSettings(),
        queueCapacity: Int = 4096,
        guarded: GuardedClock? = nil,
        vfs: String? = nil
    ) throws -> sending OpenCatalog {
        let folder = try TemporaryFolder()
        let clock = SettableClock(start)
        var options = Database.Options(now: { 1_800_000_000_000_000 })
        if let guarded { options.date = { (last) throws(StorageError) in try guarded.date(after: last) } }
        options.synchronous = .off
        options.lockWait = .seconds(5)
        // No test is to fail because the machine has other things to do.
        options.batchWait = .seconds(60)
        if let vfs {
            // A disk that can be told to fail must be asked.
            options.synchronous = .full
            options.vfs = vfs
        }
        let database = Database(folder: folder.path, options: options)
        let queue = APIWriterQueue(capacity: queueCapacity)
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

/// A license and the key that proves it.
struct SoldLicense: Sendable {
    let id: License.ID
    let plan: Plan
    let key: String
}

/// The API as one loop sees it, without threads: what a handler asks of the writer is done at once.
struct TestAPI: ~Copyable {
    /// A request that was to write was answered without.
    struct NothingWritten: Error {}

    let catalog: Catalog
    let writer: APIWriter
    var context: LoopState
    /// The worker's.
    var chains = ChainCache()
    private let router = Routes.router

    private init(_ opened: consuming OpenCatalog, context: consuming LoopState) {
        catalog = opened.catalog
        writer = opened.writer
        self.context = context
    }

    static func open(
        settings: ProductSettings = ProductSettings(),
        limiter: RateLimiter = RateLimiter(RateLimits()),
        guarded: GuardedClock? = nil
    ) throws -> TestAPI {
        let opened = try Catalog.open(settings: settings, guarded: guarded)
        let shared = opened.catalog.shared(limiter: limiter)
        let context = try LoopState.open(opened.catalog.services, shared)
        return TestAPI(opened, context: context)
    }

    /// A server that starts on what is there, with nothing in memory.
    static func reopen(_ catalog: Catalog) throws -> TestAPI {
        let writer = try catalog.database.openForServing(catalog.queue)
        let services = Services(keys: catalog.services.keys, clock: catalog.clock)
        // The description of the interface is asked for elsewhere.
        let context = try LoopState.open(services, catalog.shared(limiter: RateLimiter(RateLimits()), routes: []))
        return TestAPI(OpenCatalog(catalog: catalog, writer: writer), context: context)
    }

    // MARK: What is sold

    /// Sells a license under a plan of its own, by default with two seats and two features and without an end.
    func sell(
        _ product: Product? = nil,
        mode: Mode = .live,
        end: EndChoice = .plan,
        startsAt: Timestamp? = nil,
        _ change: (inout Plan) throws -> Void = { _ in }
    ) throws -> SoldLicense {
        try writer.write { db in
            try catalog.sell(product ?? catalog.editor, mode: mode, end: end, startsAt: startsAt, change, in: db)
        }
    }

    func edit(_ license: SoldLicense, _ change: (inout License) -> Void) throws {
        try writer.write { db in
            var row = try #require(try LicenseStore.find(license.id, in: db))
            change(&row)
            try LicenseStore.update(row, in: db)
        }
    }

    func reissue(_ license: SoldLicense) throws -> String {
        let service = LicenseService(keys: catalog.services.keys, entropy: SystemEntropy())
        let key = try service.newKey(for: catalog.editor, mode: .live)
        return try writer.write { db in
            let row = try #require(try LicenseStore.find(license.id, in: db))
            _ = try service.reissue(
                row,
                of: catalog.editor,
                with: key,
                revokesSeats: false,
                because: "test",
                by: Actor(name: "test", now: Catalog.start),
                in: db
            )
            return key.key.text
        }
    }

    // MARK: Calls

    /// Sends one request as bytes.
    mutating func send(_ text: String) -> Received { exchange(Array(text.utf8)) }

    /// Posts JSON with the editor's credential.
    mutating func post(_ path: String, _ body: String, token: String? = nil, fields: [String] = []) -> Received {
        send(request("POST", path, token: token ?? catalog.appToken, fields: fields, body: body))
    }

    /// Activates, by default for an install of a number.
    mutating func activate(_ key: String, _ install: Int = 1, more: String = "") -> Received {
        post("/v1/activate", #"{"license_key":"\#(key)","install_id":"\#(installID(install))"\#(more)}"#)
    }

    mutating func validate(_ key: String, _ install: Int? = 1, more: String = "") -> Received {
        let id = install.map { #","install_id":"\#(installID($0))""# } ?? ""
        return post("/v1/validate", #"{"license_key":"\#(key)"\#(id)\#(more)}"#)
    }

    mutating func call(_ path: String, _ key: String, _ install: Int = 1, more: String = "") -> Received {
        post(path, #"{"license_key":"\#(key)","install_id":"\#(installID(install))"\#(more)}"#)
    }

    /// Sends one request as it stands.
    mutating func sendBytes(_ bytes: [UInt8]) -> Received { exchange(bytes) }

    /// Sends one request; the answer must be as the interface is described.
    mutating func exchange(_ bytes: [UInt8], from peer: PeerAddress = .loopback) -> Received {
        let received = answer(to: bytes, from: peer)
        DescribedInterface.ours?.check(received, to: bytes)
        return received
    }

    /// The same for a database that holds what the description does not know.
    mutating func answer(to bytes: [UInt8], from peer: PeerAddress = .loopback) -> Received {
        let outline = RequestOutline.test()
        do {
            switch try router.outcome(of: bytes, from: peer, in: &context) {
            case .reply(let response): return Received(response, wrote: false)
            case .job(let job):
                let render: Render<LoopState>
                var wrote = true
                switch job.work {
                case .write(let work): render = try write(work)
                case .compute(let work):
                    switch try work(&chains) {
                    case .answer(let answer):
                        render = answer
                        wrote = false
                    case .write(let work): render = try write(work)
                    }
                }
                do {
                    return Received(try render(&context), wrote: wrote)
                } catch {
                    return Received(context.response(to: error, for: outline), wrote: wrote)
                }
            }
        } catch {
            return Received(context.response(to: error, for: outline), wrote: false)
        }
    }

    /// Does one job, and charges for it as the writer would.
    private func write(_ work: WriteJob) throws -> Render<LoopState> {
        let charges = Charges(context.shared.limiter)
        do {
            let render = try writer.write { db in
                charges.begin()
                return try work(db, charges)
            }
            charges.settle(isCommitted: true)
            return render
        } catch {
            charges.settle(isCommitted: false)
            throw error
        }
    }

    /// Sends requests of which each is recognized before any is written, as on several loops at once.
    mutating func together(_ requests: [String], from peer: PeerAddress) throws -> [Received] {
        var jobs: [Job] = []
        for text in requests {
            guard case .job(let job) = try router.outcome(of: Array(text.utf8), from: peer, in: &context) else {
                throw NothingWritten()
            }
            jobs.append(job)
        }
        return jobs.map { job in
            do {
                guard case .write(let work) = job.work else { throw NothingWritten() }
                return Received(try write(work)(&context), wrote: true)
            } catch {
                return Received(context.response(to: error, for: .test()), wrote: false)
            }
        }
    }

    /// The install's row.
    func install(_ number: Int) throws -> Install? {
        let keys = catalog.services.keys
        let digest = keys.digest(of: try InstallID(installID(number)), product: catalog.editor.id)
        return try writer.write { db in
            try InstallStore.find(digest, of: catalog.editor.id, mode: .live, in: db)
        }
    }

    /// Every row of a table that calls of apps write to, counted.
    func rowCounts() throws -> [Int] {
        try writer.write { db in
            [
                try db.first("SELECT count(*) FROM installs", { try $0.int() }) ?? 0,
                try db.first("SELECT count(*) FROM activations", { try $0.int() }) ?? 0,
                try db.first("SELECT count(*) FROM activations WHERE released_at IS NULL", { try $0.int() }) ?? 0,
            ]
        }
    }

    /// The verified bundle of an answer.
    func bundle(
        in received: Received,
        for install: Int = 1,
        nonce: String? = nil,
        mode: Mode = .live
    ) throws -> LicenseBundle {
        try catalog.verify(try #require(received["bundle"]?.string), for: install, nonce: nonce, mode: mode)
    }
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

/// The id of an install by its number.
func installID(_ number: Int) -> String { "install-number-\(number)-of-the-tests" }

/// An answer, as a client reads it.
struct Received: Sendable {
    let status: Int
    let contentType: String?
    let fields: [HTTPField]
    let text: String
    /// Whether it went through the writer.
    let wrote: Bool
    private let document: JSONDocument?

    init(_ response: HTTPResponse, wrote: Bool) {
        status = response.status.code
        contentType = response.contentType
        fields = response.fields
        text = String(decoding: response.body, as: UTF8.self)
        document = try? JSONDocument(parsing: response.body)
        self.wrote = wrote
    }

    init(status: Int, fields: [HTTPField], body: String) {
        self.status = status
        contentType = fields.first { $0.name == "Content-Type" }?.value
        self.fields = fields
        text = body
        document = try? JSONDocument(parsing: Array(body.utf8))
        wrote = false
    }

    subscript(_ path: String...) -> JSONValue? {
        var value = document?.root
        for name in path { value = value?[name] }
        return value
    }

    var code: String? { self["code"]?.string }
    var verdict: String? { self["verdict"]?.string }

    /// The members of the top level, in their order.
    var members: [String] { document?.root.members.map { $0.map(\.name) } ?? [] }

    /// The pointers of what is wrong.
    var pointers: [String] {
        guard let errors = self["errors"]?.elements else { return [] }
        return errors.compactMap { $0["pointer"]?.string }
    }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// A request with a JSON body.
func request(
    _ method: String,
    _ path: String,
    token: String?,
    contentType: String? = "application/json",
    fields: [String] = [],
    body: String? = nil
) -> String {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
    if let token { text += "Authorization: Bearer \(token)\r\n" }
    if let contentType, body != nil { text += "Content-Type: \(contentType)\r\n" }
    for field in fields { text += field + "\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return text + "\r\n" + (body ?? "")
}

extension RequestOutline {
    static func test(requestID: String = "test") -> RequestOutline {
        RequestOutline(route: "test", method: .post, requestID: requestID, peer: .loopback)
    }
}
