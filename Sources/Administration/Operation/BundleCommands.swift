internal import Bundles
internal import Cryptography
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `bundle …`: what an app does with a bundle, by hand. Needs no database.
enum BundleCommands {
    static let all = [inspect, verify]

    private static let token = Parameter<String>.argument("TOKEN", "the bundle, or - to read it") { $0 }
    private static let spki = Parameter<P256.PublicKey>.option(
        "spki",
        "BASE64",
        "a pinned key: SPKI, DER, base64",
        isRequired: true,
        isRepeatable: true
    ) { (text) throws(ValueFault) in
        guard let bytes = Base64.decode(text) ?? Base64URL.decode(text), let key = try? P256.PublicKey(spki: bytes)
        else { throw ValueFault("must be a P-256 public key: SPKI, DER, base64") }
        return key
    }
    private static let issuer = Parameter<String>.option(
        "issuer",
        "ISSUER",
        "the vendor's issuer, such as countersign:acme",
        isRequired: true
    ) { $0 }
    private static let audience = Parameter<String>.option(
        "audience",
        "SLUG",
        "the product's slug",
        isRequired: true
    ) { $0 }
    private static let mode = Parameter<Mode>.option("mode", "live|test", "refuses the other mode") {
        (text) throws(ValueFault) in try CommonParameters.word(text)
    }
    private static let install = Parameter<InstallID>.option("install-id", "ID", "refuses another install's") {
        (text) throws(ValueFault) in try CommonParameters.installID(text)
    }

    private static let inspect = Command(
        "bundle inspect",
        .reads,
        "shows what a bundle says, verified or not",
        [token.specification],
        example: "bundle inspect - < bundle.jws"
    ) { call, context in
        let parts = try Parts(read(call, context))
        return Report(notes: ["nothing was verified: see countersign bundle verify"]) { writer in
            writer.name("header")
            writer.value(json: parts.header.bytes)
            writer.name("payload")
            writer.value(json: parts.payload.bytes)
            writer.member("verified", false)
        }
    }

    private static let verify = Command(
        "bundle verify",
        .reads,
        "verifies a bundle as an app does: exit 0 verified, 1 not",
        [
            token.specification, spki.specification, issuer.specification, audience.specification, mode.specification,
            install.specification,
        ],
        example: "bundle verify - --spki MFkw… --issuer countersign:acme --audience editor < bundle.jws"
    ) { call, context in
        let pins = try call.values(spki)
        let (issuer, audience) = (try call.required(issuer), try call.required(audience))
        let (mode, install) = (try call.value(mode), try call.value(install))
        let product = try install.map { _ throws(CommandFailure) in
            do throws(ValueFault) {
                return try Slug(audience)
            } catch {
                throw CommandFailure.usage("--audience \(error.reason)", option: "--audience")
            }
        }
        let text = try read(call, context)
        let now = try context.now()
        let parts = try Parts(text)
        // What was not asked for is taken as the bundle says it; the signature still covers it.
        let claimed = parts.payload.root
        let verifier = BundleVerifier(
            pinnedKeys: pins,
            issuer: issuer,
            audience: audience,
            mode: mode ?? claimed["mode"]?.string.flatMap(Mode.init) ?? .live
        )
        let subject =
            if let product, let install { LicenseBundle.subject(product: product, install: install) } else {
                claimed["sub"]?.string ?? ""
            }
        do throws(BundleRefusal) {
            let bundle = try verifier.verify(
                text,
                subject: subject,
                context: BundleVerifier.Context(accepted: nil, clock: now, floor: nil, requestNonce: nil)
            )
            return report(bundle, parts, at: now)
        } catch {
            // No memory, say: no word about the bundle.
            if error == .notChecked { throw CommandFailure(code: "CRYPTOGRAPHY", error.sentence) }
            throw CommandFailure(
                code: "NOT_VERIFIED",
                "the bundle is not to be trusted: \(error.sentence)",
                members: [("reason", CommandFailure.json(error.word))]
            )
        }
    }

    private static func report(_ bundle: LicenseBundle, _ parts: Parts, at now: Timestamp) -> Report {
        let live = bundle.claims.grants.filter { $0.starts <= now && now < $0.until }
        let features = Set(live.map(\.feature)).sorted()
        return Report { writer in
            writer.member("verified", true)
            writer.member("kid", bundle.keyID.text)
            writer.member("issued_at", bundle.claims.issuedAt.rfc3339)
            writer.member("expires_at", bundle.claims.expiresAt.rfc3339)
            writer.name("features")
            writer.array { writer in for feature in features { writer.value(feature.text) } }
            writer.name("payload")
            writer.value(json: parts.payload.bytes)
        }
    }

    private static func read(_ call: Invocation, _ context: CommandContext) throws -> [UInt8] {
        let text = try call.required(token)
        let bytes =
            text == "-"
            ? try context.surroundings.readFile("-", BundleVerifier.maximumByteCount + 16) : Array(text.utf8)
        return Array(bytes.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
    }

    /// Header and payload of a JWS in compact form, unverified.
    private struct Parts {
        let header: JSONDocument
        let payload: JSONDocument

        init(_ token: [UInt8]) throws(CommandFailure) {
            let segments = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard segments.count == 3, let header = Base64URL.decode(segments[0]),
                let payload = Base64URL.decode(segments[1]), let headerJSON = try? JSONDocument(parsing: header),
                let payloadJSON = try? JSONDocument(parsing: payload)
            else {
                throw CommandFailure(
                    code: "NOT_VERIFIED",
                    "this is no bundle: \(BundleRefusal.notCompact.sentence)",
                    members: [("reason", CommandFailure.json(BundleRefusal.notCompact.word))]
                )
            }
            self.header = headerJSON
            self.payload = payloadJSON
        }
    }
}

extension BundleRefusal {
    /// For programs.
    fileprivate var word: String {
        switch self {
        case .tooLarge: "too_large"
        case .notCompact: "not_compact"
        case .malformedHeader: "malformed_header"
        case .unsupportedAlgorithm: "unsupported_algorithm"
        case .wrongType: "wrong_type"
        case .criticalHeader: "critical_header"
        case .unknownKey: "unknown_key"
        case .badSignature: "bad_signature"
        case .notChecked: "not_checked"
        case .malformedClaims: "malformed_claims"
        case .wrongIssuer: "wrong_issuer"
        case .wrongAudience: "wrong_audience"
        case .wrongSubject: "wrong_subject"
        case .wrongMode: "wrong_mode"
        case .unsupportedVersion: "unsupported_version"
        case .superseded: "superseded"
        case .fromTheFuture: "from_the_future"
        }
    }

    /// For people.
    fileprivate var sentence: String {
        switch self {
        case .tooLarge: "it is larger than 256 KiB"
        case .notCompact: "it is not three parts of base64url with JSON in the first two"
        case .malformedHeader: "its header is no JSON object"
        case .unsupportedAlgorithm: "its algorithm is not ES256"
        case .wrongType: "it is a document of another type"
        case .criticalHeader: "its header has extensions that must be understood"
        case .unknownKey: "the key it names is not pinned"
        case .badSignature: "the signature does not fit"
        case .notChecked: "the signature could not be checked now"
        case .malformedClaims(let pointer): "the member \(pointer) is missing or of another type"
        case .wrongIssuer: "it is another vendor's"
        case .wrongAudience: "it is another product's"
        case .wrongSubject: "it is another install's"
        case .wrongMode: "it is of the other mode"
        case .unsupportedVersion: "its version is not known"
        case .superseded: "a newer one was accepted before"
        case .fromTheFuture: "it was made later than now"
        }
    }
}
