public import Cryptography
public import Licensing

/// Signs bundles and configurations with one key; sole owner of a ``P256/Signer``.
///
/// For one thread at a time: each event loop has its own, and makes a new one when keys rotate.
public struct BundleIssuer: ~Copyable {
    /// The key that signs.
    public let keyID: KeyID

    private let signer: P256.Signer
    /// The header in base64url, and the dot behind it: the same for every document of a key.
    private let bundleHeader: [UInt8]
    private let configurationHeader: [UInt8]

    private init(keyID: KeyID, signer: consuming P256.Signer) {
        self.keyID = keyID
        self.signer = signer
        bundleHeader = DocumentType.bundle.header(signedWith: keyID)
        configurationHeader = DocumentType.configuration.header(signedWith: keyID)
    }

    /// Makes ready to sign with `key`.
    public static func open(_ key: P256.SigningKey) throws(CryptographyError) -> BundleIssuer {
        BundleIssuer(keyID: key.publicKey.keyID, signer: try .open(key))
    }

    /// The bundle that says `claims`, in ASCII.
    public borrowing func issue(_ claims: LicenseBundle.Claims) throws(CryptographyError) -> [UInt8] {
        try sign(bundleHeader, claims.payload())
    }

    /// The bundle that says at `now` what `facts` are, in ASCII, without what does not fit into 256 KiB.
    ///
    /// - Returns: the bundle, and how many features it should give and does not.
    public borrowing func issue(
        _ facts: LicenseBundle.Facts,
        at now: Timestamp
    ) throws(CryptographyError) -> (bundle: [UInt8], featuresLeftOut: Int) {
        let fitting = FittingClaims(facts, at: now, payload: mostPayloadBytes(after: bundleHeader))
        return (try sign(bundleHeader, fitting.payload), fitting.featuresLeftOut)
    }

    /// The longest payload that makes, behind this header, a document that a client takes.
    private borrowing func mostPayloadBytes(after header: [UInt8]) -> Int {
        // A dot and the signature; three bytes are four characters.
        (BundleVerifier.maximumByteCount - header.count - 1 - 86) / 4 * 3
    }

    /// The configuration that says `claims`, in ASCII.
    public borrowing func issue(_ claims: ConfigurationClaims) throws(CryptographyError) -> [UInt8] {
        try sign(configurationHeader, claims.payload())
    }

    /// RFC 7515 §5.1: header, payload and signature in base64url, the signature over the bytes of the first two.
    private borrowing func sign(_ header: [UInt8], _ payload: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var token: [UInt8] = []
        token.reserveCapacity(header.count + payload.count / 3 * 4 + 4 + 1 + 86)
        token.append(contentsOf: header)
        Base64URL.append(payload, to: &token)
        let signature = try signer.sign(token)
        token.append(UInt8(ascii: "."))
        Base64URL.append(signature, to: &token)
        return token
    }
}

/// The two kinds of documents, by their `typ` (RFC 7515 §4.1.9): one never passes for the other.
enum DocumentType: String {
    case bundle = "countersign-bundle+jwt"
    case configuration = "countersign-config+jwt"

    /// The header in base64url with the dot that follows it.
    func header(signedWith key: KeyID) -> [UInt8] {
        // No member needs an escape: the name of a key is base64url.
        let json = #"{"alg":"ES256","kid":"\#(key.text)","typ":"\#(rawValue)"}"#
        return Base64URL.encode(Array(json.utf8)) + [UInt8(ascii: ".")]
    }
}
