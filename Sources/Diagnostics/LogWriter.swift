import Synchronization
import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The log's thread: takes what waits and writes it out.
struct LogWriter {
    private let log: Log
    /// Becomes readable when lines wait.
    private let attention: Int32
    private let descriptor: Int32
    /// How long lines may gather before they are written, in milliseconds: one system call for many lines.
    private let gathering: Int32 = 10

    init(log: Log, attention: Int32, descriptor: Int32) {
        self.log = log
        self.attention = attention
        self.descriptor = descriptor
    }

    /// Writes until the log is stopped, and then what still waits.
    func run() {
        var bytes: [UInt8] = []
        while true {
            let isLast = log.isStopping.load(ordering: .acquiring)
            bytes.removeAll(keepingCapacity: true)
            log.take(into: &bytes, orSleep: true)
            output(bytes)
            if isLast { return }
            sleep(atMost: bytes.isEmpty ? -1 : gathering)
        }
    }

    private func sleep(atMost milliseconds: Int32) {
        wait(for: Int16(POLLIN), on: attention, atMost: milliseconds)
        log.wake?.clear()
    }

    /// Writes all of `bytes`, in pieces where the other end takes pieces; gives up on an error, or 2 seconds after the
    /// stop.
    private func output(_ bytes: [UInt8]) {
        var done = 0
        var patience = 20
        while done < bytes.count {
            // Asked first, since a plain `write` into a full pipe would wait for good.
            guard wait(for: Int16(POLLOUT), on: descriptor, atMost: 100) else {
                if log.isStopping.load(ordering: .acquiring) {
                    patience -= 1
                    if patience == 0 { return }
                }
                continue
            }
            // A pipe that polls writable takes 4,096 bytes (PIPE_BUF) without waiting: pipe(7).
            let written = bytes.withUnsafeBytes { raw in
                write(descriptor, raw.baseAddress?.advanced(by: done), min(raw.count - done, 4_096))
            }
            if written > 0 {
                done += written
            } else if written < 0 && errno != EINTR && errno != EAGAIN {
                return
            }
        }
    }

    /// Whether `descriptor` became ready, or failed, within the time; below zero there is no end to it.
    @discardableResult
    private func wait(for events: Int16, on descriptor: Int32, atMost milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: events, revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }
}
