/// Why signed data from the App Store is not taken: it is not genuine, or not for this connection, or that could not be
/// found out.
///
/// The raw values are stable codes for logs and audit rows; on the wire all of them are `STORE_UNVERIFIED`. A refusal
/// never changes any state.
public enum StoreRefusal: String, Error, Hashable, Sendable, CaseIterable {
    /// More bytes than such a document ever has.
    case tooLarge = "TOO_LARGE"
    /// Not three segments of strict base64url with one JSON object each in the first two (RFC 7515 §3.1).
    case malformedJWS = "MALFORMED_JWS"
    /// `alg` is not `ES256`.
    case unsupportedAlgorithm = "UNSUPPORTED_ALG"
    /// `crit` or `b64` is present: an extension that is not understood (RFC 7515 §4.1.11, RFC 7797).
    case unsupportedHeader = "UNSUPPORTED_HEADER"
    /// `x5c` does not have exactly three certificates.
    case badChainLength = "BAD_CHAIN_LENGTH"
    /// A certificate is not standard base64 of one DER certificate with nothing behind it.
    case badCertificate = "BAD_CERTIFICATE"
    /// The third certificate is none of the pinned roots, byte for byte.
    case untrustedRoot = "UNTRUSTED_ROOT"
    /// The three certificates do not form a path by RFC 5280.
    case badChain = "BAD_CHAIN"
    /// A certificate was not valid at the `signedDate`.
    case certificateNotValidAtDate = "CERT_NOT_VALID_AT_DATE"
    /// Leaf or intermediate lack the marker that Apple gives to those for the App Store.
    case missingMarker = "MISSING_MARKER_OID"
    /// The signature is not the leaf's, or the leaf's key is not on P-256.
    case badSignature = "BAD_SIGNATURE"
    /// A member that is required is missing or empty, or one that is known has another JSON type.
    case badPayload = "BAD_PAYLOAD"
    /// Another app's.
    case wrongBundle = "WRONG_BUNDLE"
    /// Of an environment that the connection, or the credential's mode, does not take.
    case wrongEnvironment = "WRONG_ENVIRONMENT"
    /// A production notification with another `appAppleId`.
    case wrongAppID = "WRONG_APP_ID"
    /// Signed more than five minutes ahead of our clock, so most likely the clock is wrong: nothing can be concluded.
    case signedInFuture = "SIGNED_IN_FUTURE"
    /// Genuine or not, the connection it is for is switched off.
    case connectionDisabled = "CONNECTION_DISABLED"
    /// We could not look, for want of memory say: no word about what was signed.
    case notChecked = "NOT_CHECKED"

    /// Whether the sender of a notification should try again later (503) and not give up (400).
    public var wantsRetry: Bool { self == .signedInFuture || self == .connectionDisabled || self == .notChecked }
}
