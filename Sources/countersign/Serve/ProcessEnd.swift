import Glibc

/// The end of the process.
enum ProcessEnd {
    /// Ends the process with this exit code; nothing is flushed that is not flushed already.
    static func exit(_ code: Int32) -> Never { Glibc.exit(code) }
}
