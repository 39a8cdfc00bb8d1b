/// A length of time as ISO 8601 writes it: `P1Y`, `P1M`, `P14D`, `P2W`, `PT1H`.
///
/// Months and years are calendar: their length in seconds depends on where they are counted from. Never negative.
public struct CalendarDuration: Hashable, Sendable {
    /// Calendar months, years counted as 12; at most 120,000.
    public let months: Int64
    /// Days of 86,400 seconds, weeks counted as 7; at most 3,660,000.
    public let days: Int64
    /// Seconds, hours and minutes included; at most 316,224,000,000.
    public let seconds: Int64

    /// The most months: 10,000 years.
    public static let mostMonths: Int64 = 120_000
    static let mostDays: Int64 = 3_660_000
    static let mostSeconds: Int64 = 316_224_000_000

    /// No time at all.
    public static let zero = CalendarDuration()

    /// A duration of these parts; a part above its greatest value (about 10,000 years) counts as that.
    ///
    /// - Precondition: No part is negative.
    public init(months: Int64 = 0, days: Int64 = 0, seconds: Int64 = 0) {
        precondition(months >= 0 && days >= 0 && seconds >= 0, "a duration is never negative")
        self.months = min(months, Self.mostMonths)
        self.days = min(days, Self.mostDays)
        self.seconds = min(seconds, Self.mostSeconds)
    }

    /// Reads an ISO 8601 duration: `P`, then numbers with `Y`, `M`, `W`, `D` in this order, then `T` and numbers with
    /// `H`, `M`, `S`. Whole numbers only, at least one part, at most about 10,000 years.
    ///
    /// - Throws: `ValueFault` where the text is no duration.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        var reader = DigitReader(text)
        guard reader.skip("P") else { throw Self.fault }
        let (years, calendarMonths, weeks, singleDays) = (
            Self.part("Y", &reader), Self.part("M", &reader), Self.part("W", &reader),
            Self.part("D", &reader)
        )
        var (hours, minutes, singleSeconds): (Int64?, Int64?, Int64?) = (nil, nil, nil)
        if reader.skip("T") {
            hours = Self.part("H", &reader)
            minutes = Self.part("M", &reader)
            singleSeconds = Self.part("S", &reader)
            guard hours != nil || minutes != nil || singleSeconds != nil else { throw Self.fault }
        } else {
            guard years != nil || calendarMonths != nil || weeks != nil || singleDays != nil else { throw Self.fault }
        }
        guard reader.isAtEnd else { throw Self.fault }
        // Twelve digits times 3600 stay far below the end of Int64.
        let months = (years ?? 0) * 12 + (calendarMonths ?? 0)
        let days = (weeks ?? 0) * 7 + (singleDays ?? 0)
        let seconds = (hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (singleSeconds ?? 0)
        guard months <= Self.mostMonths, days <= Self.mostDays, seconds <= Self.mostSeconds else {
            throw ValueFault("must not be longer than 10,000 years")
        }
        self.init(months: months, days: days, seconds: seconds)
    }

    private static let fault = ValueFault("must be an ISO 8601 duration like P1Y, P1M, P14D or PT1H")

    /// Reads a number with this letter; nil where there is none, or one with another letter, which then stays unread.
    private static func part(_ letter: Unicode.Scalar, _ reader: inout DigitReader) -> Int64? {
        let start = reader
        if let number = reader.number(), reader.skip(letter) { return number }
        reader = start
        return nil
    }

    /// Whether it has no length.
    public var isZero: Bool { months == 0 && days == 0 && seconds == 0 }

    /// ISO 8601, its shortest form: 12 months are a year, 86,400 seconds stay `PT24H`; `PT0S` for none.
    public var iso8601: String {
        guard !isZero else { return "PT0S" }
        var text = "P"
        func append(_ value: Int64, _ letter: String) {
            if value > 0 { text += "\(value)\(letter)" }
        }
        append(months / 12, "Y")
        append(months % 12, "M")
        append(days, "D")
        if seconds > 0 {
            text += "T"
            append(seconds / 3600, "H")
            append(seconds / 60 % 60, "M")
            append(seconds % 60, "S")
        }
        return text
    }

    /// Both lengths one after the other, part by part.
    public static func + (left: CalendarDuration, right: CalendarDuration) -> CalendarDuration {
        CalendarDuration(
            months: left.months + right.months,
            days: left.days + right.days,
            seconds: left.seconds + right.seconds
        )
    }
}

// MARK: - Lengths

extension CalendarDuration {
    /// The fewest seconds it can last, wherever it is counted from.
    public var shortestSeconds: Int64 {
        monthDays(longest: false) * Timestamp.secondsPerDay + days * Timestamp.secondsPerDay + seconds
    }

    /// The most seconds it can last, wherever it is counted from.
    public var longestSeconds: Int64 {
        monthDays(longest: true) * Timestamp.secondsPerDay + days * Timestamp.secondsPerDay + seconds
    }

    /// Whether it is somewhere shorter than `other`: `P1M` is shorter than `P30D`, in February.
    ///
    /// Both ways round may be true for lengths that differ in unit; never for equal ones.
    public func canBeShorter(than other: CalendarDuration) -> Bool {
        if months >= other.months && days >= other.days && seconds >= other.seconds { return false }
        return shortestSeconds < other.longestSeconds
    }

    /// A lower or upper bound of the days in so many months, sharp below 100 years.
    private func monthDays(longest: Bool) -> Int64 {
        // Days of 0 to 11 consecutive months at most (from December or July) and at least (those around February).
        let most: [Int64] = [0, 31, 62, 92, 123, 153, 184, 215, 245, 276, 306, 337]
        let least: [Int64] = [0, 28, 59, 89, 120, 150, 181, 212, 242, 273, 303, 334]
        let years = months / 12
        let rest = Int(months % 12)
        // Of the years 1901 to 2099 every fourth has a leap day; over centuries three of 400 years lack it, and eight
        // years around a plain century have one less than the rule.
        let leapDays = longest ? (years + 3) / 4 : max(0, years / 4 - years / 100 - 1)
        return years * 365 + leapDays + (longest ? most : least)[rest]
    }
}

extension Timestamp {
    /// The instant when `duration` is over that begins now: months first, clamped to the last day of the month, then days
    /// and seconds. Stops at `latest`.
    public func adding(_ duration: CalendarDuration) -> Timestamp {
        let date = duration.months == 0 ? self : adding(months: duration.months)
        return date.adding(seconds: duration.days * Self.secondsPerDay + duration.seconds)
    }

    /// The instant that lies `duration` before: seconds and days first, then months. Stops at `earliest`.
    public func subtracting(_ duration: CalendarDuration) -> Timestamp {
        let date = adding(seconds: -(duration.days * Self.secondsPerDay + duration.seconds))
        return duration.months == 0 ? date : date.adding(months: -duration.months)
    }
}

extension CalendarDuration: CustomStringConvertible {
    /// ISO 8601.
    public var description: String { iso8601 }
}
