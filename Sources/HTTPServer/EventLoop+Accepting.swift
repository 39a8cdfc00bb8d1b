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

/// A connection between two requests.
struct IdleConnection {
    let token: UInt64
    let since: UInt32
}

/// How a connection begins, and who gives way to it in a full house.
extension EventLoop where Context: ~Copyable {
    /// At most this many a wake-up, so that accepting cannot starve the connections there are.
    static var acceptBatch: Int { 64 }
    /// How many idle connections are remembered by one look at all.
    private static var idleBatch: Int { 64 }

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
            if nextLoop == index { open(connection, &context) } else { handedOut[nextLoop].append(connection) }
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

    mutating func open(_ connection: NewConnection, _ context: inout Context) {
        guard makeRoom(for: connection) else {
            if connection.refusals + 1 < handedOut.count && !isStopping {
                var connection = connection
                connection.refusals += 1
                handedOut[(index + 1) % handedOut.count].append(connection)
                return
            }
            return refuse(connection, &context)
        }
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
        settings.ledger.accept()
        openSlots += 1
        slots[slot].descriptor = connection.descriptor
        slots[slot].peer = connection.peer
        slots[slot].isCounted = connection.isCounted
        slots[slot].phase = .idle
        slots[slot].interest = .read
        slots[slot].idleSince = ticks
        slots[slot].deadline = deadline(in: settings.options.headerSeconds)
    }

    /// Turns away somebody who was admitted.
    mutating func refuse(_ connection: NewConnection, _ context: inout Context) {
        settings.ledger.refuse(connection.peer, wasCounted: connection.isCounted)
        turnAway(connection.descriptor, connection.peer, &context)
    }

    // MARK: A full house

    /// Whether there is room for one more, where need be that of whoever has been idle longest in this loop: a connection that waits for
    /// nothing must not keep out one that has something to ask.
    private mutating func makeRoom(for connection: NewConnection) -> Bool {
        let crowd = settings.ledger.crowd
        if crowd <= 0 { return true }
        if let slot = longestIdle() {
            close(slot)
            return true
        }
        // The machine's own question whether the server lives is not to be turned away with the others.
        let wasEverywhere = connection.refusals + 1 == handedOut.count
        return wasEverywhere && connection.peer.isLoopback && crowd <= ConnectionLedger.spareForLoopback
    }

    /// The connection of this loop that has been idle longest.
    private mutating func longestIdle() -> Int? {
        if let slot = nextIdle() { return slot }
        guard ticks >= nextIdleSearch else { return nil }
        findIdle()
        if let slot = nextIdle() { return slot }
        nextIdleSearch = ticks &+ 1
        return nil
    }

    private mutating func nextIdle() -> Int? {
        while let next = idle.popLast() {
            // It may have asked something since, also what was not read yet.
            if let slot = slot(of: next.token), isIdle(slot), slots[slot].idleSince == next.since, !hasInput(slot) {
                return slot
            }
        }
        return nil
    }

    private mutating func findIdle() {
        idle = slots.indices.filter { isIdle($0) }
            .map { IdleConnection(token: token(of: $0), since: slots[$0].idleSince) }
            .sorted { $0.since < $1.since }
            .prefix(EventLoop.idleBatch)
            .reversed()
    }

    /// Whether there is something to read of a connection; false also at its end.
    private func hasInput(_ slot: Int) -> Bool {
        recv(slots[slot].descriptor, input.baseAddress, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
    }

    /// Whether a connection waits for its client to ask something.
    func isIdle(_ slot: Int) -> Bool {
        slots[slot].phase == .idle && slots[slot].unsent == 0 && slots[slot].rest.isEmpty && !slots[slot].isQueued
    }
}
