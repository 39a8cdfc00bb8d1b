import CSystem
import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What came of turning somebody away without a descriptor to spare.
private enum TurningAway { case turnedAway, nobodyWaits, failed }

/// How a connection begins, is read from and written to, and ends.
extension EventLoop where Context: ~Copyable {
    /// At most this many a wake-up, so that accepting cannot starve the connections there are.
    private static var acceptBatch: Int { 64 }
    /// How long, and how much, is read from a client that was already answered for the last time.
    private static var drainSeconds: Int { 2 }
    private static var drainBytes: UInt32 { 8 << 20 }

    // MARK: Accepting

    mutating func accept(_ listener: Int, _ context: inout Context) {
        guard listener < listeners.count, isAccepting else { return }
        for _ in 0..<EventLoop.acceptBatch {
            let number = listeners[listener].number
            let (descriptor, peer) = EventLoop.accept(number)
            guard descriptor >= 0 else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EMFILE, ENFILE:
                    switch turnAwayNext(number, &context) {
                    case .turnedAway: continue
                    case .nobodyWaits: break
                    case .failed: pauseAccepting()
                    }
                case ENOBUFS, ENOMEM: pauseAccepting()
                default: break
                }
                return
            }
            let admission = settings.ledger.admit(peer)
            if admission == .refused {
                turnAway(descriptor, peer, &context)
                continue
            }
            setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
            let connection = NewConnection(
                descriptor: descriptor,
                peer: peer,
                isCounted: admission == .counted
            )
            if nextLoop == index { open(connection) } else { handedOut[nextLoop].append(connection) }
            nextLoop = (nextLoop + 1) % handedOut.count
        }
    }

    /// The next waiting connection; negative where there is none, `errno` says why.
    private static func accept(_ listener: Int32) -> (descriptor: Int32, peer: PeerAddress) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let descriptor = withUnsafeMutableBytes(of: &storage) { bytes in
            cs_accept(listener, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        return (descriptor, descriptor < 0 ? PeerAddress(high: 0, low: 0) : SocketAddress.peer(of: storage))
    }

    /// Out of descriptors: by the one that is kept back, whoever waits longest is told to come again, instead of waiting
    /// for nobody knows what.
    private mutating func turnAwayNext(_ listener: Int32, _ context: inout Context) -> TurningAway {
        guard reserve != nil else { return .failed }
        reserve = nil
        defer { keepReserve() }
        let (descriptor, peer) = EventLoop.accept(listener)
        // Without a descriptor the system does not even look whether somebody waits.
        guard descriptor >= 0 else { return errno == EAGAIN ? .nobodyWaits : .failed }
        settings.ledger.refuse()
        turnAway(descriptor, peer, &context)
        return .turnedAway
    }

    /// Keeps a descriptor back, where there is one.
    mutating func keepReserve() {
        if reserve != nil { return }
        let number = fcntl(mailbox.descriptor, F_DUPFD_CLOEXEC, 0)
        if number >= 0 { reserve = Descriptor(taking: number) }
    }

    /// Out of descriptors: an epoll that still watched the listener would report it again at once, for ever.
    private mutating func pauseAccepting() {
        isAccepting = false
        resumeAcceptingAt = ticks &+ 1
        for listener in listeners { poller.remove(listener.number) }
    }

    mutating func resumeAccepting() {
        isAccepting = true
        keepReserve()
        for (offset, listener) in listeners.enumerated() {
            _ = poller.add(listener.number, token: EventLoop.firstListenerToken - UInt64(offset), for: .read)
        }
    }

    /// One connection too many: an answer if the socket takes it at once, and the end.
    private mutating func turnAway(_ descriptor: Int32, _ peer: PeerAddress, _ context: inout Context) {
        let exchange = Exchange(
            outline: RequestOutline(route: nil, method: .unknown, requestID: identifiers.next(), peer: peer),
            keepsAlive: false,
            minorVersion: 1,
            origin: nil,
            startedAt: now
        )
        output.removeAll(keepingCapacity: true)
        append(response(to: HTTPFailure.unavailable(retryAfterSeconds: 1), exchange, &context), exchange, &context)
        output.withUnsafeBytes { _ = send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        output.removeAll(keepingCapacity: true)
        // Unread input would turn the close into a reset, which may overtake the answer.
        _ = recv(descriptor, input.baseAddress, input.count, 0)
        _ = Descriptor(taking: descriptor)
    }

    mutating func open(_ connection: NewConnection) {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = Int(free)
        } else {
            slot = slots.count
            slots.append(Slot())
        }
        guard poller.add(connection.descriptor, token: token(of: slot), for: .read) else {
            freeSlots.append(UInt32(slot))
            settings.ledger.release(connection.peer, wasCounted: connection.isCounted)
            _ = Descriptor(taking: connection.descriptor)
            return
        }
        openSlots += 1
        slots[slot].descriptor = connection.descriptor
        slots[slot].peer = connection.peer
        slots[slot].isCounted = connection.isCounted
        slots[slot].phase = .idle
        slots[slot].interest = .read
        slots[slot].deadline = deadline(in: settings.options.headerSeconds)
    }

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
        slots[slot].unsent > settings.options.outputBytes
    }

    private mutating func read(_ slot: Int, _ context: inout Context) {
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
                // The first head of a connection counts from the accept.
                if slots[slot].requests > 0 { slots[slot].deadline = deadline(in: options.idleSeconds) }
            } else if slots[slot].phase == .idle || slots[slot].deadline == 0 {
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
        slots[slot].readDeadline = 0
        release(slot, rest: true, output: true)
        slots[slot].written = 0
        // The end of the server need not wait as long for clients that forget to hang up.
        slots[slot].deadline = isStopping ? ticks &+ EventLoop.ticksPerSecond / 2 : deadline(in: EventLoop.drainSeconds)
        watch(slot, .read)
    }

    // MARK: Sending

    /// Sends the loop's output, or queues it behind what already waits. False where the connection is gone.
    private mutating func flush(_ slot: Int) -> Bool {
        if output.isEmpty { return true }
        defer { output.removeAll(keepingCapacity: true) }
        if slots[slot].unsent > 0 {
            slots[slot].output.append(contentsOf: output)
            return true
        }
        let sent = transmit(slots[slot].descriptor, output, from: 0)
        guard sent >= 0 else {
            close(slot)
            return false
        }
        if sent < output.count {
            slots[slot].output = Array(output[sent...])
            slots[slot].readDeadline = deadline(in: settings.options.idleSeconds)
        }
        return true
    }

    /// Sends on what waits. False where the connection is gone.
    private mutating func write(_ slot: Int) -> Bool {
        guard slots[slot].unsent > 0 else { return true }
        let sent = transmit(slots[slot].descriptor, slots[slot].output, from: Int(slots[slot].written))
        guard sent >= 0 else {
            close(slot)
            return false
        }
        slots[slot].written += UInt32(sent)
        if sent > 0 { slots[slot].readDeadline = deadline(in: settings.options.idleSeconds) }
        if slots[slot].unsent == 0 {
            slots[slot].readDeadline = 0
            release(slot, output: true)
            slots[slot].written = 0
        } else if slots[slot].written > 1 << 18 {
            slots[slot].output.removeFirst(Int(slots[slot].written))
            slots[slot].written = 0
        }
        return true
    }

    /// How many bytes the socket took; negative where the connection is broken.
    private func transmit(_ descriptor: Int32, _ bytes: [UInt8], from start: Int) -> Int {
        bytes.withUnsafeBytes { bytes in
            var position = start
            while position < bytes.count {
                let rest = bytes[position...]
                let count = UnsafeRawBufferPointer(rebasing: rest).withMemoryRebound(to: UInt8.self) {
                    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count >= 0 {
                    position += count
                    // A short count means a full buffer; asking again would only say so.
                    if position < bytes.count { break }
                } else if errno != EINTR {
                    return errno == EAGAIN ? position - start : -1
                }
            }
            return position - start
        }
    }
}
