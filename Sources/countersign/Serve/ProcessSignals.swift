import Glibc

/// The signals that `serve` waits for on the main thread, instead of being interrupted by them.
///
/// Blocked before any other thread starts, so that every thread inherits the mask and only this wait sees them. Works as
/// process 1 of a container, where signals without a handler are ignored (pid_namespaces(7)), a wait is not.
struct ProcessSignals {
    /// What came.
    enum Event: Equatable {
        /// SIGTERM or SIGINT.
        case stop
        /// SIGHUP.
        case reload
        /// Nothing, for as long as was waited.
        case timeout
    }

    private var signals = sigset_t()

    /// Blocks the signals for this thread and those that it starts.
    init() {
        sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Whether SIGTERM or SIGINT has come, and nobody has waited for it yet: a start that waits has no reason to.
    static var isStopPending: Bool {
        var pending = sigset_t()
        guard sigpending(&pending) == 0 else { return false }
        return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1
    }

    /// Waits for a signal, at most so long.
    mutating func wait(seconds: Int) -> Event {
        var limit = timespec(tv_sec: seconds, tv_nsec: 0)
        switch sigtimedwait(&signals, nil, &limit) {
        case SIGTERM, SIGINT: return .stop
        case SIGHUP: return .reload
        default: return .timeout
        }
    }
}
