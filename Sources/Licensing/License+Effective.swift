// What counts for a license: its own word, else its plan's, else its product's.

extension License {
    /// How many installs may hold a seat at once.
    public var seatLimit: SeatLimit { overrides.seatLimit ?? plan.seatLimit }

    /// What happens when they do.
    public var seatPolicy: SeatPolicy { overrides.seatPolicy ?? plan.seatPolicy }

    /// Where its grants count, or `nil` for everywhere.
    public var environment: EnvironmentRule? {
        guard let rule = overrides.environment ?? plan.environment, !rule.isEmpty else { return nil }
        return rule
    }

    /// How long a bundle proves its grants without contact.
    public func offlineLife(under settings: ProductSettings) -> CalendarDuration {
        overrides.offlineLife ?? plan.offlineLife ?? settings.offlineLife
    }

    /// How many seats may be held at once, overage included, or `nil` for any number.
    public var seatCapacity: Int? {
        guard let limit = seatLimit.count else { return nil }
        guard seatPolicy == .allowOverage else { return limit }
        // floor(limit × (100 + percent) / 100), split so that no limit overflows.
        let percent = max(0, plan.overagePercent)
        let (whole, rest) = (limit / 100).multipliedReportingOverflow(by: percent)
        let (part, partOverflow) = (limit % 100).multipliedReportingOverflow(by: percent)
        let (extra, extraOverflow) = whole.addingReportingOverflow(part / 100)
        let (capacity, overflow) = limit.addingReportingOverflow(extra)
        return rest || partOverflow || extraOverflow || overflow ? .max : capacity
    }

    /// When its right ends, `expiry_grace` included: `ends` of its grants. `nil` for no end.
    public var rightEndsAt: Timestamp? { expiresAt?.adding(plan.expiryGrace) }

    /// The first second of its right: `starts` of its grants.
    public var rightStartsAt: Timestamp { startsAt ?? issuedAt }

    /// The first second of its right as a bundle made at `now` says it.
    ///
    /// A license without a start of its own is in force from its issue on, whatever a clock says that was set back a
    /// little since: that must not take the right from who has just bought it.
    public func rightStart(at now: Timestamp) -> Timestamp { startsAt ?? min(issuedAt, now) }

    /// What it is at `now`.
    public func status(at now: Timestamp) -> LicenseStatus {
        switch denial(at: now) {
        case .revoked: return .revoked
        case .suspended: return .suspended
        case .notStarted: return .notStarted
        case .expired: return .expired
        default: return .active
        }
    }

    /// Why it is not in force at `now`, or `nil` where it is: the first of revoked, suspended, not started, expired.
    ///
    /// Every end is exclusive: at the second the grace ends, it has ended.
    public func denial(at now: Timestamp) -> Denial? {
        switch standing {
        case .revoked: return .revoked
        case .suspended: return .suspended
        case .active: break
        }
        if let start = startsAt, now < start { return .notStarted(until: start) }
        if let end = expiresAt, let rightEnd = rightEndsAt, now >= rightEnd { return .expired(at: end) }
        return nil
    }
}
