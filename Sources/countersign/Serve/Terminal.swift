import Glibc

/// What this process's streams are connected to.
enum Terminal {
    /// Whether standard error is a terminal.
    static var isStandardError: Bool { isatty(2) == 1 }
}
