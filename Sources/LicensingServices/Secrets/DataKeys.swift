public import Cryptography
public import Licensing

/// The two keys under which everything secret is looked up or sealed, unwrapped.
///
/// They live in the database, each wrapped by the master key, so that a copied database file alone tells nothing and a
/// new master key means two rows written anew.
public struct DataKeys: Sendable {
    /// Keys HMAC-SHA-256: digests of license keys, installs, fingerprints, idempotency keys, and the audit chain.
    let lookup: SecretBytes
    /// Keys AES-256-GCM.
    let seal: SecretBytes

    /// Two fresh random keys, for a new database.
    ///
    /// - Throws: `CryptographyError` without randomness.
    public static func random() throws(CryptographyError) -> DataKeys {
        DataKeys(lookup: try .random(count: 32), seal: try .random(count: 32))
    }

    /// The columns a sealed value may stand in: part of what it is bound to, so that values cannot be swapped.
    public enum SealedColumn: String, Sendable {
        /// A license key, bound to its digest.
        case licenseKey = "license_keys/sealed"
        /// A credential's token, bound to the credential's id.
        case credentialToken = "credentials/token_sealed"
        /// The PKCS#8 of a signing key, bound to the row's id.
        case signingKey = "signing_keys/private_sealed"
        /// A trial's token, bound to its digest.
        case trialToken = "trials/token_sealed"
    }

    /// Seals `message` for one column of one row.
    ///
    /// - Throws: `CryptographyError` without randomness or memory.
    public func seal(
        _ message: [UInt8],
        for column: SealedColumn,
        row: String
    ) throws(CryptographyError) -> [UInt8] {
        try AESGCM.seal(message, key: seal, associatedData: Array("\(column.rawValue)/\(row)".utf8))
    }

    /// Opens what was sealed for this column and row.
    ///
    /// - Throws: `CryptographyError.authenticationFailed` for anything else.
    public func open(
        _ sealed: [UInt8],
        from column: SealedColumn,
        row: String
    ) throws(CryptographyError) -> SecretBytes {
        try AESGCM.open(sealed, key: seal, associatedData: Array("\(column.rawValue)/\(row)".utf8))
    }
}

// MARK: - Digests

extension DataKeys {
    /// What a digest is made for; its input begins with it, so that no two purposes meet.
    private enum Purpose: String {
        case licenseKey = "countersign/license-key/v1"
        case install = "countersign/install/v1"
        case fingerprint = "countersign/fingerprint/v1"
        case trialToken = "countersign/trial-token/v1"
        case idempotency = "countersign/idempotency/v1"
        case order = "countersign/order/v1"
        case audit = "countersign/audit/v1"
        case personal = "countersign/audit-detail/v1"
    }

    /// The digest a license key is found by: of purpose, product, and canonical text.
    public func digest(of key: LicenseKey, product: Product.ID) -> Digest256 {
        digest(.licenseKey, product.text, key.canonical)
    }

    /// The digest an install is found by, whatever contract it speaks; `space` parts the contracts (`""` for `/v1`).
    public func digest(of install: InstallID, product: Product.ID, space: String = "") -> Digest256 {
        digest(.install, product.text, space, install.folded)
    }

    /// The digest a machine is recognized by.
    public func digest(of fingerprint: DeviceFingerprint, product: Product.ID) -> Digest256 {
        digest(.fingerprint, product.text, fingerprint.folded)
    }

    /// The digest a trial is found by where a token stands for it.
    public func digest(of token: TrialToken, product: Product.ID) -> Digest256 {
        digest(.trialToken, product.text, token.text)
    }

    /// The digest an idempotency record is found by: nobody meets another's.
    public func idempotencyDigest(mode: Mode, product: String, route: String, caller: String, key: String) -> Digest256
    {
        digest(.idempotency, mode.rawValue, product, route, caller, key)
    }

    /// The digest of the parameters an order was issued with.
    func orderDigest(_ parameters: [String], product: Product.ID) -> Digest256 {
        code(Self.input(.order, [product.text] + parameters))
    }

    /// The authentication code of one row of the audit chain.
    func auditCode(_ parts: [String], after previous: [UInt8]) -> [UInt8] {
        HMACSHA256.authenticationCode(for: Self.input(.audit, parts, tail: previous), key: lookup)
    }

    /// The digest that stands for the texts of an audit row, which may have to be erased.
    func auditDetailDigest(_ parts: [String]) -> Digest256 {
        code(Self.input(.personal, parts))
    }

    private func digest(_ purpose: Purpose, _ parts: String...) -> Digest256 {
        code(Self.input(purpose, parts))
    }

    private func code(_ input: [UInt8]) -> Digest256 {
        let code = HMACSHA256.authenticationCode(for: input, key: lookup)
        guard let digest = Digest256(bytes: code) else { preconditionFailure("HMAC-SHA-256 has 32 bytes") }
        return digest
    }

    /// Each part after its length, so that no two lists of parts give the same bytes.
    private static func input(_ purpose: Purpose, _ parts: [String], tail: [UInt8] = []) -> [UInt8] {
        var input = Array(purpose.rawValue.utf8)
        input.append(0)
        for part in parts {
            let count = UInt32(truncatingIfNeeded: part.utf8.count)
            for shift: UInt32 in [24, 16, 8, 0] { input.append(UInt8(truncatingIfNeeded: count >> shift)) }
            input.append(contentsOf: part.utf8)
        }
        input.append(contentsOf: tail)
        return input
    }
}
