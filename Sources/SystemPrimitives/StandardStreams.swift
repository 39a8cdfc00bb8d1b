#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard input, output and error, descriptors 0 to 2 of a process.
public enum StandardStreams {
    /// Takes the number of each that whoever started the process has closed: the next file that is opened would get it, and
    /// with it whatever is printed. To be called before anything is opened.
    ///
    /// What is printed still fails, as on a stream that is closed: a secret that is shown once must not be lost in silence.
    ///
    /// See POSIX.1-2017, `exec`: "if file descriptor 0, 1, or 2 would otherwise be closed".
    public static func fill() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            // The lowest number that is free is this one. Nothing can be read from 0, nor written to the others.
            if open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY) < 0 { _ = open("/", O_RDONLY) }
        }
    }

    /// Writes to a stream what it takes without much waiting: a pipe that nobody reads is no reason to hang.
    ///
    /// - Parameter seconds: How long a full stream may take to be read from.
    /// - Throws: `SystemError`; `ETIMEDOUT` where it stays full. Part of it may be written.
    public static func write(_ bytes: [UInt8], to stream: Int32, within seconds: Int32) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            var request = pollfd(fd: stream, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&request, 1, seconds * 1000)
            if ready < 0 && errno == EINTR { continue }
            guard ready > 0 else { throw SystemError("write", code: ready == 0 ? ETIMEDOUT : errno) }
            // A pipe that is writable has room for so much (pipe(7), PIPE_BUF).
            let end = min(bytes.count, written + 4096)
            let count = bytes[written..<end].withUnsafeBytes { systemWrite(stream, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count < 0 && (errno == EINTR || errno == EAGAIN) { continue }
                throw .last("write")
            }
            written += count
        }
    }
}
