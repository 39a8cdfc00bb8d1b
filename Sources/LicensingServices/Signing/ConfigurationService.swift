public import Bundles
public import Licensing
public import Storage

/// Gathers what `GET /v1/config` signs.
public struct ConfigurationService: Sendable {
    /// Without state.
    public init() {}

    /// The signed settings and offers of a product as one snapshot has them, and the key that signs them.
    ///
    /// - Throws: `StorageError`, `BundleService.NoSigningKey`.
    public func claims<DB: Queries & ~Copyable>(
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> (claims: ConfigurationClaims, signingKey: SigningKeyRecord) {
        guard let key = try SigningKeyStore.active(of: caller.vendor.id, mode: caller.mode, in: db) else {
            throw BundleService.NoSigningKey()
        }
        let offers = try OfferStore.all(of: caller.product.id, in: db).filter { $0.isTold(at: now) }
        let claims = ConfigurationClaims(
            issuer: caller.vendor.issuer,
            product: caller.product.slug,
            mode: caller.mode,
            settings: caller.product.settings,
            offers: offers,
            at: now
        )
        return (claims, key)
    }
}
