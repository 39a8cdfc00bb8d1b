internal import Cryptography
internal import Licensing
internal import StrictJSON

/// One compact JWS (RFC 7515 §7.1), taken apart and judged by all that costs nothing; nothing in it is believed yet.
struct SignedDocument: Sendable {
    /// The most that a transaction, renewal information or an app transaction has, in bytes.
    static let transactionByteLimit = 64 * 1024

    /// The most that a notification has, in bytes.
    static let notificationByteLimit = 256 * 1024

    let payload: JSONDocument
    private let header: JSONDocument
    private let signedBytes: [UInt8]
    private let signature: [UInt8]

    /// Takes the segments apart.
    init(_ text: [UInt8], byteLimit: Int) throws(StoreRefusal) {
        guard text.count <= byteLimit else { throw .tooLarge }
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot), let second = text[(first + 1)...].firstIndex(of: dot),
            let header = Base64URL.decode(text[..<first]),
            let payload = Base64URL.decode(text[(first + 1)..<second]),
            // Another dot is not in the alphabet.
            let signature = Base64URL.decode(text[(second + 1)...])
        else {
            throw .malformedJWS
        }
        self.header = try Self.object(header)
        self.payload = try Self.object(payload)
        self.signature = signature
        signedBytes = Array(text[..<second])
    }

    private static func object(_ bytes: [UInt8]) throws(StoreRefusal) -> JSONDocument {
        guard let document = try? JSONDocument(parsing: bytes, maximumDepth: 64), document.root.kind == .object else {
            throw .malformedJWS
        }
        return document
    }

    /// The certificates that the header names, when the header is one that is understood.
    ///
    /// `kid`, `jwk`, `jku` and `x5u` are ignored: the key comes from the leaf and from nowhere else.
    func certificates() throws(StoreRefusal) -> Certificates {
        let header = header.root
        guard header["alg"]?.isString("ES256") == true else { throw .unsupportedAlgorithm }
        guard header["crit"] == nil, header["b64"] == nil else { throw .unsupportedHeader }
        guard let chain = header["x5c"], !chain.isNull else { throw .badChainLength }
        guard let elements = chain.elements else { throw .malformedJWS }
        guard chain.count == 3 else { throw .badChainLength }
        var certificates: [[UInt8]] = []
        for element in elements {
            guard let text = element.utf8, let certificate = Base64.decode(text), !certificate.isEmpty else {
                throw .badCertificate
            }
            certificates.append(certificate)
        }
        guard let rootDigest = Digest256(bytes: SHA256.digest(of: certificates[2])) else { throw .badCertificate }
        return Certificates(
            leaf: certificates[0],
            intermediate: certificates[1],
            root: certificates[2],
            rootDigest: rootDigest
        )
    }

    /// Verifies the path of `certificates` and the signature over the bytes as they were received; certificates are
    /// judged at the moment of signing, since a device keeps a transaction for longer than a leaf lives.
    func verify(
        _ certificates: Certificates,
        signedMilliseconds: Int64,
        chains: inout ChainCache
    ) throws(StoreRefusal) {
        let chain = try chains.chain(certificates)
        let second = floorDivide(signedMilliseconds, by: 1000)
        guard second >= chain.validFrom, second <= chain.validThrough else { throw .certificateNotValidAtDate }
        let isValid: Bool
        do throws(CryptographyError) {
            isValid = try chain.leafKey.isValid(signature, for: signedBytes)
        } catch {
            throw error.isTrouble ? .notChecked : .badSignature
        }
        guard isValid else { throw .badSignature }
    }

    /// Refuses what was signed more than five minutes ahead of `now`.
    static func checkClock(signedMilliseconds: Int64, at now: Timestamp) throws(StoreRefusal) {
        let second = floorDivide(signedMilliseconds, by: 1000)
        let ahead = Timestamp(secondsSinceEpoch: second).seconds(since: now)
        // A fraction counts: 300.5 seconds are more than 300.
        let isWhole = signedMilliseconds % 1000 == 0
        guard ahead < 300 || (ahead == 300 && isWhole) else { throw .signedInFuture }
    }
}
