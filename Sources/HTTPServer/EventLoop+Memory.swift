import CSystem

/// Memory that a loop holds for clients that are slow.
struct HeldBytes: Sendable, Equatable {
    /// Heads and bodies that are not complete.
    var input = 0
    /// Answers that were not read.
    var output = 0
}

/// How much memory slow clients may use together, and who gives way when it is used up.
///
/// Each loop has its part of `ServerOptions.heldBytes`, half of it for input and half for output. Whoever's request has
/// been on its way longest goes first, and of those who do not read, whoever has not for longest: who asks and reads at
/// once has nothing to fear from them.
extension EventLoop where Context: ~Copyable {
    /// A trim takes milliseconds: only where it brings something, and not all the time.
    private static var trimBytes: Int { 8 << 20 }
    private static var ticksPerTrim: UInt32 { 5 * ticksPerSecond }

    /// What one connection may have unsent before its next requests wait: nothing, once the answers of all take up half of
    /// what they may.
    var outputLimit: Int { held.output > heldLimit / 2 ? 0 : settings.options.outputBytes }

    /// Brings the sums in line with what a connection holds.
    mutating func account(_ slot: Int) {
        let body = slots[slot].body.map { $0.bytes.count + $0.content.capacity } ?? 0
        let input = UInt32(clamping: slots[slot].rest.capacity + body)
        let output = UInt32(clamping: slots[slot].output.capacity)
        if input == slots[slot].heldInput && output == slots[slot].heldOutput { return }
        held.input += Int(input) - Int(slots[slot].heldInput)
        held.output += Int(output) - Int(slots[slot].heldOutput)
        slots[slot].heldInput = input
        slots[slot].heldOutput = output
    }

    /// Makes room where more is held than may be: an eighth at once, so that looking for the slowest is rare.
    ///
    /// Only to be called between two connections, with nothing in the loop's own output.
    mutating func relieve(_ context: inout Context) {
        guard held.input > heldLimit || held.output > heldLimit, !isRelieving, ticks >= nextRelief else { return }
        isRelieving = true
        defer { isRelieving = false }
        defer { if held.input > heldLimit || held.output > heldLimit { nextRelief = ticks &+ 1 } }
        let goal = heldLimit / 8 * 7
        if held.output > heldLimit {
            let slowest = slots.indices.filter { slots[$0].heldOutput > 0 }
                .sorted { slots[$0].due.order < slots[$1].due.order }
            for slot in slowest {
                if held.output <= goal { break }
                close(slot)
            }
        }
        if held.input > heldLimit {
            let slowest = slots.indices
                .filter { slots[$0].heldInput > 0 && (slots[$0].phase == .body || slots[$0].phase == .head) }
                .sorted { (slots[$0].askingSince, $0) < (slots[$1].askingSince, $1) }
            for slot in slowest {
                if held.input <= goal { break }
                // Its time is over before it would have been.
                slots[slot].unsent > 0 ? close(slot) : expire(slot, &context)
            }
        }
    }

    /// Returns to the system what slow clients held: the allocator alone keeps pages that lie between others in use.
    mutating func giveBackMemory(_ ticks: UInt32) {
        guard releasedBytes >= EventLoop.trimBytes, ticks &- lastTrim >= EventLoop.ticksPerTrim else { return }
        releasedBytes = 0
        lastTrim = ticks
        cs_trim_memory()
    }
}
