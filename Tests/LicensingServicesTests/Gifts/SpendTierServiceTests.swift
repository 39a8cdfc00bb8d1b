import AppStore
import Cryptography
import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Gifts for what was spent") struct SpendTierServiceTests {
    typealias Shop = GiftShop

    private func refusal(_ body: () throws -> Void) -> Refusal? {
        let error = #expect(throws: Refusal.self, performing: body)
        return error
    }

    @Test("the tier gives when the sum reaches its threshold, and not a thousandth before")
    func threshold() throws {
        let shop = try GiftShop()
        let tier = try shop.tier("patron", 50_000)
        try shop.present(shop.purchase("a", price: 20_000), by: "mac")
        try shop.present(shop.purchase("b", price: 29_999), by: "mac", at: Shop.day(1))

        #expect(try shop.reached("mac", at: Shop.day(1)) == [])
        try shop.present(shop.purchase("c", price: 1), by: "mac", at: Shop.day(2))

        #expect(try shop.reached("mac", at: Shop.day(2)) == ["patron"])
        let grant = try #require(try shop.giftGrants("mac", at: Shop.day(2)).first)
        #expect(grant.source == .gift)
        #expect(grant.reference.text == tier.gift.text)
        #expect(grant.starts == Shop.day(2))
        #expect(grant.ends == nil)
    }

    @Test("a duration counts from the moment the threshold was reached, and ends to the second")
    func duration() throws {
        let shop = try GiftShop()
        try shop.tier("patron", 30_000, duration: CalendarDuration(days: 10))
        try shop.present(shop.purchase("a"), by: "mac")
        try shop.present(shop.purchase("b"), by: "mac", at: Shop.day(5))
        // More spent later moves nothing.
        try shop.present(shop.purchase("c"), by: "mac", at: Shop.day(7))

        #expect(try shop.reached("mac", at: Shop.day(15, second: -1)) == ["patron"])
        #expect(try shop.reached("mac", at: Shop.day(15)) == [])
    }

    @Test("each tier is by itself, also several in several currencies")
    func several() throws {
        let shop = try GiftShop()
        try shop.tier("bronze", 10_000)
        try shop.tier("silver", 40_000)
        try shop.tier("gold", 40_001)
        try shop.tier("euro", 5_000, currency: "EUR")
        try shop.present(shop.purchase("a"), by: "mac")
        try shop.present(shop.purchase("b"), by: "mac")
        try shop.present(shop.purchase("c", price: 5_000, currency: "EUR"), by: "mac")

        #expect(try shop.reached("mac") == ["bronze", "euro", "silver"])
    }

    @Test("a refund that drops the sum below the threshold withdraws the gift; paying again gives it again")
    func refund() throws {
        let shop = try GiftShop()
        try shop.tier("patron", 40_000, duration: CalendarDuration(days: 10))
        try shop.present(shop.purchase("a"), by: "mac")
        try shop.present(shop.purchase("b"), by: "mac")
        #expect(try shop.reached("mac") == ["patron"])

        try shop.present(shop.purchase("a", revokedAt: Shop.day(1), signed: 2), by: "mac", at: Shop.day(1))
        #expect(try shop.reached("mac", at: Shop.day(1)) == [])

        try shop.present(shop.purchase("c"), by: "mac", at: Shop.day(8))
        #expect(try shop.reached("mac", at: Shop.day(18, second: -1)) == ["patron"])
        #expect(try shop.reached("mac", at: Shop.day(18)) == [])
    }

    @Test("the same comes out in whatever order purchases, renewals and a refund are delivered")
    func order() throws {
        enum Delivery { case first, renewal, refund, other }
        for order in orders([Delivery.first, .renewal, .refund, .other]) {
            let shop = try GiftShop()
            try shop.tier("low", 35_000)
            try shop.tier("high", 35_001)
            for delivery in order {
                let transaction =
                    switch delivery {
                    case .first: shop.purchase("a", period: 1, price: 30_000)
                    case .renewal: shop.purchase("a", period: 2, price: 20_000)
                    case .refund: shop.purchase("a", period: 1, price: 30_000, revokedAt: Shop.noon, signed: 2)
                    case .other: shop.purchase("b", price: 15_000)
                    }
                // Twice: a repeat counts nothing.
                for _ in 0..<2 { try shop.present(transaction, by: "mac") }
            }

            #expect(try shop.reached("mac") == ["low"], "\(order)")
        }
    }

    @Test("nothing counts but what was paid, in production, in this currency")
    func notCounted() throws {
        let shop = try GiftShop()
        try shop.tier("patron", 1)

        try shop.present(shop.purchase("a", currency: "EUR"), by: "mac")
        try shop.present(shop.purchase("b", price: nil), by: "mac")
        try shop.present(shop.purchase("c", price: 0), by: "mac")
        try shop.present(shop.purchase("d", revokedAt: Shop.noon), by: "mac")
        try shop.present(shop.purchase("e", environment: .sandbox), by: "mac")
        try shop.present(shop.purchase("f", environment: .sandbox), by: "mac", mode: .test)

        #expect(try shop.reached("mac") == [])
        #expect(try shop.reached("mac", mode: .test) == [])
        #expect(Set(try shop.grants("mac")) == ["pro store"])
        try shop.present(shop.purchase("g", price: 1), by: "mac")
        #expect(try shop.reached("mac") == ["patron"])
        #expect(try shop.reached("mac", mode: .test) == [])
    }

    @Test("of two installs the one that presented a purchase first has its spend, for as long as it is linked")
    func twoInstalls() throws {
        let shop = try GiftShop()
        try shop.tier("patron", 20_000)
        try shop.present(shop.purchase("a"), by: "mac")
        try shop.present(shop.purchase("a"), by: "mini", at: Shop.noon.adding(seconds: 1))

        #expect(try shop.reached("mac", at: Shop.day(1)) == ["patron"])
        #expect(try shop.reached("mini", at: Shop.day(1)) == [])
        #expect(try shop.grants("mini", at: Shop.day(1)) == ["pro store"])

        // The first one is not seen for 30 days.
        #expect(try shop.reached("mini", at: Shop.day(30, second: -1)) == [])
        #expect(try shop.reached("mini", at: Shop.day(30)) == ["patron"])

        // It comes back: at once, before anything of it is written.
        #expect(try shop.reached("mac", at: Shop.day(31)) == ["patron"])
        try shop.contact("mac", at: Shop.day(31))
        #expect(try shop.reached("mini", at: Shop.day(31)) == [])
    }

    @Test("a purchase of each adds up for neither")
    func apart() throws {
        let shop = try GiftShop()
        try shop.tier("patron", 40_000)
        try shop.present(shop.purchase("a"), by: "mac")
        try shop.present(shop.purchase("b"), by: "mini")

        // Each presents the other's too: it was first with its own alone.
        try shop.present(shop.purchase("b"), by: "mac", at: Shop.day(1))
        try shop.present(shop.purchase("a"), by: "mini", at: Shop.day(1))

        #expect(try shop.reached("mac", at: Shop.day(1)) == [])
        #expect(try shop.reached("mini", at: Shop.day(1)) == [])
    }

    @Test("an edit counts at once, for those too who had the tier; a deletion takes it away")
    func edit() throws {
        let shop = try GiftShop()
        let code = try PlanCode("patron")
        let made = try shop.tier("patron", 20_000, duration: CalendarDuration(days: 1))
        try shop.present(shop.purchase("a"), by: "mac")
        func edit(_ changes: SpendTierChanges) throws -> CatalogService.Outcome {
            try shop.write { db in
                try shop.tiers.edit(code, by: changes, of: shop.product, by: shop.actor(), in: db).outcome
            }
        }

        #expect(try edit(SpendTierChanges(thresholdMilliunits: 20_001)) == .changed)
        #expect(try shop.reached("mac") == [])
        #expect(try edit(SpendTierChanges(thresholdMilliunits: 20_000, duration: .unset)) == .changed)
        #expect(try shop.giftGrants("mac", at: Shop.day(9)).map(\.reference) == [.gift(made.gift)])
        #expect(try edit(SpendTierChanges(thresholdMilliunits: 20_000)) == .unchanged)
        let both = SpendTierChanges(features: [try FeatureCode("pro"), try FeatureCode("export")])
        #expect(try edit(both) == .changed)
        #expect(try shop.giftGrants("mac").map(\.feature.text).sorted() == ["export", "pro"])

        _ = try shop.write { db in try shop.tiers.delete(code, of: shop.product, by: shop.actor(), in: db) }
        #expect(try shop.giftGrants("mac") == [])
        #expect(try shop.audited() == ["tier.create", "tier.edit", "tier.edit", "tier.edit", "tier.delete"])
        #expect(try shop.database.integrity().findings == [])
    }

    @Test("what cannot be a tier is refused by code and member")
    func refused() throws {
        let shop = try GiftShop()
        try shop.tier("patron", 1)
        func create(_ code: String, _ changes: SpendTierChanges) throws {
            let (id, code) = (try SpendTierID(at: Shop.noon, entropy: SystemEntropy()), try PlanCode(code))
            _ = try shop.write { db in
                try shop.tiers.create(id, code, with: changes, of: shop.product, by: shop.actor(), in: db)
            }
        }
        let export = [try FeatureCode("export")]
        let whole = SpendTierChanges(currency: "USD", thresholdMilliunits: 1, features: export)
        func changed(_ change: (inout SpendTierChanges) -> Void) -> SpendTierChanges {
            var changes = whole
            change(&changes)
            return changes
        }
        let unknown = [try FeatureCode("nothing")]

        let refusals = [
            refusal { try create("patron", whole) }, refusal { try create("b", changed { $0.currency = nil }) },
            refusal { try create("b", changed { $0.currency = "usd" }) },
            refusal { try create("b", changed { $0.thresholdMilliunits = nil }) },
            refusal { try create("b", changed { $0.features = nil }) },
            refusal { try create("b", changed { $0.features = unknown }) },
            refusal { try create("b", changed { $0.duration = .set(.zero) }) },
            refusal {
                _ = try shop.read { db in try SpendTierService.tier(try PlanCode("b"), of: shop.product, in: db) }
            },
        ].map { "\($0?.code.rawValue ?? "") \($0?.member ?? "")" }

        #expect(
            refusals == [
                "ALREADY_EXISTS code", "VALIDATION currency", "VALIDATION currency",
                "VALIDATION threshold_milliunits", "VALIDATION features", "FEATURE_NOT_FOUND features",
                "VALIDATION duration", "SPEND_TIER_NOT_FOUND code",
            ]
        )
        #expect(try shop.audited() == ["tier.create"])
    }
}
