import Licensing
import Testing

@Suite("Instants") struct TimestampTests {
    @Test(
        "RFC 3339 is read with any offset, either case and a fraction that is floored",
        arguments: [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-11-29T23:50:00Z", 1_795_996_200),
            ("2026-11-29t23:50:00z", 1_795_996_200),
            ("2026-11-29T23:50:00.999999Z", 1_795_996_200),
            ("2026-11-30T01:50:00+02:00", 1_795_996_200),
            ("2026-11-29T18:20:00-05:30", 1_795_996_200),
            ("2026-11-29T23:50:00-00:00", 1_795_996_200),
            ("1969-12-31T23:59:59-00:01", 59),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("2030-06-26T00:00:00+14:00", 1_908_612_000),
            ("2030-06-26T00:00:00-12:00", 1_908_705_600),
        ] as [(String, Int64)]
    )
    func reading(text: String, seconds: Int64) throws {
        #expect(try Timestamp(text, as: .instant).secondsSinceEpoch == seconds)
        #expect(try Timestamp(text, as: .end).secondsSinceEpoch == seconds)
        #expect(try Timestamp(text, as: .start).secondsSinceEpoch == seconds)
    }

    @Test(
        "what is no instant is refused",
        arguments: [
            "", "now", "2026-11-29 23:50:00Z", "2026-11-29_23:50:00Z", "2026-11-29T23:50:00", "2026-11-29T23:50Z",
            "2026-11-29T23:59:60Z", "2026-11-29T24:00:00Z", "2026-11-29T23:60:00Z", "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-00T00:00:00Z",
            "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00Z",
            "10000-01-01T00:00:00Z", "+2026-11-29T23:50:00Z", "2026-11-29T23:50:00.Z", "2026-11-29T23:50:00,5Z",
            "2026-11-29T23:50:00+0200", "2026-11-29T23:50:00+24:00", "2026-11-29T23:50:00+02:60",
            "2026-11-29T23:50:00+02",
            "2026-11-29T23:50:00Z ", " 2026-11-29T23:50:00Z", "2026-11-29T23:50:00ZZ", "2026-1-29T23:50:00Z",
            "2026-11-29T23:50:00 Z", "２026-11-29T23:50:00Z", "2026-11-29T", "2100-02-29T00:00:00Z",
        ]
    )
    func refusal(text: String) {
        #expect(throws: ValueFault.self) { try Timestamp(text, as: .instant) }
        #expect(throws: ValueFault.self) { try Timestamp(text, as: .end) }
    }

    @Test(
        "a date alone is the end of its day as an end, the start of it as a start, and no instant",
        arguments: [
            ("2027-06-26", "2027-06-26T00:00:00Z", "2027-06-27T00:00:00Z"),
            ("2028-02-28", "2028-02-28T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("1970-01-01", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"),
            ("9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z"),
        ]
    )
    func date(text: String, start: String, end: String) throws {
        #expect(try Timestamp(text, as: .start).rfc3339 == start)
        #expect(try Timestamp(text, as: .end).rfc3339 == end)
        #expect(throws: ValueFault.self) { try Timestamp(text, as: .instant) }
    }

    @Test("a date outside the years 1970 to 9999 is refused", arguments: ["1969-12-31", "0001-01-01", "2027-02-29"])
    func dateOutside(text: String) {
        #expect(throws: ValueFault.self) { try Timestamp(text, as: .end) }
        #expect(throws: ValueFault.self) { try Timestamp(text, as: .start) }
    }

    @Test("the first and last days of every month from 1970 to 9999 are written and read as themselves")
    func everyMonth() throws {
        func padded(_ value: Int, _ width: Int) -> String {
            let digits = "\(value)"
            return String(repeating: "0", count: width - digits.count) + digits
        }
        var dayNumber: Int64 = 0
        var wrong: [String] = []

        for year in 1970...9999 {
            let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
            for (index, length) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                for day in [1, length] {
                    let text = "\(padded(year, 4))-\(padded(index + 1, 2))-\(padded(day, 2))T00:00:00Z"
                    let instant = Timestamp(secondsSinceEpoch: (dayNumber + Int64(day) - 1) * 86_400)
                    if try instant.rfc3339 != text || Timestamp(text, as: .instant) != instant { wrong.append(text) }
                }
                dayNumber += Int64(length)
            }
        }

        #expect(wrong.isEmpty)
        #expect(dayNumber * 86_400 - 1 == Timestamp.latest.secondsSinceEpoch)
    }

    @Test("arithmetic stops at both ends of the calendar instead of trapping")
    func saturation() {
        let wild = Timestamp(secondsSinceEpoch: .max)

        #expect(Timestamp.latest.adding(seconds: 1) == .latest)
        #expect(Timestamp.noon.adding(seconds: .max) == .latest)
        #expect(Timestamp.noon.adding(seconds: .min) == .earliest)
        #expect(wild.adding(seconds: .max) == .latest)
        #expect(wild.adding(months: 1) == .latest)
        #expect(wild.rfc3339 == "9999-12-31T23:59:59Z")
        #expect(Timestamp(secondsSinceEpoch: .min).rfc3339 == "1970-01-01T00:00:00Z")
        #expect(Timestamp.noon.adding(months: .max) == .latest)
        #expect(Timestamp.noon.adding(months: .min) == .earliest)
        #expect(wild.seconds(since: Timestamp(secondsSinceEpoch: .min)) == .max)
        #expect(Timestamp(secondsSinceEpoch: .min).seconds(since: wild) == .min)
    }

    @Test("starts of day, month and year are those of UTC")
    func starts() throws {
        let instant = try Timestamp.at("2028-02-29T23:59:59Z")

        #expect(instant.startOfDay.rfc3339 == "2028-02-29T00:00:00Z")
        #expect(instant.startOfMonth.rfc3339 == "2028-02-01T00:00:00Z")
        #expect(instant.startOfYear.rfc3339 == "2028-01-01T00:00:00Z")
    }
}

@Suite("Durations") struct CalendarDurationTests {
    @Test(
        "ISO 8601 is read and written in its shortest form",
        arguments: [
            ("P1Y", 12, 0, 0, "P1Y"),
            ("P14M", 14, 0, 0, "P1Y2M"),
            ("P14D", 0, 14, 0, "P14D"),
            ("P2W", 0, 14, 0, "P14D"),
            ("PT1H", 0, 0, 3600, "PT1H"),
            ("PT90M", 0, 0, 5400, "PT1H30M"),
            ("PT86400S", 0, 0, 86_400, "PT24H"),
            ("P1Y2M3DT4H5M6S", 14, 3, 14_706, "P1Y2M3DT4H5M6S"),
            ("P0D", 0, 0, 0, "PT0S"),
            ("PT0S", 0, 0, 0, "PT0S"),
            ("P1MT1M", 1, 0, 60, "P1MT1M"),
        ] as [(String, Int64, Int64, Int64, String)]
    )
    func reading(text: String, months: Int64, days: Int64, seconds: Int64, written: String) throws {
        let duration = try CalendarDuration(text)

        #expect(duration == CalendarDuration(months: months, days: days, seconds: seconds))
        #expect(duration.iso8601 == written)
        #expect(try CalendarDuration(written) == duration)
    }

    @Test(
        "what is no duration is refused",
        arguments: [
            "", "P", "PT", "P1", "1Y", "P1YT", "P1H", "PT1D", "P1D1Y", "P1M1Y", "P1Y1Y", "P-1D", "-P1D", "+P1D",
            "P1.5D",
            "P1,5D", "p1d", "P1d", "P 1D", "P1D ", "PT1S1M", "P1W1Y", "14", "0", "P10001Y", "P9999999999999D",
            "PT99999999999999999999S", "P1Dx", "P１D",
        ]
    )
    func refusal(text: String) {
        #expect(throws: ValueFault.self) { try CalendarDuration(text) }
    }

    @Test(
        "months are calendar and clamped to the last day of the month",
        arguments: [
            ("2027-01-31T10:00:00Z", "P1M", "2027-02-28T10:00:00Z"),
            ("2028-01-31T10:00:00Z", "P1M", "2028-02-29T10:00:00Z"),
            ("2027-01-31T10:00:00Z", "P2M", "2027-03-31T10:00:00Z"),
            ("2028-02-29T00:00:00Z", "P1Y", "2029-02-28T00:00:00Z"),
            ("2028-02-29T00:00:00Z", "P4Y", "2032-02-29T00:00:00Z"),
            ("2027-12-31T23:59:59Z", "P2M", "2028-02-29T23:59:59Z"),
            ("2027-01-31T00:00:00Z", "P1M1D", "2027-03-01T00:00:00Z"),
            ("2027-03-28T00:30:00Z", "P1D", "2027-03-29T00:30:00Z"),
            ("2027-03-28T00:30:00Z", "PT24H", "2027-03-29T00:30:00Z"),
            ("9999-12-01T00:00:00Z", "P1M", "9999-12-31T23:59:59Z"),
        ]
    )
    func adding(start: String, duration: String, end: String) throws {
        #expect(try Timestamp.at(start).adding(CalendarDuration(duration)).rfc3339 == end)
    }

    @Test("going back is clamped as well and stops at 1970")
    func subtracting() throws {
        #expect(
            try Timestamp.at("2027-03-31T00:00:00Z").subtracting(CalendarDuration("P1M")).rfc3339
                == "2027-02-28T00:00:00Z"
        )
        #expect(
            try Timestamp.at("2027-01-01T00:00:00Z").subtracting(CalendarDuration("P30D")).rfc3339
                == "2026-12-02T00:00:00Z"
        )
        #expect(try Timestamp.at("1970-01-10T00:00:00Z").subtracting(CalendarDuration("P1Y")) == .earliest)
    }

    @Test("the bounds of a number of months hold wherever it is counted from")
    func bounds() throws {
        let longest = try Timestamp.at("2099-12-31T00:00:00Z")
        for months in [1, 2, 3, 5, 6, 7, 10, 11, 12, 13, 23, 24, 48, 120] as [Int64] {
            let duration = CalendarDuration(months: months)
            var day = try Timestamp.at("1996-01-01T00:00:00Z")
            var (least, most) = (Int64.max, Int64.min)
            while day < longest {
                let seconds = day.adding(duration).seconds(since: day)
                least = min(least, seconds)
                most = max(most, seconds)
                day = day.adding(days: 1)
            }
            #expect(duration.shortestSeconds <= least, "\(duration)")
            #expect(duration.longestSeconds == most, "\(duration)")
        }
    }

    @Test(
        "one duration is shorter than another where it is so in some month",
        arguments: [
            ("P6D", "P7D", true), ("P7D", "P7D", false), ("P8D", "P7D", false), ("P1M", "P30D", true),
            ("P31D", "P1M", false), ("P30D", "P1M", true), ("P2M", "P1M", false), ("P1Y", "P12M", false),
            ("P365D", "P1Y", true), ("P366D", "P1Y", false), ("PT0S", "PT1S", true), ("P7D", "PT168H", false),
        ]
    )
    func shorter(left: String, right: String, isShorter: Bool) throws {
        #expect(try CalendarDuration(left).canBeShorter(than: CalendarDuration(right)) == isShorter)
    }

    @Test(
        "offline life is 1 hour to 366 days for a product, to 10 years for a plan or license",
        arguments: [
            ("PT59M59S", false, false), ("PT1H", true, true), ("P7D", true, true), ("P1Y", true, true),
            ("P366D", true, true), ("P367D", false, true), ("P13M", false, true), ("P10Y", false, true),
            ("P3653D", false, true), ("P3654D", false, false), ("P121M", false, false),
        ]
    )
    func offlineLife(text: String, isProduct: Bool, isLicense: Bool) throws {
        let duration = try CalendarDuration(text)

        #expect((try? duration.checkedAsProductOfflineLife()) == (isProduct ? duration : nil))
        #expect((try? duration.checkedAsLicenseOfflineLife()) == (isLicense ? duration : nil))
    }
}
