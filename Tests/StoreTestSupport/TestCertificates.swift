internal import COpenSSL
package import Cryptography

/// A certificate made by OpenSSL's own builder for a test, good or bad in one thing.
package struct CertificatePlan {
    package var subject: String
    package var issuer: String
    package var notBefore = 1_600_000_000
    package var notAfter = 1_900_000_000
    package var isAuthority = false
    package var usage = "digitalSignature"
    package var marker: String?

    package static let root = CertificatePlan(
        subject: "Test Root",
        issuer: "Test Root",
        isAuthority: true,
        usage: "keyCertSign,cRLSign"
    )
    package static let intermediate = CertificatePlan(
        subject: "Test Intermediate",
        issuer: "Test Root",
        isAuthority: true,
        usage: "keyCertSign,cRLSign",
        marker: "1.2.840.113635.100.6.2.1"
    )
    package static let leaf = CertificatePlan(
        subject: "Test Leaf",
        issuer: "Test Intermediate",
        marker: "1.2.840.113635.100.6.11.1"
    )

    package func with(_ change: (inout CertificatePlan) -> Void) -> CertificatePlan {
        var plan = self
        change(&plan)
        return plan
    }

    /// DER of a certificate for the key `spki`, signed by `issuerKey`.
    package func certificate(spki: [UInt8], issuerKey: P256.SigningKey) throws -> [UInt8] {
        let certificate = try require(X509_new())
        defer { X509_free(certificate) }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...1_000_000_000))
        ASN1_TIME_set(X509_getm_notBefore(certificate), notBefore)
        ASN1_TIME_set(X509_getm_notAfter(certificate), notAfter)
        try setName(subject) { X509_set_subject_name(certificate, $0) }
        try setName(issuer) { X509_set_issuer_name(certificate, $0) }
        try withKey(spki: spki) { X509_set_pubkey(certificate, $0) }

        // The issuer's key identifier is read from a stand-in for its certificate.
        let standIn = try require(X509_new())
        defer { X509_free(standIn) }
        try withKey(spki: issuerKey.publicKey.spki) { X509_set_pubkey(standIn, $0) }
        try add(NID_subject_key_identifier, "hash", to: standIn, issuer: standIn)

        try add(NID_subject_key_identifier, "hash", to: certificate, issuer: standIn)
        try add(NID_authority_key_identifier, "keyid:always", to: certificate, issuer: standIn)
        try add(
            NID_basic_constraints,
            "critical,CA:\(isAuthority ? "TRUE" : "FALSE")",
            to: certificate,
            issuer: standIn
        )
        try add(NID_key_usage, "critical,\(usage)", to: certificate, issuer: standIn)
        if let marker { try add(marker: marker, to: certificate) }
        let signer = try require(
            issuerKey.pkcs8.withUnsafeBytes { bytes in
                var position = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
                return d2i_AutoPrivateKey(nil, &position, bytes.count)
            }
        )
        defer { EVP_PKEY_free(signer) }
        try require(X509_sign(certificate, signer, EVP_sha256()) > 0)

        var der: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &der)
        defer { CRYPTO_free(der, #fileID, CInt(#line)) }
        return Array(UnsafeBufferPointer(start: try require(der), count: Int(count)))
    }

    private func withKey(spki: [UInt8], _ use: (OpaquePointer) -> CInt) throws {
        let key = try require(
            spki.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                return d2i_PUBKEY(nil, &position, bytes.count)
            }
        )
        defer { EVP_PKEY_free(key) }
        try require(use(key) == 1)
    }

    private func setName(_ text: String, _ use: (OpaquePointer) -> CInt) throws {
        let name = try require(X509_NAME_new())
        defer { X509_NAME_free(name) }
        try require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1)
        try require(use(name) == 1)
    }

    private func add(_ nid: CInt, _ value: String, to certificate: OpaquePointer, issuer: OpaquePointer) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        let made = try require(X509V3_EXT_nconf_nid(nil, &context, nid, value))
        defer { X509_EXTENSION_free(made) }
        try require(X509_add_ext(certificate, made, -1) == 1)
    }

    /// The marker's value is an ASN.1 NULL, as Apple's are.
    private func add(marker: String, to certificate: OpaquePointer) throws {
        let object = try require(OBJ_txt2obj(marker, 1))
        defer { ASN1_OBJECT_free(object) }
        let null = try require(ASN1_OCTET_STRING_new())
        defer { ASN1_OCTET_STRING_free(null) }
        try require(ASN1_OCTET_STRING_set(null, [0x05, 0x00], 2) == 1)
        let made = try require(X509_EXTENSION_create_by_OBJ(nil, object, 0, null))
        defer { X509_EXTENSION_free(made) }
        try require(X509_add_ext(certificate, made, -1) == 1)
    }
}

/// DER SubjectPublicKeyInfo of a new key on P-384.
package func makeP384PublicKey() throws -> [UInt8] {
    let context = try require(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil))
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    try require(EVP_PKEY_keygen_init(context) == 1)
    try require(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_secp384r1) == 1)
    try require(EVP_PKEY_keygen(context, &key) == 1)
    defer { EVP_PKEY_free(key) }
    var der: UnsafeMutablePointer<UInt8>?
    let count = i2d_PUBKEY(key, &der)
    defer { CRYPTO_free(der, #fileID, CInt(#line)) }
    return Array(UnsafeBufferPointer(start: try require(der), count: Int(count)))
}

/// What a test cannot go on without.
struct Missing: Error {}

func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

func require(_ condition: Bool) throws {
    if !condition { throw Missing() }
}
