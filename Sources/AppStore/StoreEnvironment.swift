/// Where a purchase was made, in Apple's own words.
public enum StoreEnvironment: String, Hashable, Sendable, CaseIterable {
    /// The App Store, for money.
    case production = "Production"
    /// TestFlight, App Review and sandbox accounts.
    case sandbox = "Sandbox"
    /// StoreKit Testing in Xcode; signed by nobody that could be trusted.
    case xcode = "Xcode"
    /// StoreKit Testing outside Xcode's debugger; like ``xcode``.
    case localTesting = "LocalTesting"

    /// Whether Apple signs what comes from there. What does not is only for a developer's own machine.
    public var isSigned: Bool { self == .production || self == .sandbox }
}

/// What kind of thing was bought, in Apple's own words; words that do not exist yet are kept as they are.
public struct StoreProductType: RawRepresentable, Hashable, Sendable {
    /// Apple's word.
    public let rawValue: String

    /// Any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Renews by itself until it is cancelled.
    public static let autoRenewable = StoreProductType(rawValue: "Auto-Renewable Subscription")
    /// Bought once, kept.
    public static let nonConsumable = StoreProductType(rawValue: "Non-Consumable")
    /// Bought and used up; never a lasting right.
    public static let consumable = StoreProductType(rawValue: "Consumable")
    /// Lasts as long as the vendor says.
    public static let nonRenewing = StoreProductType(rawValue: "Non-Renewing Subscription")
}
