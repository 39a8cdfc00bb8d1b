import Cryptography
import Licensing
import Storage
import SystemPrimitives
import Testing

@testable import LicensingServices

@Suite("Meters, counted") struct MeterServiceTests {
    let one = "install-one-of-tests"
    let two = "install-two-of-tests"

    @Test("a whole amount is counted or nothing, and asking counts nothing")
    func counts() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(10))

        #expect(try meters.consume([("run", 7)]).used == [7])
        #expect(try meters.consume([("run", 4)]).isAllowed == false)
        #expect(try meters.peek([("run", 3)]).isAllowed == true)
        #expect(try meters.peek([("run", 4)]).isAllowed == false)
        #expect(try meters.peek().used == [7])
        #expect(try meters.consume([("run", 3)]).used == [10])
        #expect(try meters.consume().isAllowed == false)
    }

    @Test("the largest amount counts without a limit, up to the end of 64 bits and not beyond")
    func large() throws {
        let meters = try MeterOffice()
        let meter = try meters.add(limit: .unlimited)
        #expect(try meters.consume([("run", Meter.mostAmount)]).used == [Meter.mostAmount])
        let subject = try meters.find(.install(InstallID(one))).subject
        try meters.office.write { db in
            let nearlyFull = MeterUsage(windowStart: .earliest, used: .max - 1)
            try MeterUsageStore.write(nearlyFull, of: meter.id, mode: .live, by: subject, in: db)
        }

        #expect(try meters.consume([("run", 2)]).isAllowed == false)
        #expect(try meters.consume([("run", 1)]).used == [.max])
        #expect(try meters.consume([("run", 1)]).isAllowed == false)
    }

    @Test(
        "a period is over at its end, to the second",
        arguments: [
            ("day", "2026-11-30T12:00:00Z", "2026-12-01T00:00:00Z"),
            ("month", "2026-11-30T12:00:00Z", "2026-12-01T00:00:00Z"),
            ("month", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
            ("year", "2026-11-30T12:00:00Z", "2027-01-01T00:00:00Z"),
            ("PT1H", "2026-11-30T12:00:00Z", "2026-11-30T13:00:00Z"),
            ("P30D", "2026-11-30T12:00:00Z", "2026-12-30T12:00:00Z"),
            ("P1M", "2027-01-31T12:00:00Z", "2027-02-28T12:00:00Z"),
        ]
    )
    func boundary(period: String, first: String, end: String) throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(1), period: period)
        let (first, end) = (try Timestamp(first, as: .end), try Timestamp(end, as: .end))

        let counted = try meters.consume(at: first)
        let tooEarly = try meters.consume(at: end.adding(seconds: -1))
        let anew = try meters.consume(at: end)

        #expect(counted.answer?.reports.map(\.resetsAt) == [end])
        #expect(tooEarly.isAllowed == false)
        #expect(anew.used == [1])
    }

    @Test("a lifetime does not end")
    func lifetime() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(1))
        #expect(try meters.consume().answer?.reports.map(\.resetsAt) == [nil])

        #expect(try meters.consume(at: try Timestamp("9999-12-31T23:59:59Z", as: .end)).isAllowed == false)
    }

    @Test("a rolling window opens with the first count, not with a question or a refusal")
    func rolling() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(2), period: "PT1H")
        let later = MeterOffice.noon.adding(seconds: 600)

        #expect(try meters.peek().answer?.reports.map(\.resetsAt) == [nil])
        #expect(try meters.consume([("run", 3)]).isAllowed == false)
        let counted = try meters.consume(at: later)

        #expect(counted.answer?.reports.map(\.resetsAt) == [later.adding(seconds: 3600)])
    }

    @Test("several meters: all are counted or none, and each row tells of its own amount")
    func several() throws {
        let meters = try MeterOffice()
        try meters.add("a", limit: .limited(5))
        try meters.add("b", limit: .limited(1))
        #expect(try meters.consume([("b", 1)]).isAllowed == true)

        let refused = try #require(try meters.consume([("a", 2), ("b", 1)]).answer)
        let counted = try meters.consume([("a", 5)])

        #expect(!refused.isAllowed)
        #expect(refused.reports.map(\.isAllowed) == [true, false])
        #expect(counted.used == [5])
    }

    @Test("a meter that the product has not is told by name, and nothing is counted")
    func unknownMeter() throws {
        let meters = try MeterOffice()
        try meters.add("a")

        #expect(try meters.consume([("a", 1), ("b", 1)]) == .noSuchMeter(try MeterName("b")))
        #expect(try meters.peek([("a", 1)]).used == [0])
    }

    // MARK: Scopes

    @Test("install scope: each install has its own count, and live and test are apart")
    func installScope() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(1))

        #expect(try meters.consume(by: one).isAllowed == true)
        #expect(try meters.consume(by: one).isAllowed == false)
        #expect(try meters.consume(by: two).isAllowed == true)
        #expect(try meters.consume(by: one, mode: .test).isAllowed == true)
    }

    @Test("license scope: the installs of a license share, those of another do not")
    func licenseScope() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(1), scope: .license)
        try meters.sell(to: one, two)
        try meters.sell(to: "install-three-of-tests")

        #expect(try meters.consume(by: one).isAllowed == true)
        #expect(try meters.consume(by: two).isAllowed == false)
        #expect(try meters.consume(by: "install-three-of-tests").isAllowed == true)
    }

    @Test("customer scope: all licenses of a customer share; one without a customer is its own; test is apart")
    func customerScope() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(1), scope: .customer)
        try meters.sell(email: "jo@example.com", to: one)
        try meters.sell("team", email: "JO@example.com", to: two)
        try meters.sell(to: "install-three-of-tests")
        try meters.sell(mode: .test, email: "jo@example.com", to: "install-four-of-tests")

        #expect(try meters.consume(by: one).isAllowed == true)
        #expect(try meters.consume(by: two).isAllowed == false)
        #expect(try meters.consume(by: "install-three-of-tests").isAllowed == true)
        #expect(try meters.consume(by: "install-four-of-tests", mode: .test).isAllowed == true)
    }

    // MARK: Which license

    @Test("without a key the one license in force counts; none is NOT_ACTIVATED, and of several one must be named")
    func whichLicense() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(5), scope: .license)

        #expect(try meters.consume(by: one) == .denied(.notActivated))
        let first = try meters.sell(to: one)
        #expect(try meters.consume(by: one).used == [1])
        let second = try meters.sell("team", to: one)
        #expect(try meters.consume(by: one) == .severalLicenses)
        #expect(try meters.peek(by: one) == .severalLicenses)
        #expect(try meters.consume(by: one, key: second.key).used == [1])
        #expect(try meters.consume(by: one, key: first.key).used == [2])
        try meters.office.change(second.id) { license, actor, db in
            try meters.office.service.revoke(license, of: meters.office.product, because: "test", by: actor, in: db)
        }
        #expect(try meters.consume(by: one).used == [3])
        #expect(try meters.consume(by: one, key: second.key) == .denied(.revoked))
    }

    @Test("a key that nobody has, and one whose license the install holds no seat of")
    func keys() throws {
        let meters = try MeterOffice()
        try meters.add(scope: .license)
        let license = try meters.sell(to: one)
        try meters.sell(to: two)
        let unknown = try MeterOffice().sell().key

        #expect(try meters.consume(by: two, key: license.key) == .denied(.notActivated))
        #expect(try meters.peek(by: two, key: unknown) == .licenseNotFound)
        #expect(try meters.consume(by: two, key: unknown) == .licenseNotFound)
    }

    @Test("a license counts until the second it ends")
    func expiry() throws {
        let meters = try MeterOffice()
        try meters.add(scope: .license)
        let license = try meters.sell(to: one)
        let end = try #require(try meters.office.facts(license.id).license.expiresAt)

        #expect(try meters.consume(by: one, at: end.adding(seconds: -1)).used == [1])
        #expect(try meters.consume(by: one, key: license.key, at: end) == .denied(.expired(at: end)))
        #expect(try meters.consume(by: one, at: end) == .denied(.notActivated))
    }

    @Test("a meter of install scope asks for no license, whatever key is shown")
    func keyNotNeeded() throws {
        let meters = try MeterOffice()
        try meters.add()

        #expect(try meters.consume(by: one, key: try MeterOffice().sell().key).used == [1])
    }

    // MARK: Plans

    @Test("the highest limit counts of the product's and the plans of licenses in force whose seats are held")
    func raised() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(10))
        try meters.raise(meters.office.pro, ["run": .limited(100)])
        try meters.raise(meters.office.team, ["run": .limited(5)])
        #expect(try meters.consume(by: one).limits == [.limited(10)])

        try meters.sell("team", to: one)
        #expect(try meters.peek(by: one).limits == [.limited(10)])
        let pro = try meters.sell("pro", to: one)
        #expect(try meters.peek(by: one).limits == [.limited(100)])
        #expect(try meters.consume([("run", 99)], by: one).used == [100])
        try meters.office.change(pro.id) { license, actor, db in
            try meters.office.service.suspend(license, of: meters.office.product, because: "test", by: actor, in: db)
        }

        let lowered = try #require(try meters.peek(by: one).answer)
        #expect(lowered.reports.map(\.limit) == [.limited(10)])
        #expect(lowered.reports.map(\.left) == [0])
        #expect(!lowered.isAllowed)
    }

    @Test("a plan may lift a limit altogether, and says so where the plan is shown")
    func unlimited() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(0))
        try meters.raise(meters.office.pro, ["run": .unlimited])
        try meters.sell("pro", to: one)

        #expect(try meters.consume([("run", 1000)], by: one).limits == [.unlimited])
        #expect(try meters.consume(by: two).isAllowed == false)
        let plan = try meters.office.read { db in
            try CatalogFinder.plan(meters.office.pro.code, of: meters.office.product, in: db)
        }
        #expect(plan.meters == [try MeterName("run"): .unlimited])
    }

    @Test("a plan raises only meters that the product has, and lowering what it gives is refused unless it is meant")
    func planEdits() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(10))
        #expect(try Refusal.Code.of { try meters.raise(meters.office.pro, ["fly": .unlimited]) } == .meterNotFound)
        try meters.raise(meters.office.pro, ["run": .limited(100)])
        try meters.sell("pro")

        #expect(try Refusal.Code.of { try meters.raise(meters.office.pro, ["run": .limited(99)]) } == .affectsExisting)
        #expect(try Refusal.Code.of { try meters.raise(meters.office.pro, [:]) } == .affectsExisting)
        try meters.raise(meters.office.pro, ["run": .limited(101)])
        try meters.raise(meters.office.pro, [:], affectsExisting: true)
    }

    // MARK: The bundle

    @Test("a bundle tells each meter that counts for the install without doubt")
    func claims() throws {
        let meters = try MeterOffice()
        try meters.add("a", limit: .limited(3), period: "day")
        try meters.add("b", limit: .unlimited, scope: .license)
        #expect(try meters.consume([("a", 2)], by: one).isAllowed == true)
        #expect(try meters.claims(one).map(\.meter.text) == ["a"])

        try meters.sell(to: one)
        #expect(try meters.consume([("b", 5)], by: one).isAllowed == true)

        let claims = try meters.claims(one)
        #expect(claims.map(\.meter.text) == ["a", "b"])
        #expect(claims.map(\.used) == [2, 5])
        #expect(claims.map(\.limit.count) == [3, nil])
        #expect(claims.map(\.resetsAt) == [try Timestamp("2026-12-01T00:00:00Z", as: .end), nil])
        try meters.sell("team", to: one)
        #expect(try meters.claims(one).map(\.meter.text) == ["a"])
    }

    // MARK: At once

    @Test("a hundred counts at once on a limit of ten: ten are counted, and a new start of the server knows them")
    func parallel() throws {
        let meters = try MeterOffice()
        let meter = try meters.add(limit: .limited(10))
        let claim = try meters.office.install(one)
        let request = try meters.request([("run", 1)])
        let queue = WriterQueue<Int, Bool>()
        let writer = try meters.office.database.openForServing(queue)
        let allowed = Guarded([Bool]())
        let writing = try Thread.start("writer", with: writer) { writer in
            writer.run(
                deliver: { answers in
                    for answer in answers {
                        if case .success(let isAllowed) = answer.result { allowed.withLock { $0.append(isAllowed) } }
                    }
                },
                abort: { _ in }
            )
        }
        let caller = meters.caller()

        let threads = try (0..<4).map { number in
            try Thread.start("caller", with: number) { number in
                for index in 0..<25 {
                    var jobs = [
                        WriterQueue<Int, Bool>.Submission(ticket: number * 25 + index, origin: UInt64(number)) { db in
                            let install = try InstallDirectory(entropy: SystemEntropy())
                                .record(claim, of: caller, at: MeterOffice.noon, in: db)
                            return try MeterService
                                .consume(request, by: install, for: caller, at: MeterOffice.noon, in: db).answer?
                                .isAllowed ?? false
                        }
                    ]
                    #expect(queue.submit(&jobs))
                }
            }
        }
        for thread in threads { thread.join() }
        queue.stop()
        writing.join()

        #expect(allowed.withLock { $0.count } == 100)
        #expect(allowed.withLock { all in all.count { $0 } } == 10)
        #expect(try meters.find(.install(InstallID(one))).usage?.used == 10)
        #expect(meter.limit == .limited(10))
        #expect(try meters.consume().isAllowed == false)
    }
}
