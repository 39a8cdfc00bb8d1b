/// What a vendor used of its validations in one calendar month (UTC).
public struct QuotaUse: Hashable, Sendable {
    /// Validations a month; `nil`: any number.
    public let quota: Int64?
    /// Validations counted in the month.
    public let used: Int64
    /// When the month began.
    public let month: Timestamp

    /// What was used of `quota` in the month of `now`.
    public init(quota: Int64?, used: Int64, at now: Timestamp) {
        self.quota = quota
        self.used = used
        month = now.startOfMonth
    }

    /// When counting begins anew: the first second of the next month.
    public var resetsAt: Timestamp { month.adding(months: 1) }

    /// What is left; `nil`: any number. A quota that was lowered meanwhile leaves nothing, never less.
    public var remaining: Int64? { quota.map { max(0, $0.subtractingClamped(used)) } }

    /// Whether one more may be counted.
    public var allowsAnother: Bool { remaining != 0 }
}
