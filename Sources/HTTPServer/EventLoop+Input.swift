import SystemPrimitives

/// How bytes become requests, one after the other, and how connections take turns.
extension EventLoop where Context: ~Copyable {
    /// Pipelined requests of one connection that are served before others have their turn.
    private static var turnRequests: Int { 16 }

    /// Uses what arrived: for a body under way, for the requests it completes, and keeps the rest.
    mutating func ingest(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ context: inout Context) {
        var bytes = bytes
        if let pending = slots[slot].body {
            guard let used = feed(bytes, to: pending, slot, &context) else { return }
            bytes = bytes.slice(used..<bytes.count)
            if bytes.isEmpty { return }
        }
        if slots[slot].rest.isEmpty {
            let used = serve(bytes, slot, &context)
            if used < bytes.count { slots[slot].rest = Array(bytes[used...]) }
            return
        }
        slots[slot].rest.append(contentsOf: bytes)
        // Without a line's end there is nothing new to parse, only lengths to check.
        if bytes.firstOffset(of: 0x0A) == nil && slots[slot].rest.count <= settings.options.targetBytes { return }
        serveRest(slot, &context)
    }

    /// Serves requests that waited, as far as they may go now.
    mutating func resume(_ slot: Int, _ context: inout Context) {
        if !slots[slot].rest.isEmpty { serveRest(slot, &context) }
    }

    /// Lets a connection go on with the requests it has sent once all others that wait have had their turn.
    mutating func queue(_ slot: Int) {
        if slots[slot].isQueued { return }
        slots[slot].isQueued = true
        queued.append(token(of: slot))
    }

    /// One turn for each connection that waits for one.
    mutating func takeTurns(_ context: inout Context) {
        if queued.isEmpty { return }
        var due: [UInt64] = []
        swap(&due, &queued)
        for token in due {
            guard let slot = slot(of: token), slots[slot].isQueued else { continue }
            slots[slot].isQueued = false
            resume(slot, &context)
            settle(slot, &context)
        }
    }

    private mutating func serveRest(_ slot: Int, _ context: inout Context) {
        var rest: [UInt8] = []
        swap(&rest, &slots[slot].rest)
        let used = rest.withUnsafeBytes { serve($0, slot, &context) }
        if used == 0 {
            swap(&rest, &slots[slot].rest)
        } else if used < rest.count {
            slots[slot].rest = Array(rest[used...])
        }
    }

    /// Continues a body. `nil` where it took everything, or the request failed.
    private mutating func feed(
        _ bytes: UnsafeRawBufferPointer,
        to pending: PendingBody,
        _ slot: Int,
        _ context: inout Context
    ) -> Int? {
        let used: Int
        do throws(HTTPFailure) {
            used = try pending.decoder.decode(bytes, into: &pending.content)
        } catch {
            release(slot, body: true)
            if pending.route == nil {
                // The answer is out already; a second one would be read as the next request's.
                slots[slot].phase = .closing
                slots[slot].mayBeSending = true
            } else {
                respond(slot, failure: error, pending.exchange, &context)
            }
            return nil
        }
        if pending.route == nil { pending.content.removeAll(keepingCapacity: true) }
        guard pending.decoder.isComplete else { return nil }
        release(slot, body: true)
        slots[slot].phase = .idle
        if let route = pending.route {
            pending.bytes.withUnsafeBytes { head in
                pending.content.withUnsafeBytes { content in
                    call(
                        route,
                        head,
                        pending.head,
                        content,
                        pending.exchange,
                        pending.parameters,
                        slot,
                        &context,
                        wasAdmitted: true
                    )
                }
            }
        }
        return used
    }

    /// Serves the requests at the start of `bytes`, one after the other; returns how many bytes it used.
    private mutating func serve(_ bytes: UnsafeRawBufferPointer, _ slot: Int, _ context: inout Context) -> Int {
        var position = 0
        var served = 0
        slots[slot].isHeldBack = false
        while position < bytes.count {
            let phase = slots[slot].phase
            guard phase == .idle || phase == .head else { break }
            guard served < EventLoop.turnRequests else {
                queue(slot)
                break
            }
            // Output of this pass counts too: one read may hold hundreds of requests.
            guard slots[slot].unsent + output.count <= outputLimit else {
                slots[slot].isHeldBack = true
                break
            }
            if bytes[position] == 0x0D, position + 1 < bytes.count, bytes[position + 1] == 0x0A {
                position += 2
                continue
            }
            let rest = bytes.slice(position..<bytes.count)
            do throws(HTTPFailure) {
                guard try parser.parse(rest, into: &head) else { break }
            } catch {
                fail(slot, error, &context)
                return bytes.count
            }
            // Of any other one the beginning came before.
            if phase == .idle { slots[slot].askingSince = ticks }
            slots[slot].phase = .idle
            position += begin(rest, slot, &context)
            served += 1
        }
        if slots[slot].phase == .closing { return bytes.count }
        return position
    }
}
