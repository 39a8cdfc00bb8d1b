/// What was said about a license's end when it was issued or edited.
public enum EndChoice: Hashable, Sendable {
    /// The plan's duration, counted as the plan says.
    case plan
    /// Another duration, counted as the plan says.
    case duration(CalendarDuration)
    /// This moment.
    case at(Timestamp)
    /// No end.
    case never
}

extension LicenseTerm {
    /// The term that lasts `duration` from `start`.
    ///
    /// Months and years keep `start` as their anchor; a duration with days or a time of day makes its end the anchor.
    public static func counted(_ duration: CalendarDuration, from start: Timestamp) -> LicenseTerm {
        guard duration.days == 0 && duration.seconds == 0 else { return .explicit(start.adding(duration)) }
        return .ending(end: start.adding(months: duration.months), anchor: start, months: duration.months)
    }

    /// The term of a license that is issued, or whose end is chosen anew.
    ///
    /// - Parameters:
    ///   - choice: What was said about the end.
    ///   - plan: The license's.
    ///   - start: The license's `startsAt`, else the moment of its issue.
    ///   - firstActivatedAt: When an install first took a seat, if one did.
    public init(
        _ choice: EndChoice,
        under plan: Plan,
        from start: Timestamp,
        firstActivatedAt: Timestamp? = nil
    ) {
        let duration: CalendarDuration?
        switch choice {
        case .at(let end):
            self = .explicit(end)
            return
        case .never: duration = nil
        case .plan: duration = plan.duration
        case .duration(let own): duration = own
        }
        guard let duration else {
            self = .unending
            return
        }
        switch plan.expiryBasis {
        case .issue: self = .counted(duration, from: start)
        case .firstActivation: self = firstActivatedAt.map { .counted(duration, from: $0) } ?? .pending(duration)
        }
    }

    /// The term after a renewal, or `nil` for one without an end.
    ///
    /// While the end is in the future the renewal adds to it: months from the anchor, anything else from the end, which
    /// then becomes the anchor. A lapsed term begins anew at `now`, its grace notwithstanding. A term that waits for the
    /// first activation waits for so much more.
    public func renewed(by duration: CalendarDuration, at now: Timestamp) -> LicenseTerm? {
        switch self {
        case .unending: return nil
        case .pending(let waiting): return .pending(waiting + duration)
        case .ending(let end, let anchor, let months):
            guard now < end else { return .counted(duration, from: now) }
            guard duration.days == 0 && duration.seconds == 0 else { return .explicit(end.adding(duration)) }
            // An end that somebody moved without its anchor is an anchor itself.
            guard anchor.adding(months: months) == end else { return .counted(duration, from: end) }
            let total = min(months.addingClamped(duration.months), CalendarDuration.mostMonths)
            return .ending(end: anchor.adding(months: total), anchor: anchor, months: total)
        }
    }
}
