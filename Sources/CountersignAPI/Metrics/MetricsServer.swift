import CountersignWire
import Diagnostics
public import HTTPServer
import LicensingServices
import Storage
import SystemPrimitives

/// `GET /metrics`, on a listener of its own: one loop, which holds up nobody else.
public final class MetricsServer: Sendable {
    private let server: Server<MetricsState>

    private init(_ server: Server<MetricsState>) { self.server = server }

    /// Listens and serves; metrics can be asked for when this returns.
    ///
    /// - Parameters:
    ///   - address: where to listen.
    ///   - api: whose numbers are told; must be stopped after this one.
    /// - Throws: `ListenError`, `SystemError`, `StorageError`; nothing is left running then.
    public static func start(_ address: ListenAddress, for api: APIServer) throws -> MetricsServer {
        var options = ServerOptions()
        options.addresses = [address]
        options.bodyBytes = 1024
        options.connections = 64
        options.shutdownGraceSeconds = 1
        let router = Router<MetricsState>([
            Route("metrics", .get, "/metrics") { _, context in .reply(try context.metrics()) }
        ])
        let server = try Server.start(options, router: router, mailboxes: Mailbox.make(loops: 1)) { _ in
            try MetricsState.open(api)
        }
        return MetricsServer(server)
    }

    /// Where it listens, with the ports the system chose.
    public var addresses: [ListenAddress] { server.addresses }

    /// Ends; blocks for a moment.
    public func stop() {
        server.stop()
        server.join()
    }
}

/// What the loop of the metrics owns: a reader, and the counts of rows as of the last minute.
struct MetricsState: ~Copyable, LoopContext {
    /// Nothing here is done elsewhere.
    typealias Job = Never

    private let api: APIServer
    private let reader: Reader
    private var inventory: [MetricFamily] = []
    /// Until when the counts of rows are told, on the monotonic clock in nanoseconds; nil before the first.
    private var isFreshUntil: UInt64?

    /// Counts of rows walk over whole indexes: they are told for so many times as long as it took to make them.
    private static let restForWork: UInt64 = 50

    private init(_ api: APIServer, _ reader: consuming Reader) {
        self.api = api
        self.reader = reader
    }

    static func open(_ api: APIServer) throws -> sending MetricsState {
        MetricsState(api, try api.openReader())
    }

    mutating func metrics() throws -> HTTPResponse {
        let now = MonotonicClock.nanoseconds()
        if isFreshUntil.map({ now >= $0 }) ?? true {
            inventory = try reader.snapshot { db in try Self.inventory(in: db) }
            let done = MonotonicClock.nanoseconds()
            isFreshUntil = done + (done - now) * Self.restForWork
        }
        return HTTPResponse(.ok, contentType: MetricsText.contentType, body: api.metricsText(adding: inventory))
    }

    static func inventory(in db: borrowing Snapshot) throws -> [MetricFamily] {
        [
            MetricFamily(
                "countersign_licenses",
                "Licenses by product, mode and standing, counted a moment ago.",
                .gauge,
                try InventoryStore.licenses(in: db).map {
                    MetricFamily.Sample(
                        [("product", $0.product), ("mode", $0.mode), ("standing", $0.standing)],
                        $0.count
                    )
                }
            ),
            MetricFamily(
                "countersign_installs",
                "Installs by product and mode, counted a moment ago.",
                .gauge,
                try InventoryStore.installs(in: db).map {
                    MetricFamily.Sample([("product", $0.product), ("mode", $0.mode)], $0.count)
                }
            ),
        ]
    }

    // MARK: LoopContext

    mutating func submit(_ submissions: inout [Submission<Never>]) {}

    mutating func response(to error: any Error, for request: RequestOutline) -> HTTPResponse {
        var problem = Problem(error)
        problem.body.requestID = request.requestID
        if let report = problem.report { api.report(report, of: request) }
        return problem.response()
    }

    mutating func didRespond(_ summary: RequestSummary) {}

    mutating func tick() {}
}
