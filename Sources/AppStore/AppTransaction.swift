public import Licensing

/// Who got the app itself, when and in which version: the proof behind ``GrandfatherRule``.
public struct AppTransaction: Hashable, Sendable {
    /// Apple's name for the customer's purchase of the app; older systems do not send it.
    public var appTransactionID: String?
    /// The app.
    public var bundleID: String
    /// Where it was bought; `receiptType` in the payload.
    public var environment: StoreEnvironment
    /// When the customer first got the app.
    public var originallyPurchasedAt: Timestamp
    /// The same to the millisecond, since 1970.
    public var originalPurchaseMilliseconds: Int64
    /// The version first got: on iOS the build number, on macOS the version.
    public var originalVersion: String
    /// When it was signed, in milliseconds since 1970; `receiptCreationDate` in the payload.
    public var signedMilliseconds: Int64

    /// Names the purchase of the app among all of a connection, as ``PurchaseKey`` does for purchases in the app:
    /// what is kept of a customer of old has a row of `purchases` with this key, and links by the same rule.
    ///
    /// Where Apple sends no name, the millisecond of the purchase stands for it.
    public var purchaseKey: PurchaseKey {
        if let appTransactionID { return PurchaseKey(text: "app:\(appTransactionID)") }
        return PurchaseKey(text: "app-purchased:\(originalPurchaseMilliseconds):\(originalVersion)")
    }

    /// An app transaction of these members.
    public init(
        appTransactionID: String? = nil,
        bundleID: String,
        environment: StoreEnvironment,
        originalPurchaseMilliseconds: Int64,
        originalVersion: String,
        signedMilliseconds: Int64
    ) {
        self.appTransactionID = appTransactionID
        self.bundleID = bundleID
        self.environment = environment
        originallyPurchasedAt = Timestamp(milliseconds: originalPurchaseMilliseconds)
        self.originalPurchaseMilliseconds = originalPurchaseMilliseconds
        self.originalVersion = originalVersion
        self.signedMilliseconds = signedMilliseconds
    }

    init(_ members: PayloadReader) throws(StoreRefusal) {
        bundleID = try members.requiredText("bundleId")
        guard let environment = StoreEnvironment(rawValue: try members.requiredText("receiptType")) else {
            throw .wrongEnvironment
        }
        self.environment = environment
        signedMilliseconds = try members.requiredMilliseconds("receiptCreationDate")
        originalPurchaseMilliseconds = try members.requiredMilliseconds("originalPurchaseDate")
        originallyPurchasedAt = Timestamp(milliseconds: originalPurchaseMilliseconds)
        originalVersion = try members.requiredText("originalApplicationVersion")
        appTransactionID = try members.text("appTransactionId")
        try members.check(
            texts: ["applicationVersion", "originalPlatform"],
            integers: ["appAppleId"],
            instants: ["preorderDate"]
        )
    }
}
