public import Licensing

/// What is said about an offer: `nil` leaves a member alone.
public struct OfferChanges: Equatable, Sendable {
    /// What kind of thing it is.
    public var kind: EntitlementType?
    /// The plan it sells.
    public var plan: Change<PlanCode>?
    /// Thousandths of the currency's unit.
    public var priceMilliunits: Change<Int64>?
    /// ISO 4217.
    public var currency: Change<String>?
    /// The store's product.
    public var storeProductID: Change<String>?
    /// How long it may be tried out.
    public var trialDuration: Change<CalendarDuration>?
    /// Where to buy it.
    public var url: Change<String>?
    /// The first second of the offer.
    public var from: Change<Timestamp>?
    /// Its end, exclusive.
    public var until: Change<Timestamp>?

    /// Changes of these members.
    public init(
        kind: EntitlementType? = nil,
        plan: Change<PlanCode>? = nil,
        priceMilliunits: Change<Int64>? = nil,
        currency: Change<String>? = nil,
        storeProductID: Change<String>? = nil,
        trialDuration: Change<CalendarDuration>? = nil,
        url: Change<String>? = nil,
        from: Change<Timestamp>? = nil,
        until: Change<Timestamp>? = nil
    ) {
        self.kind = kind
        self.plan = plan
        self.priceMilliunits = priceMilliunits
        self.currency = currency
        self.storeProductID = storeProductID
        self.trialDuration = trialDuration
        self.url = url
        self.from = from
        self.until = until
    }

    /// The offer as the changes leave it; whether its members fit together is still to be checked.
    public func applied(to offer: Offer) -> Offer {
        Offer(
            id: offer.id,
            plan: plan.map(\.value) ?? offer.plan,
            kind: kind ?? offer.kind,
            priceMilliunits: priceMilliunits.map(\.value) ?? offer.priceMilliunits,
            currency: currency.map(\.value) ?? offer.currency,
            storeProductID: storeProductID.map(\.value) ?? offer.storeProductID,
            trialDuration: trialDuration.map(\.value) ?? offer.trialDuration,
            url: url.map(\.value) ?? offer.url,
            from: from.map(\.value) ?? offer.from,
            until: until.map(\.value) ?? offer.until
        )
    }
}
