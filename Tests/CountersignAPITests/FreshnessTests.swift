import Bundles
import Cryptography
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

/// What a loop remembers of the catalog must never be older than the snapshot it answers from.
@Suite("Changes by another connection show in the very next answer of a loop") struct FreshnessTests {
    @Test("a revoked credential opens nothing any more, and opens again when that is taken back")
    func credential() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        #expect(api.validate(license.key).status == 200)

        try api.change(credential: { $0.revokedAt = Catalog.start })
        #expect(api.validate(license.key).status == 401)

        try api.change(credential: { $0.revokedAt = nil })
        #expect(api.validate(license.key).status == 200)
    }

    @Test("a credential ends by the clock, without a write")
    func credentialEnds() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        try api.change(credential: { $0.expiresAt = Catalog.start.adding(seconds: 10) })
        #expect(api.validate(license.key).status == 200)

        api.catalog.clock.advance(by: 9)
        #expect(api.validate(license.key).status == 200)
        api.catalog.clock.advance(by: 1)

        #expect(api.validate(license.key).status == 401)
    }

    @Test("a setting of the product is in the next bundle, and an issuer of the vendor too")
    func settings() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        let before = try api.bundle(in: api.validate(license.key)).claims
        #expect(!before.settings.freeTier)

        try api.writer.write { db in
            var product = try #require(try ProductStore.find(api.catalog.editor.id, in: db))
            product.settings.freeTier = true
            try ProductStore.update(product, in: db)
        }
        let after = try api.bundle(in: api.validate(license.key)).claims

        #expect(after.settings.freeTier && after.sequence > before.sequence)
    }

    @Test("an edited plan changes features and seats of its licenses")
    func plan() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        #expect(try api.bundle(in: api.validate(license.key)).claims.grants.count == 2)

        try api.writer.write { db in
            var plan = license.plan
            plan.features = [try FeatureCode("pro")]
            plan.seatLimit = .limited(7)
            try PlanStore.update(plan, in: db)
        }
        let answer = api.validate(license.key)

        #expect(try api.bundle(in: answer).claims.grants.map(\.feature.text) == ["pro"])
        #expect(answer["seats", "limit"]?.int64 == 7)
    }

    @Test("a rotated key signs")
    func key() throws {
        var api = try TestAPI.open()
        let catalog = api.catalog
        let license = try api.sell()
        _ = api.activate(license.key)
        let before = try #require(api.validate(license.key)["bundle"]?.string)

        let fresh = try #require(
            try catalog.services.signingKeys.initialKeys(of: catalog.vendor.id, at: Catalog.start)
                .first { $0.mode == .live && $0.state == .next }
        )
        try api.writer.write { db in
            _ = try catalog.services.signingKeys.rotate(
                vendor: catalog.vendor,
                mode: .live,
                fresh: fresh,
                spare: nil,
                at: Catalog.start,
                in: db
            )
        }
        let answer = api.validate(license.key)
        let after = try #require(answer["bundle"]?.string)

        #expect(after.split(separator: ".").first != before.split(separator: ".").first)
        #expect(try api.bundle(in: answer).claims.grants.count == 2)
    }

    @Test("a license that is suspended, and a seat that is released")
    func license() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let seat = try #require(api.activate(license.key)["activation", "id"]?.string)
        #expect(api.validate(license.key).code == "VALID")

        try api.edit(license) { $0.standing = .suspended }
        #expect(api.validate(license.key).code == "LICENSE_SUSPENDED")

        try api.edit(license) { $0.standing = .active }
        try api.writer.write { db in
            _ = try ActivationStore.release(
                try #require(Activation.ID(seat)),
                at: Catalog.start,
                because: .administrator,
                in: db
            )
        }
        #expect(api.validate(license.key).code == "NOT_ACTIVATED")
    }

    @Test("what one credential was recognized by opens nothing for another")
    func twoCredentials() throws {
        var api = try TestAPI.open()
        let catalog = api.catalog
        let license = try api.sell()
        let body = #"{"license_key":"\#(license.key)"}"#

        for _ in 0..<2 {
            #expect(api.post("/v1/validate", body).code == "VALID")
            #expect(api.post("/v1/validate", body, token: catalog.testToken).code == "LICENSE_NOT_FOUND")
            #expect(api.post("/v1/validate", body, token: catalog.viewerToken).code == "LICENSE_NOT_FOUND")
            #expect(api.post("/v1/validate", body, token: catalog.secretToken).status == 403)
            #expect(api.post("/v1/validate", body, token: catalog.revokedToken).status == 401)
            #expect(api.post("/v1/validate", body, token: "pk_live_nobody").status == 401)
        }
    }
}

extension TestAPI {
    /// Changes the row of the editor's app credential.
    fileprivate func change(credential change: (inout CredentialRecord) -> Void) throws {
        try writer.write { db in
            var row = try #require(try CredentialStore.find(catalog.credential, in: db))
            change(&row)
            try CredentialStore.update(row, in: db)
        }
    }
}
