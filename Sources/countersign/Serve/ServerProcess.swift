import Administration
import CountersignAPI
import Diagnostics
import HTTPServer
import Licensing
import LicensingServices
import Storage
import SystemPrimitives

/// The server as one process: what it starts with, and how it ends.
struct ServerProcess: ~Copyable {
    private let server: APIServer
    /// Where one is configured.
    private let metrics: MetricsServer?
    private let log: Log
    private let served: ServedDatabase
    private let reader: Reader
    private var signals: ProcessSignals
    private var configuration: Configuration
    /// What the log was told of the database's trouble.
    private var isTroubleTold = false

    /// Opens everything in the order in which a fault is best told, starts the server, and says where it listens.
    ///
    /// - Throws: What stops a start: `CommandFailure`, `StorageError`, `VaultFault`, `ServedClock.Mismatch`, `ListenError`,
    ///   each with one line that says what and how to mend it.
    static func start(
        _ configuration: Configuration,
        context: CommandContext,
        isDemo: Bool,
        acceptsClock: Bool
    ) throws -> ServerProcess {
        // First of all, so that every thread inherits the mask.
        let signals = ProcessSignals()
        let log = try startLog(configuration)
        do {
            let descriptors = DescriptorLimit.raise()
            _ = try context.database.becomeOwner()
            let queue = APIWriterQueue(capacity: configuration.limits.writerQueue)
            let served = try ServedDatabase(
                configuration,
                testClock: context.options.testClock,
                acceptsClock: acceptsClock,
                log: log
            )
            var settings = APIWriter.Settings()
            settings.idle = APIServer.idleWork(clock: served.clock)
            let writer = try served.open(queue, settings: settings, log: log)
            let file = KeyFile(configured: configuration.masterKeyFile, folder: configuration.data)
            let vault = try Vault.open(served.database, file: file, clock: served.clock)
            try warn(of: served.database, file, log)
            let demonstration = isDemo ? try Demonstration.prepare(context) : nil
            let services = Services(
                keys: vault.keys,
                clock: served.clock,
                storeRootDigests: configuration.store.apple.rootSHA256.compactMap { Digest256(hexadecimal: $0) }
            )
            try selfTest(services, database: served.database)
            // Before anybody comes, who might take the last descriptor.
            let reader = try served.database.openLoopReader()
            let server = try APIServer.start(
                APIServerOptions(
                    http: ServerOptions(configuration),
                    loops: configuration.loops == 0 ? ServerOptions.defaultLoops : configuration.loops,
                    baseURL: configuration.baseURL,
                    requestLogging: RequestLogging(configuration.log.requests),
                    bodyLimits: [
                        "store.verify": configuration.limits.verifyBodyBytes,
                        "store.notification": configuration.limits.notificationBodyBytes,
                    ],
                    limits: RateLimits(configuration)
                ),
                services: services,
                database: served.database,
                queue: queue,
                writer: writer,
                metrics: Routes.makeMetrics(),
                log: log,
                onWriterFailure: { error in
                    log.error("writer_failed", ["reason": .string(error.description)])
                    log.stop()
                    ProcessEnd.abandon(1)
                }
            )
            var text = ""
            for address in server.addresses { text += "listening on \(address.localURL)\n" }
            if let demonstration, let address = server.addresses.first {
                text += demonstration.calls(baseURL: configuration.baseURL ?? address.localURL)
            }
            let metrics: MetricsServer?
            do {
                metrics = try configuration.metrics.listen.map { try MetricsServer.start($0, for: server) }
            } catch {
                server.stop()
                throw error
            }
            for address in metrics?.addresses ?? [] { text += "metrics on \(address.localURL)/metrics\n" }
            log.info(
                "started",
                [
                    "addresses": .string(server.addresses.map(\.description).joined(separator: " ")),
                    "data": .string(configuration.data), "descriptors": .integer(descriptors),
                    "new_database": .bool(vault.isNew),
                ]
            )
            do {
                try StandardStreams.write(Array(text.utf8), to: 1, within: 1)
            } catch {
                // Nobody may be there to read it.
                log.warning("not_printed", ["reason": .string("standard output: \(error)")])
            }
            return ServerProcess(
                server: server,
                metrics: metrics,
                log: log,
                served: served,
                reader: reader,
                signals: signals,
                configuration: configuration
            )
        } catch let error as ListenError {
            log.stop()
            throw CommandFailure(
                code: "LISTEN",
                "cannot listen on \(error.address): \(error.reason); fix: end what listens there, or name another address "
                    + "with --listen (port 0 takes a free one)"
            )
        } catch {
            log.stop()
            throw error
        }
    }

    private static func startLog(_ configuration: Configuration) throws -> Log {
        let options = Log.Options(
            level: configuration.log.level,
            format: configuration.log.format.format(isTerminal: Terminal.isStandardError)
        )
        return try Log.start(options, on: 2, milliseconds: { SystemTime.microseconds() / 1000 })
    }

    /// Tells what group and others may do with the files. Where others may write, nothing starts; that a group may is how
    /// container platforms hand out volumes.
    private static func warn(of database: Database, _ key: KeyFile, _ log: Log) throws {
        let open = try database.ownFiles().filter(\.isOpenToOthers)
        if !open.isEmpty {
            log.warning(
                "files_open",
                [
                    "reason": .string(
                        "group or others can use \(open.map(\.text).joined(separator: ", ")); fix: chmod go= "
                            + open.map(\.path).joined(separator: " ")
                    )
                ]
            )
        }
        if let reason = key.warning, !key.isInside(database.folder) {
            log.warning("files_open", ["reason": .string(reason)])
        }
    }

    /// Every key must sign, or nothing starts: never an unsigned answer.
    private static func selfTest(_ services: Services, database: Database) throws {
        let reader = try database.openReader()
        let faults = try reader.snapshot { db in try services.signingKeys.selfTest(in: db) }
        guard faults.isEmpty else {
            throw CommandFailure(code: "SELF_TEST", faults.joined(separator: "; "))
        }
    }

    /// Serves until a signal ends it; looks after the clock and the database's files once a second, and reads the
    /// configuration anew on SIGHUP.
    mutating func run(reloading load: () throws -> Configuration) {
        while true {
            switch signals.wait(seconds: 1) {
            case .timeout:
                watchDatabase(commits: served.watchClock(through: reader, log: log))
            case .reload: reload(load)
            case .stop:
                log.info("stopping")
                metrics?.stop()
                server.stop()
                log.info("stopped")
                log.stop()
                return
            }
        }
    }

    /// Tells when the database cannot be used any more, and when it can again.
    private mutating func watchDatabase(commits: Bool) {
        let trouble = server.lookAfterDatabase(commits: commits)
        guard (trouble != nil) != isTroubleTold else { return }
        isTroubleTold = trouble != nil
        if let trouble {
            log.error("database_unusable", ["reason": .string(trouble.description)])
        } else {
            log.info("database_usable")
        }
    }

    private mutating func reload(_ load: () throws -> Configuration) {
        do {
            let (new, waiting) = configuration.reloaded(from: try load())
            configuration = new
            log.level = new.log.level
            server.requestLogging = RequestLogging(new.log.requests)
            server.limits = RateLimits(new)
            server.adopt(ServerOptions(new))
            log.info("reloaded", ["waiting_for_restart": .string(waiting.joined(separator: " "))])
        } catch {
            log.error("reload_refused", ["reason": .string(CommandFailure(error).message)])
        }
    }
}

extension RateLimits {
    /// What the configuration says.
    init(_ configuration: Configuration) {
        self.init()
        let rate = configuration.limits.rate
        addressPerMinute = rate.addressPerMinute
        firstContactsPerMinute = rate.firstContactsPerMinute
        trialsPerDay = rate.trialsPerDay
        wrongKeysPerMinute = rate.wrongKeysPerMinute
        administrationPerMinute = rate.adminPerMinute
        trustedProxies = configuration.trustedProxies
    }
}

extension RequestLogging {
    /// What the configuration says.
    init(_ log: Configuration.RequestLog) {
        switch log {
        case .all: self = .all
        case .failures: self = .failures
        case .off: self = .off
        }
    }
}
