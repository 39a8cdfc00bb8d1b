import Bundles
import Cryptography
import Licensing
import StrictJSON
import Testing

@Suite("Issuing bundles") struct BundleIssuerTests {
    @Test("the header names algorithm, key and type, in this order, and nothing else")
    func header() throws {
        let pair = try Pair.make()

        let token = try pair.issuer.issue(try .full())

        let expected = #"{"alg":"ES256","kid":"\#(pair.key.publicKey.keyID.text)","typ":"countersign-bundle+jwt"}"#
        #expect(try segment(0, of: token) == expected)
        #expect(pair.issuer.keyID == pair.key.publicKey.keyID)
    }

    @Test("the payload is written in one fixed order")
    func payload() throws {
        let token = try Pair.make().issuer.issue(try .full())

        let trial = TrialID(high: 3, low: 3).text
        let license = License.ID(high: 1, low: 1).text
        let purchase = PurchaseID(high: 2, low: 2).text
        let activation = Activation.ID(high: 4, low: 4).text
        #expect(
            try segment(1, of: token)
                == #"{"iss":"countersign:acme","aud":"keysmith","sub":"dGhlIHN1YmplY3Q","iat":1800000000,"exp":1800604800,"#
                + #""ver":1,"seq":1800000000000000,"mode":"live","refresh_after":1800086400,"nonce":"n-\"1\"","grants":["#
                + #"{"feature":"basic","source":"trial","starts":1799913600,"until":1800604800,"ref":"\#(trial)"},"#
                + #"{"feature":"pro","source":"store","starts":1799913600,"until":1800604800,"ref":"\#(purchase)"},"#
                + #"{"feature":"pro","source":"license","starts":1799913600,"ends":1802592000,"until":1800604800,"#
                + #""ref":"\#(license)","env":{"hosts":["*.example.com"],"spki":["AAAA"],"#
                + #""attributes":{"a":"é","edition":"Enterprise"}}}],"licenses":[{"id":"\#(license)","plan":"team","#
                + #""status":"active","starts":1799913600,"ends":1802592000,"maintenance_until":1831536000,"#
                + #""activation":"\#(activation)"}],"trial":{"state":"active","starts":1800000000,"ends":1801209600},"#
                + #""meters":[{"meter":"runs","used":2,"limit":3,"resets":1800086400},{"meter":"seats","used":9}],"#
                + #""settings":{"trial_seconds":1209600,"free_tier":true,"minimum_version":"2.1","#
                + #""offline_seconds":604800,"extra":{"a":[1,2]}}}"#
        )
    }

    @Test("lists are there even when empty; what is not known is not written")
    func empty() throws {
        let token = try Pair.make().issuer.issue(LicenseBundle.Claims(try .fixture(), at: now))

        #expect(
            try segment(1, of: token)
                == #"{"iss":"countersign:acme","aud":"keysmith","sub":"dGhlIHN1YmplY3Q","iat":1800000000,"exp":1800604800,"#
                + #""ver":1,"seq":1800000000000000,"mode":"live","refresh_after":1800086400,"grants":[],"licenses":[],"#
                + #""meters":[],"settings":{"free_tier":false,"offline_seconds":604800}}"#
        )
    }

    @Test("the signature is the key's over the bytes as sent")
    func signature() throws {
        let pair = try Pair.make()

        let token = try pair.issuer.issue(try .full())

        let dot = try #require(token.lastIndex(of: UInt8(ascii: ".")))
        let signature = try #require(Base64URL.decode(token[(dot + 1)...]))
        #expect(signature.count == 64)
        #expect(try pair.key.publicKey.isValid(signature, for: Array(token[..<dot])))
    }

    @Test("a configuration carries settings and offers under its own type")
    func configuration() throws {
        let pair = try Pair.make()
        let offer = Offer(
            id: try OfferName("pro-yearly"),
            plan: try PlanCode("pro"),
            kind: .subscription,
            priceMilliunits: 29_990,
            currency: "EUR",
            storeProductID: "com.example.pro",
            trialDuration: CalendarDuration(days: 14),
            url: "https://example.com/buy",
            from: now,
            until: now.adding(seconds: day)
        )
        let claims = ConfigurationClaims(
            issuer: "countersign:acme",
            product: try .product,
            mode: .live,
            settings: ProductSettings(),
            offers: [offer],
            at: now
        )

        let token = try pair.issuer.issue(claims)

        #expect(try segment(0, of: token).contains(#""typ":"countersign-config+jwt""#))
        #expect(
            try segment(1, of: token)
                == #"{"iss":"countersign:acme","aud":"keysmith","iat":1800000000,"exp":1800604800,"mode":"live","#
                + #""settings":{"free_tier":false,"offline_seconds":604800},"offers":[{"id":"pro-yearly","plan":"pro","#
                + #""kind":"subscription","price_milliunits":29990,"currency":"EUR","store_product_id":"com.example.pro","#
                + #""trial_duration":"P14D","url":"https://example.com/buy","from":1800000000,"until":1800086400}]}"#
        )
        #expect(try pair.verifier().verifyConfiguration(token) == claims)
        #expect(pair.verifier().refusal(of: token) == .wrongType)
        let bundle = try pair.issuer.issue(try .full())
        #expect(throws: BundleRefusal.wrongType) { try pair.verifier().verifyConfiguration(bundle) }
        #expect(throws: BundleRefusal.wrongMode) { try pair.verifier(mode: .test).verifyConfiguration(token) }
        #expect(throws: BundleRefusal.wrongAudience) { try pair.verifier(audience: "x").verifyConfiguration(token) }
        #expect(throws: BundleRefusal.wrongIssuer) { try pair.verifier(issuer: "x").verifyConfiguration(token) }
    }
}
