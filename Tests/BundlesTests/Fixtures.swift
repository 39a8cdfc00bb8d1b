import Bundles
import Cryptography
import Licensing
import StrictJSON
import Testing

let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
let day: Int64 = 86_400

extension Slug {
    static var product: Slug { get throws { try Slug("keysmith") } }
}

extension LicenseBundle.Facts {
    static func fixture(
        sequence: Int64 = 1_800_000_000_000_000,
        mode: Mode = .live,
        nonce: String? = nil,
        grants: [Grant] = [],
        licenses: [LicenseBundle.License] = [],
        trial: LicenseBundle.Trial? = nil,
        meters: [LicenseBundle.Meter] = [],
        settings: ProductSettings = ProductSettings()
    ) throws -> Self {
        Self(
            issuer: "countersign:acme",
            product: try .product,
            subject: "dGhlIHN1YmplY3Q",
            sequence: sequence,
            mode: mode,
            nonce: nonce,
            grants: grants,
            licenses: licenses,
            trial: trial,
            meters: meters,
            settings: settings
        )
    }
}

extension Grant {
    static func fixture(
        feature: String = "pro",
        reference: GrantReference = .license(.init(high: 1, low: 1)),
        starts: Timestamp = now.adding(seconds: -day),
        ends: Timestamp? = nil,
        offlineLife: CalendarDuration = CalendarDuration(days: 7),
        leaseEnd: Timestamp? = nil,
        environment: EnvironmentRule? = nil
    ) throws -> Grant {
        Grant(
            feature: try FeatureCode(feature),
            reference: reference,
            starts: starts,
            ends: ends,
            offlineLife: offlineLife,
            leaseEnd: leaseEnd,
            environment: environment
        )
    }
}

extension LicenseBundle.Claims {
    /// Claims in which every member says something.
    static func full() throws -> Self {
        Self(
            try .fixture(
                nonce: "n-\"1\"",
                grants: [
                    .fixture(
                        feature: "pro",
                        ends: now.adding(seconds: 30 * day),
                        environment: EnvironmentRule(
                            hosts: ["*.example.com"],
                            spki: ["AAAA"],
                            attributes: ["edition": "Enterprise", "a": "é"]
                        )
                    ),
                    .fixture(feature: "pro", reference: .purchase(.init(high: 2, low: 2))),
                    .fixture(feature: "basic", reference: .trial(.init(high: 3, low: 3))),
                ],
                licenses: [
                    LicenseBundle.License(
                        id: .init(high: 1, low: 1),
                        plan: PlanCode("team"),
                        status: .active,
                        starts: now.adding(seconds: -day),
                        ends: now.adding(seconds: 30 * day),
                        maintenanceUntil: now.adding(seconds: 365 * day),
                        activation: .init(high: 4, low: 4)
                    )
                ],
                trial: LicenseBundle.Trial(state: .active, starts: now, ends: now.adding(seconds: 14 * day)),
                meters: [
                    LicenseBundle.Meter(
                        meter: FeatureCode("runs"),
                        used: 2,
                        limit: 3,
                        resets: now.adding(seconds: day)
                    ),
                    LicenseBundle.Meter(meter: FeatureCode("seats"), used: 9, limit: nil, resets: nil),
                ],
                settings: ProductSettings(
                    trialDuration: CalendarDuration(days: 14),
                    freeTier: true,
                    minimumVersion: "2.1",
                    extra: #"{"a":[1,2]}"#
                )
            ),
            at: now
        )
    }
}

/// An issuer, and the client that pins its key.
struct Pair: ~Copyable {
    let key: P256.SigningKey
    let issuer: BundleIssuer

    static func make() throws -> Pair {
        let key = try P256.SigningKey.generate()
        return Pair(key: key, issuer: try .open(key))
    }

    func verifier(
        pinnedKeys: [P256.PublicKey]? = nil,
        issuer: String = "countersign:acme",
        audience: String = "keysmith",
        mode: Mode = .live
    ) -> BundleVerifier {
        BundleVerifier(
            pinnedKeys: pinnedKeys ?? [key.publicKey],
            issuer: issuer,
            audience: audience,
            mode: mode
        )
    }

    /// A document with any header and payload, signed with the pair's key.
    func sign(header: String, payload: String) throws -> [UInt8] {
        try sign(segments: Base64URL.string(Array(header.utf8)), Base64URL.string(Array(payload.utf8)))
    }

    func sign(segments header: String, _ payload: String) throws -> [UInt8] {
        let input = Array("\(header).\(payload)".utf8)
        return try input + [UInt8(ascii: ".")] + Base64URL.encode(P256.Signer.open(key).sign(input))
    }

    func header(type: String = "countersign-bundle+jwt") -> String {
        #"{"alg":"ES256","kid":"\#(key.publicKey.keyID)","typ":"\#(type)"}"#
    }
}

extension BundleVerifier.Context {
    static func fixture(
        accepted: Place? = nil,
        clock: Timestamp = now,
        floor: Timestamp? = nil,
        requestNonce: String? = nil
    ) -> Self {
        Self(accepted: accepted, clock: clock, floor: floor, requestNonce: requestNonce)
    }
}

extension BundleVerifier {
    /// Why a bundle is refused, `nil` when it is accepted.
    func refusal(
        of token: [UInt8],
        subject: String = "dGhlIHN1YmplY3Q",
        context: Context = .fixture()
    ) -> BundleRefusal? {
        do throws(BundleRefusal) {
            _ = try verify(token, subject: subject, context: context)
            return nil
        } catch {
            return error
        }
    }
}

/// A segment of a document, decoded.
func segment(_ index: Int, of token: [UInt8]) throws -> String {
    let segments = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    try #require(segments.count == 3)
    return String(decoding: try #require(Base64URL.decode(segments[index])), as: UTF8.self)
}
