import Licensing
import Testing

@Suite("Meters") struct MeterTests {
    let now = Timestamp.noon

    func meter(
        _ name: String = "run",
        limit: MeterLimit = .limited(10),
        period: MeterPeriod = .lifetime,
        scope: MeterScope = .install
    ) throws -> Meter {
        Meter(id: .number(1), product: .number(1), name: try feature(name), limit: limit, period: period, scope: scope)
    }

    func question(
        _ meter: Meter,
        used: Int64? = nil,
        since: Timestamp = .earliest,
        amount: Int64 = 1
    ) -> MeterQuestion {
        MeterQuestion(
            meter: meter,
            limit: meter.limit,
            usage: used.map { MeterUsage(windowStart: since, used: $0) },
            amount: amount
        )
    }

    @Test(
        "the whole amount is counted or nothing, and never more than the limit",
        arguments: [
            (nil, 1, true, 1), (nil, 10, true, 10), (nil, 11, false, 0), (9, 1, true, 10), (9, 2, false, 9),
            (10, 1, false, 10), (12, 1, false, 12),
        ]
            as [(Int64?, Int64, Bool, Int64)]
    )
    func consume(used: Int64?, amount: Int64, isAllowed: Bool, after: Int64) throws {
        let answer = MeterQuestion.consumption([question(try meter(), used: used, amount: amount)], at: now)

        #expect(answer.isAllowed == isAllowed)
        #expect(answer.reports.map(\.used) == [after])
        #expect(answer.reports.map(\.left) == [max(0, 10 - after)])
        #expect(answer.writes.map(\.used) == (isAllowed ? [after] : []))
    }

    @Test("peeking says whether the amount fits and counts nothing")
    func peek() throws {
        let fits = MeterQuestion.peek([question(try meter(), used: 9)], at: now)
        let full = MeterQuestion.peek([question(try meter(), used: 9, amount: 2)], at: now)

        #expect(fits.isAllowed)
        #expect(fits.reports.map(\.used) == [9])
        #expect(!full.isAllowed)
        #expect(fits.writes.isEmpty)
    }

    @Test("several meters: each row says whether its own amount fits, and all are counted or none")
    func several() throws {
        let roomy = question(try meter("a"), used: 1)
        let full = question(try meter("b"), used: 10)

        let refused = MeterQuestion.consumption([roomy, full], at: now)
        let counted = MeterQuestion.consumption([roomy, question(try meter("c"), amount: 4)], at: now)

        #expect(!refused.isAllowed)
        #expect(refused.reports.map(\.isAllowed) == [true, false])
        #expect(refused.reports.map(\.used) == [1, 10])
        #expect(refused.writes.isEmpty)
        #expect(counted.isAllowed)
        #expect(counted.writes.map(\.used) == [2, 4])
    }

    @Test("without a limit everything fits, up to the end of what can be counted")
    func unlimited() throws {
        let meter = try meter(limit: .unlimited)

        let answer = MeterQuestion.consumption([question(meter, used: 5, amount: 1_000_000_000)], at: now)
        let end = MeterQuestion.consumption([question(meter, used: .max)], at: now)

        #expect(answer.reports.map(\.used) == [1_000_000_005])
        #expect(answer.reports[0].left == nil)
        #expect(!end.isAllowed)
    }

    @Test(
        "calendar windows are those of UTC and end exclusively",
        arguments: [
            (.day, "2027-01-15T00:00:00Z", "2027-01-15T23:59:59Z", "2027-01-16T00:00:00Z"),
            (.month, "2028-02-01T00:00:00Z", "2028-02-29T23:59:59Z", "2028-03-01T00:00:00Z"),
            (.year, "2027-01-01T00:00:00Z", "2027-12-31T23:59:59Z", "2028-01-01T00:00:00Z"),
        ] as [(MeterPeriod, String, String, String)]
    )
    func calendar(period: MeterPeriod, start: String, last: String, next: String) throws {
        let (start, last, next) = (try Timestamp.at(start), try Timestamp.at(last), try Timestamp.at(next))
        let meter = try meter(period: period)

        let inside = MeterQuestion.consumption([question(meter, used: 4, since: start)], at: last)
        let after = MeterQuestion.consumption([question(meter, used: 4, since: start)], at: next)
        let first = MeterQuestion.consumption([question(meter)], at: last)

        #expect(inside.writes == [MeterUsage(windowStart: start, used: 5)])
        #expect(inside.reports[0].resetsAt == next)
        #expect(after.writes == [MeterUsage(windowStart: next, used: 1)])
        #expect(first.writes == [MeterUsage(windowStart: start, used: 1)])
    }

    @Test("a rolling window stays open until its end, also where everything was given back")
    func rollingRefund() throws {
        let refunded = question(try meter(period: .rolling(CalendarDuration(seconds: 3600))), used: 0, since: now)

        let peeked = MeterQuestion.peek([refunded], at: now.adding(seconds: 1200))
        let consumed = MeterQuestion.consumption([refunded], at: now.adding(seconds: 1200))
        let over = MeterQuestion.peek([refunded], at: now.adding(seconds: 3600))

        #expect(peeked.reports[0].resetsAt == now.adding(seconds: 3600))
        #expect(consumed.reports[0].resetsAt == now.adding(seconds: 3600))
        #expect(over.reports[0].resetsAt == nil)
    }

    @Test("a rolling window opens with the first count after the last one ended")
    func rolling() throws {
        let meter = try meter(period: .rolling(CalendarDuration(seconds: 3600)))

        let first = MeterQuestion.consumption([question(meter)], at: now)
        let inside = MeterQuestion.consumption([question(meter, used: 1, since: now)], at: now.adding(seconds: 3599))
        let peeked = MeterQuestion.peek([question(meter, used: 9, since: now)], at: now.adding(seconds: 3600))
        let after = MeterQuestion.consumption([question(meter, used: 9, since: now)], at: now.adding(seconds: 5000))

        #expect(first.writes == [MeterUsage(windowStart: now, used: 1)])
        #expect(first.reports[0].resetsAt == now.adding(seconds: 3600))
        #expect(inside.writes == [MeterUsage(windowStart: now, used: 2)])
        #expect(peeked.reports[0].used == 0)
        #expect(peeked.reports[0].resetsAt == nil)
        #expect(after.writes == [MeterUsage(windowStart: now.adding(seconds: 5000), used: 1)])
    }

    @Test("a lifetime never ends, and a clock set back gives nothing anew")
    func noReset() throws {
        let lifetime = MeterQuestion.peek([question(try meter(), used: 3)], at: .latest)
        let back = MeterQuestion.peek(
            [question(try meter(period: .day), used: 3, since: now.startOfDay)],
            at: now.adding(days: -3)
        )

        #expect(lifetime.reports[0].used == 3)
        #expect(lifetime.reports[0].resetsAt == nil)
        #expect(back.reports[0].used == 3)
    }

    @Test("the highest of the product's limit and the plans' counts")
    func raised() throws {
        let meter = try meter(limit: .limited(5))
        let plans = try [MeterLimit.limited(3), .limited(20), .limited(8)].map {
            try Plan.fixture(meters: [meter.name: $0])
        }

        #expect(meter.limit(raisedBy: []) == .limited(5))
        #expect(meter.limit(raisedBy: plans) == .limited(20))
        #expect(meter.limit(raisedBy: [plans[0]]) == .limited(5))
        #expect(meter.limit(raisedBy: plans + [try Plan.fixture(meters: [meter.name: .unlimited])]) == .unlimited)
        #expect(try self.meter(limit: .unlimited).limit(raisedBy: plans) == .unlimited)
    }

    @Test("periods are read and written", arguments: ["lifetime", "day", "month", "year", "PT1H", "P30D"])
    func periodText(text: String) throws {
        #expect(try MeterPeriod(text).text == text)
    }

    @Test("what is no period is refused", arguments: ["", "week", "P0D", "Day", "1h"])
    func noPeriod(text: String) {
        #expect(throws: ValueFault.self) { try MeterPeriod(text) }
    }

    @Test("a refund never goes below zero")
    func refund() {
        let usage = MeterUsage(windowStart: now, used: 3)

        #expect(usage.refunded(2).used == 1)
        #expect(usage.refunded(.max).used == 0)
        #expect(usage.refunded(-5).used == 3)
    }

    // MARK: For whom is counted

    @Test("install scope counts for the install, license scope for the license, customer scope for who bought")
    func subjects() throws {
        var bought = try License.fixture()
        bought.customer = .number(7)
        let anonymous = try License.fixture()
        func subject(_ scope: MeterScope, _ license: License?) throws -> MeterSubject? {
            try meter(scope: scope).subject(for: .number(3), license: license)
        }

        #expect(try subject(.install, nil) == .install(.number(3)))
        #expect(try subject(.license, bought) == .license(.number(1)))
        #expect(try subject(.customer, bought) == .customer(.number(7)))
        #expect(try subject(.customer, anonymous) == .license(.number(1)))
        #expect(try subject(.license, nil) == nil)
    }

    @Test("a named license is judged as in heartbeat")
    func namedLicense() throws {
        let license = try License.fixture()

        #expect(MeterLicense(named: license, seat: .fixture(1), at: now) == .license(license))
        #expect(MeterLicense(named: license, seat: nil, at: now) == .denied(.notActivated))
        #expect(MeterLicense(named: try .fixture(standing: .revoked), seat: .fixture(1), at: now) == .denied(.revoked))
    }

    @Test("without a name it is the one license in force that the install holds a seat of")
    func onlyLicense() throws {
        let license = try License.fixture()
        let revoked = try License.fixture(standing: .revoked)
        let seat = Activation.fixture(1)

        #expect(MeterLicense(amongHeld: [(license, seat), (revoked, seat)], at: now) == .license(license))
        #expect(MeterLicense(amongHeld: [(revoked, seat)], at: now) == .denied(.notActivated))
        #expect(MeterLicense(amongHeld: [], at: now) == .denied(.notActivated))
        #expect(MeterLicense(amongHeld: [(license, seat), (license, seat)], at: now) == .several)
    }
}
