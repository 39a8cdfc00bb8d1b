import Cryptography
import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Meters, administered") struct MeterAdministrationTests {
    let one = "install-one-of-tests"

    @Test("a name is one meter's, and a product has so many")
    func create() throws {
        let meters = try MeterOffice()
        try meters.add("run")

        #expect(try Refusal.Code.of { try meters.add("run", limit: .unlimited) } == .alreadyExists)
        for number in 1..<Meter.mostInProduct { try meters.add("m\(number)") }
        #expect(try Refusal.Code.of { try meters.add("one.more") } == .validation)
    }

    @Test("a refund gives back what was counted in the running window, never below zero")
    func refund() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(10), period: "day")
        _ = try meters.consume([("run", 5)])
        let target = MeterTarget.install(try InstallID(one))
        let tomorrow = MeterOffice.noon.adding(seconds: 86_400)

        #expect(try meters.refund(2, of: target).report.used == 3)
        #expect(try meters.peek().used == [3])
        #expect(try meters.refund(Meter.mostAmount, of: target).report.used == 0)
        #expect(try meters.consume([("run", 10)]).isAllowed == true)
        #expect(try meters.refund(1, of: target, at: tomorrow).usage?.used == 10)
        #expect(try meters.find(target, at: tomorrow).report.used == 0)
        #expect(try meters.office.audited() == ["meter.create", "meter.refund", "meter.refund"])
    }

    @Test("a reset begins anew, also a rolling window; one that changes nothing leaves no trace")
    func reset() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(1), period: "PT1H")
        _ = try meters.consume()
        let later = MeterOffice.noon.adding(seconds: 60)
        let target = MeterTarget.install(try InstallID(one))

        #expect(try meters.reset(target, at: later).report.used == 0)
        _ = try meters.reset(target, at: later)
        let counted = try meters.consume(at: later)

        #expect(counted.answer?.reports.map(\.resetsAt) == [later.adding(seconds: 3600)])
        #expect(try meters.office.audited() == ["meter.create", "meter.reset"])
    }

    @Test("a count is named by what its scope counts for")
    func targets() throws {
        let meters = try MeterOffice()
        try meters.add("i", scope: .install)
        try meters.add("l", scope: .license)
        try meters.add("c", limit: .limited(1), scope: .customer)
        try meters.raise(meters.office.pro, ["c": .limited(7), "l": .limited(70)])
        let sold = try meters.sell(email: "jo@example.com", to: one)
        let lonely = try meters.sell("team")
        _ = try meters.consume([("i", 1), ("l", 2), ("c", 3)], by: one)
        let email = MeterTarget.customer(try EmailAddress("jo@example.com"))
        let install = MeterTarget.install(try InstallID(one))

        #expect(try meters.find(install, "i").report.used == 1)
        #expect(try meters.find(.license(sold.key), "l").report.used == 2)
        #expect(try meters.find(.license(sold.id.text), "l").limit == .limited(70))
        #expect(try meters.find(.license(sold.key), "c").report.used == 3)
        #expect(try meters.find(email, "c").report.used == 3)
        #expect(try meters.find(email, "c").limit == .limited(7))
        #expect(try meters.find(.license(lonely.key), "c").subject == .license(lonely.id))
        for (target, name) in [(install, "l"), (install, "c"), (email, "i"), (email, "l"), (.license(sold.key), "i")] {
            #expect(try Refusal.Code.of { _ = try meters.find(target, name) } == .validation)
        }
        #expect(try Refusal.Code.of { _ = try meters.find(install, "i", mode: .test) } == .installNotFound)
        #expect(
            try Refusal.Code.of { _ = try meters.find(.license(sold.key), "l", mode: .test) } == .licenseNotFound
        )
        let stranger = MeterTarget.customer(try EmailAddress("al@example.com"))
        #expect(try Refusal.Code.of { _ = try meters.find(stranger, "c") } == .customerNotFound)
    }

    @Test(
        "less for those who count is refused unless it is meant: a lower limit, a longer period, another scope",
        arguments: [
            (MeterChanges(limit: .limited(9)), true), (MeterChanges(limit: .limited(11)), false),
            (MeterChanges(limit: .unlimited), false), (MeterChanges(period: .month), true),
            (MeterChanges(period: .rolling(CalendarDuration(seconds: 86_400))), false),
            (MeterChanges(period: .rolling(CalendarDuration(seconds: 86_401))), true),
            (MeterChanges(scope: .license), true), (MeterChanges(limit: .unlimited, period: .year), false),
            (MeterChanges(limit: .limited(10), period: .day, scope: .install), false),
        ]
    )
    func affectsExisting(changes: MeterChanges, isRefused: Bool) throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(10), period: "day")
        try meters.sell("team")

        #expect(try Refusal.Code.of { try meters.edit(changes) } == (isRefused ? .affectsExisting : nil))
        try meters.edit(changes, affectsExisting: true)
    }

    @Test("a lower limit does not touch licenses whose plan gives as much, nor anybody before there is somebody")
    func untouched() throws {
        let meters = try MeterOffice()
        try meters.add(limit: .limited(10))
        try meters.edit(MeterChanges(limit: .limited(9)))
        try meters.raise(meters.office.pro, ["run": .limited(9)])
        try meters.sell("pro")
        try meters.edit(MeterChanges(limit: .limited(8)))

        _ = try meters.consume(by: one)

        #expect(try Refusal.Code.of { try meters.edit(MeterChanges(limit: .limited(7))) } == .affectsExisting)
    }

    @Test("an install that has counted is kept, however long it is unseen")
    func retention() throws {
        let meters = try MeterOffice()
        try meters.add()
        _ = try meters.consume(by: one)
        _ = try meters.consume([("run", 11)], by: "install-two-of-tests")

        _ = try meters.office.write { db in
            try RetentionService().removeExpired(at: MeterOffice.noon.adding(seconds: 366 * 86_400), in: db)
        }

        #expect(try meters.find(.install(InstallID(one))).report.used == 1)
        let other = MeterTarget.install(try InstallID("install-two-of-tests"))
        #expect(try Refusal.Code.of { _ = try meters.find(other) } == .installNotFound)
    }
}
