/// Why a verifier does not accept a document, in the order in which it looks.
public enum BundleRefusal: Error, Hashable, Sendable {
    /// More than 256 KiB.
    case tooLarge
    /// Not three segments of strict base64url.
    case notCompact
    /// The header is no JSON object, by the rules of `StrictJSON`.
    case malformedHeader
    /// The header's `alg` is not exactly `ES256`.
    case unsupportedAlgorithm
    /// The header's `typ` is another document's.
    case wrongType
    /// The header has `crit`: extensions that nobody here understands (RFC 7515 §4.1.11).
    case criticalHeader
    /// The header's `kid` is not pinned: forged, or made for another mode. No other key is tried.
    case unknownKey
    /// The signature is not the pinned key's for these bytes.
    case badSignature
    /// It could not be found out whether the signature is the key's, for want of memory say: no word about the document.
    case notChecked
    /// The payload is no JSON object, or a member is missing or of another type; the JSON Pointer to it.
    case malformedClaims(String)
    /// Another vendor's.
    case wrongIssuer
    /// Another product's.
    case wrongAudience
    /// Another install's.
    case wrongSubject
    /// Of the other mode.
    case wrongMode
    /// A version of the document that this code does not know.
    case unsupportedVersion
    /// Made before the last accepted one, and not the answer to the request just made.
    case superseded
    /// Made more than 300 seconds after what time is known to be, and not the answer to the request just made.
    case fromTheFuture
}
