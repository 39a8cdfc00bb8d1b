import Diagnostics
import HTTPServer
import LicensingServices
import Storage
import Synchronization
import SystemPrimitives

/// Which requests get a line in the log; health checks never do.
public enum RequestLogging: UInt8, Sendable {
    /// Every one.
    case all
    /// Those answered with a status from 400 on.
    case failures
    /// None.
    case off
}

/// What all loops of a server look at.
final class ServerShared: Sendable {
    let queue: APIWriterQueue
    let worker: WorkerQueue
    let database: Database
    let log: Log
    let metrics: ServerMetrics
    let limiter: RateLimiter
    /// The URL that clients use; `nil`: not configured.
    let baseURL: String?
    /// The description of the interface, made once.
    let interface: [UInt8]
    /// The place of each route, by its name, in the list that the metrics were made with.
    let routeNumbers: [String: Int]
    private let requestLoggingNumber: Atomic<UInt8>
    /// What loops saw of installs and the writer could not write: the next flush tries again.
    let unwritten = Guarded(Sightings())
    /// Set before the loops are told to stop: every tick flushes then.
    let isStopping = Atomic<Bool>(false)

    init(
        queue: APIWriterQueue,
        worker: WorkerQueue = WorkerQueue(),
        database: Database,
        log: Log,
        metrics: ServerMetrics,
        limiter: RateLimiter = RateLimiter(RateLimits()),
        baseURL: String?,
        requestLogging: RequestLogging,
        routes: [Endpoint]
    ) {
        self.queue = queue
        self.worker = worker
        self.database = database
        self.log = log
        self.metrics = metrics
        self.limiter = limiter
        self.baseURL = baseURL
        interface = OpenAPIDocument.text(of: routes, baseURL: baseURL)
        requestLoggingNumber = Atomic(requestLogging.rawValue)
        routeNumbers = Dictionary(
            routes.enumerated().map { ($0.element.name, $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Which requests get a line in the log; may be changed while the server runs.
    var requestLogging: RequestLogging {
        get { RequestLogging(rawValue: requestLoggingNumber.load(ordering: .relaxed)) ?? .all }
        set { requestLoggingNumber.store(newValue.rawValue, ordering: .relaxed) }
    }
}
