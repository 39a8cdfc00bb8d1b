/// The numbers of the licensing server: names and meanings, declared once.
public struct ServerMetrics: Sendable {
    /// The numbers themselves.
    public let metrics: Metrics
    /// Bundles signed.
    public let signatures: Counter
    /// Transactions committed by the writer.
    public let commits: Counter
    /// Transactions that could not be committed.
    public let failedCommits: Counter
    /// Write jobs in one transaction.
    public let batchJobs: Histogram
    /// Write jobs refused because the queue was full.
    public let refusedJobs: Counter
    /// Write jobs that wait.
    public let queuedJobs: Gauge
    /// Signatures of stores that wait for the worker.
    public let queuedWork: Gauge
    /// Bytes of the write-ahead log.
    public let walBytes: Gauge
    /// Connections open now.
    public let openConnections: Gauge
    /// Connections accepted.
    public let acceptedConnections: Counter
    /// Connections refused by a limit.
    public let refusedConnections: Counter
    /// Log lines dropped because whoever reads them was too slow.
    public let droppedLogLines: Counter
    /// Refused requests by error code.
    public let refusals: CounterSet

    private let requests: [Counter]
    private let latencies: [Histogram]
    private static let bounds: [UInt64] = [
        50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
    ]
    /// The statuses that are told apart; others count as `other`.
    private static let statuses = [
        200, 201, 202, 204, 304, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 414, 415, 417, 422, 429, 431, 500,
        501, 503, 505,
    ]

    /// Declares all numbers.
    ///
    /// - Parameters:
    ///   - routes: the paths of the routes with their placeholders, in the order of their numbers.
    ///   - codes: the error codes that exist.
    public init(routes: [String], codes: [String]) {
        var catalog = MetricsCatalog()
        var requests: [Counter] = []
        var latencies: [Histogram] = []
        for route in routes + ["none"] {
            for status in Self.statuses.map(String.init) + ["other"] {
                requests.append(
                    catalog.counter(
                        "countersign_requests_total",
                        "Requests answered, by route and status.",
                        labels: [("route", route), ("status", status)],
                        isSparse: true
                    )
                )
            }
        }
        for route in routes + ["none"] {
            latencies.append(
                catalog.histogram(
                    "countersign_request_duration_seconds",
                    "From the last byte of a request to the answer, by route.",
                    labels: [("route", route)],
                    unit: .microseconds,
                    bounds: Self.bounds,
                    isSparse: true
                )
            )
        }
        self.requests = requests
        self.latencies = latencies
        refusals = catalog.counters(
            "countersign_refusals_total",
            "Requests refused, by error code.",
            label: "code",
            values: codes
        )
        signatures = catalog.counter("countersign_signatures_total", "Documents signed.")
        commits = catalog.counter("countersign_commits_total", "Transactions committed by the writer.")
        failedCommits = catalog.counter("countersign_failed_commits_total", "Transactions that failed to commit.")
        batchJobs = catalog.histogram(
            "countersign_batch_jobs",
            "Write jobs in one transaction.",
            unit: .one,
            bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256]
        )
        refusedJobs = catalog.counter(
            "countersign_refused_jobs_total",
            "Jobs refused by a full queue, the writer's or the worker's."
        )
        queuedWork = catalog.gauge(
            "countersign_queued_verifications",
            "Signatures of stores that wait for the worker."
        )
        queuedJobs = catalog.gauge("countersign_queued_jobs", "Write jobs that wait for the writer.")
        walBytes = catalog.gauge("countersign_wal_bytes", "Size of the database's write-ahead log.")
        openConnections = catalog.gauge("countersign_connections", "Connections open now.")
        acceptedConnections = catalog.counter("countersign_accepted_connections_total", "Connections accepted.")
        refusedConnections = catalog.counter("countersign_refused_connections_total", "Connections over a limit.")
        droppedLogLines = catalog.counter("countersign_dropped_log_lines_total", "Log lines lost.")
        metrics = Metrics(catalog)
    }

    /// Counts one answer, on the thread that owns `shard`.
    ///
    /// - Parameters:
    ///   - route: the route's number in the list given at the start; `nil` where none matched.
    ///   - microseconds: from the request's last byte to the answer.
    public func count(route: Int?, status: Int, microseconds: UInt64, in shard: borrowing MetricShard) {
        let route = route ?? latencies.count - 1
        shard.add(requests[route * (Self.statuses.count + 1) + Self.column(of: status)])
        shard.observe(latencies[route], microseconds)
    }

    /// The place of `status` in a row of `requests`.
    private static func column(of status: Int) -> Int {
        status == 200 ? 0 : statuses.firstIndex(of: status) ?? statuses.count
    }
}
