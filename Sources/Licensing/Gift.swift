/// Whom a gift is for.
public enum GiftTarget: Hashable, Sendable {
    /// One install.
    case install(Install.ID)
    /// The installs that hold a seat of a license.
    case license(License.ID)
    /// The installs that hold a seat of a license of a customer.
    case customer(Customer.ID)
}

/// Features that an administrator gave for nothing; what is given for what was spent is a ``SpendTier``.
public struct Gift: Hashable, Sendable {
    /// Names the gift for good.
    public var id: GiftID
    /// Of which product.
    public var product: Product.ID
    /// Live or test.
    public var mode: Mode
    /// Whom it is for.
    public var target: GiftTarget
    /// What it gives.
    public var features: [FeatureCode]
    /// The first second of the right.
    public var starts: Timestamp
    /// When the right ends, or `nil` for no end.
    public var ends: Timestamp?
    /// When it was taken back, or `nil`.
    public var withdrawnAt: Timestamp?

    /// A gift of these members.
    public init(
        id: GiftID,
        product: Product.ID,
        mode: Mode,
        target: GiftTarget,
        features: [FeatureCode],
        starts: Timestamp,
        ends: Timestamp? = nil,
        withdrawnAt: Timestamp? = nil
    ) {
        self.id = id
        self.product = product
        self.mode = mode
        self.target = target
        self.features = features
        self.starts = starts
        self.ends = ends
        self.withdrawnAt = withdrawnAt
    }

    /// What it is at `now`.
    public func status(at now: Timestamp) -> GiftStatus {
        if withdrawnAt != nil { return .withdrawn }
        if let ends, now >= ends { return .expired }
        return .active
    }

    /// The gift taken back at `now`; `nil` where it was taken back before.
    ///
    /// One that is over may be taken back too: it says why nobody is to give it again.
    public func withdrawn(at now: Timestamp) -> Gift? {
        guard withdrawnAt == nil else { return nil }
        var gift = self
        gift.withdrawnAt = now
        return gift
    }

    /// The grants that an install has by this gift, where it is one that the gift is for.
    ///
    /// - Parameters:
    ///   - install: Who has it.
    ///   - seats: The seats that the install holds, of licenses in force or not: a gift is a right of its own.
    ///   - settings: The product's.
    ///   - now: The time.
    public func grants(
        for install: Install,
        holding seats: [HeldSeat],
        under settings: ProductSettings,
        at now: Timestamp
    ) -> [Grant] {
        guard status(at: now) == .active, install.product == product, install.mode == mode else { return [] }
        let leaseEnd: Timestamp?
        switch target {
        case .install(let id):
            guard id == install.id else { return [] }
            leaseEnd = nil
        case .license, .customer:
            let reaching = seats.filter { isFor($0) }
            guard !reaching.isEmpty else { return [] }
            // Of several seats one without a lease holds longest.
            let leases = reaching.compactMap(\.leaseEnd)
            leaseEnd = leases.count == reaching.count ? leases.max() : nil
        }
        return features.map {
            Grant(
                feature: $0,
                reference: .gift(id),
                // A clock that was set back a little must not take what was given just before.
                starts: min(starts, now),
                ends: ends,
                offlineLife: settings.offlineLife,
                leaseEnd: leaseEnd
            )
        }
        .filter { $0.isLive(at: now) }
    }

    private func isFor(_ seat: HeldSeat) -> Bool {
        switch target {
        case .install: return false
        case .license(let id): return seat.license == id
        case .customer(let id): return seat.customer == id
        }
    }
}

/// What a gift is at one moment.
public enum GiftStatus: String, Hashable, Sendable, CaseIterable {
    /// It gives what it gives.
    case active
    /// Its end is over.
    case expired
    /// It was taken back.
    case withdrawn
}

/// A seat as far as gifts are concerned: which license an install holds it of, and for how long.
public struct HeldSeat: Hashable, Sendable {
    /// The license.
    public var license: License.ID
    /// Whose license it is.
    public var customer: Customer.ID?
    /// When the seat's floating lease ends, or `nil` for a seat that does not end by itself.
    public var leaseEnd: Timestamp?

    /// A seat of these members.
    public init(license: License.ID, customer: Customer.ID?, leaseEnd: Timestamp?) {
        self.license = license
        self.customer = customer
        self.leaseEnd = leaseEnd
    }
}
