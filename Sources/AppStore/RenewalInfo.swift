public import Licensing

/// What is known about how a subscription goes on, as the App Store signed it at some moment.
///
/// The newest one of each `originalTransactionId` is kept: a row has a column for each member.
public struct RenewalInfo: Hashable, Sendable {
    /// The subscription.
    public var originalTransactionID: String
    /// Where it was bought.
    public var environment: StoreEnvironment
    /// When it was signed, in milliseconds since 1970: the greater, the newer what it says.
    public var signedMilliseconds: Int64
    /// Until when the customer keeps the right although the payment failed.
    public var graceEndsAt: Timestamp?
    /// Whether it renews at the end of its period; `nil` where nothing is said.
    public var renews: Bool?
    /// Why it ended; present once it has.
    public var expirationIntent: Int64?
    /// Whether the App Store is trying to collect a payment that failed. Alone it entitles to nothing.
    public var isInBillingRetry: Bool

    /// Renewal information of these members.
    public init(
        originalTransactionID: String,
        environment: StoreEnvironment,
        signedMilliseconds: Int64,
        graceEndsAt: Timestamp? = nil,
        renews: Bool? = nil,
        expirationIntent: Int64? = nil,
        isInBillingRetry: Bool = false
    ) {
        self.originalTransactionID = originalTransactionID
        self.environment = environment
        self.signedMilliseconds = signedMilliseconds
        self.graceEndsAt = graceEndsAt
        self.renews = renews
        self.expirationIntent = expirationIntent
        self.isInBillingRetry = isInBillingRetry
    }

    /// Whether it is known that no renewal is on its way: cancelled, expired, or not paid.
    public var isKnownNotToRenew: Bool { renews == false || expirationIntent != nil || isInBillingRetry }

    init(_ members: PayloadReader) throws(StoreRefusal) {
        originalTransactionID = try members.requiredText("originalTransactionId")
        guard let environment = StoreEnvironment(rawValue: try members.requiredText("environment")) else {
            throw .wrongEnvironment
        }
        self.environment = environment
        signedMilliseconds = try members.requiredMilliseconds("signedDate")
        graceEndsAt = try members.instant("gracePeriodExpiresDate")
        renews = try members.integer("autoRenewStatus").map { $0 != 0 }
        expirationIntent = try members.integer("expirationIntent")
        isInBillingRetry = try members.flag("isInBillingRetryPeriod") ?? false
        try members.check(
            texts: [
                "appAccountToken", "appTransactionId", "autoRenewProductId", "currency", "offerDiscountType",
                "offerIdentifier", "offerPeriod", "productId",
            ],
            integers: ["offerType", "priceIncreaseStatus", "renewalPrice"],
            instants: ["recentSubscriptionStartDate", "renewalDate"]
        )
    }
}
