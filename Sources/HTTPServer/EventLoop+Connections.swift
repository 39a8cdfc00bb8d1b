import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How a connection is read from, what follows from that, and how it ends.
extension EventLoop where Context: ~Copyable {
    /// How long, and how much, is read from a client that was already answered for the last time.
    private static var drainSeconds: Int { 2 }
    private static var drainBytes: UInt32 { 8 << 20 }

    func token(of slot: Int) -> UInt64 {
        UInt64(slots[slot].generation) << 32 | UInt64(slot)
    }

    /// The place of the connection that a token was made for; nil once it has ended.
    func slot(of token: UInt64) -> Int? {
        let slot = Int(token & 0xFFFF_FFFF)
        return slots[slot].generation == UInt32(token >> 32) && slots[slot].phase != .free ? slot : nil
    }

    /// Ends a connection at once; a job under way is answered into the void.
    mutating func close(_ slot: Int) {
        _ = Descriptor(taking: slots[slot].descriptor)
        settings.ledger.release(slots[slot].peer, wasCounted: slots[slot].isCounted)
        release(slot, body: true, rest: true, output: true)
        account(slot)
        // Generations stay below the tokens of mailbox and listeners.
        let generation = (slots[slot].generation &+ 1) & 0x7FFF_FFFF
        slots[slot] = Slot()
        slots[slot].generation = generation
        freeSlots.append(UInt32(slot))
        openSlots -= 1
    }

    /// Lets go of what was kept for a slow client.
    mutating func release(_ slot: Int, body isBody: Bool = false, rest: Bool = false, output: Bool = false) {
        if isBody, let body = slots[slot].body {
            releasedBytes += body.content.capacity
            slots[slot].body = nil
        }
        if rest {
            releasedBytes += slots[slot].rest.capacity
            slots[slot].rest = []
        }
        if output {
            releasedBytes += slots[slot].output.capacity
            slots[slot].output = []
        }
    }

    // MARK: Events

    mutating func handle(_ token: UInt64, _ readiness: Readiness, _ context: inout Context) {
        guard let slot = slot(of: token) else { return }
        if readiness.contains(.writable) {
            guard write(slot) else { return }
            settle(slot, &context)
            if slots[slot].phase == .free { return }
        }
        guard readiness.contains(.readable) || readiness.contains(.broken) else { return }
        switch slots[slot].phase {
        case .draining: drain(slot)
        case .waiting, .closing:
            if readiness.contains(.broken) {
                close(slot)
            } else {
                // What comes now is for later; the event would only repeat itself.
                watch(slot, slots[slot].interest.subtracting(.read))
            }
        default:
            if isBlocked(slot) || slots[slot].isQueued {
                readiness.contains(.broken) ? close(slot) : watch(slot, slots[slot].interest.subtracting(.read))
            } else {
                read(slot, &context)
            }
        }
    }

    /// Whether a slow reader must first take what it asked for.
    func isBlocked(_ slot: Int) -> Bool {
        slots[slot].unsent > outputLimit
    }

    /// Takes what is there of a connection's input, up to the buffer's size.
    mutating func read(_ slot: Int, _ context: inout Context) {
        let count = recv(slots[slot].descriptor, input.baseAddress, input.count, 0)
        guard count > 0 else {
            if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
            // A client that closed its side still gets what it is owed.
            if count == 0 && slots[slot].unsent > 0 {
                slots[slot].phase = .closing
                settle(slot, &context)
            } else {
                close(slot)
            }
            return
        }
        ingest(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[..<count]), slot, &context)
        settle(slot, &context)
    }

    private mutating func drain(_ slot: Int) {
        let count = recv(slots[slot].descriptor, input.baseAddress, input.count, 0)
        if count < 0 && (errno == EAGAIN || errno == EINTR) { return }
        guard count > 0, slots[slot].written < EventLoop.drainBytes else { return close(slot) }
        slots[slot].written += UInt32(count)
    }

    // MARK: After something happened

    /// Sends what the last pass made, and brings phase, deadline and interest of the connection in line.
    mutating func settle(_ slot: Int, _ context: inout Context) {
        guard slots[slot].phase != .free, flush(slot) else { return }
        arrange(slot)
        account(slot)
        relieve(&context)
    }

    private mutating func arrange(_ slot: Int) {
        if slots[slot].isHeldBack && !self.isBlocked(slot) {
            slots[slot].isHeldBack = false
            queue(slot)
        }
        let isBlocked = slots[slot].unsent > 0
        let options = settings.options
        switch slots[slot].phase {
        case .idle, .head:
            if isBlocked || slots[slot].isQueued {
                // It must read first, or wait for its turn; the time for the next request begins after that.
                slots[slot].deadline = 0
            } else if slots[slot].rest.isEmpty {
                if isStopping { return close(slot) }
                slots[slot].phase = .idle
                slots[slot].idleSince = ticks
                // The first head of a connection counts from the accept.
                if slots[slot].requests > 0 { slots[slot].deadline = deadline(in: options.idleSeconds) }
            } else if slots[slot].phase == .idle || slots[slot].deadline == 0 {
                if slots[slot].phase == .idle { slots[slot].askingSince = ticks }
                slots[slot].phase = .head
                if slots[slot].requests > 0 { slots[slot].deadline = deadline(in: options.headerSeconds) }
            }
        case .waiting: slots[slot].deadline = 0
        case .closing:
            if !isBlocked { return end(slot) }
            slots[slot].deadline = 0
        case .body, .draining, .free: break
        }
        var interest: Interest = isBlocked ? .write : []
        switch slots[slot].phase {
        case .idle, .head, .body, .draining:
            if !self.isBlocked(slot) && !slots[slot].isQueued { interest.insert(.read) }
        // Left alone until something comes: most clients wait for their answer.
        case .waiting, .closing: interest.formUnion(slots[slot].interest.intersection(.read))
        case .free: break
        }
        watch(slot, interest)
    }

    private mutating func watch(_ slot: Int, _ interest: Interest) {
        if slots[slot].interest == interest { return }
        slots[slot].interest = interest
        poller.modify(slots[slot].descriptor, token: token(of: slot), for: interest)
    }

    /// Ends a connection whose last answer is sent.
    private mutating func end(_ slot: Int) {
        guard slots[slot].mayBeSending || !slots[slot].rest.isEmpty else { return close(slot) }
        // Closing with input unread resets the connection, and a reset may overtake the answer (RFC 9112 §9.6).
        _ = shutdown(slots[slot].descriptor, Int32(SHUT_WR))
        slots[slot].phase = .draining
        slots[slot].due = ReadingDue()
        release(slot, rest: true, output: true)
        slots[slot].written = 0
        // The end of the server need not wait as long for clients that forget to hang up.
        slots[slot].deadline = isStopping ? ticks &+ EventLoop.ticksPerSecond / 2 : deadline(in: EventLoop.drainSeconds)
        watch(slot, .read)
    }
}
