import Cryptography
import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Retired signing keys") struct SigningKeyRetirementTests {
    typealias Shop = TrialShop

    @Test("once no bundle of a key can live any more its private half is forgotten, and not a second before")
    func forgotten() throws {
        let shop = try TrialShop()
        let service = SigningKeyService(keys: shop.keys, entropy: SystemEntropy())
        let fresh = try service.make(.next, of: shop.vendor.id, mode: .live, at: Shop.noon)
        let rotation = try shop.write { db in
            try service.rotate(
                vendor: shop.vendor,
                mode: .live,
                fresh: fresh,
                spare: nil,
                at: Shop.noon,
                in: db
            )
        }
        let end = try #require(rotation.old.publishedUntil)
        func old(after now: Timestamp) throws -> SigningKeyRecord {
            try shop.write { db in
                _ = try RetentionService().removeExpired(at: now, in: db)
                return try #require(try SigningKeyStore.find(kid: rotation.old.kid, in: db))
            }
        }

        let before = try old(after: end.adding(seconds: -1))
        #expect(before.state == .retiring && before.sealedPrivateKey != nil)
        let after = try old(after: end)
        #expect(after.state == .retired && after.sealedPrivateKey == nil)
        let others = try shop.read { db in try SigningKeyStore.all(of: shop.vendor.id, in: db) }
        #expect(others.filter { $0.kid != after.kid }.allSatisfy { $0.sealedPrivateKey != nil })
    }
}
