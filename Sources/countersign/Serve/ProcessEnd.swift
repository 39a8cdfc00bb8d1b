import Glibc

/// The end of the process.
enum ProcessEnd {
    /// Ends the process with this exit code; nothing is flushed that is not flushed already.
    static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

    /// Ends the process at once, beside threads that go on until then: what libraries registered to be done at the end is
    /// left undone, since it would take from those threads what they use.
    static func abandon(_ code: Int32) -> Never { Glibc._exit(code) }
}
