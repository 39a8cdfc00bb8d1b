public import Licensing

/// What time it is; read once for each request.
///
/// Two real implementations: the system's clock under guard, and a file for trying ends from outside.
public protocol WallClock: Sendable {
    /// Now, in whole seconds.
    ///
    /// - Throws: `ClockUnsure` while the time cannot be trusted: nothing may be decided then.
    func now() throws(ClockUnsure) -> Timestamp
}

/// The clock cannot be trusted: a wrong clock must never become signed rejections.
public struct ClockUnsure: Error, Hashable, Sendable {
    /// Why, for the log and `doctor`.
    public let reason: String

    /// - Parameter reason: Why, for the log and `doctor`.
    public init(reason: String) { self.reason = reason }
}
