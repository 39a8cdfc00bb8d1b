public import Cryptography
public import Licensing
import StrictJSON

/// The client's check of a document: by whom, for whom, and whether it is newer than what is known.
///
/// A value that any thread may use.
public struct BundleVerifier: Sendable {
    /// The most bytes of a document.
    public static let maximumByteCount = 256 * 1024

    /// How far a bundle that answers no request may lie ahead of the known time, in seconds.
    public static let toleranceSeconds: Int64 = 300

    private let keys: [KeyID: P256.PublicKey]
    private let issuer: String
    private let audience: String
    private let mode: Mode

    /// Accepts documents of one product in one mode.
    ///
    /// - Parameters:
    ///   - pinnedKeys: the keys of that vendor and mode, as shipped with the app; a key that a server tells is none.
    ///   - issuer: the vendor's issuer.
    ///   - audience: the product's slug.
    ///   - mode: live or test.
    public init(pinnedKeys: [P256.PublicKey], issuer: String, audience: String, mode: Mode) {
        keys = Dictionary(pinnedKeys.map { ($0.keyID, $0) }, uniquingKeysWith: { first, _ in first })
        self.issuer = issuer
        self.audience = audience
        self.mode = mode
    }

    /// What a client knows of time and of what it accepted before.
    public struct Context: Hashable, Sendable {
        /// The place of a bundle in its product's history: by state, then by time.
        public struct Place: Hashable, Sendable, Comparable {
            /// The state's version.
            public var sequence: Int64
            /// When the bundle was made.
            public var issuedAt: Timestamp

            /// The place of a bundle with these claims.
            public init(sequence: Int64, issuedAt: Timestamp) {
                self.sequence = sequence
                self.issuedAt = issuedAt
            }

            /// By state, then by time.
            public static func < (one: Place, other: Place) -> Bool {
                (one.sequence, one.issuedAt) < (other.sequence, other.issuedAt)
            }
        }

        /// The last accepted bundle's place, `nil` before the first.
        public var accepted: Place?
        /// What the device's clock says.
        public var clock: Timestamp
        /// The newest trusted time, `nil` before the first: the clock is never believed to be earlier.
        public var floor: Timestamp?
        /// The nonce of the request whose answer is looked at; `nil` for a stored bundle or a file.
        public var requestNonce: String?

        /// What is known.
        public init(accepted: Place?, clock: Timestamp, floor: Timestamp?, requestNonce: String?) {
            self.accepted = accepted
            self.clock = clock
            self.floor = floor
            self.requestNonce = requestNonce
        }
    }

    /// The bundle that `token` is, if it is to be accepted; each of its grants then counts by its own times.
    ///
    /// - Parameters:
    ///   - token: a JWS in compact form.
    ///   - subject: the install's, see ``LicenseBundle/subject(product:install:)``.
    ///   - context: what is known of time and history.
    /// - Throws: the first thing that is wrong.
    public func verify(
        _ token: [UInt8],
        subject: String,
        context: Context
    ) throws(BundleRefusal) -> LicenseBundle {
        let (keyID, payload) = try signedPayload(of: token, type: .bundle)
        let claims = ClaimsReader(payload.root)
        try check(claims)
        guard try claims.string("sub").hasSameBytes(as: subject) else { throw .wrongSubject }
        try checkMode(claims)
        guard try claims.integer("ver") == LicenseBundle.Claims.version else { throw .unsupportedVersion }
        let bundle = try LicenseBundle.Claims(claims)
        let isFresh = Self.answers(bundle.nonce, context.requestNonce)
        if !isFresh { try Self.checkHistory(of: bundle, context) }
        return LicenseBundle(token: token, keyID: keyID, claims: bundle, isFresh: isFresh)
    }

    /// The configuration that `token` is, if it is this product's; when it was made and until when it is believed is
    /// for the caller to judge.
    public func verifyConfiguration(_ token: [UInt8]) throws(BundleRefusal) -> ConfigurationClaims {
        let payload = try signedPayload(of: token, type: .configuration).payload
        let claims = ClaimsReader(payload.root)
        try check(claims)
        try checkMode(claims)
        return try ConfigurationClaims(claims)
    }

    // MARK: The signature

    private func signedPayload(
        of token: [UInt8],
        type: DocumentType
    ) throws(BundleRefusal) -> (keyID: KeyID, payload: JSONDocument) {
        guard token.count <= Self.maximumByteCount else { throw .tooLarge }
        let segments = token.split(
            separator: UInt8(ascii: "."),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard segments.count == 3, let header = Base64URL.decode(segments[0]),
            let payload = Base64URL.decode(segments[1]), let signature = Base64URL.decode(segments[2])
        else {
            throw .notCompact
        }
        let key = try pinnedKey(header: header, type: type)
        let isValid: Bool
        do throws(CryptographyError) {
            isValid = try key.isValid(signature, for: Array(token[..<segments[1].endIndex]))
        } catch {
            throw error.isTrouble ? .notChecked : .badSignature
        }
        guard isValid else { throw .badSignature }
        guard let document = try? JSONDocument(parsing: payload), document.root.kind == .object else {
            throw .malformedClaims("")
        }
        return (key.keyID, document)
    }

    private func pinnedKey(header bytes: [UInt8], type: DocumentType) throws(BundleRefusal) -> P256.PublicKey {
        guard let document = try? JSONDocument(parsing: bytes), document.root.kind == .object else {
            throw .malformedHeader
        }
        let header = document.root
        guard header["alg"]?.isString("ES256") == true else { throw .unsupportedAlgorithm }
        guard header["typ"]?.isString(type.rawValue) == true else { throw .wrongType }
        guard header["crit"] == nil else { throw .criticalHeader }
        guard let name = header["kid"]?.string, let keyID = KeyID(name), let key = keys[keyID] else {
            throw .unknownKey
        }
        return key
    }

    // MARK: By whom, for whom, when

    private func check(_ claims: ClaimsReader) throws(BundleRefusal) {
        guard try claims.string("iss").hasSameBytes(as: issuer) else { throw .wrongIssuer }
        guard try claims.string("aud").hasSameBytes(as: audience) else { throw .wrongAudience }
    }

    private func checkMode(_ claims: ClaimsReader) throws(BundleRefusal) {
        guard try claims.string("mode").hasSameBytes(as: mode.rawValue) else { throw .wrongMode }
    }

    private static func answers(_ nonce: String?, _ requestNonce: String?) -> Bool {
        guard let nonce, let requestNonce, !requestNonce.isEmpty else { return false }
        return nonce.hasSameBytes(as: requestNonce)
    }

    private static func checkHistory(of claims: LicenseBundle.Claims, _ context: Context) throws(BundleRefusal) {
        let place = Context.Place(sequence: claims.sequence, issuedAt: claims.issuedAt)
        if let accepted = context.accepted, place < accepted { throw .superseded }
        let now = max(context.clock, context.floor ?? context.clock)
        guard claims.issuedAt <= now.adding(seconds: toleranceSeconds) else { throw .fromTheFuture }
    }
}

extension String {
    /// `==` would compare by canonical equivalence.
    fileprivate func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
