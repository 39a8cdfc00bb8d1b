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
            _ = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
