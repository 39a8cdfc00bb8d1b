import Cryptography
import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Gifts of administrators") struct GiftServiceTests {
    typealias Shop = GiftShop

    private func refusal(_ body: () throws -> Void) -> Refusal? {
        let error = #expect(throws: Refusal.self, performing: body)
        return error
    }

    @Test("a gift to an install is in its bundles to its end, and names the gift")
    func install() throws {
        let shop = try GiftShop()
        try shop.contact("mac")
        try shop.contact("other")

        let gift = try shop.give(to: .install(shop.digest("mac")), until: Shop.day(30))

        let grant = try #require(try shop.giftGrants("mac").first)
        #expect(grant.feature.text == "export")
        #expect(grant.reference.text == gift.id.text)
        #expect(gift.id.text.hasPrefix("gft_"))
        #expect(grant.starts == Shop.noon)
        #expect(grant.ends == Shop.day(30))
        #expect(grant.offlineLife == shop.product.settings.offlineLife)
        #expect(try shop.grants("mac", at: Shop.day(30, second: -1)) == ["export gift"])
        #expect(try shop.grants("mac", at: Shop.day(30)) == [])
        #expect(try shop.grants("other") == [])
        #expect(try shop.audited() == ["gift.create"])
    }

    @Test("a gift to a license is of every install that holds a seat of it, also when the license is revoked")
    func license() throws {
        let shop = try GiftShop()
        let (license, key) = try shop.issue()
        try shop.activate(key, on: "mac")
        try shop.activate(key, on: "mini")
        try shop.contact("other")

        try shop.give(to: .license(license.id))

        #expect(try shop.grants("mac") == ["export gift", "pro license"])
        #expect(try shop.grants("mini") == ["export gift", "pro license"])
        #expect(try shop.grants("other") == [])
        _ = try shop.write { db in
            try shop.licenses.revoke(license, of: shop.product, because: "test", by: shop.actor(), in: db)
        }
        #expect(try shop.grants("mac") == ["export gift"])
    }

    @Test("who gives its seat back gives back what came by it, and has it again with the next seat")
    func released() throws {
        let shop = try GiftShop()
        let (license, key) = try shop.issue()
        try shop.activate(key, on: "mac")
        try shop.give(to: .license(license.id))
        let claim = try shop.claim("mac")
        let named = KeyClaim(digest: shop.keys.digest(of: key, product: shop.product.id))

        _ = try shop.write { db in
            try shop.seats.deactivate(named, on: claim, for: shop.caller(), at: Shop.noon, in: db)
        }

        #expect(try shop.grants("mac") == [])
        try shop.activate(key, on: "mac")
        #expect(try shop.grants("mac") == ["export gift", "pro license"])
    }

    @Test("by a floating seat a gift lasts as long as the lease, online and offline")
    func floating() throws {
        let shop = try GiftShop(leaseSeconds: 600)
        let (license, key) = try shop.issue()
        try shop.activate(key, on: "mac")
        try shop.give(to: .license(license.id))

        #expect(try shop.giftGrants("mac").map(\.leaseEnd) == [Shop.noon.adding(seconds: 600)])
        #expect(try shop.grants("mac", at: Shop.noon.adding(seconds: 599)).contains("export gift"))
        #expect(try shop.grants("mac", at: Shop.noon.adding(seconds: 600)) == [])
    }

    @Test("a gift to a customer is of the installs of each of its licenses, those of later ones too")
    func customer() throws {
        let shop = try GiftShop()
        let (_, first) = try shop.issue(customer: "jane@example.com")
        let (_, foreign) = try shop.issue(customer: "joe@example.com")
        try shop.activate(first, on: "mac")
        try shop.activate(foreign, on: "other")

        try shop.give(to: .customer(EmailAddress("Jane@Example.com")))
        let (_, later) = try shop.issue(customer: "jane@example.com")
        try shop.activate(later, on: "mini")

        #expect(try shop.grants("mac") == ["export gift", "pro license"])
        #expect(try shop.grants("mini") == ["export gift", "pro license"])
        #expect(try shop.grants("other") == ["pro license"])
    }

    @Test("live and test gifts never mix, whomever they are for")
    func modes() throws {
        let shop = try GiftShop()
        let (_, live) = try shop.issue(customer: "jane@example.com")
        let (license, test) = try shop.issue(mode: .test, customer: "jane@example.com")
        try shop.activate(live, on: "mac")
        try shop.activate(test, on: "mac", mode: .test)

        try shop.give(to: .license(license.id))
        #expect(try shop.grants("mac") == ["pro license"])
        #expect(try shop.grants("mac", mode: .test) == ["export gift", "pro license"])

        try shop.give(["pro"], to: .customer(EmailAddress("jane@example.com")))
        #expect(try shop.grants("mac") == ["pro license", "pro gift"])
        #expect(try shop.grants("mac", mode: .test) == ["export gift", "pro license"])

        try shop.give(["pro"], to: .install(shop.digest("mac")), mode: .test)
        #expect(try shop.giftGrants("mac").count == 1)
        #expect(try shop.giftGrants("mac", mode: .test).count == 2)
        #expect(refusal { try shop.give(to: .license(license.id), mode: .live) }?.member == "mode")
    }

    @Test("a gift that was taken back gives nothing; taking it back again changes nothing")
    func ended() throws {
        let shop = try GiftShop()
        try shop.contact("mac")
        let gift = try shop.give(to: .install(shop.digest("mac")))
        let other = try shop.give(to: .install(shop.digest("mac")), until: Shop.day(9))

        #expect(try shop.end(gift, at: Shop.day(1)) == .changed)
        #expect(try shop.end(gift, at: Shop.day(2)) == .unchanged)

        #expect(try shop.giftGrants("mac", at: Shop.day(1)).map(\.reference) == [.gift(other.id)])
        let kept = try shop.read { db in try GiftService.gift(gift.id, in: db) }
        #expect(kept.withdrawnAt == Shop.day(1))
        #expect(try shop.audited() == ["gift.create", "gift.create", "gift.end"])
    }

    @Test("what cannot be given is refused by code and member, and nothing is written")
    func refused() throws {
        let shop = try GiftShop()
        try shop.contact("mac")
        let mac = GiftRecipient.install(try shop.digest("mac"))
        let unknown = try License.ID(at: Shop.noon, entropy: SystemEntropy())

        let refusals = [
            refusal { try shop.give(["nothing"], to: mac) }, refusal { try shop.give([], to: mac) },
            refusal { try shop.give(to: mac, until: Shop.noon) },
            refusal { try shop.give(to: .install(shop.digest("stranger"))) },
            refusal { try shop.give(to: mac, mode: .test) }, refusal { try shop.give(to: .license(unknown)) },
            refusal { try shop.give(to: .customer(EmailAddress("nobody@example.com"))) },
        ].map { "\($0?.code.rawValue ?? "") \($0?.member ?? "")" }

        #expect(
            refusals == [
                "FEATURE_NOT_FOUND features", "VALIDATION features", "VALIDATION until",
                "INSTALL_NOT_FOUND install_id", "INSTALL_NOT_FOUND install_id", "LICENSE_NOT_FOUND license",
                "CUSTOMER_NOT_FOUND customer_email",
            ]
        )
        #expect(try shop.audited() == [])
        #expect(try shop.grants("mac") == [])
    }

    @Test("a list shows those for one of them, or of one mode, a page at a time")
    func list() throws {
        let shop = try GiftShop()
        try shop.contact("mac")
        try shop.contact("mini")
        try shop.contact("mac", mode: .test)
        let mac = GiftRecipient.install(try shop.digest("mac"))
        let made = try [
            shop.give(to: mac), shop.give(to: .install(shop.digest("mini")), at: Shop.day(1)),
            shop.give(to: mac, mode: .test, at: Shop.day(2)),
        ].map(\.id)
        func list(
            _ recipient: GiftRecipient? = nil,
            _ mode: Mode? = nil,
            after: GiftID? = nil,
            limit: Int = 9
        ) throws -> [GiftID] {
            try shop.read { db in
                try GiftService
                    .list(of: shop.product, to: recipient, mode: mode, after: after?.text, limit: limit, in: db)
                    .map(\.id)
            }
        }

        #expect(try list() == made)
        #expect(try list(mac) == [made[0]])
        #expect(try list(mac, .test) == [made[2]])
        #expect(try list(nil, .live) == [made[0], made[1]])
        #expect(try list(limit: 1) == [made[0]])
        #expect(try list(after: made[0], limit: 1) == [made[1]])
    }

    @Test("an install with a gift is kept unseen; one without is removed after 90 days")
    func retention() throws {
        let shop = try GiftShop()
        let kept = try shop.contact("mac")
        let removed = try shop.contact("other")
        try shop.give(to: .install(shop.digest("mac")))

        _ = try shop.write { db in try RetentionService().removeExpired(at: Shop.day(91), in: db) }

        let found = try shop.read { db in
            (try InstallStore.find(kept.id, in: db), try InstallStore.find(removed.id, in: db))
        }
        #expect(found.0 == kept)
        #expect(found.1 == nil)
        #expect(try shop.grants("mac", at: Shop.day(91)) == ["export gift"])
        #expect(try shop.database.integrity().findings == [])
    }

    @Test("an install is kept unseen for a seat that it has, for one that it had, and for a purchase that it presented")
    func ties() throws {
        let shop = try GiftShop()
        let installs = try Dictionary(
            uniqueKeysWithValues: ["seated", "released", "buyer", "nobody"].map { ($0, try shop.contact($0).id) }
        )
        let key = try shop.issue().key
        let other = try shop.issue().key
        try shop.activate(key, on: "seated")
        try shop.activate(other, on: "released")
        try shop.present(shop.purchase("line"), by: "buyer")
        let released: Value = .id(try #require(installs["released"]))
        try shop.write { db in
            _ = try db.run(
                """
                UPDATE activations SET released_at = activated_at, release_reason = 'deactivated'
                WHERE install_id = :install
                """,
                ["install": released]
            )
        }

        _ = try shop.write { db in try RetentionService().removeExpired(at: Shop.day(400), in: db) }

        let kept = try shop.read { db in try installs.filter { try InstallStore.find($0.value, in: db) != nil } }
        #expect(Set(kept.keys) == ["seated", "released", "buyer"])
    }
}
