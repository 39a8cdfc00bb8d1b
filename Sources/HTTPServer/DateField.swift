#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The `Date` field's value, made once a second (IMF-fixdate, RFC 9110 §5.6.7).
struct DateField {
    private var second = Int.min
    /// 29 bytes.
    private(set) var bytes: [UInt8] = []

    /// Looks at the system's clock.
    mutating func refresh() {
        let now = Int(time(nil))
        if now != second {
            second = now
            bytes = DateField.format(secondsSinceEpoch: now)
        }
    }

    /// The bytes for a moment from 1970 on.
    static func format(secondsSinceEpoch seconds: Int) -> [UInt8] {
        let days = seconds / 86400
        let rest = seconds % 86400
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days, with years from March on.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let weekdays: [StaticString] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months: [StaticString] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        let text =
            "\(weekdays[days % 7]), \(two(day)) \(months[month - 1]) \(year) "
            + "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
        return Array(text.utf8)
    }

    private static func two(_ number: Int) -> String {
        number < 10 ? "0\(number)" : String(number)
    }
}
