public import Licensing
public import Storage

/// What time it is; read once for each request, in the snapshot that the request is decided by.
///
/// Two real implementations: the system's clock under guard, and a file for trying ends from outside.
public protocol WallClock: Sendable {
    /// Now, in whole seconds, judged at this reading.
    ///
    /// - Parameter lastCommit: When something was last committed, in seconds since 1970; 0 before the first time.
    /// - Throws: `ClockUnsure` while the time cannot be trusted: nothing may be decided then.
    func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp
}

extension WallClock {
    /// Now, judged by the last commit that `db` sees.
    ///
    /// - Throws: `ClockUnsure`, `StorageError`.
    public func now<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Timestamp {
        try now(after: try db.committedAt())
    }
}

/// The clock cannot be trusted: a wrong clock must never become signed rejections.
public struct ClockUnsure: Error, Hashable, Sendable {
    /// Why, for the log and `doctor`.
    public let reason: String

    /// - Parameter reason: Why, for the log and `doctor`.
    public init(reason: String) { self.reason = reason }
}
