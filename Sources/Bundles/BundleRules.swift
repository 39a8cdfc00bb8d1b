public import Licensing

extension LicenseBundle {
    /// What one snapshot of the database says about an install; ``Claims/init(_:)`` makes a bundle's claims of it.
    public struct Facts: Sendable {
        /// The vendor's issuer.
        public var issuer: String
        /// The product's slug.
        public var product: Slug
        /// See ``LicenseBundle/subject(product:install:)``.
        public var subject: String
        /// The state's version in that snapshot.
        public var sequence: Int64
        /// Live or test.
        public var mode: Mode
        /// The request's, when it sent one.
        public var nonce: String?
        /// All grants of the install, in any order; those not live at the time are left out.
        public var grants: [Licensing.Grant]
        /// The licenses that it holds a seat of.
        public var licenses: [License]
        /// Its trial.
        public var trial: Trial?
        /// Its meters.
        public var meters: [Meter]
        /// The product's settings.
        public var settings: ProductSettings

        /// Facts of these members.
        public init(
            issuer: String,
            product: Slug,
            subject: String,
            sequence: Int64,
            mode: Mode,
            nonce: String? = nil,
            grants: [Licensing.Grant] = [],
            licenses: [License] = [],
            trial: Trial? = nil,
            meters: [Meter] = [],
            settings: ProductSettings
        ) {
            self.issuer = issuer
            self.product = product
            self.subject = subject
            self.sequence = sequence
            self.mode = mode
            self.nonce = nonce
            self.grants = grants
            self.licenses = licenses
            self.trial = trial
            self.meters = meters
            self.settings = settings
        }
    }
}

extension LicenseBundle.Claims {
    /// What a bundle made at `now` says about `facts`: the rules are those of `Grant.listed` and `BundleTimes`.
    ///
    /// - Parameter most: the most grants; of more, those are left out that `Grant.listed` leaves out.
    public init(_ facts: LicenseBundle.Facts, at now: Timestamp, most: Int = Licensing.Grant.mostInBundle) {
        let grants = Licensing.Grant.listed(facts.grants, at: now, most: most)
        let times = BundleTimes(grants: grants, under: facts.settings, issuedAt: now)
        self.init(
            issuer: facts.issuer,
            audience: facts.product.text,
            subject: facts.subject,
            issuedAt: times.issuedAt,
            expiresAt: times.expiresAt,
            sequence: facts.sequence,
            mode: facts.mode,
            refreshAfter: times.refreshAfter,
            nonce: facts.nonce,
            grants: grants.map { LicenseBundle.Grant($0, issuedAt: now) },
            licenses: facts.licenses,
            trial: facts.trial,
            meters: facts.meters,
            settings: LicenseBundle.Settings(facts.settings, at: now)
        )
    }
}

extension LicenseBundle.Grant {
    /// What a bundle made at `issuedAt` says of `grant`.
    init(_ grant: Licensing.Grant, issuedAt: Timestamp) {
        self.init(
            feature: grant.feature,
            source: grant.source,
            starts: grant.starts,
            ends: grant.ends,
            until: grant.until(issuedAt: issuedAt),
            reference: grant.reference.text,
            environment: grant.environment.flatMap { $0.isEmpty ? nil : $0 }
        )
    }
}
