import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Installs that are unseen for long") struct UnseenInstallTests {
    typealias Shop = TrialShop

    @Test("an install unseen for 90 days goes; its machine's first contact stays, one without a machine is new again")
    func removal() throws {
        let shop = try TrialShop()
        try shop.contact("known", "laptop")
        try shop.contact("unknown")
        func remove(_ now: Timestamp) throws {
            _ = try shop.write { db in try RetentionService().removeExpired(at: now, in: db) }
        }

        try remove(Shop.day(90, second: -1))
        #expect(try shop.installCount() == 2)
        try remove(Shop.day(90))
        #expect(try shop.installCount() == 0)
        #expect(try shop.trialCount() == 1)

        try shop.set([.trialDuration: "P14D"], day: 91)
        #expect(try shop.ask("known", "laptop", at: Shop.day(91)).code == .trialExpired)
        #expect(try shop.token("known", at: Shop.day(91)) != nil)
        #expect(try shop.ask("unknown", at: Shop.day(91)).startedAt == Shop.day(91))
    }

    @Test("unseen installs are looked at a portion at a time, and behind many that stay one that may go is found")
    func removalBehindOthers() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        for number in 0..<RetentionService.portion { try shop.contact("stays \(number)") }
        try shop.set([.trialDuration: "0"])
        try shop.contact("goes", at: Shop.noon)
        let retention = RetentionService()
        func remove(_ now: Timestamp) throws -> Bool {
            try shop.write { db in try retention.removeExpired(at: now, in: db) }
        }

        let hasMore = try remove(Shop.day(90))
        let afterOnePortion = try shop.installCount()
        let hasStillMore = try remove(Shop.day(90))

        #expect(hasMore && !hasStillMore)
        #expect(afterOnePortion == RetentionService.portion + 1)
        #expect(try shop.installCount() == RetentionService.portion)

        // What becomes free behind the place that the look had come to is found by a later one.
        try shop.contact("goes later", at: Shop.day(-1))
        #expect(try !remove(Shop.day(90, second: RetentionService.lookSeconds - 1)))
        #expect(try shop.installCount() == RetentionService.portion + 1)
        for _ in 0..<10 where try remove(Shop.day(90, second: RetentionService.lookSeconds)) {}
        #expect(try shop.installCount() == RetentionService.portion)
    }

    @Test("an install whose trial has an end is kept")
    func kept() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("a")

        _ = try shop.write { db in try RetentionService().removeExpired(at: Shop.day(400), in: db) }

        #expect(try shop.status("a", at: Shop.day(400)).code == .trialExpired)
    }
}
