import Bundles
import CountersignWire
import Diagnostics
public import HTTPServer
import Licensing
import LicensingServices
import Storage
import Synchronization
import SystemPrimitives

/// What one event loop owns: its reader, its signing contexts, and what it gathers between two flushes.
///
/// Handlers get it as a parameter. Nothing here is shared between loops but `services` and `shared`.
public struct LoopState: ~Copyable, LoopContext {
    let services: Services
    let shared: ServerShared
    let reader: Reader
    var signers: SignerCache
    /// What reads learned of installs since the last flush.
    var sightings = Sightings()
    /// What this loop counts.
    let shard: MetricShard
    /// What is known of the request being answered, for its line in the log.
    var trace = RequestTrace()
    /// The loop's copy of the limits.
    var limits: RateLimiter.View
    /// Whom limits are counted for in the request being answered; nil where its address is not limited.
    var client: ClientKey?
    private var ticksSinceFlush = 0

    /// Ticks, each about a second, between two flushes.
    private static let ticksPerFlush = 5

    private init(
        services: Services,
        shared: ServerShared,
        reader: consuming Reader,
        signers: consuming SignerCache,
        shard: consuming MetricShard
    ) {
        self.services = services
        self.shared = shared
        self.reader = reader
        self.signers = signers
        self.shard = shard
        limits = shared.limiter.view()
    }

    /// The state of one loop.
    ///
    /// - Throws: `StorageError` when the database does not open.
    static func open(_ services: Services, _ shared: ServerShared) throws -> sending LoopState {
        LoopState(
            services: services,
            shared: shared,
            reader: try shared.database.openLoopReader(),
            signers: SignerCache(keys: services.keys),
            shard: shared.metrics.metrics.shard()
        )
    }

    // MARK: LoopContext

    /// See `LoopContext`: puts all writes of a wake-up into the writer's queue, and the rest into the worker's.
    public mutating func submit(_ submissions: inout [Submission<Job>]) {
        var writes: [APIWriterQueue.Submission] = []
        var refused: Set<Ticket> = []
        writes.reserveCapacity(submissions.count)
        for submission in submissions {
            switch submission.job.work {
            case .write(let job):
                let charges = Charges(shared.limiter)
                writes.append(charges.submission(job, of: submission.job.origin, for: submission.ticket))
            case .compute(let job):
                let work = WorkerQueue.Submission(
                    ticket: submission.ticket,
                    origin: submission.job.origin,
                    bytes: submission.job.bytes,
                    job: job
                )
                if !shared.worker.submit(work) { refused.insert(submission.ticket) }
            }
        }
        if shared.queue.submit(&writes) && refused.isEmpty {
            submissions.removeAll(keepingCapacity: true)
            return
        }
        for case .request(let ticket, let charges) in writes.map(\.ticket) {
            charges.settle(isCommitted: false)
            refused.insert(ticket)
        }
        shard.add(shared.metrics.refusedJobs, UInt64(refused.count))
        submissions.removeAll { !refused.contains($0.ticket) }
    }

    /// See `LoopContext`: the one place where an error meets a status.
    public mutating func response(to error: any Error, for request: RequestOutline) -> HTTPResponse {
        var error = error
        // No failure, but thrown as one, so that the writer undid it.
        if let dryRun = error as? DryRun {
            do {
                return try dryRun.answer()
            } catch let failure {
                error = failure
            }
        }
        if let storage = error as? StorageError { shared.queue.noteDamage(storage) }
        var problem = Problem(error)
        if let report = problem.report {
            shared.log.write(
                report.level,
                "request_failed",
                [
                    "request_id": .string(request.requestID), "route": .string(request.route ?? "none"),
                    "code": .string(problem.body.code.rawValue), "reason": .string(report.reason),
                ]
            )
        }
        problem.body.requestID = request.requestID
        trace.code = problem.body.code
        if problem.body.code == .licenseNotFound { countWrongKey(trace.wrongKeys) }
        shard.add(shared.metrics.refusals[problem.body.code.rawValue])
        return problem.response()
    }

    /// See `LoopContext`: one line in the log, and the numbers.
    public mutating func didRespond(_ summary: RequestSummary) {
        let route = summary.request.route
        shared.metrics.count(
            route: route.flatMap { shared.routeNumbers[$0] },
            status: summary.status.code,
            microseconds: UInt64(max(0, summary.microseconds)),
            in: shard
        )
        trace.write(summary, to: shared.log, which: shared.requestLogging)
        trace = RequestTrace()
    }

    /// See `LoopContext`: hands what was gathered to the writer, every fifth time.
    public mutating func tick() {
        ticksSinceFlush += 1
        if ticksSinceFlush >= Self.ticksPerFlush || shared.isStopping.load(ordering: .acquiring) { flush() }
    }

    /// Has the writer write what was seen; where its queue is full, the next flush tries again.
    mutating func flush() {
        ticksSinceFlush = 0
        flushValidations()
        shared.unwritten.withLock { unwritten in
            sightings.add(unwritten)
            unwritten = Sightings()
        }
        for portion in sightings.takePortions() where !write(portion, for: .server) { sightings.add(portion) }
    }

    /// Remembers that a known install was in contact; where the writer must know before that is answered, it is told.
    mutating func note(_ install: Install, _ claim: InstallClaim, of contact: Contact) {
        if Sightings.mustBeWrittenNow(install, seenAt: contact.now) {
            services.contacts.note(install.id, at: contact.now)
            let seen = Sightings(install.id, claim.device, at: contact.now)
            if write(seen, for: contact.origin) { return }
        }
        sightings.note(install.id, claim.device, at: contact.now)
    }

    /// Has the writer write what was seen; false where its queue is full.
    private func write(_ seen: Sightings, for origin: Origin) -> Bool {
        var submissions = [
            APIWriterQueue.Submission(ticket: .sightings(seen), origin: origin.number) { db in
                try seen.write(in: db)
                return { _ in HTTPResponse(.noContent) }
            }
        ]
        return shared.queue.submit(&submissions)
    }

    /// Has the writer write what all loops counted of vendors' validations.
    private func flushValidations() {
        let sums = services.validations.takeSums()
        if sums.isEmpty { return }
        var submissions = [
            APIWriterQueue.Submission(ticket: .validations, origin: Origin.server.number) { db in
                try sums.write(in: db)
                return { _ in HTTPResponse(.noContent) }
            }
        ]
        if !shared.queue.submit(&submissions) { services.validations.putBack() }
    }

    // MARK: Bundles

    /// Signs the bundle that says `state`.
    mutating func bundle(for state: InstallState, at now: Timestamp) throws -> [UInt8] {
        shard.add(shared.metrics.signatures)
        let shortened = signers.shortened
        let bundle = try signers.bundle(for: state, at: now)
        if signers.shortened > shortened {
            shared.log.write(
                .error,
                "bundle_shortened",
                [
                    "product": .string(state.facts.product.text), "install": .string(state.facts.subject),
                    "reason": "what the install has does not fit into a bundle of 256 KiB: features are left out",
                ]
            )
        }
        return bundle
    }

    /// Signs a product's settings and offers.
    mutating func configuration(
        _ claims: ConfigurationClaims,
        signedBy key: SigningKeyRecord
    ) throws -> [UInt8] {
        shard.add(shared.metrics.signatures)
        return try signers.configuration(claims, signedBy: key)
    }
}
