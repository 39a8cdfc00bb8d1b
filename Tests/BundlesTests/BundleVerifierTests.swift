import Bundles
import Cryptography
import Licensing
import StrictJSON
import Testing

@Suite("Verifying bundles") struct BundleVerifierTests {
    @Test("a client reads back what the server signed")
    func roundTrip() throws {
        let pair = try Pair.make()
        let claims = try LicenseBundle.Claims.full()
        let token = try pair.issuer.issue(claims)

        let bundle = try pair.verifier().verify(token, subject: claims.subject, context: .fixture())

        #expect(bundle.claims == claims)
        #expect(bundle.keyID == pair.key.publicKey.keyID)
        #expect(bundle.token == token)
        #expect(!bundle.isFresh)
    }

    @Test("no changed byte of a token is accepted")
    func flippedBytes() throws {
        let pair = try Pair.make()
        let verifier = pair.verifier()
        let token = try pair.issuer.issue(LicenseBundle.Claims(try .fixture(nonce: "n"), at: now))

        for index in token.indices {
            for mask in [0x01, 0x02, 0x20, 0x80] as [UInt8] {
                var changed = token
                changed[index] ^= mask
                #expect(verifier.refusal(of: changed) != nil, "byte \(index) ^ \(mask)")
            }
        }
        for count in token.indices {
            #expect(verifier.refusal(of: Array(token[..<count])) != nil, "cut after \(count) bytes")
        }
        #expect(verifier.refusal(of: token) == nil)
    }

    @Test("no changed member passes without a new signature")
    func flippedMembers() throws {
        let pair = try Pair.make()
        let verifier = pair.verifier()
        let token = try pair.issuer.issue(try .full())
        let segments = token.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
        let payload = try segment(1, of: token)
        let members = try #require(try JSONDocument(parsing: Array(payload.utf8)).root.members)

        for (name, value) in members {
            // Each member's value is replaced by another of the same type.
            let source = String(decoding: value.source, as: UTF8.self)
            let other =
                switch value.kind {
                case .number: "2"
                case .string: "\"x\""
                case .array: "[{}]"
                default: "{}"
                }
            let changed = payload.replacing("\"\(name)\":\(source)", with: "\"\(name)\":\(other)", maxReplacements: 1)
            #expect(changed != payload)
            let forged = "\(segments[0]).\(Base64URL.string(Array(changed.utf8))).\(segments[2])"
            #expect(verifier.refusal(of: Array(forged.utf8)) == .badSignature, "\(name)")
        }
    }

    @Test("at most 256 KiB are looked at")
    func size() throws {
        let verifier = try Pair.make().verifier()

        #expect(verifier.refusal(of: [UInt8](repeating: 0x41, count: 256 * 1024 + 1)) == .tooLarge)
        #expect(verifier.refusal(of: [UInt8](repeating: 0x41, count: 256 * 1024)) == .notCompact)
    }

    @Test(
        "RFC 7515 §7.1: three segments of strict base64url",
        arguments: [
            "", ".", "..", "...", "a.b", "e30.e30", "e30.e30.e30.e30", "e30=.e30.e30", "e3 0.e30.e30", "e31.e30.e30",
            "e30.e30.A",
        ]
    )
    func shape(text: String) throws {
        let refusal = try Pair.make().verifier().refusal(of: Array(text.utf8))

        #expect(refusal == (text == ".." ? .malformedHeader : .notCompact))
    }

    /// Headers of documents that are otherwise good, signed with the pinned key.
    static let headerCases: [(header: String, refusal: BundleRefusal?)] = [
        (#"{"alg":"ES256","kid":"KID","typ":"countersign-bundle+jwt"}"#, nil),
        (#"{"typ":"countersign-bundle+jwt","extra":1,"alg":"ES256","kid":"KID"}"#, nil),
        (#"{"alg":"none","kid":"KID","typ":"countersign-bundle+jwt"}"#, .unsupportedAlgorithm),
        (#"{"alg":"es256","kid":"KID","typ":"countersign-bundle+jwt"}"#, .unsupportedAlgorithm),
        (#"{"alg":"HS256","kid":"KID","typ":"countersign-bundle+jwt"}"#, .unsupportedAlgorithm),
        (#"{"alg":["ES256"],"kid":"KID","typ":"countersign-bundle+jwt"}"#, .unsupportedAlgorithm),
        (#"{"kid":"KID","typ":"countersign-bundle+jwt"}"#, .unsupportedAlgorithm),
        (#"{"alg":"ES256","kid":"KID","typ":"countersign-config+jwt"}"#, .wrongType),
        (#"{"alg":"ES256","kid":"KID","typ":"JWT"}"#, .wrongType),
        (#"{"alg":"ES256","kid":"KID"}"#, .wrongType),
        (#"{"alg":"ES256","kid":"KID","typ":"countersign-bundle+jwt","crit":["b64"]}"#, .criticalHeader),
        (#"{"alg":"ES256","kid":"KID","typ":"countersign-bundle+jwt","crit":null}"#, .criticalHeader),
        (#"{"alg":"ES256","typ":"countersign-bundle+jwt"}"#, .unknownKey),
        (#"{"alg":"ES256","kid":"","typ":"countersign-bundle+jwt"}"#, .unknownKey),
        (#"{"alg":"ES256","kid":7,"typ":"countersign-bundle+jwt"}"#, .unknownKey),
        (#"{"alg":"ES256","alg":"ES256","kid":"KID","typ":"countersign-bundle+jwt"}"#, .malformedHeader),
        (#"["ES256"]"#, .malformedHeader), ("", .malformedHeader), (#"{"alg":"ES256""#, .malformedHeader),
    ]

    @Test("the header says exactly ES256, this type and a pinned key", arguments: headerCases)
    func headers(header: String, refusal: BundleRefusal?) throws {
        let pair = try Pair.make()
        let payload = try segment(1, of: pair.issuer.issue(LicenseBundle.Claims(try .fixture(), at: now)))

        let token = try pair.sign(
            header: header.replacing("KID", with: pair.key.publicKey.keyID.text),
            payload: payload
        )

        #expect(pair.verifier().refusal(of: token) == refusal)
    }

    @Test("no key is tried but the one that is named and pinned")
    func pins() throws {
        let pair = try Pair.make()
        let other = try P256.SigningKey.generate()
        let token = try pair.issuer.issue(LicenseBundle.Claims(try .fixture(), at: now))

        #expect(pair.verifier(pinnedKeys: []).refusal(of: token) == .unknownKey)
        #expect(pair.verifier(pinnedKeys: [other.publicKey]).refusal(of: token) == .unknownKey)
        #expect(pair.verifier(pinnedKeys: [other.publicKey, pair.key.publicKey]).refusal(of: token) == nil)
        let payload = try segment(1, of: token)
        let misnamed = try pair.sign(
            header: #"{"alg":"ES256","kid":"\#(other.publicKey.keyID)","typ":"countersign-bundle+jwt"}"#,
            payload: payload
        )
        let verifier = pair.verifier(pinnedKeys: [other.publicKey, pair.key.publicKey])
        #expect(verifier.refusal(of: misnamed) == .badSignature)
    }

    @Test("another vendor's, product's, install's or mode's bundle is refused, in this order")
    func parties() throws {
        let pair = try Pair.make()
        let token = try pair.issuer.issue(LicenseBundle.Claims(try .fixture(), at: now))

        #expect(pair.verifier(issuer: "x", audience: "x", mode: .test).refusal(of: token, subject: "x") == .wrongIssuer)
        #expect(pair.verifier(audience: "x", mode: .test).refusal(of: token, subject: "x") == .wrongAudience)
        #expect(pair.verifier(mode: .test).refusal(of: token, subject: "x") == .wrongSubject)
        #expect(pair.verifier(mode: .test).refusal(of: token) == .wrongMode)
        #expect(pair.verifier().refusal(of: token, context: .fixture(clock: .earliest)) == .fromTheFuture)
        #expect(pair.verifier().refusal(of: token) == nil)
    }

    /// Changes to the payload of a good bundle, signed with the pinned key all the same.
    static let payloadCases: [(from: String, to: String, refusal: BundleRefusal?)] = [
        (#""ver":1"#, #""ver":2"#, .unsupportedVersion), (#""ver":1"#, #""ver":"1""#, .malformedClaims("/ver")),
        (#""iat":1800000000"#, #""iat":1800000000.0"#, .malformedClaims("/iat")),
        (#""iat":1800000000"#, #""iat":null"#, .malformedClaims("/iat")),
        (#""exp":"#, #""exp_":"#, .malformedClaims("/exp")),
        (#""seq":1800000000000000"#, #""seq":-1"#, .malformedClaims("/seq")),
        (#""seq":1800000000000000"#, #""seq":9007199254740992"#, .malformedClaims("/seq")),
        (#""seq":1800000000000000"#, #""seq":9007199254740991"#, nil),
        (#""grants":["#, #""gifts":["#, .malformedClaims("/grants")),
        (#""grants":["#, #""grants":[1,"#, .malformedClaims("/grants/0")),
        (#""source":"trial""#, #""source":"luck""#, .malformedClaims("/grants/0/source")),
        (#""feature":"basic""#, #""feature":"Basic""#, .malformedClaims("/grants/0/feature")),
        (#""hosts":["*.example.com"]"#, #""hosts":[7]"#, .malformedClaims("/grants/2/env/hosts")),
        (#""edition":"Enterprise""#, #""edition":true"#, .malformedClaims("/grants/2/env/attributes")),
        (#""status":"active""#, #""status":"fine""#, .malformedClaims("/licenses/0/status")),
        (#""state":"active""#, #""state":"endless""#, .malformedClaims("/trial/state")),
        (#""used":2"#, #""used":-0.5"#, .malformedClaims("/meters/0/used")),
        (#""free_tier":true"#, #""free_tier":1"#, .malformedClaims("/settings/free_tier")),
        (#""extra":{"a":[1,2]}"#, #""extra":[]"#, .malformedClaims("/settings/extra")),
        (#""extra":{"a":[1,2]}"#, #""extra":{},"extra":{}"#, .malformedClaims("")),
        (#""mode":"live""#, #""mode":"live","later":{"x":1}"#, nil),
        (#""nonce":"n-\"1\"""#, #""nonce":null"#, nil),
    ]

    @Test(
        "claims that are missing or of another type are refused with their place; unknown ones are ignored",
        arguments: payloadCases
    )
    func payloads(from: String, to: String, refusal: BundleRefusal?) throws {
        let pair = try Pair.make()
        let payload = try segment(1, of: pair.issuer.issue(try .full()))
        let changed = payload.replacing(from, with: to, maxReplacements: 1)

        let token = try pair.sign(header: pair.header(), payload: changed)

        #expect(changed != payload)
        #expect(pair.verifier().refusal(of: token) == refusal)
    }

    @Test(
        "a bundle that answers no request is never older than the last accepted one, by state, then by time",
        arguments: [(0, 0, nil), (1, -9000, nil), (0, 1, nil), (-1, 9000, .superseded), (0, -1, .superseded)]
            as [(Int64, Int64, BundleRefusal?)]
    )
    func history(sequence: Int64, seconds: Int64, refusal: BundleRefusal?) throws {
        let pair = try Pair.make()
        let accepted = BundleVerifier.Context.Place(sequence: 1000, issuedAt: now)
        let later = now.adding(seconds: seconds)
        let claims = LicenseBundle.Claims(try .fixture(sequence: 1000 + sequence, nonce: "old"), at: later)
        let token = try pair.issuer.issue(claims)
        let verifier = pair.verifier()

        let clock = now.adding(seconds: 20_000)
        #expect(verifier.refusal(of: token, context: .fixture(accepted: accepted, clock: clock)) == refusal)
        #expect(
            verifier.refusal(
                of: token,
                context: .fixture(accepted: accepted, clock: clock, requestNonce: "another")
            ) == refusal
        )
    }

    @Test(
        "a bundle that answers no request is at most 300 seconds ahead of clock and floor",
        arguments: [
            (0, nil, nil), (-300, nil, nil), (-301, nil, .fromTheFuture), (-9000, 0, nil), (-9000, -300, nil),
            (-9000, -301, .fromTheFuture), (9000, -9000, nil),
        ] as [(Int64, Int64?, BundleRefusal?)]
    )
    func future(clock: Int64, floor: Int64?, refusal: BundleRefusal?) throws {
        let pair = try Pair.make()
        let token = try pair.issuer.issue(LicenseBundle.Claims(try .fixture(), at: now))
        let context = BundleVerifier.Context.fixture(
            clock: now.adding(seconds: clock),
            floor: floor.map { now.adding(seconds: $0) }
        )

        #expect(pair.verifier().refusal(of: token, context: context) == refusal)
    }

    @Test("the answer to the request just made is fresh, whatever clock and history say")
    func fresh() throws {
        let pair = try Pair.make()
        let claims = LicenseBundle.Claims(try .fixture(sequence: 1, nonce: "n-1"), at: now)
        let token = try pair.issuer.issue(claims)
        let context = BundleVerifier.Context.fixture(
            accepted: .init(sequence: 2, issuedAt: now.adding(seconds: 9000)),
            clock: .earliest,
            requestNonce: "n-1"
        )

        let bundle = try pair.verifier().verify(token, subject: claims.subject, context: context)

        #expect(bundle.isFresh)
    }

    @Test(
        "an empty nonce or one that only looks alike answers nothing",
        arguments: [("", ""), ("\u{E9}", "e\u{301}"), ("K", "\u{212A}")]
    )
    func nonces(nonce: String, requestNonce: String) throws {
        let pair = try Pair.make()
        let token = try pair.issuer.issue(LicenseBundle.Claims(try .fixture(nonce: nonce), at: now))

        let refusal = pair.verifier().refusal(
            of: token,
            context: .fixture(clock: .earliest, requestNonce: requestNonce)
        )

        #expect(refusal == .fromTheFuture)
    }
}
