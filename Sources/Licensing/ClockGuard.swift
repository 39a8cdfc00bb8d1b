/// Decides whether the server may trust its wall clock: a wrong clock must never become signed rejections.
///
/// A value that is fed with readings: once at the start, then about once a second. Not used under a test clock.
public struct ClockGuard: Hashable, Sendable {
    /// One reading of both clocks, taken together.
    public struct Reading: Hashable, Sendable {
        /// The wall clock.
        public var wall: Timestamp
        /// Seconds of the boot-time clock, which goes on while the machine sleeps and which nobody sets.
        public var boot: Int64

        /// A reading of both clocks.
        public init(wall: Timestamp, boot: Int64) {
            self.wall = wall
            self.boot = boot
        }
    }

    /// Why the clock is not trusted.
    public enum Doubt: Hashable, Sendable {
        /// It is so many seconds behind the last commit: more than `mostBehind`.
        case behindLastCommit(seconds: Int64)
        /// At the start it was so many seconds ahead of the last commit: more than `mostAheadAtStart`.
        case aheadOfLastCommit(seconds: Int64)
        /// It ran so many seconds ahead of the boot-time clock since the start: more than `mostJump`.
        case jumpedForward(seconds: Int64)

        /// For the log and `doctor`.
        public var text: String {
            switch self {
            case .behindLastCommit(let seconds): return "the clock is \(seconds) s behind the last commit"
            case .aheadOfLastCommit(let seconds): return "the clock is \(seconds) s ahead of the last commit"
            case .jumpedForward(let seconds): return "the clock jumped \(seconds) s forward"
            }
        }
    }

    /// One hour.
    public static let mostBehind: Int64 = 3600
    /// 366 days.
    public static let mostAheadAtStart: Int64 = 366 * 86_400
    /// 7 days.
    public static let mostJump: Int64 = 7 * 86_400

    /// Why the clock is not trusted, or `nil` where it is.
    public private(set) var doubt: Doubt?

    private let start: Reading
    /// What the operator accepted: a commit that the guard no longer measures against.
    private let acceptedCommit: Timestamp?
    /// The commit that the start is measured against.
    private let commitAtStart: Timestamp?
    /// The first reading that was trusted; jumps are measured from there, so that a clock that was set back and comes
    /// back is right again.
    private var baseline: Reading?

    /// Judges the clock at the start.
    ///
    /// - Parameters:
    ///   - reading: Both clocks now.
    ///   - lastCommit: `state.committed_at`, or `nil` in a new database.
    ///   - isAccepted: The operator restarted with `--accept-clock`.
    public init(startingAt reading: Reading, lastCommit: Timestamp?, isAccepted: Bool) {
        start = reading
        acceptedCommit = isAccepted ? lastCommit : nil
        commitAtStart = isAccepted ? nil : lastCommit
        observe(reading, lastCommit: lastCommit)
    }

    /// Judges the clock while the server runs. Doubt goes by itself when the clock is right again.
    ///
    /// - Parameters:
    ///   - reading: Both clocks now.
    ///   - lastCommit: `state.committed_at` of the newest commit, also the command line's. A commit that is made while the
    ///     clock is in doubt must not change it.
    public mutating func observe(_ reading: Reading, lastCommit: Timestamp?) {
        doubt = judgment(of: reading, lastCommit: lastCommit)
        if doubt == nil && baseline == nil { baseline = reading }
    }

    private func judgment(of reading: Reading, lastCommit: Timestamp?) -> Doubt? {
        if let lastCommit, lastCommit != acceptedCommit {
            let behind = lastCommit.seconds(since: reading.wall)
            if behind > Self.mostBehind { return .behindLastCommit(seconds: behind) }
        }
        if let baseline {
            let jump = reading.wall.seconds(since: baseline.wall) - (reading.boot - baseline.boot)
            return jump > Self.mostJump ? .jumpedForward(seconds: jump) : nil
        }
        if let commitAtStart {
            // Real time that passes while the clock is in doubt is not the clock's fault.
            let ahead = reading.wall.seconds(since: commitAtStart) - (reading.boot - start.boot)
            if ahead > Self.mostAheadAtStart { return .aheadOfLastCommit(seconds: ahead) }
        }
        return nil
    }
}
