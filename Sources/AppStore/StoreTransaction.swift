public import Licensing

/// One copy of one purchase, or of one paid period of it, as the App Store signed it at some moment.
///
/// Instants are whole seconds, rounded down; only the moment of signing keeps its milliseconds, since it orders copies.
/// A row of `purchases` has a column for each member.
public struct StoreTransaction: Hashable, Sendable {
    /// Apple's name for this copy.
    public var transactionID: String
    /// Apple's name for the first purchase of what this renews or restores; what installs are linked to.
    public var originalTransactionID: String
    /// Apple's name for the paid period, of auto-renewables.
    public var webOrderLineItemID: String?
    /// The store's product.
    public var productID: String
    /// The app.
    public var bundleID: String
    /// Where it was bought.
    public var environment: StoreEnvironment
    /// What kind of thing it is.
    public var type: StoreProductType
    /// When it was bought, or the period began.
    public var purchasedAt: Timestamp
    /// When the first purchase was made.
    public var originallyPurchasedAt: Timestamp
    /// When the paid period ends; present in every auto-renewable.
    public var expiresAt: Timestamp?
    /// When it was signed, in milliseconds since 1970: the greater, the newer what it says.
    public var signedMilliseconds: Int64
    /// When it was refunded or, shared in a family, taken back.
    public var revokedAt: Timestamp?
    /// Whether the customer has moved to a higher product of the group.
    public var isUpgraded: Bool
    /// Whether it is shared by another member of the family, who paid.
    public var isFamilyShared: Bool
    /// What was paid, in thousandths of the currency's unit, for the whole purchase.
    public var priceMilliunits: Int64?
    /// ISO 4217.
    public var currency: String?

    /// A transaction of these members.
    public init(
        transactionID: String,
        originalTransactionID: String,
        webOrderLineItemID: String? = nil,
        productID: String,
        bundleID: String,
        environment: StoreEnvironment,
        type: StoreProductType,
        purchasedAt: Timestamp,
        originallyPurchasedAt: Timestamp,
        expiresAt: Timestamp? = nil,
        signedMilliseconds: Int64,
        revokedAt: Timestamp? = nil,
        isUpgraded: Bool = false,
        isFamilyShared: Bool = false,
        priceMilliunits: Int64? = nil,
        currency: String? = nil
    ) {
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.webOrderLineItemID = webOrderLineItemID
        self.productID = productID
        self.bundleID = bundleID
        self.environment = environment
        self.type = type
        self.purchasedAt = purchasedAt
        self.originallyPurchasedAt = originallyPurchasedAt
        self.expiresAt = expiresAt
        self.signedMilliseconds = signedMilliseconds
        self.revokedAt = revokedAt
        self.isUpgraded = isUpgraded
        self.isFamilyShared = isFamilyShared
        self.priceMilliunits = priceMilliunits
        self.currency = currency
    }

    /// Names the purchase that this is a copy of.
    public var purchaseKey: PurchaseKey {
        guard type == .autoRenewable else {
            return PurchaseKey(originalTransactionID: originalTransactionID, productID: productID)
        }
        // StoreKit Testing numbers no periods: it says "0" for each.
        if let webOrderLineItemID, webOrderLineItemID != "0" { return PurchaseKey(lineItemID: webOrderLineItemID) }
        return PurchaseKey(transactionID: transactionID)
    }

    init(_ members: PayloadReader) throws(StoreRefusal) {
        transactionID = try members.requiredText("transactionId")
        originalTransactionID = try members.requiredText("originalTransactionId")
        webOrderLineItemID = try members.text("webOrderLineItemId")
        productID = try members.requiredText("productId")
        bundleID = try members.requiredText("bundleId")
        guard let environment = StoreEnvironment(rawValue: try members.requiredText("environment")) else {
            throw .wrongEnvironment
        }
        self.environment = environment
        type = StoreProductType(rawValue: try members.requiredText("type"))
        purchasedAt = try members.requiredInstant("purchaseDate")
        originallyPurchasedAt = try members.requiredInstant("originalPurchaseDate")
        expiresAt = try members.instant("expiresDate")
        signedMilliseconds = try members.requiredMilliseconds("signedDate")
        revokedAt = try members.instant("revocationDate")
        isUpgraded = try members.flag("isUpgraded") ?? false
        isFamilyShared = try members.text("inAppOwnershipType") == "FAMILY_SHARED"
        priceMilliunits = try members.integer("price")
        currency = try members.text("currency")
        try members.check(
            texts: [
                "appAccountToken", "appTransactionId", "offerDiscountType", "offerIdentifier", "offerPeriod",
                "revocationType", "storefront", "storefrontId", "subscriptionGroupIdentifier", "transactionReason",
            ],
            integers: ["offerType", "quantity", "revocationPercentage", "revocationReason"]
        )
        // Without an end it would be a subscription for ever.
        if type == .autoRenewable && expiresAt == nil { throw .badPayload }
    }
}

/// Names one purchase among all of a connection: a thing bought once, or one paid period of a subscription.
///
/// Restored and resent copies of one purchase have one key, whatever their `transactionId`.
public struct PurchaseKey: Hashable, Sendable, CustomStringConvertible {
    /// What a row keeps, unique with its connection; compared byte for byte.
    public let text: String

    /// The key that a row keeps.
    public init(text: String) { self.text = text }

    /// An auto-renewable's paid period.
    init(lineItemID: String) { text = "line:\(lineItemID)" }

    /// An auto-renewable's paid period without a name of its own.
    init(transactionID: String) { text = "transaction:\(transactionID)" }

    /// Anything else. The count of bytes keeps the two names apart.
    init(originalTransactionID: String, productID: String) {
        text = "original:\(originalTransactionID.utf8.count):\(originalTransactionID):\(productID)"
    }

    /// The text.
    public var description: String { text }
}
