public import AppStore
public import Licensing

/// What a connection is to be; `nil` leaves a member as it is, or at its default in a new one.
public struct StoreConnectionChanges: Equatable, Sendable {
    /// One product of the store.
    public struct Mapping: Equatable, Sendable {
        /// The store's name for it.
        public var id: String
        /// What it gives.
        public var features: [FeatureCode]?
        /// How long a non-renewing one lasts.
        public var duration: Change<CalendarDuration>?

        /// A mapping of these members.
        public init(id: String, features: [FeatureCode]?, duration: Change<CalendarDuration>? = nil) {
            self.id = id
            self.features = features
            self.duration = duration
        }
    }

    /// The app's number in the App Store.
    public var appAppleID: Change<Int64>?
    /// SHA-256 of roots trusted beside the store's own and the configured ones; all of them.
    public var rootDigests: [Digest256]?
    /// Whether unsigned data is taken.
    public var allowsXcode: Bool?
    /// Whether sandbox purchases give something to apps with a live credential.
    public var allowsReview: Bool?
    /// How long an auto-renewable stays in force past its end.
    public var renewalLeeway: CalendarDuration?
    /// Products to add to the map or to change in it; others stay.
    public var mappings: [Mapping] = []
    /// Products to take out of the map.
    public var unmapped: [String] = []
    /// Who keeps what it had.
    public var grandfather: Change<GrandfatherRule>?
    /// Whether it is switched on.
    public var isEnabled: Bool?

    /// No change.
    public init() {}

    /// The connection with these changes.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) for a product to take out that is not in the map.
    func applied(to connection: StoreConnection) throws(Refusal) -> StoreConnection {
        var changed = connection
        if let appAppleID { changed.appAppleID = appAppleID.value }
        if let rootDigests {
            let apple = StoreConnection.appleRootDigests
            changed.rootDigests = apple + Set(rootDigests).subtracting(apple).sorted { $0.hexadecimal < $1.hexadecimal }
        }
        changed.allowsXcode = allowsXcode ?? changed.allowsXcode
        changed.allowsReview = allowsReview ?? changed.allowsReview
        changed.renewalLeeway = renewalLeeway ?? changed.renewalLeeway
        for id in unmapped {
            guard changed.storeProduct(id) != nil else {
                throw Refusal(.validation, "the map does not name \(id)", member: "unmap")
            }
            changed.products.removeAll { $0.id.utf8.elementsEqual(id.utf8) }
        }
        for mapping in mappings {
            var product = changed.storeProduct(mapping.id) ?? StoreProduct(id: mapping.id, features: [])
            if let features = mapping.features { product.features = Set(features).sorted() }
            if let duration = mapping.duration { product.duration = duration.value }
            changed.products.removeAll { $0.id.utf8.elementsEqual(mapping.id.utf8) }
            changed.products.append(product)
        }
        changed.products.sort { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
        if let grandfather {
            changed.grandfather = grandfather.value
            changed.grandfather?.features = Set(grandfather.value?.features ?? []).sorted()
        }
        changed.isEnabled = isEnabled ?? changed.isEnabled
        return changed
    }
}
