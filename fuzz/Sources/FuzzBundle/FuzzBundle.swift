import Bundles
import Cryptography
import FuzzSupport
import Licensing
import StrictJSON

private let verifier = BundleVerifier(
    pinnedKeys: [Signing.leafKey.publicKey],
    issuer: "countersign:acme",
    audience: "editor",
    mode: .live
)

private let context = BundleVerifier.Context(
    accepted: nil,
    clock: Timestamp(secondsSinceEpoch: TestRoot.second),
    floor: nil,
    requestNonce: nil
)

private let bundleHeader = header("bundle")
private let configurationHeader = header("config")

private func header(_ kind: String) -> [UInt8] {
    Array(#"{"alg":"ES256","kid":"\#(Signing.leafKey.publicKey.keyID.text)","typ":"countersign-\#(kind)+jwt"}"#.utf8)
}

/// Nothing but what the pinned key signed is accepted; what is accepted says the same when it is issued anew.
///
/// Input that begins with `{` is a payload, which is signed first; after `[` comes a header, signed over a payload that is
/// good; anything else is a document as it comes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    switch bytes.first {
    case UInt8(ascii: "{"):
        check(Signing.jws(header: bundleHeader, payload: bytes), isGenuine: true)
        check(Signing.jws(header: configurationHeader, payload: bytes), isGenuine: true)
    case UInt8(ascii: "["):
        let header = Array(bytes.dropFirst())
        let isGood = isGood(header)
        for genuine in [TestRoot.bundle, TestRoot.configuration] {
            let parts = genuine.utf8.split(separator: UInt8(ascii: "."))
            guard parts.count == 3, let payload = Base64URL.decode(Array(parts[1])) else { continue }
            let token = Signing.jws(header: header, payload: payload)
            if isGood {
                check(token, isGenuine: true)
            } else {
                expect(!isAccepted(token), "a header that lacks something passes")
            }
        }
    default:
        check(bytes, isGenuine: false)
    }
    return 0
}

/// Whether a header names the algorithm and the pinned key, and nothing that must be understood.
private func isGood(_ header: [UInt8]) -> Bool {
    guard let root = try? JSONDocument(parsing: header).root else { return false }
    return root["alg"]?.isString("ES256") == true && root["crit"] == nil
        && root["kid"]?.isString(Signing.leafKey.publicKey.keyID.text) == true
}

private func isAccepted(_ token: [UInt8]) -> Bool {
    (try? verifier.verify(token, subject: "subject", context: context)) != nil
        || (try? verifier.verifyConfiguration(token)) != nil
}

private func check(_ token: [UInt8], isGenuine: Bool) {
    let bundle = try? verifier.verify(token, subject: "subject", context: context)
    let configuration = try? verifier.verifyConfiguration(token)
    expect(bundle == nil || configuration == nil, "a document is of two kinds")
    if let bundle {
        expect(isGenuine || isSigned(token, TestRoot.bundle), "a forgery was accepted")
        let isOurs = bundle.claims.issuer == "countersign:acme" && bundle.claims.audience == "editor"
        expect(isOurs, "a stranger's document was accepted")
        guard let issuer = try? BundleIssuer.open(Signing.leafKey), let again = try? issuer.issue(bundle.claims),
            let second = try? verifier.verify(again, subject: "subject", context: context)
        else { preconditionFailure("what was accepted is not accepted when issued anew") }
        expect(second.claims == bundle.claims, "a bundle issued anew says something else")
        spoil(again)
    }
    if let configuration {
        expect(isGenuine || isSigned(token, TestRoot.configuration), "a forgery was accepted")
        guard let issuer = try? BundleIssuer.open(Signing.leafKey), let again = try? issuer.issue(configuration),
            let second = try? verifier.verifyConfiguration(again)
        else { preconditionFailure("what was accepted is not accepted when issued anew") }
        expect(second == configuration, "a configuration issued anew says something else")
        spoil(again)
    }
}

/// Whether header and payload are those of a document that the key did sign; the signature may be another of the same.
private func isSigned(_ token: [UInt8], _ genuine: String) -> Bool {
    Signing.signedPart(of: token).elementsEqual(Signing.signedPart(of: Array(genuine.utf8)))
}

/// One changed bit, at a place that follows from the document, and nothing is accepted.
private func spoil(_ token: [UInt8]) {
    var random = InputRandom(token)
    var other = token
    let place = Int.random(in: other.indices, using: &random)
    other[place] ^= 1 << UInt8.random(in: 0...6, using: &random)
    expect(!isAccepted(other), "a changed document was accepted")
    expect(!isAccepted(Array(token.dropLast())), "a document cut short was accepted")
    expect(!isAccepted(token + [UInt8(ascii: "A")]), "a document with more was accepted")
}
