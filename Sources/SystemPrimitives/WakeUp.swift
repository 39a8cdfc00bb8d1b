import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A descriptor that becomes readable when another thread asks for attention.
///
/// Any number of signals before a `clear` count as one.
public struct WakeUp: ~Copyable, Sendable {
    private let reader: Descriptor
    #if !os(Linux)
        private let writer: Descriptor
    #endif

    /// What to watch for readability.
    public var descriptor: Int32 { reader.number }

    #if os(Linux)
        private init(reader: consuming Descriptor) {
            self.reader = reader
        }

        /// Opens an eventfd, non-blocking and closed on exec.
        ///
        /// - Throws: `SystemError` where the process is out of descriptors.
        public static func open() throws(SystemError) -> WakeUp {
            let number = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
            guard number >= 0 else { throw .last("eventfd") }
            return WakeUp(reader: Descriptor(taking: number))
        }

        /// Makes the descriptor readable; never blocks, from any thread.
        public func signal() {
            var one: UInt64 = 1
            // Fails only where the counter is full, and then the descriptor is readable already.
            while write(reader.number, &one, 8) < 0 && errno == EINTR {}
        }

        /// Takes back all signals so far.
        public func clear() {
            var count: UInt64 = 0
            while read(reader.number, &count, 8) < 0 && errno == EINTR {}
        }
    #else
        private init(reader: consuming Descriptor, writer: consuming Descriptor) {
            self.reader = reader
            self.writer = writer
        }

        /// Opens a pipe, non-blocking and closed on exec.
        ///
        /// - Throws: `SystemError` where the process is out of descriptors.
        public static func open() throws(SystemError) -> WakeUp {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw .last("pipe") }
            for end in ends {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
            return WakeUp(reader: Descriptor(taking: ends[0]), writer: Descriptor(taking: ends[1]))
        }

        /// Makes the descriptor readable; never blocks, from any thread.
        public func signal() {
            var one: UInt8 = 1
            // Fails where the pipe is full, and then the descriptor is readable already.
            while write(writer.number, &one, 1) < 0 && errno == EINTR {}
        }

        /// Takes back all signals so far.
        public func clear() {
            var bytes: (UInt64, UInt64) = (0, 0)
            while true {
                let count = read(reader.number, &bytes, 16)
                if count < 16 && !(count < 0 && errno == EINTR) { return }
            }
        }
    #endif
}
