extension Timestamp {
    /// What a text that names an instant is read for: it decides what a date without a time means.
    public enum Role: Sendable {
        /// An end: a date means the end of that day, which is the start of the next.
        case end
        /// A start: a date means the start of that day.
        case start
        /// Neither: a date alone is refused.
        case instant
    }

    /// Reads RFC 3339 (§5.6) text, or a date alone where it is a start or an end.
    ///
    /// Any offset, `t` and `z` in lower case and a fraction (floored to the second) are taken. A blank for `T`, a missing
    /// offset, a leap second and a year outside 1970 to 9999, counted in UTC, are refused. `9999-12-31` as an end is that
    /// day's last second, since the next day has no name.
    ///
    /// - Throws: `ValueFault` where the text names no instant.
    public init(_ text: some StringProtocol, as role: Role) throws(ValueFault) {
        var reader = DigitReader(text)
        guard let year = reader.digits(4), reader.skip("-"), let month = reader.digits(2), reader.skip("-"),
            let day = reader.digits(2)
        else {
            throw ValueFault("must be an instant like 2026-11-29T23:50:00Z")
        }
        guard (1...12).contains(month), day >= 1, day <= Self.dayCount(ofMonth: month, in: year) else {
            throw ValueFault("names a day that the calendar does not have")
        }
        let days = Self.days(year: year, month: month, day: day)
        if reader.isAtEnd {
            guard role != .instant else {
                throw ValueFault("must have a time and an offset, like 2026-11-29T23:50:00Z")
            }
            guard (1970...9999).contains(year) else { throw ValueFault("must be in the years 1970 to 9999") }
            let start = Timestamp(secondsSinceEpoch: days * Self.secondsPerDay)
            self = role == .end ? start.adding(seconds: Self.secondsPerDay) : start
            return
        }
        guard reader.skip("T") || reader.skip("t") else {
            throw ValueFault("must have a T between date and time")
        }
        guard let hour = reader.digits(2), reader.skip(":"), let minute = reader.digits(2), reader.skip(":"),
            let second = reader.digits(2), hour < 24, minute < 60
        else {
            throw ValueFault("must have a time of day like 23:50:00")
        }
        guard second < 60 else { throw ValueFault("must not name a leap second") }
        if reader.skip(".") {
            guard reader.digit() != nil else { throw ValueFault("must have digits after the point") }
            while reader.digit() != nil {}
        }
        let offset = try Self.offset(&reader)
        let seconds = days * Self.secondsPerDay + hour * 3600 + minute * 60 + second - offset
        guard seconds >= Self.earliest.secondsSinceEpoch, seconds <= Self.latest.secondsSinceEpoch else {
            throw ValueFault("must be in the years 1970 to 9999")
        }
        self.init(secondsSinceEpoch: seconds)
    }

    /// Reads `Z`, `z`, `+hh:mm` or `-hh:mm` to the end of the text, in seconds east of UTC.
    private static func offset(_ reader: inout DigitReader) throws(ValueFault) -> Int64 {
        if reader.skip("Z") || reader.skip("z") {
            guard reader.isAtEnd else { throw ValueFault("must end after its offset") }
            return 0
        }
        let sign: Int64
        if reader.skip("+") {
            sign = 1
        } else if reader.skip("-") {
            sign = -1
        } else {
            throw ValueFault("must end in Z or an offset like +02:00")
        }
        guard let hours = reader.digits(2), reader.skip(":"), let minutes = reader.digits(2), hours < 24, minutes < 60,
            reader.isAtEnd
        else {
            throw ValueFault("must end in Z or an offset like +02:00")
        }
        return sign * (hours * 3600 + minutes * 60)
    }

    /// RFC 3339 in UTC without a fraction: `2026-11-29T23:50:00Z`.
    ///
    /// An instant outside `earliest` to `latest` is written as the nearer of the two.
    public var rfc3339: String {
        let civil = civil
        return unsafe String(unsafeUninitializedCapacity: 20) { text in
            func put(_ value: Int64, at place: Int) {
                unsafe text[place] = UInt8(ascii: "0") + UInt8(value / 10)
                unsafe text[place + 1] = UInt8(ascii: "0") + UInt8(value % 10)
            }
            put(civil.year / 100, at: 0)
            put(civil.year % 100, at: 2)
            unsafe text[4] = UInt8(ascii: "-")
            put(civil.month, at: 5)
            unsafe text[7] = UInt8(ascii: "-")
            put(civil.day, at: 8)
            unsafe text[10] = UInt8(ascii: "T")
            put(civil.secondOfDay / 3600, at: 11)
            unsafe text[13] = UInt8(ascii: ":")
            put(civil.secondOfDay / 60 % 60, at: 14)
            unsafe text[16] = UInt8(ascii: ":")
            put(civil.secondOfDay % 60, at: 17)
            unsafe text[19] = UInt8(ascii: "Z")
            return 20
        }
    }
}

extension Timestamp: CustomStringConvertible {
    /// RFC 3339 in UTC.
    public var description: String { rfc3339 }
}

/// Walks over ASCII text.
struct DigitReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ symbol: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: symbol) else { return false }
        position += 1
        return true
    }

    mutating func digit() -> Int64? {
        guard position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) else {
            return nil
        }
        position += 1
        return Int64(bytes[position - 1] - UInt8(ascii: "0"))
    }

    /// Exactly so many digits.
    mutating func digits(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// One to twelve digits.
    mutating func number() -> Int64? {
        guard var value = digit() else { return nil }
        var count = 1
        while let digit = digit() {
            count += 1
            guard count <= 12 else { return nil }
            value = value * 10 + digit
        }
        return value
    }
}
