import CSystem
import SystemPrimitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What to watch a descriptor for.
struct Interest: OptionSet, Sendable {
    let rawValue: UInt8

    static let read = Interest(rawValue: 1)
    static let write = Interest(rawValue: 2)
}

/// What happened to a descriptor.
struct Readiness: OptionSet, Sendable {
    let rawValue: UInt8

    static let readable = Readiness(rawValue: 1)
    static let writable = Readiness(rawValue: 2)
    /// Both directions are over, or the connection was reset.
    static let broken = Readiness(rawValue: 4)
}

/// Tells an event loop which of its descriptors are ready; level-triggered.
///
/// All that a loop needs of the system, so that kqueue or Dispatch can take epoll's place where there is none.
protocol Poller: ~Copyable {
    static func open() throws(SystemError) -> Self

    /// Starts watching; `token` comes back with each event. False where the system refuses.
    borrowing func add(_ descriptor: Int32, token: UInt64, for interest: Interest) -> Bool
    /// Watches for something else.
    borrowing func modify(_ descriptor: Int32, token: UInt64, for interest: Interest)
    /// Stops watching. A descriptor that is closed needs no removal.
    borrowing func remove(_ descriptor: Int32)
    /// Waits for events, or until the time is over; returns their number. They stay until the next call.
    mutating func wait(milliseconds: Int32) -> Int
    /// One event of the last wait.
    borrowing func event(_ index: Int) -> (token: UInt64, readiness: Readiness)
}

#if os(Linux)
    /// epoll(7).
    struct EpollPoller: Poller, ~Copyable {
        private let descriptor: Descriptor
        private var events: [epoll_event]

        private init(descriptor: consuming Descriptor) {
            self.descriptor = descriptor
            events = Array(repeating: epoll_event(), count: 256)
        }

        static func open() throws(SystemError) -> EpollPoller {
            let number = epoll_create1(Int32(EPOLL_CLOEXEC))
            guard number >= 0 else { throw .last("epoll_create1") }
            return EpollPoller(descriptor: Descriptor(taking: number))
        }

        private static func event(_ token: UInt64, _ interest: Interest) -> epoll_event {
            var events: UInt32 = 0
            if interest.contains(.read) { events |= EPOLLIN.rawValue }
            if interest.contains(.write) { events |= EPOLLOUT.rawValue }
            return epoll_event(events: events, data: epoll_data_t(u64: token))
        }

        borrowing func add(_ descriptor: Int32, token: UInt64, for interest: Interest) -> Bool {
            var event = EpollPoller.event(token, interest)
            return epoll_ctl(self.descriptor.number, EPOLL_CTL_ADD, descriptor, &event) == 0
        }

        borrowing func modify(_ descriptor: Int32, token: UInt64, for interest: Interest) {
            var event = EpollPoller.event(token, interest)
            _ = epoll_ctl(self.descriptor.number, EPOLL_CTL_MOD, descriptor, &event)
        }

        borrowing func remove(_ descriptor: Int32) {
            var event = epoll_event()
            _ = epoll_ctl(self.descriptor.number, EPOLL_CTL_DEL, descriptor, &event)
        }

        mutating func wait(milliseconds: Int32) -> Int {
            let number = descriptor.number
            let count = events.withUnsafeMutableBufferPointer { events in
                epoll_wait(number, events.baseAddress, Int32(events.count), milliseconds)
            }
            return max(0, Int(count))
        }

        borrowing func event(_ index: Int) -> (token: UInt64, readiness: Readiness) {
            let event = events[index]
            var readiness: Readiness = []
            if event.events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
            if event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
            if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.broken) }
            return (event.data.u64, readiness)
        }
    }

    typealias SystemPoller = EpollPoller
#endif
