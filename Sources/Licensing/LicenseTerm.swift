/// Whether and when a license ends, and from where the next renewal counts.
public enum LicenseTerm: Hashable, Sendable {
    /// It never ends.
    case unending
    /// It ends at `end`. Renewals by calendar months end at `anchor` + `months` + theirs, so that twelve monthly renewals
    /// from 31 January end on 31 January: each is counted from the anchor, none from a day that was clamped.
    case ending(end: Timestamp, anchor: Timestamp, months: Int64)
    /// It begins to run with the first activation and then lasts so long.
    case pending(CalendarDuration)

    /// The end, where there is one already.
    public var end: Timestamp? {
        if case .ending(let end, _, _) = self { return end }
        return nil
    }

    /// The duration that waits for the first activation.
    public var pendingDuration: CalendarDuration? {
        if case .pending(let duration) = self { return duration }
        return nil
    }

    /// The moment from which counted months count; a row's `term_anchor`.
    public var anchor: Timestamp? {
        if case .ending(_, let anchor, _) = self { return anchor }
        return nil
    }

    /// Months from the anchor to the end; a row's `term_months`, 0 where there is no anchor.
    public var months: Int64 {
        if case .ending(_, _, let months) = self { return months }
        return 0
    }

    /// The term that a row's columns say: an end wins, then a pending duration; neither: unending.
    ///
    /// - Parameters:
    ///   - end: `expires_at`.
    ///   - anchor: `term_anchor`; the end itself where absent.
    ///   - months: `term_months`.
    ///   - pending: The duration that waits for the first activation.
    public init(end: Timestamp?, anchor: Timestamp?, months: Int64, pending: CalendarDuration?) {
        if let end {
            self = .ending(end: end, anchor: anchor ?? end, months: anchor == nil ? 0 : months)
        } else if let pending {
            self = .pending(pending)
        } else {
            self = .unending
        }
    }

    /// An end that somebody named: it is its own anchor.
    public static func explicit(_ end: Timestamp) -> LicenseTerm {
        .ending(end: end, anchor: end, months: 0)
    }
}
