internal import COpenSSL

/// ECDSA on the curve P-256 with SHA-256: `ES256` of RFC 7518 §3.4.
///
/// Keys are values that any thread may hold. What OpenSSL makes of them belongs to a ``Signer`` or ``Verifier``, of
/// which each event loop has its own.
public enum P256 {
    /// Bytes of a signature: r and s, 32 bytes each, highest first, never shortened.
    public static let signatureByteCount = 64
}

extension P256 {
    /// A private key and its public half.
    public struct SigningKey: Sendable {
        /// The DER PKCS#8 PrivateKeyInfo, as OpenSSL writes it.
        public let pkcs8: SecretBytes

        /// The public half.
        public let publicKey: PublicKey

        /// Makes a new key.
        public static func generate() throws(CryptographyError) -> SigningKey {
            guard let pointer = cs_generate_p256() else { throw .library("make a P-256 key") }
            return try SigningKey(KeyHandle(taking: pointer))
        }

        /// Takes a private key from DER PKCS#8.
        ///
        /// - Throws: ``CryptographyError/malformedKey`` when it is not that or more than that,
        ///   ``CryptographyError/unsupportedKey`` when it is not on P-256, ``CryptographyError/mismatchedKey`` when
        ///   the public key stored in it is not its own.
        public init(pkcs8: SecretBytes) throws(CryptographyError) {
            self = try CryptographyError.unlessTroubled("read a private key") { () throws(CryptographyError) in
                try SigningKey(KeyHandle.privateKey(pkcs8: pkcs8))
            }
        }

        private init(_ key: consuming KeyHandle) throws(CryptographyError) {
            guard key.isOnP256() else { throw .unsupportedKey }
            guard cs_use_uncompressed_point(key.pointer) == 1 else { throw .library("choose the point format") }
            guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { throw .library("check a key") }
            defer { EVP_PKEY_CTX_free(context) }
            guard EVP_PKEY_check(context) == 1 else { throw .mismatchedKey }
            publicKey = try PublicKey(spki: key.spki())
            pkcs8 = try key.pkcs8()
        }
    }
}

extension P256 {
    /// A public key: a point on the curve, compared by its coordinates.
    public struct PublicKey: Hashable, Sendable {
        /// The DER SubjectPublicKeyInfo: named curve, uncompressed point, 91 bytes.
        public let spki: [UInt8]

        /// The key's name.
        public let keyID: KeyID

        /// The `x` of its JWK (RFC 7518 §6.2.1.2): base64url of 32 bytes.
        public var x: String { Base64URL.string(Array(spki[Self.prefix.count..<Self.prefix.count + 32])) }

        /// The `y` of its JWK (RFC 7518 §6.2.1.3): base64url of 32 bytes.
        public var y: String { Base64URL.string(Array(spki.suffix(32))) }

        /// All before the coordinates: the one encoding of `id-ecPublicKey`, `prime256v1` (RFC 5480 §2.1.1) and the
        /// start of an uncompressed point (SEC 1 §2.3.3).
        private static let prefix: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]

        /// Takes a key from DER SubjectPublicKeyInfo in its one canonical form.
        ///
        /// - Throws: ``CryptographyError/unsupportedKey`` for every other algorithm, curve and encoding (compressed
        ///   points and curves spelled out included), ``CryptographyError/malformedKey`` when the point is not on the
        ///   curve.
        public init(spki: [UInt8]) throws(CryptographyError) {
            guard spki.count == Self.prefix.count + 64, spki.starts(with: Self.prefix) else { throw .unsupportedKey }
            // Reading the point includes the check that it lies on the curve.
            try CryptographyError.unlessTroubled("read a public key") { () throws(CryptographyError) in
                guard try KeyHandle.publicKey(spki: spki).isOnP256() else { throw .unsupportedKey }
            }
            self.spki = spki
            let x = Base64URL.string(Array(spki[Self.prefix.count..<Self.prefix.count + 32]))
            let y = Base64URL.string(Array(spki.suffix(32)))
            let json = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
            keyID = KeyID(thumbprint: SHA256.digest(of: Array(json.utf8)))
        }

        /// Takes a key from the `x` and `y` of its JWK.
        ///
        /// - Throws: ``CryptographyError/malformedKey`` when they are not base64url of 32 bytes each, or no point of
        ///   the curve.
        public init(x: String, y: String) throws(CryptographyError) {
            guard let x = Base64URL.decode(x), let y = Base64URL.decode(y), x.count == 32, y.count == 32 else {
                throw .malformedKey
            }
            try self.init(spki: Self.prefix + x + y)
        }

        /// Whether `signature` (r ‖ s, 64 bytes) is this key's for `message`.
        ///
        /// Parses the key: for many signatures of one key make a ``Verifier``.
        ///
        /// - Throws: ``CryptographyError/library(operation:reason:)`` when that could not be found out.
        public func isValid(_ signature: [UInt8], for message: [UInt8]) throws(CryptographyError) -> Bool {
            try Verifier.open(self).isValid(signature, for: message)
        }

        /// Whether the two are the same point.
        public static func == (one: PublicKey, other: PublicKey) -> Bool { one.spki == other.spki }

        /// Feeds the encoded point.
        public func hash(into hasher: inout Hasher) { hasher.combine(spki) }
    }
}

extension P256 {
    /// Signs with one key; sole owner of the key as OpenSSL holds it and of contexts that are used again and again.
    ///
    /// For one thread at a time: make one for each event loop, and new ones when keys rotate.
    public struct Signer: ~Copyable {
        private let key: KeyHandle
        private let context: Context
        private let hash: SHA256

        private init(key: consuming KeyHandle, context: consuming Context) {
            self.key = key
            self.context = context
            hash = SHA256()
        }

        /// Makes OpenSSL ready to sign with `key`.
        public static func open(_ key: SigningKey) throws(CryptographyError) -> Signer {
            let handle = try KeyHandle.privateKey(pkcs8: key.pkcs8)
            let context = try Context.open(handle)
            guard EVP_PKEY_sign_init(context.pointer) == 1,
                EVP_PKEY_CTX_set_signature_md(context.pointer, cs_sha256()) == 1
            else {
                throw .library("prepare to sign")
            }
            return Signer(key: handle, context: context)
        }

        /// The signature of `message`: r ‖ s, exactly 64 bytes. The nonce is fresh each time.
        public borrowing func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
            hash.update(message)
            let digest = hash.finish()
            // At most 72 bytes: two integers of up to 33 bytes, their heads, and the sequence's.
            let signature = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 80) { der -> [UInt8]? in
                var count = der.count
                guard EVP_PKEY_sign(context.pointer, der.baseAddress, &count, digest, digest.count) == 1 else {
                    return nil
                }
                return rawSignature(der: UnsafeBufferPointer(rebasing: der[..<count]))
            }
            guard let signature else { throw .library("sign") }
            return signature
        }
    }

    /// Verifies with one key; sole owner of the key as OpenSSL holds it and of contexts that are used again and again.
    public struct Verifier: ~Copyable {
        private let key: KeyHandle
        private let context: Context
        private let hash: SHA256

        private init(key: consuming KeyHandle, context: consuming Context) {
            self.key = key
            self.context = context
            hash = SHA256()
        }

        /// Makes OpenSSL ready to verify with `key`.
        public static func open(_ key: PublicKey) throws(CryptographyError) -> Verifier {
            try CryptographyError.unlessTroubled("prepare to verify") { () throws(CryptographyError) in
                let handle = try KeyHandle.publicKey(spki: key.spki)
                let context = try Context.open(handle)
                guard EVP_PKEY_verify_init(context.pointer) == 1,
                    EVP_PKEY_CTX_set_signature_md(context.pointer, cs_sha256()) == 1
                else {
                    throw .library("prepare to verify")
                }
                return Verifier(key: handle, context: context)
            }
        }

        /// Whether `signature` is r ‖ s in exactly 64 bytes, both in 1…n−1, and this key's for `message`.
        ///
        /// - Throws: ``CryptographyError/library(operation:reason:)`` when that could not be found out.
        public borrowing func isValid(_ signature: [UInt8], for message: [UInt8]) throws(CryptographyError) -> Bool {
            guard signature.count == signatureByteCount else { return false }
            hash.update(message)
            let digest = hash.finish()
            let watch = TroubleWatch("verify a signature")
            guard let der = derSignature(raw: signature) else { throw .library("encode a signature") }
            // OpenSSL refuses r and s of 0 or not below n by itself (`ossl_ecdsa_simple_verify_sig`).
            let answer = EVP_PKEY_verify(context.pointer, der, der.count, digest, digest.count)
            if let trouble = watch.trouble() { throw trouble }
            return answer == 1
        }
    }

    /// Sole owner of one `EVP_PKEY_CTX *`.
    ///
    /// Not `fileprivate`: a release build of Swift 6.3.1 destroys a `Signer` in other modules in place, and then misses
    /// the symbol of a private noncopyable member at the link.
    struct Context: ~Copyable {
        let pointer: OpaquePointer

        init(taking pointer: OpaquePointer) { self.pointer = pointer }

        deinit { EVP_PKEY_CTX_free(pointer) }

        static func open(_ key: borrowing KeyHandle) throws(CryptographyError) -> Context {
            guard let pointer = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else {
                throw .library("make a key context")
            }
            return Context(taking: pointer)
        }
    }
}

/// r ‖ s in 64 bytes from OpenSSL's DER, in which integers are as short as they can be.
private func rawSignature(der: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    var position = der.baseAddress
    guard let signature = d2i_ECDSA_SIG(nil, &position, der.count) else { return nil }
    defer { ECDSA_SIG_free(signature) }
    return [UInt8](unsafeUninitializedCapacity: 64) { output, count in
        guard let r = output.baseAddress, BN_bn2binpad(ECDSA_SIG_get0_r(signature), r, 32) == 32,
            BN_bn2binpad(ECDSA_SIG_get0_s(signature), r + 32, 32) == 32
        else {
            return
        }
        count = 64
    }
}

/// DER for OpenSSL from r ‖ s in 64 bytes.
private func derSignature(raw: [UInt8]) -> [UInt8]? {
    guard let signature = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(signature) }
    let r = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
    let s = raw.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress.map { $0 + 32 }, 32, nil) }
    guard let r, let s, ECDSA_SIG_set0(signature, r, s) == 1 else {
        BN_free(r)
        BN_free(s)
        return nil
    }
    let der = [UInt8](unsafeUninitializedCapacity: 80) { output, count in
        var position = output.baseAddress
        count = max(0, Int(i2d_ECDSA_SIG(signature, &position)))
    }
    return der.isEmpty ? nil : der
}
