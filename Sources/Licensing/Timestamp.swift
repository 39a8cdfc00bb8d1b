/// An instant in whole seconds, UTC.
///
/// Every end in this package is exclusive: what ends at T is live while `now < T`.
public struct Timestamp: Hashable, Sendable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z, leap seconds not counted. Instants of this package lie from `earliest` to
    /// `latest`; a value that came from outside the rules may lie elsewhere and is never a trap.
    public let secondsSinceEpoch: Int64

    /// 1970-01-01T00:00:00Z.
    public static let earliest = Timestamp(secondsSinceEpoch: 0)
    /// 9999-12-31T23:59:59Z, the last instant that RFC 3339 can write.
    public static let latest = Timestamp(secondsSinceEpoch: 253_402_300_799)

    /// The instant this many seconds after 1970.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Earlier before later.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    /// The instant `seconds` later, or earlier where negative; stops at `earliest` and `latest`.
    public func adding(seconds: Int64) -> Timestamp {
        let (sum, overflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        if overflow { return seconds < 0 ? .earliest : .latest }
        return Timestamp(
            secondsSinceEpoch: min(max(sum, Self.earliest.secondsSinceEpoch), Self.latest.secondsSinceEpoch)
        )
    }

    /// Seconds from `earlier` to this instant; negative where `earlier` is later. Stops at the ends of `Int64`.
    public func seconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = secondsSinceEpoch.subtractingReportingOverflow(earlier.secondsSinceEpoch)
        guard overflow else { return difference }
        return earlier.secondsSinceEpoch < 0 ? .max : .min
    }
}

// MARK: - Calendar

extension Timestamp {
    /// A day of the Gregorian calendar and the seconds into it, UTC.
    struct CivilTime {
        var year: Int64
        var month: Int64
        var day: Int64
        var secondOfDay: Int64
    }

    static let secondsPerDay: Int64 = 86_400

    /// This instant in the calendar; outside `earliest` to `latest` it is the nearer of the two.
    var civil: CivilTime {
        let seconds = min(max(secondsSinceEpoch, Self.earliest.secondsSinceEpoch), Self.latest.secondsSinceEpoch)
        let days = seconds / Self.secondsPerDay
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, so that a leap day is
        // the last of its year.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return CivilTime(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
            month: month,
            day: dayOfYear - (153 * shiftedMonth + 2) / 5 + 1,
            secondOfDay: seconds % Self.secondsPerDay
        )
    }

    /// Days from 1970-01-01 to a day of the calendar; the year must not be before 0.
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    static func dayCount(ofMonth month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// The same time of day so many calendar months later (earlier where negative), on the same day of the month or the
    /// month's last one where it has no such day. Stops at `earliest` and `latest`.
    public func adding(months: Int64) -> Timestamp {
        let civil = civil
        // 120,000 months are more than the calendar of this package has.
        let index = civil.year * 12 + civil.month - 1 + min(max(months, -120_000), 120_000)
        guard index >= 1970 * 12 else { return .earliest }
        guard index < 10_000 * 12 else { return .latest }
        let (year, month) = (index / 12, index % 12 + 1)
        let day = min(civil.day, Self.dayCount(ofMonth: month, in: year))
        let days = Self.days(year: year, month: month, day: day)
        return Timestamp(secondsSinceEpoch: days * Self.secondsPerDay + civil.secondOfDay)
    }

    /// 00:00:00 UTC of this instant's day.
    public var startOfDay: Timestamp {
        Timestamp(secondsSinceEpoch: clamped - clamped % Self.secondsPerDay)
    }

    /// 00:00:00 UTC of the first day of this instant's month.
    public var startOfMonth: Timestamp {
        let civil = civil
        let days = Self.days(year: civil.year, month: civil.month, day: 1)
        return Timestamp(secondsSinceEpoch: days * Self.secondsPerDay)
    }

    /// 00:00:00 UTC of the first of January of this instant's year.
    public var startOfYear: Timestamp {
        Timestamp(secondsSinceEpoch: Self.days(year: civil.year, month: 1, day: 1) * Self.secondsPerDay)
    }

    private var clamped: Int64 {
        min(max(secondsSinceEpoch, Self.earliest.secondsSinceEpoch), Self.latest.secondsSinceEpoch)
    }
}
