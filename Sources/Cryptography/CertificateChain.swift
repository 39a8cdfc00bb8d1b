internal import COpenSSL

/// Three certificates that lead from a pinned root to the key that signed something, as the App Store sends them.
public struct CertificateChain: Hashable, Sendable {
    /// The key of the leaf.
    public let leafKey: P256.PublicKey

    /// The first second, since 1970, at which all three certificates are valid.
    public let validFrom: Int64

    /// The last second, since 1970, at which all three certificates are valid: `notAfter` is inclusive (RFC 5280
    /// §4.1.2.5).
    public let validThrough: Int64

    /// What is asked of a chain beyond RFC 5280.
    public struct Policy: Sendable {
        /// SHA-256 digests of the DER of the roots that are trusted.
        public var rootDigests: Set<[UInt8]>

        /// The extension that the leaf must carry, in dotted decimal.
        public var leafMarker: String

        /// The extension that the intermediate must carry, in dotted decimal.
        public var intermediateMarker: String

        /// Asks for these pins and markers.
        public init(rootDigests: Set<[UInt8]>, leafMarker: String, intermediateMarker: String) {
            self.rootDigests = rootDigests
            self.leafMarker = leafMarker
            self.intermediateMarker = intermediateMarker
        }
    }

    /// Why a chain is not trusted. Checked in this order.
    public enum Failure: Error, Hashable, Sendable {
        /// One of the three is no X.509 certificate in DER, or its extensions cannot be read.
        case notACertificate
        /// Bytes follow a certificate.
        case trailingBytes
        /// The root is none of the pinned ones, byte for byte.
        case untrustedRoot
        /// The three do not form a path by RFC 5280: a signature, a name, a key identifier, a CA flag, a key usage or
        /// an unknown critical extension. OpenSSL's words for it.
        case badChain(String)
        /// One of the three has no readable validity, or is not valid at the time asked about.
        case notValidAtDate
        /// The leaf or the intermediate lacks its marker extension.
        case missingMarker
        /// The leaf's key is not on P-256.
        case leafKeyNotP256
        /// OpenSSL could not find out, for want of memory say: nothing is known of the chain, good or bad.
        case notChecked(CryptographyError)
    }

    /// Intermediates that their roots are known to have signed, the least recently used first. One who forges a leaf under
    /// the real intermediate, which everybody has, then costs one signature in place of two.
    ///
    /// Nobody but the owner of a root can bring one in here, nothing that failed is in here, and no chain is taken because
    /// of it: it only says which signature is looked at first.
    public struct KnownIntermediates: Sendable {
        /// The most that are kept. Apple has had three of these in ten years.
        public static let limit = 8

        private var names: [[UInt8]] = []

        /// None yet.
        public init() {}

        /// How many there are.
        public var count: Int { names.count }

        fileprivate mutating func contains(_ name: [UInt8]) -> Bool {
            guard let index = names.firstIndex(of: name) else { return false }
            names.append(names.remove(at: index))
            return true
        }

        fileprivate mutating func insert(_ name: [UInt8]) {
            if names.count == Self.limit { names.removeFirst() }
            names.append(name)
        }
    }

    /// Verifies that `leaf` was issued by `intermediate`, that by `root`, and that by nobody but a pin.
    ///
    /// Takes three milliseconds where the upper keys are on P-384, as Apple's are: not for an event loop. What is forged is
    /// refused after one signature.
    ///
    /// - Parameters:
    ///   - leaf: DER of the certificate whose key signed something.
    ///   - intermediate: DER of its issuer.
    ///   - root: DER of the intermediate's issuer.
    ///   - policy: pins and markers.
    ///   - seconds: the time, since 1970, at which all three must be valid, or `nil` to leave that to the caller.
    ///   - known: intermediates that were found signed before.
    public static func verify(
        leaf: [UInt8],
        intermediate: [UInt8],
        root: [UInt8],
        policy: Policy,
        at seconds: Int64?,
        known: inout KnownIntermediates
    ) throws(Failure) -> CertificateChain {
        let watch = TroubleWatch("verify a certificate chain")
        let chain: CertificateChain
        do throws(Failure) {
            chain = try check(leaf, intermediate, root, policy: policy, at: seconds, known: &known)
        } catch {
            throw watch.trouble().map(Failure.notChecked) ?? error
        }
        if let trouble = watch.trouble() { throw .notChecked(trouble) }
        return chain
    }

    private static func check(
        _ leaf: [UInt8],
        _ intermediate: [UInt8],
        _ root: [UInt8],
        policy: Policy,
        at seconds: Int64?,
        known: inout KnownIntermediates
    ) throws(Failure) -> CertificateChain {
        let intermediateDigest = SHA256.digest(of: intermediate)
        let rootDigest = SHA256.digest(of: root)
        let leaf = try Certificate.parse(leaf)
        let intermediate = try Certificate.parse(intermediate)
        guard policy.rootDigests.contains(rootDigest) else { throw .untrustedRoot }
        // From the cheapest: a signature on P-384 costs six times as much as reading a certificate.
        guard intermediate.seemsToHaveIssued(leaf) else {
            throw .badChain("the intermediate is not the issuer that the leaf names")
        }
        let name = intermediateDigest + rootDigest
        if !known.contains(name) {
            let root = try Certificate.parse(root)
            guard root.signed(intermediate) else { throw .badChain("the root did not sign the intermediate") }
            known.insert(name)
        }
        guard intermediate.signed(leaf) else { throw .badChain("the intermediate did not sign the leaf") }
        let root = try Certificate.parse(root)
        try verifyPath(leaf, intermediate, root)

        let validities = try [leaf.validity(), intermediate.validity(), root.validity()]
        let validFrom = validities.map(\.lowerBound).max() ?? .max
        let validThrough = validities.map(\.upperBound).min() ?? .min
        if let seconds, seconds < validFrom || seconds > validThrough { throw .notValidAtDate }

        guard leaf.hasExtension(policy.leafMarker), intermediate.hasExtension(policy.intermediateMarker) else {
            throw .missingMarker
        }
        guard let leafKey = try leaf.publicKey() else { throw .leafKeyNotP256 }
        return CertificateChain(leafKey: leafKey, validFrom: validFrom, validThrough: validThrough)
    }

    /// RFC 5280 §6 by OpenSSL, strictly, but for the time, which has an answer of its own.
    private static func verifyPath(
        _ leaf: borrowing Certificate,
        _ intermediate: borrowing Certificate,
        _ root: borrowing Certificate
    ) throws(Failure) {
        guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new(), let others = cs_certificates_new()
        else {
            throw .notChecked(.library("prepare to verify a path"))
        }
        defer {
            X509_STORE_CTX_free(context)
            cs_certificates_free(others)
            X509_STORE_free(store)
        }
        guard X509_STORE_add_cert(store, root.pointer) == 1,
            cs_certificates_push(others, intermediate.pointer) > 0,
            X509_STORE_CTX_init(context, store, leaf.pointer, others) == 1,
            let parameters = X509_STORE_CTX_get0_param(context),
            X509_VERIFY_PARAM_set_flags(
                parameters,
                UInt(X509_V_FLAG_X509_STRICT) | UInt(X509_V_FLAG_NO_CHECK_TIME)
            ) == 1
        else {
            throw .notChecked(.library("prepare to verify a path"))
        }
        // 112 bits of security: no SHA-1, no RSA below 2,048 bits.
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        let answer = X509_verify_cert(context)
        guard answer == 1 else {
            let code = X509_STORE_CTX_get_error(context)
            let reason = String(cString: X509_verify_cert_error_string(Int(code)))
            // Below zero: not "no" but "cannot say" (X509_verify_cert(3)).
            if answer < 0 || [X509_V_ERR_OUT_OF_MEM, X509_V_ERR_UNSPECIFIED].contains(code) {
                throw .notChecked(.library(operation: "verify a path", reason: reason))
            }
            throw .badChain(reason)
        }
        // A shorter path would leave the intermediate, and with it its marker, out of what was verified.
        guard cs_certificates_count(X509_STORE_CTX_get0_chain(context)) == 3 else {
            throw .badChain("the intermediate is not part of the path")
        }
        guard leaf.isEndEntity() else { throw .badChain("the leaf is a certificate authority") }
        guard leaf.maySign() else { throw .badChain("the leaf's key usage does not allow signatures") }
    }
}

/// Sole owner of one `X509 *`. What it says counts where its user watches for trouble: see `TroubleWatch`.
private struct Certificate: ~Copyable {
    let pointer: OpaquePointer

    private init(taking pointer: OpaquePointer) { self.pointer = pointer }

    deinit { X509_free(pointer) }

    static func parse(_ der: [UInt8]) throws(CertificateChain.Failure) -> Certificate {
        var consumed = 0
        let pointer = der.withUnsafeBufferPointer { der -> OpaquePointer? in
            var position = der.baseAddress
            guard let start = position, let pointer = d2i_X509(nil, &position, der.count) else { return nil }
            consumed = position.map { $0 - start } ?? 0
            return pointer
        }
        guard let pointer else { throw .notACertificate }
        let certificate = Certificate(taking: pointer)
        guard consumed == der.count else { throw .trailingBytes }
        guard X509_get_extension_flags(pointer) & UInt32(EXFLAG_INVALID) == 0 else { throw .notACertificate }
        return certificate
    }

    /// Whether names, key identifiers and key usage say that it issued `other`: costs nothing and proves nothing.
    borrowing func seemsToHaveIssued(_ other: borrowing Certificate) -> Bool {
        X509_check_issued(pointer, other.pointer) == X509_V_OK
    }

    /// Whether its key made the signature of `other`; nothing else of the two is looked at.
    borrowing func signed(_ other: borrowing Certificate) -> Bool {
        guard let key = X509_get0_pubkey(pointer) else { return false }
        return X509_verify(other.pointer, key) == 1
    }

    borrowing func isEndEntity() -> Bool { X509_get_extension_flags(pointer) & UInt32(EXFLAG_CA) == 0 }

    /// Whether the key usage, if there is one, includes `digitalSignature` (RFC 5280 §4.2.1.3).
    borrowing func maySign() -> Bool { X509_get_key_usage(pointer) & UInt32(KU_DIGITAL_SIGNATURE) != 0 }

    borrowing func hasExtension(_ objectIdentifier: String) -> Bool {
        // Without memory: whoever watches for trouble knows.
        guard let object = OBJ_txt2obj(objectIdentifier, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(pointer, object, -1) >= 0
    }

    /// First and last second of validity, since 1970.
    borrowing func validity() throws(CertificateChain.Failure) -> ClosedRange<Int64> {
        guard let start = seconds(X509_get0_notBefore(pointer)), let end = seconds(X509_get0_notAfter(pointer)),
            start <= end
        else {
            throw .notValidAtDate
        }
        return start...end
    }

    borrowing func publicKey() throws(CertificateChain.Failure) -> P256.PublicKey? {
        var der: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(X509_get0_pubkey(pointer), &der)
        guard count > 0, let der else { return nil }
        defer { CRYPTO_free(der, #fileID, CInt(#line)) }
        do throws(CryptographyError) {
            return try P256.PublicKey(spki: Array(UnsafeBufferPointer(start: der, count: Int(count))))
        } catch {
            if error.isTrouble { throw .notChecked(error) }
            return nil
        }
    }
}

/// Seconds since 1970 of a time in the forms of RFC 5280 §4.1.2.5, `nil` for any other.
private func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    var now = time_t(0)
    // `X509_cmp_time` gives 0 for what is not in those forms; the conversion alone would take more.
    guard let time, X509_cmp_time(time, &now) != 0, let epoch = ASN1_TIME_set(nil, 0) else { return nil }
    defer { ASN1_STRING_free(epoch) }
    var days: CInt = 0
    var seconds: CInt = 0
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Int64(days) * 86_400 + Int64(seconds)
}
