public import Licensing

/// What a product's connection to the App Store says: which signed data is for it, and what that gives.
///
/// A row of `store_connections`, with a row of `store_products` for each of ``products``.
public struct StoreConnection: Hashable, Sendable {
    /// SHA-256 of the DER of Apple Root CA - G3: the pin of a connection that names no other.
    public static let appleRootDigests: [Digest256] = {
        let digest = Digest256(bytes: [
            0x63, 0x34, 0x3A, 0xBF, 0xB8, 0x9A, 0x6A, 0x03, 0xEB, 0xB5, 0x7E, 0x9B, 0x3F, 0x5F, 0xA7, 0xBE,
            0x7C, 0x4F, 0x5C, 0x75, 0x6F, 0x30, 0x17, 0xB3, 0xA8, 0xC4, 0x88, 0xC3, 0x65, 0x3E, 0x91, 0x79,
        ])
        return digest.map { [$0] } ?? []
    }()

    /// How long a renewal may take to reach us where the connection says nothing: two hours.
    public static let standardRenewalLeeway = CalendarDuration(seconds: 7200)

    /// Names the connection; part of the path that notifications are sent to.
    public var id: StoreConnectionID
    /// Of which product.
    public var product: Identifier<Product>
    /// Which environment it takes. `Xcode` takes `LocalTesting` too.
    public var environment: StoreEnvironment
    /// The app's bundle identifier, compared byte for byte.
    public var bundleID: String
    /// The app's number in the App Store, compared in production notifications where it is known.
    public var appAppleID: Int64?
    /// SHA-256 of the DER of each root certificate that is trusted.
    public var rootDigests: [Digest256]
    /// Whether unsigned data is taken. Only has a meaning with the environment `Xcode`.
    public var allowsXcode: Bool
    /// Whether sandbox purchases give something, for a day, to apps with a live credential. Only has a meaning with
    /// the environment `Sandbox`.
    public var allowsReview: Bool
    /// How long an auto-renewable stays in force past its end, unless it is known not to renew.
    public var renewalLeeway: CalendarDuration
    /// What the store's products give.
    public var products: [StoreProduct]
    /// Who bought the app when it was paid, and what that still gives.
    public var grandfather: GrandfatherRule?
    /// Whether it is switched on.
    public var isEnabled: Bool

    /// A connection of these members.
    public init(
        id: StoreConnectionID,
        product: Identifier<Product>,
        environment: StoreEnvironment,
        bundleID: String,
        appAppleID: Int64? = nil,
        rootDigests: [Digest256] = StoreConnection.appleRootDigests,
        allowsXcode: Bool = false,
        allowsReview: Bool = true,
        renewalLeeway: CalendarDuration = StoreConnection.standardRenewalLeeway,
        products: [StoreProduct] = [],
        grandfather: GrandfatherRule? = nil,
        isEnabled: Bool = true
    ) {
        self.id = id
        self.product = product
        self.environment = environment
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.rootDigests = rootDigests
        self.allowsXcode = allowsXcode
        self.allowsReview = allowsReview
        self.renewalLeeway = renewalLeeway
        self.products = products
        self.grandfather = grandfather
        self.isEnabled = isEnabled
    }

    /// What the store's product `id` gives, or `nil` where it is not in the map.
    public func storeProduct(_ id: String) -> StoreProduct? {
        products.first { $0.id.utf8.elementsEqual(id.utf8) }
    }

    /// Whether data of `environment` is this connection's, presented with a credential of `mode`.
    ///
    /// Production counts in live mode alone, the sandbox in test mode and, for App Review and TestFlight, which run
    /// the shipped app, in live mode where ``allowsReview`` says so. Unsigned data counts in test mode where
    /// ``allowsXcode`` says so.
    public func takes(_ environment: StoreEnvironment, in mode: Mode) -> Bool {
        switch environment {
        case .production: self.environment == .production && mode == .live
        case .sandbox: self.environment == .sandbox && (mode == .test || allowsReview)
        case .xcode, .localTesting: takesUnsigned(environment) && mode == .test
        }
    }

    /// Whether what is bought under this connection is granted in `mode` for review alone.
    public func isReview(in mode: Mode) -> Bool { environment == .sandbox && mode == .live }

    func takesUnsigned(_ environment: StoreEnvironment) -> Bool {
        allowsXcode && !environment.isSigned
            && (self.environment == environment || (self.environment == .xcode && environment == .localTesting))
    }
}

/// What one product of the store gives.
public struct StoreProduct: Hashable, Sendable {
    /// The store's name for it, `com.acme.pro`.
    public var id: String
    /// The features it gives.
    public var features: [FeatureCode]
    /// How long a non-renewing one lasts, counted from its purchase; `nil` for ever. No other type looks at it.
    public var duration: CalendarDuration?

    /// A product of these members.
    public init(id: String, features: [FeatureCode], duration: CalendarDuration? = nil) {
        self.id = id
        self.features = features
        self.duration = duration
    }
}
