public import Diagnostics
import Dispatch
public import HTTPServer
import Licensing
public import LicensingServices
public import Storage
import Synchronization
import SystemPrimitives

/// How an API server listens and what it tells.
public struct APIServerOptions: Sendable {
    /// Addresses, time-outs and limits.
    public var http: ServerOptions
    /// Threads that answer requests, each with a reader of its own; at least 1.
    public var loops: Int
    /// The URL that clients use, without a slash at its end; nil: not configured.
    public var baseURL: String?
    /// Which requests get a line in the log.
    public var requestLogging: RequestLogging
    /// Longest bodies in bytes of the routes that have limits of their own, by the route's name; those of
    /// `Routes.all` where it says nothing.
    public var bodyLimits: [String: Int]
    /// How much one client may ask for.
    public var limits: RateLimits

    /// Options; the defaults are those of the configuration file.
    public init(
        http: ServerOptions = ServerOptions(),
        loops: Int = ServerOptions.defaultLoops,
        baseURL: String? = nil,
        requestLogging: RequestLogging = .all,
        bodyLimits: [String: Int] = [:],
        limits: RateLimits = RateLimits()
    ) {
        self.http = http
        self.loops = loops
        self.baseURL = baseURL
        self.requestLogging = requestLogging
        self.bodyLimits = bodyLimits
        self.limits = limits
    }
}

/// A running API server: its loops, and the writer behind them.
public final class APIServer: Sendable {
    private let server: Server<LoopState>
    private let shared: ServerShared
    private let delivery: Delivery
    private let writer: SystemPrimitives.Thread
    private let worker: SystemPrimitives.Thread
    private let isStopped = Atomic<Bool>(false)
    /// What the metrics have of what is counted elsewhere.
    private let gathered = Guarded(GatheredCounts())

    private init(
        _ server: Server<LoopState>,
        _ shared: ServerShared,
        _ delivery: Delivery,
        writer: SystemPrimitives.Thread,
        worker: SystemPrimitives.Thread
    ) {
        self.server = server
        self.shared = shared
        self.delivery = delivery
        self.writer = writer
        self.worker = worker
    }

    /// Starts the writer's thread, the worker's and the loops; requests are served when this returns.
    ///
    /// - Parameters:
    ///   - services: what answers are made of.
    ///   - database: the one that `writer` writes to; each loop opens a reader of its own.
    ///   - queue: the one that `writer` takes its jobs from.
    ///   - writer: opened by `Database.openForServing`; whatever a start has to write is written already.
    ///   - metrics: made by `Routes.makeMetrics()`.
    ///   - log: where requests and failures are told.
    ///   - onWriterFailure: called on the writer's thread when three commits in a row failed; it is to end the process
    ///     with exit code 1.
    /// - Throws: `ListenError`, `SystemError`, `StorageError`; nothing is left running then.
    public static func start(
        _ options: APIServerOptions,
        services: Services,
        database: Database,
        queue: APIWriterQueue,
        writer: consuming sending APIWriter,
        metrics: ServerMetrics,
        log: Log,
        onWriterFailure: @escaping @Sendable (StorageError) -> Void
    ) throws -> APIServer {
        let shared = ServerShared(
            queue: queue,
            database: database,
            log: log,
            metrics: metrics,
            limiter: RateLimiter(options.limits),
            baseURL: options.baseURL,
            requestLogging: options.requestLogging,
            routes: Routes.all
        )
        let mailboxes = try Mailbox<LoopState>.make(loops: options.loops)
        let delivery = Delivery(mailboxes: mailboxes, shared: shared, services: services)
        let thread = try SystemPrimitives.Thread.start("writer", with: writer) { writer in
            writer.run(deliver: delivery.deliver, abort: onWriterFailure)
        }
        do {
            let worker = try SystemPrimitives.Thread.start(
                "worker",
                with: Worker(shared.worker, writes: queue, mailboxes: mailboxes, limiter: shared.limiter)
            ) { worker in
                worker.run()
            }
            do {
                let router = Routes.router(options.bodyLimits)
                let server = try Server.start(options.http, router: router, mailboxes: mailboxes) { index in
                    try LoopState.open(services, shared)
                }
                return APIServer(server, shared, delivery, writer: thread, worker: worker)
            } catch {
                shared.worker.stop()
                worker.join()
                throw error
            }
        } catch {
            queue.stop()
            thread.join()
            throw error
        }
    }

    /// Work for the writer's quiet moments, for `Writer.Settings.idle`: removes what was kept long enough, in portions.
    ///
    /// By the clock that requests read; while that is in doubt nothing is removed: a clock that jumped would end what is
    /// still good.
    public static func idleWork(
        clock: any WallClock
    ) -> @Sendable (borrowing WriteTransaction) throws -> Bool {
        let retention = RetentionService()
        return { db in
            guard let now = try? clock.now(in: db) else { return false }
            return try retention.removeExpired(at: now, in: db)
        }
    }

    /// Where it listens, with the ports the system chose.
    public var addresses: [ListenAddress] { server.addresses }

    /// Counts of connections.
    public var connections: ConnectionStatistics { server.connections }

    /// Which requests get a line in the log; may be changed while the server runs.
    public var requestLogging: RequestLogging {
        get { shared.requestLogging }
        set { shared.requestLogging = newValue }
    }

    /// How much one client may ask for; may be changed while the server runs. What was counted is kept.
    public var limits: RateLimits {
        get { shared.limiter.current }
        set { shared.limiter.current = newValue }
    }

    /// Takes over what of the options may change while the server runs; see `Server.adopt`.
    public func adopt(_ options: ServerOptions) { server.adopt(options) }

    /// The numbers of this moment, in the text format of Prometheus.
    ///
    /// - Parameter more: families made for this answer alone.
    public func metricsText(adding more: [MetricFamily] = []) -> [UInt8] {
        gathered.withLock { $0.gather(server.connections, shared) }
        return shared.metrics.metrics.text(adding: more)
    }

    /// Refuses writes that wait too long, also while the writer hangs on a disk that does not answer; has it look after the
    /// database's files, and try again where writing did not work. To be called about once a second.
    ///
    /// - Parameter commits: whether the writer is to commit something, so that the last commit has a new date.
    /// - Returns: what keeps the database from being used, as of the last look; `nil` where all is well.
    public func lookAfterDatabase(commits: Bool) -> StorageError? {
        refuseLate()
        shared.queue.look()
        return shared.queue.status(probingAfter: commits ? .zero : nil).trouble
    }

    private func refuseLate() {
        var late = shared.queue.refuseLate()
        delivery.deliver(&late)
    }

    /// A reader of the database that this server serves.
    func openReader() throws -> sending Reader { try shared.database.openLoopReader() }

    /// Writes the line of a request that failed.
    func report(_ report: Problem.Report, of request: RequestOutline) {
        shared.log.write(
            report.level,
            "request_failed",
            [
                "request_id": .string(request.requestID), "route": .string(request.route ?? "none"),
                "reason": .string(report.reason),
            ]
        )
    }

    /// Ends gracefully: no more connections, running requests are answered, everything accepted is written. Blocks for
    /// up to `ServerOptions.shutdownGraceSeconds` and the writer's last batch, which a disk that does not answer may prolong;
    /// a second call does nothing.
    public func stop() {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        shared.isStopping.store(true, ordering: .releasing)
        // Whoever looks after the server is in here now.
        let isDone = DispatchSemaphore(value: 0)
        let lookout = try? SystemPrimitives.Thread.start("lookout", with: isDone) { [self] isDone in
            while isDone.wait(timeout: .now() + .milliseconds(250)) == .timedOut { refuseLate() }
        }
        server.stop()
        server.join()
        // The worker hands over to the writer, so it ends first.
        shared.worker.stop()
        worker.join()
        // From here on nobody waits for an answer.
        isDone.signal()
        lookout?.join()
        shared.queue.stop()
        writer.join()
    }
}

/// Parts the writer's answers by loop: one post for each loop and batch. From any thread.
private struct Delivery: Sendable {
    let mailboxes: [Mailbox<LoopState>]
    let shared: ServerShared
    let services: Services

    func deliver(_ answers: inout [APIWriterQueue.Answer]) {
        var byLoop: [[Answer<LoopState>]] = Array(repeating: [], count: mailboxes.count)
        for answer in answers {
            switch answer.ticket {
            case .request(let ticket, let charges):
                if case .success = answer.result {
                    charges.settle(isCommitted: true)
                } else {
                    charges.settle(isCommitted: false)
                }
                byLoop[Int(ticket.loop)].append(Answer(ticket, answer.result))
            case .sightings(let seen):
                guard case .failure(let error) = answer.result else {
                    services.contacts.forget(seen)
                    continue
                }
                let isFirst = shared.unwritten.withLock { unwritten in
                    defer { unwritten.add(seen) }
                    return unwritten.isEmpty
                }
                // Once until the next flush: while nothing can be written, each contact may come here.
                if isFirst { shared.log.warning("sightings_not_written", ["reason": .string(reason(error))]) }
            case .validations:
                guard case .failure(let error) = answer.result else { continue }
                services.validations.putBack()
                shared.log.warning("quota_not_written", ["reason": .string(reason(error))])
            }
        }
        for index in mailboxes.indices { mailboxes[index].post(&byLoop[index]) }
    }

    private func reason(_ error: any Error) -> String {
        (error as? StorageError)?.description ?? String(reflecting: type(of: error))
    }
}
