/// What may be bought, for the app to show; part of the signed settings. No money is handled.
public struct Offer: Hashable, Sendable {
    /// How the vendor and the app call it; unique within the product.
    public var id: OfferName
    /// The plan it sells.
    public var plan: PlanCode?
    /// What kind of thing it is.
    public var kind: EntitlementType
    /// Thousandths of the currency's unit.
    public var priceMilliunits: Int64?
    /// ISO 4217, such as `USD`.
    public var currency: String?
    /// The store's product, where a store sells it.
    public var storeProductID: String?
    /// How long it may be tried out.
    public var trialDuration: CalendarDuration?
    /// Where to buy it.
    public var url: String?
    /// The first second of the offer, or `nil` for since ever.
    public var from: Timestamp?
    /// Its end, exclusive, or `nil` for none.
    public var until: Timestamp?

    /// An offer of these members.
    public init(
        id: OfferName,
        plan: PlanCode? = nil,
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

    /// The most offers of a product: all of them are in one signed document.
    public static let mostInProduct = 256
}

/// The name of an offer within its product: the characters of a feature's.
public typealias OfferName = FeatureCode

extension Offer {
    /// Whether clients are told of it at `now`: it has not ended. One that begins later is told, so that an app without a
    /// network shows it in time.
    public func isTold(at now: Timestamp) -> Bool { until.map { now < $0 } ?? true }

    /// Refuses an offer whose members are out of range or do not fit together.
    ///
    /// A price and its currency go together. Whatever is no trial says what it costs, or which product of a store it is.
    ///
    /// - Throws: `OfferFault`, with the member's name as in the seed document.
    public func checked() throws(OfferFault) -> Offer {
        func check(_ member: String, _ reason: String, _ holds: Bool) throws(OfferFault) {
            guard holds else { throw OfferFault(member: member, reason: reason) }
        }
        try check("price_milliunits", "must not be negative", (priceMilliunits ?? 0) >= 0)
        try check("price_milliunits", "is required beside currency", currency == nil || priceMilliunits != nil)
        try check("currency", "is required beside price_milliunits", priceMilliunits == nil || currency != nil)
        try check("currency", "must be three capital letters (ISO 4217)", currency.map(Self.isCurrency) ?? true)
        try check(
            "price_milliunits",
            "is required, with currency, unless there is a store_product_id",
            kind == .trial || priceMilliunits != nil || storeProductID != nil
        )
        try check(
            "store_product_id",
            "must be 1 to 255 printable characters of ASCII",
            storeProductID.map { Self.isPrintable($0, upTo: 255) } ?? true
        )
        try check("trial_duration", "must be longer than nothing", trialDuration.map { !$0.isZero } ?? true)
        try check("url", "must be an https or http address of at most 2048 bytes", url.map(Self.isAddress) ?? true)
        if let from, let until { try check("until", "must be after from", from < until) }
        return self
    }

    private static func isCurrency(_ text: String) -> Bool {
        text.utf8.count == 3 && text.utf8.allSatisfy { (0x41...0x5A).contains($0) }
    }

    private static func isPrintable(_ text: String, upTo limit: Int) -> Bool {
        (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func isAddress(_ text: String) -> Bool {
        guard isPrintable(text, upTo: 2048) else { return false }
        return ["https://", "http://"].contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
    }
}

/// Which member of an offer is not as it should be.
public struct OfferFault: Error, Hashable, Sendable {
    /// Its name as in the seed document.
    public let member: String
    /// A short sentence that does not repeat the input.
    public let reason: String
}
