import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What all loops of a server have in common.
struct LoopSettings<Context: LoopContext & ~Copyable>: Sendable {
    let options: ServerOptions
    let router: Router<Context>
    let mailboxes: [Mailbox<Context>]
    let ledger: ConnectionLedger
    let cors: SharedPolicy
}

/// One thread's share of the connections: reads, routes, answers, times out.
///
/// Lives on its thread's stack; the context is a parameter beside it, since a handler gets the context while it looks
/// at the loop's buffer.
struct EventLoop<Context: LoopContext & ~Copyable>: ~Copyable {
    let index: Int
    let settings: LoopSettings<Context>
    let parser: RequestParser
    let mailbox: Mailbox<Context>
    var poller: SystemPoller
    /// Of the first loop alone.
    var listeners: [Listener]
    var isAccepting = true
    var resumeAcceptingAt: UInt32 = 0
    /// Given up for a moment where there is no other descriptor, to turn somebody away.
    var reserve: Descriptor?
    var nextLoop = 0
    /// For each loop, sockets of this wake-up.
    var handedOut: [[NewConnection]]

    var slots: [Slot] = []
    var freeSlots: [UInt32] = []
    var openSlots = 0
    /// Connections, by their tokens, whose next requests wait until others had their turn.
    var queued: [UInt64] = []
    let input: UnsafeMutableRawBufferPointer
    var output: [UInt8] = []
    var content: [UInt8] = []
    var head = RequestHead()
    var writer: ResponseWriter
    /// Which of the policies `writer` was made for.
    private var policyNumber: Int
    var identifiers: RequestIdentifiers
    var submissions: [Submission<Context.Job>] = []
    var answers: [Answer<Context>] = []
    var arrivals: [NewConnection] = []

    let startedAt = MonotonicClock.nanoseconds()
    /// The moment of this wake-up, on the monotonic clock.
    var now: UInt64
    var lastScan: UInt32 = 0
    var lastTick: UInt32 = 0
    /// What the connections hold for slow clients, in and out; see `EventLoop+Memory`.
    var held = HeldBytes()
    /// How many times a client was given time to read.
    var dues: UInt32 = 0
    /// What each of both may be.
    let heldLimit: Int
    var isRelieving = false
    /// The tick before which nobody is asked to give way: nobody could.
    var nextRelief: UInt32 = 0
    /// Bytes that connections held for slow clients and no longer do, since the last trim.
    var releasedBytes = 0
    var lastTrim: UInt32 = 0
    /// Connections that were idle when they were last looked for, the longest idle last.
    var idle: [IdleConnection] = []
    /// The tick before which nobody is looked for: there was none.
    var nextIdleSearch: UInt32 = 0
    /// The tick at which connections that are still busy are given up; nil until the loop is told to stop. One value, so
    /// that nothing can stop before its deadline is known.
    var stopDeadline: UInt32?
    var isStopping: Bool { stopDeadline != nil }

    /// Ticks of the coarse clock in a second; time-outs are late by up to a tick and a scan, never early.
    static var ticksPerSecond: UInt32 { 8 }
    private static var ticksPerScan: UInt32 { 2 }
    private static var inputBytes: Int { 16 << 10 }
    static var mailboxToken: UInt64 { .max }
    static var firstListenerToken: UInt64 { .max - 1 }

    private init(
        index: Int,
        settings: LoopSettings<Context>,
        listeners: [Listener],
        poller: consuming SystemPoller
    ) {
        self.index = index
        self.settings = settings
        self.listeners = listeners
        self.poller = poller
        parser = settings.options.parser
        mailbox = settings.mailboxes[index]
        let bytes = settings.options.heldBytes
        heldLimit = bytes == 0 ? Int.max : bytes / 2 / settings.mailboxes.count
        handedOut = Array(repeating: [], count: settings.mailboxes.count)
        input = .allocate(byteCount: EventLoop.inputBytes, alignment: 16)
        let policy = settings.cors.current
        writer = ResponseWriter(policy.value)
        policyNumber = policy.number
        var generator = SystemRandomNumberGenerator()
        identifiers = RequestIdentifiers(using: &generator)
        now = startedAt
        output.reserveCapacity(EventLoop.inputBytes)
    }

    deinit {
        input.deallocate()
    }

    /// A loop that watches its mailbox and its listeners.
    static func open(
        _ index: Int,
        _ settings: LoopSettings<Context>,
        listeners: [Listener]
    ) throws(SystemError) -> EventLoop {
        let poller = try SystemPoller.open()
        guard poller.add(settings.mailboxes[index].descriptor, token: mailboxToken, for: .read) else {
            throw .last("epoll_ctl")
        }
        for (offset, listener) in listeners.enumerated() {
            let token = firstListenerToken - UInt64(offset)
            guard poller.add(listener.number, token: token, for: .read) else { throw .last("epoll_ctl") }
        }
        return EventLoop(index: index, settings: settings, listeners: listeners, poller: poller)
    }

    /// Runs until the mailbox was told to stop and every connection is gone.
    mutating func run(_ context: inout Context) {
        writer.date.refresh()
        if !listeners.isEmpty { keepReserve() }
        while true {
            let patience: Int32 = openSlots > 0 || !isAccepting ? 250 : 1000
            let count = poller.wait(milliseconds: queued.isEmpty ? patience : 0)
            now = MonotonicClock.nanoseconds()
            if settings.cors.number != policyNumber { adoptPolicy() }
            writer.date.refresh()
            var hasMail = false
            for index in 0..<count {
                let (token, readiness) = poller.event(index)
                if token == EventLoop.mailboxToken {
                    hasMail = true
                } else if token > UInt64.max - 64 {
                    accept(Int(EventLoop.firstListenerToken - token), &context)
                } else {
                    handle(token, readiness, &context)
                }
            }
            takeTurns(&context)
            let wasStopping = isStopping
            if hasMail { takeMail(&context) }
            if isStopping && !wasStopping { beginStop(&context) }
            submit(&context)
            handOut(&context)
            let ticks = ticks
            if ticks &- lastScan >= EventLoop.ticksPerScan {
                lastScan = ticks
                scan(ticks, &context)
                submit(&context)
            }
            if ticks &- lastTick >= EventLoop.ticksPerSecond {
                lastTick = ticks
                context.tick()
                giveBackMemory(ticks)
            }
            if isStopping && openSlots == 0 && mailbox.end() { break }
        }
        context.tick()
    }

    private mutating func adoptPolicy() {
        let policy = settings.cors.current
        writer = ResponseWriter(policy.value)
        policyNumber = policy.number
    }

    /// The coarse clock: starts at 1, so that no deadline is 0.
    var ticks: UInt32 {
        let elapsed = now &- startedAt
        return 1 &+ UInt32(truncatingIfNeeded: elapsed / (1_000_000_000 / UInt64(EventLoop.ticksPerSecond)))
    }

    /// The tick at which `seconds` are over; 0 for no limit.
    func deadline(in seconds: Int) -> UInt32 {
        seconds == 0 ? 0 : ticks &+ UInt32(truncatingIfNeeded: seconds) &* EventLoop.ticksPerSecond &+ 1
    }

    private var graceTicks: UInt32 {
        UInt32(truncatingIfNeeded: settings.options.shutdownGraceSeconds) &* EventLoop.ticksPerSecond
    }

    // MARK: Mail

    private mutating func takeMail(_ context: inout Context) {
        if mailbox.take(&answers, &arrivals), !isStopping { stopDeadline = ticks &+ graceTicks }
        for arrival in arrivals { open(arrival, &context) }
        arrivals.removeAll(keepingCapacity: true)
        // Taken out, since answering needs all of `self`.
        var batch: [Answer<Context>] = []
        swap(&batch, &answers)
        for answer in batch { finish(answer, &context) }
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &answers)
    }

    private mutating func handOut(_ context: inout Context) {
        for loop in handedOut.indices where !handedOut[loop].isEmpty {
            settings.mailboxes[loop].post(&handedOut[loop])
            while let connection = handedOut[loop].popLast() { refuse(connection, &context) }
        }
    }

    /// Gives the jobs of this wake-up to the context; those it leaves behind are answered at once.
    private mutating func submit(_ context: inout Context) {
        while !submissions.isEmpty {
            var batch: [Submission<Context.Job>] = []
            swap(&batch, &submissions)
            context.submit(&batch)
            for refused in batch {
                finish(
                    Answer(refused.ticket, .failure(HTTPFailure.unavailable(retryAfterSeconds: 1))),
                    &context
                )
            }
            batch.removeAll(keepingCapacity: true)
            // Answering may have brought the next pipelined request of the same connection, and with it a job.
            if submissions.isEmpty { swap(&batch, &submissions) }
        }
    }

    // MARK: Time

    /// Ends what took too long.
    private mutating func scan(_ ticks: UInt32, _ context: inout Context) {
        if !isAccepting && ticks >= resumeAcceptingAt { resumeAccepting() }
        let isOver = stopDeadline.map { ticks >= $0 } ?? false
        // A request that is not all here after a quarter of the time does not keep those that run from ending well before
        // somebody loses patience with the process.
        let isLate = stopDeadline.map { ticks >= $0 &- graceTicks / 4 * 3 } ?? false
        for slot in slots.indices {
            let phase = slots[slot].phase
            if phase == .free { continue }
            if isOver {
                close(slot)
                continue
            }
            if isStopping && isIdle(slot) {
                // It came from another loop, when the idle ones were let go.
                letGo(slot, &context)
                continue
            }
            let readDeadline = slots[slot].due.deadline
            if readDeadline != 0 && ticks >= readDeadline {
                close(slot)
                continue
            }
            let deadline = slots[slot].deadline
            let isOverdue = deadline != 0 && ticks >= deadline
            let isPart = (phase == .head || phase == .body) && slots[slot].unsent == 0
            if isOverdue || isLate && isPart { expire(slot, &context) }
        }
    }

    mutating func expire(_ slot: Int, _ context: inout Context) {
        let isBlocked = slots[slot].unsent > 0
        switch slots[slot].phase {
        case .head:
            fail(slot, .requestTimeout, &context)
            settle(slot, &context)
        case .body where !isBlocked:
            let pending = slots[slot].body
            release(slot, body: true)
            if let pending, pending.route != nil {
                var exchange = pending.exchange
                exchange.keepsAlive = false
                respond(slot, failure: .requestTimeout, exchange, &context)
                settle(slot, &context)
            } else {
                close(slot)
            }
        case .free, .waiting: break
        default: close(slot)
        }
    }

    // MARK: End

    /// Accepts who waits, and then no more, tells the other loops, and lets connections go that have asked nothing.
    ///
    /// What was sent before the wish to stop is taken: of a wake-up that learns of both, a connection may not have been
    /// read yet, and to close it, or the listener, would reset it as if nobody had been there.
    private mutating func beginStop(_ context: inout Context) {
        // Before others come: whoever asks nothing makes room for them.
        for slot in slots.indices where isIdle(slot) { letGo(slot, &context) }
        guard index == 0 else { return }
        isAccepting = true
        keepReserve()
        for listener in listeners.indices {
            for _ in 0..<Listener.backlog / EventLoop.acceptBatch { accept(listener, &context) }
        }
        handOut(&context)
        for listener in listeners { poller.remove(listener.number) }
        listeners = []
        // Only now: a socket handed to a loop that has already ended would be turned away.
        for (other, mailbox) in settings.mailboxes.enumerated() where other != index { mailbox.stop() }
        for slot in slots.indices where isIdle(slot) { letGo(slot, &context) }
    }

    /// Ends an idle connection, unless its next request is here.
    private mutating func letGo(_ slot: Int, _ context: inout Context) {
        read(slot, &context)
        if isIdle(slot) { close(slot) }
    }
}
