// The calendar of the model: a table of months, counted one by one, not the formula of the product.

/// The first seconds of the months from January 1970 on.
private let monthStarts: [Int64] = {
    var starts: [Int64] = [0]
    for year in 1970..<2200 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        for days in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as [Int64] {
            starts.append(starts[starts.count - 1] + days * 86_400)
        }
    }
    return starts
}()

/// The place of the month that an instant lies in.
private func month(of instant: Int64) -> Int {
    var (low, high) = (0, monthStarts.count)
    while high - low > 1 {
        let middle = (low + high) / 2
        if monthStarts[middle] <= instant { low = middle } else { high = middle }
    }
    return low
}

func startOfDay(_ instant: Int64) -> Int64 { instant - instant % 86_400 }

func startOfMonth(_ instant: Int64) -> Int64 { monthStarts[month(of: instant)] }

func startOfYear(_ instant: Int64) -> Int64 { monthStarts[month(of: instant) / 12 * 12] }

/// The same day and time so many months later, or the month's last day where that is earlier; then the seconds.
func adding(_ span: Span, to instant: Int64) -> Int64 {
    guard span.months > 0 else { return instant + span.seconds }
    let old = month(of: instant)
    let new = old + Int(span.months)
    let day = (instant - monthStarts[old]) / 86_400
    let days = (monthStarts[new + 1] - monthStarts[new]) / 86_400
    return monthStarts[new] + min(day, days - 1) * 86_400 + instant % 86_400 + span.seconds
}
