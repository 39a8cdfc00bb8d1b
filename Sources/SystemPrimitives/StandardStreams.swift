#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard input, output and error, descriptors 0 to 2 of a process.
public enum StandardStreams {
    /// Opens the null device in the place of each that whoever started the process has closed: the next file that is opened
    /// would get its number, and with it whatever is printed. To be called before anything is opened.
    ///
    /// As root's programs do, see POSIX.1-2017, `exec`, "if file descriptor 0, 1, or 2 would otherwise be closed".
    public static func fill() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            // The lowest number that is free is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }
}
