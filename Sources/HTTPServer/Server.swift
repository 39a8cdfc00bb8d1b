import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An HTTP/1.1 server: one event loop for each mailbox, each on its own thread.
public final class Server<Context: LoopContext & ~Copyable>: Sendable {
    /// What a loop's thread takes with it.
    private struct Worker: ~Copyable {
        var loop: EventLoop<Context>
        var context: Context
    }

    /// Where it listens, with the ports the system chose.
    public let addresses: [ListenAddress]
    private let mailboxes: [Mailbox<Context>]
    private let threads: [Thread]
    private let ledger: ConnectionLedger
    private let cors: SharedPolicy

    private init(
        _ addresses: [ListenAddress],
        _ mailboxes: [Mailbox<Context>],
        _ threads: [Thread],
        _ ledger: ConnectionLedger,
        _ cors: SharedPolicy
    ) {
        self.addresses = addresses
        self.mailboxes = mailboxes
        self.threads = threads
        self.ledger = ledger
        self.cors = cors
    }

    /// Listens, makes a context for each loop and starts the threads; requests are served when this returns.
    ///
    /// - Parameters:
    ///   - mailboxes: from `Mailbox.make(loops:)`; whoever runs the jobs posts their answers there.
    ///   - makeContext: called on this thread with the loop's index; its value moves to the loop's thread.
    /// - Throws: `ListenError` for an address that cannot be had, `SystemError` where descriptors or threads are used
    ///   up, and what `makeContext` throws. Nothing is left running then.
    public static func start(
        _ options: ServerOptions,
        router: Router<Context>,
        mailboxes: [Mailbox<Context>],
        makeContext: (Int) throws -> sending Context
    ) throws -> Server {
        precondition(!options.addresses.isEmpty, "a server listens somewhere")
        precondition(
            options.addresses.count <= ServerOptions.mostAddresses,
            "a server listens on at most 16 addresses"
        )
        var listeners: [Listener] = []
        for address in options.addresses { listeners += try Listener.open(address) }
        let settings = LoopSettings(
            options: options,
            router: router,
            mailboxes: mailboxes,
            ledger: ConnectionLedger(options),
            cors: SharedPolicy(options.cors)
        )
        var threads: [Thread] = []
        do {
            // The first loop accepts, so it comes last.
            for index in mailboxes.indices.reversed() {
                let context = try makeContext(index)
                let loop = try EventLoop.open(index, settings, listeners: index == 0 ? listeners : [])
                threads.append(
                    try Thread.start("http", with: Worker(loop: loop, context: context)) { worker in
                        worker.loop.run(&worker.context)
                    }
                )
            }
        } catch {
            for mailbox in mailboxes { mailbox.stop() }
            for thread in threads { thread.join() }
            throw error
        }
        return Server(listeners.map(\.address), mailboxes, threads, settings.ledger, settings.cors)
    }

    /// Begins a graceful end: listeners and idle connections close, running requests get
    /// `ServerOptions.shutdownGraceSeconds`. From any thread; returns at once.
    public func stop() {
        // The first loop tells the others, once it hands out no more sockets.
        mailboxes[0].stop()
    }

    /// Waits until all loops have ended, which `stop()` brings about. Once.
    public func join() {
        for thread in threads { thread.join() }
    }

    /// Takes over what may change while the server runs: `trustedProxies` and `cors`.
    ///
    /// Connections that are open keep what they were counted as; answers under way keep their policy.
    public func adopt(_ options: ServerOptions) {
        ledger.trust(options.trustedProxies)
        cors.replace(by: options.cors)
    }

    /// Counts of connections; each is exact, together they are of about now.
    public var connections: ConnectionStatistics { ledger.statistics }
}

/// The process's limit on open descriptors.
public enum DescriptorLimit {
    /// Raises the soft limit to the hard one; returns what is allowed now. For the start of a server process.
    public static func raise() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return 0 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
