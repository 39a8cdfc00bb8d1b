import Bundles
import Licensing
import Testing

@testable import LicensingServices

@Suite("Rights from several sources") struct GrantSourcesTests {
    typealias Shop = GiftShop

    /// The one in front ends first.
    static let everyOrder: [[GrantSource]] = orders(GrantSource.allCases)

    @Test("ending one source never takes away what another gives, in every order of ends", arguments: everyOrder)
    func byTheClock(order: [GrantSource]) throws {
        func end(_ source: GrantSource) throws -> Timestamp {
            Shop.day(Int64(try #require(order.firstIndex(of: source))) + 1)
        }
        let trialDays = Int64(try #require(order.firstIndex(of: .trial))) + 1
        let shop = try GiftShop(trial: CalendarDuration(days: trialDays))
        try shop.present(shop.purchase("s", expiresAt: end(.store)), by: "mac")
        let (_, key) = try shop.issue(end: .at(end(.license)))
        try shop.activate(key, on: "mac")
        try shop.give(["pro"], to: .install(shop.digest("mac")), until: end(.gift))

        for (index, source) in order.enumerated() {
            let rest = Set(order[index...])
            let before = try shop.state("mac", at: end(source).adding(seconds: -1))
            let after = try shop.state("mac", at: end(source))

            #expect(before.entitlements.map(\.feature.text) == ["pro"])
            #expect(before.entitlements.map(\.source) == [try #require(rest.min())])
            #expect(before.entitlements.map(\.expiresAt) == [Shop.day(4)])
            #expect(Set(before.facts.grants.map(\.source)) == rest)
            #expect(after.entitlements.map(\.source) == [rest.subtracting([source]).min()].compactMap { $0 })
            #expect(Set(after.facts.grants.map(\.source)) == rest.subtracting([source]))
        }
    }

    @Test("nor does taking one back: refund, revocation, a gift withdrawn, a trial over", arguments: everyOrder)
    func byDeed(order: [GrantSource]) throws {
        let trialDays = Int64(try #require(order.firstIndex(of: .trial))) + 1
        let shop = try GiftShop(trial: CalendarDuration(days: trialDays))
        try shop.present(shop.purchase("s"), by: "mac")
        let (license, key) = try shop.issue()
        try shop.activate(key, on: "mac")
        let gift = try shop.give(["pro"], to: .install(shop.digest("mac")))

        for (index, source) in order.enumerated() {
            let now = Shop.day(Int64(index) + 1)
            let before = try shop.state("mac", at: now.adding(seconds: -1))
            switch source {
            case .store: try shop.present(shop.purchase("s", revokedAt: now, signed: 2), by: "mac", at: now)
            case .license:
                _ = try shop.write { db in
                    try shop.licenses
                        .revoke(license, of: shop.product, because: "test", by: shop.actor(at: now), in: db)
                }
            case .gift: try shop.end(gift, at: now)
            case .trial: break  // It ends by itself now.
            }
            let after = try shop.state("mac", at: now)

            let rest = Set(order[(index + 1)...])
            #expect(Set(before.facts.grants.map(\.source)) == rest.union([source]))
            #expect(Set(after.facts.grants.map(\.source)) == rest)
            #expect(after.entitlements.map(\.source) == [rest.min()].compactMap { $0 })
        }
    }
}
