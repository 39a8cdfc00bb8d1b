import Bundles
import CountersignWire
import Cryptography
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Authentication") struct AuthenticationTests {
    private let body = #"{"install_id":"install-number-1-of-the-tests"}"#

    private func sync(_ api: inout TestAPI, _ fields: [String]) -> Received {
        api.send(request("POST", "/v1/sync", token: nil, fields: fields, body: body))
    }

    @Test("an app's credential is taken as a bearer token in any case, or as X-API-Key, or twice the same")
    func taken() throws {
        var api = try TestAPI.open()
        let token = api.catalog.appToken

        for fields in [
            ["Authorization: Bearer \(token)"], ["authorization: bearer \(token)"],
            ["Authorization: BEARER   \(token) "],
            ["Authorization: Bearer\t\(token)"], ["X-API-Key: \(token)"], ["x-api-key: \(token)"],
            ["Authorization: Bearer \(token)", "X-API-Key: \(token)"],
            ["Authorization: Bearer \(token)", "X-Vendor-API-Key: whatever"],
        ] { #expect(sync(&api, fields).status == 200, "\(fields)") }
    }

    @Test("a missing, wrong or revoked credential is unauthenticated, with the scheme to use")
    func unauthenticated() throws {
        var api = try TestAPI.open()
        let token = api.catalog.appToken

        for fields in [
            [], ["Authorization: "], ["Authorization: Bearer"], ["Authorization: Bearer "],
            ["Authorization: Basic \(token)"], ["Authorization: \(token)"], ["Authorization: Bearer \(token)x"],
            ["Authorization: Bearer \(token.dropLast())"], ["Authorization: Bearer \(token) \(token)"],
            ["X-API-Key: Bearer \(token)"], ["X-API-Key: "], ["Authorization: Bearer \(api.catalog.revokedToken)"],
            ["Authorization: Bearer \(String(repeating: "x", count: 5000))"], ["X-Vendor-API-Key: ul_live_nobody"],
            ["Authorization: Bearerx \(token)"], ["X-Vendor-API-Key: \(token)"],
        ] {
            let answer = sync(&api, fields)
            #expect(answer.status == 401 && answer.code == "UNAUTHENTICATED", "\(fields)")
            #expect(answer.field("WWW-Authenticate") == "Bearer" && answer.verdict == "unknown")
        }
    }

    @Test("a good credential of another kind is forbidden")
    func forbidden() throws {
        var api = try TestAPI.open()
        let catalog = api.catalog

        for fields in [
            ["Authorization: Bearer \(catalog.secretToken)"], ["X-API-Key: \(catalog.productSecretToken)"],
            ["Authorization: Bearer \(catalog.unifiedToken)"], ["X-Vendor-API-Key: \(catalog.unifiedToken)"],
            ["X-API-Key: \(catalog.unifiedToken)"], ["X-Vendor-API-Key: \(catalog.secretToken)"],
        ] {
            let answer = sync(&api, fields)
            #expect(answer.status == 403 && answer.code == "FORBIDDEN" && answer.field("WWW-Authenticate") == nil)
        }
    }

    @Test("two credentials in one request are no request")
    func ambiguous() throws {
        var api = try TestAPI.open()
        let token = api.catalog.appToken

        for fields in [
            ["Authorization: Bearer \(token)", "Authorization: Bearer \(token)"],
            ["Authorization: Bearer \(token)", "X-API-Key: \(api.catalog.testToken)"],
            ["Authorization: Basic \(token)", "X-API-Key: \(token)"], ["X-API-Key: \(token)", "X-API-Key: \(token)"],
        ] {
            let answer = sync(&api, fields)
            #expect(answer.status == 400 && answer.code == "MALFORMED_REQUEST", "\(fields)")
        }
    }

    @Test("a rotated credential opens until its end, which is exclusive")
    func rotated() throws {
        var api = try TestAPI.open()
        let (id, end) = (api.catalog.credential, Catalog.start.adding(seconds: 60))
        try api.writer.write { db in
            var record = try #require(try CredentialStore.find(id, in: db))
            record.expiresAt = end
            try CredentialStore.update(record, in: db)
        }

        api.catalog.clock.advance(by: 59)
        let before = api.post("/v1/sync", body)
        api.catalog.clock.advance(by: 1)
        let after = api.post("/v1/sync", body)

        #expect(before.status == 200 && after.status == 401)
    }

    @Test("an administrator shows a secret credential as a bearer token, of the vendor or of one product")
    func administration() throws {
        var api = try TestAPI.open()
        let catalog = api.catalog
        let services = catalog.services
        func caller(_ fields: [String]) throws -> AdministrationCaller {
            var context = try LoopState.open(services, catalog.shared)
            return try HTTPRequest.parsing(Array(request("GET", "/", token: nil, fields: fields).utf8)) { request in
                try context.authenticateAdministration(request)
            }
        }
        func refusal(_ fields: [String]) -> String? {
            do {
                _ = try caller(fields)
                return nil
            } catch {
                return Problem(error).body.code.rawValue
            }
        }

        let whole = try caller(["Authorization: Bearer \(catalog.secretToken)"])
        let one = try caller(["Authorization: bearer \(catalog.productSecretToken)"])

        #expect(whole.vendor.id == catalog.vendor.id && whole.product == nil && whole.mode == .live)
        #expect(one.product?.id == catalog.editor.id && one.now == Catalog.start)
        #expect(refusal([]) == "UNAUTHENTICATED")
        for field in ["X-API-Key", "X-Vendor-API-Key"] {
            #expect(refusal(["\(field): \(catalog.secretToken)"]) == "UNAUTHENTICATED")
            #expect(refusal(["\(field): \(catalog.unifiedToken)"]) == "FORBIDDEN")
        }
        #expect(refusal(["Authorization: Bearer \(catalog.appToken)"]) == "FORBIDDEN")
        #expect(refusal(["X-API-Key: \(catalog.appToken)"]) == "FORBIDDEN")
        #expect(
            refusal(["Authorization: Bearer \(catalog.secretToken)", "X-API-Key: \(catalog.appToken)"])
                == "MALFORMED_REQUEST"
        )
        _ = api.send(request("GET", "/health", token: nil))
    }
}

@Suite("Public keys") struct KeyTests {
    @Test("an app gets the keys of its vendor and mode, the one that signs first, as JWKs with pins and states")
    func ofCaller() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let bundle = try api.bundle(in: api.activate(license.key))

        let answer = api.send(request("GET", "/v1/keys", token: api.catalog.appToken))
        let test = api.send(request("GET", "/v1/keys", token: api.catalog.testToken))

        #expect(answer.status == 200 && answer.members == ["keys"])
        let keys = Array(try #require(answer["keys"]?.elements))
        #expect(keys.compactMap { $0["status"]?.string } == ["active", "next"])
        #expect(
            keys[0].members.map { $0.map(\.name) } == [
                "kty", "crv", "x", "y", "kid", "alg", "use", "spki", "status",
            ]
        )
        #expect(keys[0]["kid"]?.string == bundle.keyID.text)
        #expect(keys[0]["kty"]?.string == "EC" && keys[0]["crv"]?.string == "P-256")
        #expect(keys[0]["x"]?.string?.utf8.count == 43 && keys[0]["spki"]?.string?.hasPrefix("MFkw") == true)
        let testKeys = test["keys"]?.elements.map { $0.compactMap { $0["kid"]?.string } } ?? []
        #expect(testKeys.count == 2 && !testKeys.contains(bundle.keyID.text))
        #expect(api.send(request("GET", "/v1/keys", token: nil)).status == 401)
    }

    @Test("anybody gets a vendor's live keys by its slug, and nothing of a vendor that is not there")
    func ofVendor() throws {
        var api = try TestAPI.open()

        let own = api.send(request("GET", "/v1/keys", token: api.catalog.appToken))
        let answer = api.send(request("GET", "/v1/vendors/acme/jwks.json", token: nil))

        #expect(answer.status == 200 && answer.text == own.text)
        for slug in ["nobody", "ACME", "a%20b", ".acme"] {
            let answer = api.send(request("GET", "/v1/vendors/\(slug)/jwks.json", token: nil))
            #expect(answer.status == 404 && answer.code == "NOT_FOUND", "\(slug)")
        }
    }

    @Test("a key that retired is told of until its end")
    func retiring() throws {
        var api = try TestAPI.open()
        let vendor = api.catalog.vendor
        let end = Catalog.start.adding(seconds: 60)
        let service = api.catalog.services.signingKeys
        let fresh = try service.make(.next, of: vendor.id, mode: .live, at: Catalog.start)
        try api.writer.write { db in
            let rotation = try service.rotate(
                vendor: vendor,
                mode: .live,
                fresh: fresh,
                spare: nil,
                at: Catalog.start,
                in: db
            )
            var old = rotation.old
            old.publishedUntil = end
            try SigningKeyStore.update(old, in: db)
        }
        func states(_ api: inout TestAPI) -> [String]? {
            let answer = api.send(request("GET", "/v1/vendors/acme/jwks.json", token: nil))
            return answer["keys"]?.elements.map { $0.compactMap { $0["status"]?.string } }
        }

        api.catalog.clock.advance(by: 59)
        let before = states(&api)
        api.catalog.clock.advance(by: 1)
        let after = states(&api)

        #expect(before == ["active", "next", "retiring"] && after == ["active", "next"])
    }
}
