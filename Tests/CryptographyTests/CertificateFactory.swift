import COpenSSL
import Testing

/// Makes certificates for tests, good and bad, by OpenSSL's own builder: nothing here is shared with what is tested.
struct CertificateFactory: ~Copyable {
    enum KeyKind { case p256, p384 }

    /// What one certificate is like; the defaults are those of a good leaf.
    struct Plan {
        var subject = "Leaf"
        var issuer = "Intermediate"
        var notBefore: Int = 1_700_000_000
        var notAfter: Int = 1_800_000_000
        var extensions: [(nid: CInt, value: String)] = [
            (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        ]
        var markers: [String] = ["1.2.3.4.1"]
        var criticalMarker = false

        static let leaf = Plan()
        static let authority: [(nid: CInt, value: String)] = [
            (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
        ]
        static let intermediate = Plan(
            subject: "Intermediate",
            issuer: "Root",
            extensions: authority,
            markers: ["1.2.3.4.2"]
        )
        static let root = Plan(
            subject: "Root",
            issuer: "Root",
            notBefore: 1_600_000_000,
            notAfter: 1_900_000_000,
            extensions: authority,
            markers: []
        )
    }

    let key: OpaquePointer

    init(_ kind: KeyKind = .p256) throws {
        let context = try #require(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil))
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        let curve = kind == .p256 ? NID_X9_62_prime256v1 : NID_secp384r1
        try #require(EVP_PKEY_keygen_init(context) == 1)
        try #require(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, curve) == 1)
        try #require(EVP_PKEY_keygen(context, &key) == 1)
        self.key = try #require(key)
    }

    deinit { EVP_PKEY_free(key) }

    /// DER of a certificate for this key, signed by `issuer`'s; both identifiers (SKI and AKI) are in it.
    func certificate(_ plan: Plan, signedBy issuer: borrowing CertificateFactory) throws -> [UInt8] {
        let certificate = try #require(X509_new())
        defer { X509_free(certificate) }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...1_000_000_000))
        ASN1_TIME_set(X509_getm_notBefore(certificate), plan.notBefore)
        ASN1_TIME_set(X509_getm_notAfter(certificate), plan.notAfter)
        try name(plan.subject) { X509_set_subject_name(certificate, $0) }
        try name(plan.issuer) { X509_set_issuer_name(certificate, $0) }
        X509_set_pubkey(certificate, key)

        // The authority's identifier is read from a stand-in for the issuer's certificate.
        let standIn = try #require(X509_new())
        defer { X509_free(standIn) }
        X509_set_pubkey(standIn, issuer.key)
        try add((NID_subject_key_identifier, "hash"), to: standIn, issuer: standIn)

        try add((NID_subject_key_identifier, "hash"), to: certificate, issuer: standIn)
        try add((NID_authority_key_identifier, "keyid:always"), to: certificate, issuer: standIn)
        for item in plan.extensions { try add(item, to: certificate, issuer: standIn) }
        for marker in plan.markers { try add(marker: marker, isCritical: plan.criticalMarker, to: certificate) }
        try #require(X509_sign(certificate, issuer.key, EVP_sha256()) > 0)

        var der: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &der)
        defer { CRYPTO_free(der, #fileID, CInt(#line)) }
        return Array(UnsafeBufferPointer(start: try #require(der), count: Int(count)))
    }

    private func name(_ text: String, _ use: (OpaquePointer) -> CInt) throws {
        let name = try #require(X509_NAME_new())
        defer { X509_NAME_free(name) }
        try #require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1)
        try #require(use(name) == 1)
    }

    private func add(_ item: (nid: CInt, value: String), to certificate: OpaquePointer, issuer: OpaquePointer) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        let made = try #require(X509V3_EXT_nconf_nid(nil, &context, item.nid, item.value))
        defer { X509_EXTENSION_free(made) }
        try #require(X509_add_ext(certificate, made, -1) == 1)
    }

    private func add(marker: String, isCritical: Bool, to certificate: OpaquePointer) throws {
        let object = try #require(OBJ_txt2obj(marker, 1))
        defer { ASN1_OBJECT_free(object) }
        let null = try #require(ASN1_OCTET_STRING_new())
        defer { ASN1_OCTET_STRING_free(null) }
        try #require(ASN1_OCTET_STRING_set(null, [0x05, 0x00], 2) == 1)
        let made = try #require(X509_EXTENSION_create_by_OBJ(nil, object, isCritical ? 1 : 0, null))
        defer { X509_EXTENSION_free(made) }
        try #require(X509_add_ext(certificate, made, -1) == 1)
    }
}
