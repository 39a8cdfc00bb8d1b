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
