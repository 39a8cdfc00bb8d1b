public import Licensing
internal import Synchronization
internal import SystemPrimitives

/// The system's clock, trusted as long as `ClockGuard` has no doubt about it.
public final class GuardedClock: WallClock {
    private let watch: Guarded<ClockGuard>
    /// Set while there is doubt, so that a request reads one flag and no lock.
    private let isUnsure: Atomic<Bool>

    /// Judges the clock at a start.
    ///
    /// - Parameters:
    ///   - lastCommit: `state.committed_at`, or `nil` in a new database.
    ///   - isAccepted: The operator started with `--accept-clock`.
    public init(lastCommit: Timestamp?, isAccepted: Bool) {
        let watch = ClockGuard(startingAt: SystemTime.reading(), lastCommit: lastCommit, isAccepted: isAccepted)
        isUnsure = Atomic(watch.doubt != nil)
        self.watch = Guarded(watch)
    }

    /// See `WallClock`.
    public func now() throws(ClockUnsure) -> Timestamp {
        if isUnsure.load(ordering: .relaxed) { throw ClockUnsure(reason: doubt ?? "the clock is in doubt") }
        return SystemTime.timestamp()
    }

    /// Why the clock is not trusted; `nil` when it is.
    public var doubt: String? { watch.withLock { $0.doubt?.text } }

    /// Compares both clocks and the newest commit; to be called about once a second.
    ///
    /// - Returns: Whether trust was lost or won by this.
    @discardableResult
    public func observe(lastCommit: Timestamp?) -> Bool {
        let isDoubtful = watch.withLock { watch in
            watch.observe(SystemTime.reading(), lastCommit: lastCommit)
            return watch.doubt != nil
        }
        return isUnsure.exchange(isDoubtful, ordering: .relaxed) != isDoubtful
    }
}
