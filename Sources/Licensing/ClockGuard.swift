/// Decides whether the server may trust its wall clock: a wrong clock must never become signed rejections.
///
/// A value that is fed with readings, each of them judged for itself: against the boot-time clock, which nobody sets, and
/// against the last commit. Not used under a test clock.
public struct ClockGuard: Hashable, Sendable {
    /// One reading of both clocks, taken together.
    public struct Reading: Hashable, Sendable {
        /// The wall clock, in microseconds since 1970.
        public var wallMicroseconds: Int64
        /// The boot-time clock in microseconds: it goes on while the machine sleeps, and nobody sets it.
        public var bootMicroseconds: Int64

        /// A reading of both clocks.
        public init(wallMicroseconds: Int64, bootMicroseconds: Int64) {
            self.wallMicroseconds = wallMicroseconds
            self.bootMicroseconds = bootMicroseconds
        }

        /// The wall clock in whole seconds.
        public var wall: Timestamp { Timestamp(secondsSinceEpoch: ClockGuard.floor(wallMicroseconds)) }

        /// How far the wall clock is ahead of the boot-time clock, in microseconds: the same as long as nobody sets it.
        public var offset: Int64 { wallMicroseconds - bootMicroseconds }
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

    /// Within which a reading is right as long as no newer commit is seen: for judging many readings at once, so that only
    /// those without come to the guard itself.
    public struct Bounds: Hashable, Sendable {
        /// The newest commit that counts here, in seconds since 1970; 0 before the first.
        public var newestCommit: Int64
        /// The lowest wall clock, in microseconds since 1970.
        public var earliestWall: Int64
        /// The highest offset of the wall clock from the boot-time clock, in microseconds.
        public var latestOffset: Int64
    }

    /// One hour.
    public static let mostBehind: Int64 = 3600
    /// 366 days.
    public static let mostAheadAtStart: Int64 = 366 * 86_400
    /// 7 days.
    public static let mostJump: Int64 = 7 * 86_400
    /// How long a step of the wall clock must last before commits are dated by it: a minute.
    public static let settling: Int64 = 60
    /// How far past the clock as it was before a step a commit may be dated until then: less than `mostBehind`, so that
    /// when the step is taken back the clock is behind no commit.
    public static let mostUnsettled: Int64 = mostBehind / 2

    /// Why the clock is not trusted, or `nil` where it is.
    public private(set) var doubt: Doubt?

    private let startBoot: Int64
    /// What the operator accepted: a commit that the guard no longer measures against.
    private let acceptedCommit: Timestamp?
    /// The commit that the start is measured against.
    private let commitAtStart: Timestamp?
    /// The newest commit that is known. It never falls: steps back that are each small do not add up.
    private var newestCommit: Timestamp?
    /// The offset of the first reading that was trusted; jumps are measured from there, so that a clock that was set and
    /// comes back is right again.
    private var baseline: Int64?
    /// The offset that commits are dated by: the newest one that lasted.
    private var settled: Int64 = 0
    /// The offset of late, and the boot time since when.
    private var candidate: Int64 = 0
    private var candidateSince: Int64 = 0

    /// Judges the clock at the start.
    ///
    /// - Parameters:
    ///   - reading: Both clocks now.
    ///   - lastCommit: `state.committed_at`, or `nil` in a new database.
    ///   - isAccepted: The operator restarted with `--accept-clock`.
    public init(startingAt reading: Reading, lastCommit: Timestamp?, isAccepted: Bool) {
        startBoot = reading.bootMicroseconds
        acceptedCommit = isAccepted ? lastCommit : nil
        commitAtStart = isAccepted ? nil : lastCommit
        observe(reading, lastCommit: lastCommit)
    }

    /// Judges one reading. Doubt goes by itself when the clock is right again.
    ///
    /// - Parameters:
    ///   - reading: Both clocks.
    ///   - lastCommit: `state.committed_at`, also of the command line's commits; `nil` where it is not known anew.
    public mutating func observe(_ reading: Reading, lastCommit: Timestamp?) {
        if let lastCommit, believes(lastCommit, at: reading) { raise(lastCommit) }
        doubt = judgment(of: reading)
        guard doubt == nil else {
            // A step begins to last anew after that.
            candidate = settled
            candidateSince = reading.bootMicroseconds
            return
        }
        if baseline == nil {
            baseline = reading.offset
            settled = reading.offset
            candidate = reading.offset
            candidateSince = reading.bootMicroseconds
        }
        settle(reading)
    }

    /// Within which a reading is right now.
    public var bounds: Bounds {
        Bounds(
            newestCommit: newestCommit?.secondsSinceEpoch ?? 0,
            earliestWall: newestCommit.map { Self.microseconds($0) - Self.mostBehind * 1_000_000 } ?? .min,
            latestOffset: latestOffset
        )
    }

    /// Whether something can have been committed at that time, as far as this clock knows: not where the operator said
    /// otherwise, and not later than both clocks can have come since they were trusted. Another process with a wrong clock
    /// dates so; this one goes on.
    public func believes(_ commit: Timestamp, at reading: Reading) -> Bool {
        if commit == acceptedCommit { return false }
        // At a start nothing is known but the commit.
        guard baseline != nil else { return true }
        return Self.microseconds(commit) <= reading.bootMicroseconds + settled + Self.mostBehind * 1_000_000
    }

    /// Judges a reading, and dates a commit by it.
    ///
    /// - Parameter last: The date of the last commit, `nil` before the first.
    /// - Returns: `nil` where the clock is in doubt: nothing may be committed then.
    public mutating func date(_ reading: Reading, after last: Timestamp?) -> CommitDate? {
        observe(reading, lastCommit: last)
        guard doubt == nil else { return nil }
        let latest = reading.bootMicroseconds + settled + Self.mostUnsettled * 1_000_000
        let time = max(0, min(reading.wallMicroseconds, latest))
        let replaces = last.map { !believes($0, at: reading) } ?? false
        let date = CommitDate(microseconds: time, after: replaces ? newestCommit : last, replacesLast: replaces)
        raise(Timestamp(secondsSinceEpoch: date.seconds))
        return date
    }

    private mutating func raise(_ commit: Timestamp) {
        newestCommit = max(newestCommit ?? commit, commit)
    }

    /// Takes over an offset that has lasted.
    private mutating func settle(_ reading: Reading) {
        let difference = reading.offset - candidate
        if abs(difference) > Self.mostUnsettled * 1_000_000 {
            candidate = reading.offset
            candidateSince = reading.bootMicroseconds
        } else if reading.bootMicroseconds - candidateSince >= Self.settling * 1_000_000 {
            settled = candidate
        }
    }

    private func judgment(of reading: Reading) -> Doubt? {
        if let newestCommit {
            let behind = Self.microseconds(newestCommit) - reading.wallMicroseconds
            if behind > Self.mostBehind * 1_000_000 { return .behindLastCommit(seconds: -Self.floor(-behind)) }
        }
        guard reading.offset > latestOffset else { return nil }
        if let baseline { return .jumpedForward(seconds: -Self.floor(baseline - reading.offset)) }
        let ahead = reading.offset - latestOffset + Self.mostAheadAtStart * 1_000_000
        return .aheadOfLastCommit(seconds: -Self.floor(-ahead))
    }

    /// The highest offset that is right.
    private var latestOffset: Int64 {
        if let baseline { return baseline + Self.mostJump * 1_000_000 }
        // Real time that passes while the clock is in doubt is not the clock's fault.
        return commitAtStart.map { Self.microseconds($0) - startBoot + Self.mostAheadAtStart * 1_000_000 } ?? .max
    }

    /// Whatever stands in the database, this fits.
    private static func microseconds(_ instant: Timestamp) -> Int64 {
        min(max(instant, .earliest), .latest).secondsSinceEpoch * 1_000_000
    }

    private static func floor(_ microseconds: Int64) -> Int64 {
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return rest < 0 ? seconds - 1 : seconds
    }
}

/// When a commit was made, as it is recorded.
public struct CommitDate: Hashable, Sendable {
    /// The time of the commit, in microseconds since 1970: the state version is not lower.
    public let microseconds: Int64
    /// What `state.committed_at` becomes: it never falls, but where the date there is not believed.
    public let seconds: Int64
    /// Whether this takes the place of a date that the operator (`--accept-clock`) or the clocks do not believe.
    public let replacesLast: Bool

    /// The date of a commit.
    ///
    /// - Parameters:
    ///   - microseconds: The time, in microseconds since 1970.
    ///   - last: The date of the last commit that counts, which this one's is not before.
    ///   - replacesLast: Whether there is another, which does not count.
    public init(microseconds: Int64, after last: Timestamp?, replacesLast: Bool = false) {
        self.microseconds = microseconds
        seconds = max(microseconds / 1_000_000, last?.secondsSinceEpoch ?? 0)
        self.replacesLast = replacesLast
    }
}
