public import Bundles
internal import Cryptography
public import Licensing

/// The issuers of one loop: each key is opened once, when it first signs.
///
/// Not shared: every loop has its own, and with it its own copy of the data keys.
public struct SignerCache: ~Copyable {
    /// Keeps one issuer, which cannot be copied, where a dictionary can hold it.
    private final class Slot {
        let issuer: BundleIssuer

        init(_ issuer: consuming BundleIssuer) { self.issuer = issuer }
    }

    private let keys: DataKeys
    private var slots: [SigningKeyID: Slot] = [:]
    /// The most keys that are kept open; of more, all are opened anew.
    private static let most = 1024

    /// How many bundles did not give all that they should, since that does not fit into one.
    public private(set) var shortened = 0

    /// An empty cache that opens private keys with `keys`.
    public init(keys: DataKeys) { self.keys = keys }

    /// Signs a bundle for the state of an install.
    ///
    /// - Throws: `CryptographyError` when the key does not open or does not sign: an answer is never left unsigned.
    public mutating func bundle(for state: InstallState, at now: Timestamp) throws -> [UInt8] {
        let (bundle, featuresLeftOut) = try slot(for: state.signingKey).issuer.issue(state.facts, at: now)
        if featuresLeftOut > 0 { shortened += 1 }
        return bundle
    }

    /// Signs a product's settings.
    ///
    /// - Throws: As `bundle`.
    public mutating func configuration(
        _ claims: ConfigurationClaims,
        signedBy key: SigningKeyRecord
    ) throws -> [UInt8] {
        try slot(for: key).issuer.issue(claims)
    }

    private mutating func slot(for record: SigningKeyRecord) throws -> Slot {
        if let slot = slots[record.id] { return slot }
        let slot = Slot(try BundleIssuer.open(try record.privateKey(under: keys)))
        if slots.count >= Self.most { slots.removeAll() }
        slots[record.id] = slot
        return slot
    }
}

extension SigningKeyRecord {
    /// The private key of the row.
    ///
    /// - Throws: `CryptographyError` when there is none here or it does not open with these data keys.
    func privateKey(under keys: DataKeys) throws(CryptographyError) -> P256.SigningKey {
        guard let sealedPrivateKey else { throw .authenticationFailed }
        return try P256.SigningKey(pkcs8: keys.open(sealedPrivateKey, from: .signingKey, row: id.text))
    }
}
