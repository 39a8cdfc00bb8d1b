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

    /// Something to show and sell; no money is handled.
    public struct Offer: Hashable, Sendable {
        /// Names it.
        public var id: String
        /// The plan it sells.
        public var plan: PlanCode?
        /// What kind of thing it is.
        public var kind: EntitlementType
        /// Thousandths of the currency's unit.
        public var priceMilliunits: Int64?
        /// ISO 4217.
        public var currency: String?
        /// The store's product, where a store sells it.
        public var storeProductID: String?
        /// ISO 8601, such as `P14D`.
        public var trialDuration: CalendarDuration?
        /// Where to buy.
        public var url: String?
        /// The first second of the offer.
        public var from: Timestamp?
        /// Its end, exclusive.
        public var until: Timestamp?

        /// An offer of these members.
        public init(
            id: String,
            plan: PlanCode?,
            kind: EntitlementType,
            priceMilliunits: Int64? = nil,
            currency: String? = nil,
            storeProductID: String? = nil,
            trialDuration: CalendarDuration? = nil,
            url: String? = nil,
            from: Timestamp? = nil,
            until: Timestamp? = nil
        ) {
            self.id = id
            self.plan = plan
            self.kind = kind
            self.priceMilliunits = priceMilliunits
            self.currency = currency
            self.storeProductID = storeProductID
            self.trialDuration = trialDuration
            self.url = url
            self.from = from
            self.until = until
        }
    }
}
