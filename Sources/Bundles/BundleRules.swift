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

extension Grant {
    /// Whether it gives its feature at `now`: ends, that of a floating lease too, are exclusive.
    public func isLive(at now: Timestamp) -> Bool {
        if now < starts { return false }
        if let ends, now >= ends { return false }
        if let leaseEnd, now >= leaseEnd { return false }
        return true
    }

    /// When a bundle made at `issuedAt` stops proving it: the earliest of its end, the offline life of what gives it,
    /// and the end of a floating lease.
    public func proofEnd(issuedAt: Timestamp) -> Timestamp {
        var end = issuedAt.adding(offlineLife)
        if let ends { end = min(end, ends) }
        if let leaseEnd { end = min(end, leaseEnd) }
        return end
    }
}

extension LicenseBundle.Claims {
    /// What a bundle made at `now` says about `facts`.
    public init(_ facts: LicenseBundle.Facts, at now: Timestamp) {
        let grants = LicenseBundle.capped(
            facts.grants.lazy.filter { $0.isLive(at: now) }.map { LicenseBundle.Grant($0, issuedAt: now) }
                .sorted(by: LicenseBundle.isListedBefore)
        )
        self.init(
            issuer: facts.issuer,
            audience: facts.product.text,
            subject: facts.subject,
            issuedAt: now,
            expiresAt: grants.map(\.until).max() ?? now.adding(facts.settings.offlineLife),
            sequence: facts.sequence,
            mode: facts.mode,
            refreshAfter: LicenseBundle.refreshTime(
                after: facts.settings.refreshAfter,
                firstProofEnd: grants.map(\.until).min(),
                issuedAt: now
            ),
            nonce: facts.nonce,
            grants: grants,
            licenses: facts.licenses,
            trial: facts.trial,
            meters: facts.meters,
            settings: LicenseBundle.Settings(facts.settings, at: now)
        )
    }
}

extension LicenseBundle.Grant {
    /// What a bundle made at `issuedAt` says of `grant`.
    init(_ grant: Grant, issuedAt: Timestamp) {
        self.init(
            feature: grant.feature,
            source: grant.source,
            starts: grant.starts,
            ends: grant.ends,
            until: grant.proofEnd(issuedAt: issuedAt),
            reference: grant.reference.text,
            environment: grant.environment.flatMap { $0.isEmpty ? nil : $0 }
        )
    }
}

extension LicenseBundle {
    /// The order of grants: by feature, then source, then the latest end (no end first), then reference.
    static func isListedBefore(_ one: Grant, _ other: Grant) -> Bool {
        if one.feature != other.feature { return one.feature < other.feature }
        if one.source != other.source { return one.source < other.source }
        if one.ends != other.ends { return endsAfter(one, other) }
        return one.reference.utf8.lexicographicallyPrecedes(other.reference.utf8)
    }

    private static func endsAfter(_ one: Grant, _ other: Grant) -> Bool {
        guard let otherEnd = other.ends else { return false }
        guard let end = one.ends else { return true }
        return end > otherEnd
    }

    /// At most ``Claims/mostGrants`` of `grants`, which are in order and stay so: those that end first are left out (of
    /// equal ends the later listed), never the last of a feature.
    static func capped(_ grants: [Grant]) -> [Grant] {
        guard grants.count > Claims.mostGrants else { return grants }
        var left: [FeatureCode: Int] = [:]
        for grant in grants { left[grant.feature, default: 0] += 1 }
        let byEnd = grants.indices.sorted { one, other in
            if grants[one].ends != grants[other].ends { return endsAfter(grants[other], grants[one]) }
            return one > other
        }
        var isLeftOut = [Bool](repeating: false, count: grants.count)
        var excess = grants.count - Claims.mostGrants
        for index in byEnd where excess > 0 {
            guard let count = left[grants[index].feature], count > 1 else { continue }
            left[grants[index].feature] = count - 1
            isLeftOut[index] = true
            excess -= 1
        }
        return grants.indices.filter { !isLeftOut[$0] }.map { grants[$0] }
    }

    /// When a client should ask again: after the product's setting, but never later than half of the time to the first
    /// end of a proof.
    static func refreshTime(
        after setting: CalendarDuration,
        firstProofEnd: Timestamp?,
        issuedAt: Timestamp
    ) -> Timestamp {
        let refresh = issuedAt.adding(setting)
        guard let firstProofEnd else { return refresh }
        return min(refresh, issuedAt.adding(seconds: firstProofEnd.seconds(since: issuedAt) / 2))
    }
}
