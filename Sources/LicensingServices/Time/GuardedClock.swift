public import Licensing
public import Storage
internal import Synchronization
internal import SystemPrimitives

/// The system's clock, each reading of it judged by `ClockGuard` before anything is decided, signed or committed by it.
///
/// A reading that is right costs the two clocks and four loads; only where one is not, or a newer commit is seen, or
/// something is committed, is there a lock.
public final class GuardedClock: WallClock {
    /// Trust that was lost or won, for the log.
    public enum Change: Hashable, Sendable {
        /// Trust was lost, perhaps for a moment; why.
        case lost(String)
        /// It was won again.
        case won
        /// The date of the last commit, which another process made, cannot be right; in words.
        case disbelieved(String)
    }

    private struct State {
        var watch: ClockGuard
        /// The last doubt since somebody looked.
        var recent: ClockGuard.Doubt?
        var isDoubtTold = false
        /// The last date that was told as not believed.
        var disbelieved: Int64 = 0
    }

    private let read: @Sendable () -> ClockGuard.Reading
    private let state: Guarded<State>
    private let isSure: Atomic<Bool>
    /// The guard's bounds, and the commit they were made by, for readings without the lock.
    private let earliestWall = Atomic<Int64>(.max)
    private let latestOffset = Atomic<Int64>(.min)
    private let newestCommit = Atomic<Int64>(0)

    /// A clock that has no past yet.
    ///
    /// - Parameter read: Reads both clocks.
    public init(reading read: @escaping @Sendable () -> ClockGuard.Reading = SystemTime.reading) {
        self.read = read
        let watch = ClockGuard(startingAt: read(), lastCommit: nil, isAccepted: false)
        state = Guarded(State(watch: watch))
        isSure = Atomic(false)
    }

    /// Judges the clock by what the database remembers; to be called in the transaction that a start begins with.
    ///
    /// - Parameters:
    ///   - lastCommit: `state.committed_at`, in seconds since 1970; 0 in a new database.
    ///   - isAccepted: The operator started with `--accept-clock`.
    public func start(after lastCommit: Int64, isAccepted: Bool) {
        state.withLock { state in
            state.watch = ClockGuard(
                startingAt: read(),
                lastCommit: Self.instant(lastCommit),
                isAccepted: isAccepted
            )
            publish(&state)
        }
    }

    /// See `WallClock`.
    public func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp {
        let reading = read()
        if isSure.load(ordering: .relaxed), lastCommit <= newestCommit.load(ordering: .relaxed),
            reading.wallMicroseconds >= earliestWall.load(ordering: .relaxed),
            reading.offset <= latestOffset.load(ordering: .relaxed)
        {
            return reading.wall
        }
        let doubt = state.withLock { state in
            state.watch.observe(reading, lastCommit: Self.instant(lastCommit))
            publish(&state)
            return state.watch.doubt
        }
        if let doubt { throw ClockUnsure(reason: doubt.text) }
        return reading.wall
    }

    /// Dates a commit that is about to be made, for `Database.Options`.
    ///
    /// - Parameter last: The date of the last commit, in seconds since 1970; 0 before the first.
    /// - Throws: `StorageError` (`clockUnsure`): nothing may be committed.
    public func date(after last: Int64) throws(StorageError) -> CommitDate {
        let (date, doubt) = state.withLock { state in
            let date = state.watch.date(read(), after: Self.instant(last))
            publish(&state)
            return (date, state.watch.doubt)
        }
        guard let date else { throw StorageError(.clockUnsure, doubt?.text ?? "the clock is in doubt") }
        return date
    }

    /// Why the clock is not trusted; `nil` when it is.
    public var doubt: String? { state.withLock { $0.watch.doubt?.text } }

    /// Reads the clock for the log; to be called about once a second, so that a step that lasts is known to.
    ///
    /// - Parameter lastCommit: `state.committed_at`, in seconds since 1970; 0 where it is not known.
    /// - Returns: What became of trust since the last call, and whether that date should be replaced, by any commit.
    public func look(lastCommit: Int64) -> (changes: [Change], isDateWrong: Bool) {
        state.withLock { state in
            let reading = read()
            state.watch.observe(reading, lastCommit: Self.instant(lastCommit))
            publish(&state)
            let isDateWrong = Self.instant(lastCommit).map { !state.watch.believes($0, at: reading) } ?? false
            var changes: [Change] = []
            if let recent = state.recent, !state.isDoubtTold {
                changes.append(.lost(recent.text))
                state.isDoubtTold = true
            }
            if state.watch.doubt == nil, state.isDoubtTold {
                changes.append(.won)
                state.isDoubtTold = false
            }
            state.recent = nil
            if isDateWrong, state.disbelieved != lastCommit {
                state.disbelieved = lastCommit
                let ahead = lastCommit - reading.wall.secondsSinceEpoch
                changes.append(.disbelieved("the last commit is dated \(ahead) s ahead, by a command perhaps"))
            }
            return (changes, isDateWrong)
        }
    }

    /// Tells the readers without a lock what the guard thinks now.
    private func publish(_ state: inout State) {
        if let doubt = state.watch.doubt { state.recent = doubt }
        let bounds = state.watch.bounds
        earliestWall.store(bounds.earliestWall, ordering: .relaxed)
        latestOffset.store(bounds.latestOffset, ordering: .relaxed)
        newestCommit.store(bounds.newestCommit, ordering: .relaxed)
        isSure.store(state.watch.doubt == nil, ordering: .relaxed)
    }

    private static func instant(_ seconds: Int64) -> Timestamp? {
        seconds > 0 ? Timestamp(secondsSinceEpoch: seconds) : nil
    }
}
