public import Licensing

/// The signed settings and offers of a product, `GET /v1/config`: a JWS like a bundle, of type `countersign-config+jwt`.
public struct ConfigurationClaims: Hashable, Sendable {
    /// `iss`: the vendor.
    public var issuer: String
    /// `aud`: the product's slug.
    public var audience: String
    /// `iat`: when it was made.
    public var issuedAt: Timestamp
    /// `exp`: until when it should be believed.
    public var expiresAt: Timestamp
    /// `mode`.
    public var mode: Mode
    /// `settings`.
    public var settings: LicenseBundle.Settings
    /// `offers`: what may be bought.
    public var offers: [Offer]

    /// Claims of exactly these members.
    public init(
        issuer: String,
        audience: String,
        issuedAt: Timestamp,
        expiresAt: Timestamp,
        mode: Mode,
        settings: LicenseBundle.Settings,
        offers: [Offer]
    ) {
        self.issuer = issuer
        self.audience = audience
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.mode = mode
        self.settings = settings
        self.offers = offers
    }

    /// What is signed at `now`: it holds for the product's offline life.
    public init(
        issuer: String,
        product: Slug,
        mode: Mode,
        settings: ProductSettings,
        offers: [Offer],
        at now: Timestamp
    ) {
        self.init(
            issuer: issuer,
            audience: product.text,
            issuedAt: now,
            expiresAt: now.adding(settings.offlineLife),
            mode: mode,
            settings: LicenseBundle.Settings(settings, at: now),
            offers: offers
        )
    }
}
