import CSystem
import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How answers leave, as fast as their client reads them.
extension EventLoop where Context: ~Copyable {
    /// Sends the loop's output, or queues it behind what already waits. False where the connection is gone.
    mutating func flush(_ slot: Int) -> Bool {
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
            // A copy of this length: the loop's own buffer may be as long as the longest answers that were ever made.
            slots[slot].output = output[sent...].withUnsafeBytes { Array($0) }
            beginDue(slot)
        }
        return true
    }

    /// From here on the client has `idleSeconds` to read its due.
    private mutating func beginDue(_ slot: Int) {
        dues &+= 1
        slots[slot].due = ReadingDue(by: deadline(in: settings.options.idleSeconds), order: dues)
    }

    /// Sends on what waits. False where the connection is gone.
    mutating func write(_ slot: Int) -> Bool {
        guard slots[slot].unsent > 0 else { return true }
        let sent = transmit(slots[slot].descriptor, slots[slot].output, from: Int(slots[slot].written))
        guard sent >= 0 else {
            close(slot)
            return false
        }
        slots[slot].written += UInt32(sent)
        if slots[slot].due.isPaid(by: sent, for: settings.options.idleSeconds) { beginDue(slot) }
        if slots[slot].unsent == 0 {
            slots[slot].due = ReadingDue()
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
