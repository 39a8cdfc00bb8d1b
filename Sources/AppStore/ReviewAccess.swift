public import Licensing

/// What a sandbox purchase gives to an app with a live credential: everything, for a day.
///
/// App Review and TestFlight run the shipped app and buy in the sandbox. A row keeps for each `transactionId` presented
/// in live mode the purchase and when it was first presented, by whichever install.
public enum ReviewAccess: Hashable, Sendable {
    /// Granted until then.
    case granted(until: Timestamp)
    /// It was granted, and ended then: the purchase counts as expired.
    case over(at: Timestamp)
    /// As many installs as may have it: 409 `NO_SEATS_AVAILABLE`.
    case full(limit: Int)

    /// How long after its first presentation: 24 hours.
    public static let life = CalendarDuration(seconds: 86_400)

    /// The most installs of a product that may have it at a time.
    public static let limit = 100

    /// Decides whether an install that presents a sandbox transaction under a live credential has what it gives.
    ///
    /// - Parameters:
    ///   - firstPresentedAt: when this very transaction was first presented; `nil` if never before. Presenting it
    ///     again changes nothing; another transaction of the same purchase begins anew.
    ///   - others: how many other installs of the product have such access now.
    public static func decide(firstPresentedAt: Timestamp?, others: Int, at now: Timestamp) -> ReviewAccess {
        let end = end(firstPresentedAt: firstPresentedAt ?? now)
        guard now < end else { return .over(at: end) }
        return others < limit ? .granted(until: end) : .full(limit: limit)
    }

    /// When access by a transaction that was first presented then ends. The limit of a purchase is the latest of
    /// those of its transactions.
    public static func end(firstPresentedAt: Timestamp) -> Timestamp { firstPresentedAt.adding(life) }
}
