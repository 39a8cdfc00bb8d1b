public import Licensing

/// Who bought the app while the app itself cost money, and keeps what it had.
public struct GrandfatherRule: Hashable, Sendable {
    /// What tells an old customer from a new one.
    public enum Condition: Hashable, Sendable {
        /// The app was bought before this instant.
        case before(Timestamp)
        /// The version first bought is lower, compared number by number: 1.9 is below 1.10. It is what the App Store
        /// calls `originalApplicationVersion`: on iOS the build number.
        case versionBelow(String)
    }

    /// What tells an old customer from a new one.
    public var condition: Condition
    /// The features kept.
    public var features: [FeatureCode]

    /// A rule of these members.
    public init(condition: Condition, features: [FeatureCode]) {
        self.condition = condition
        self.features = features
    }

    /// Whether the buyer in `purchase` keeps the features, for a credential of `mode`.
    ///
    /// In live mode only a production purchase counts: in the sandbox every app was bought in 2013.
    public func holds(for purchase: AppTransaction, in mode: Mode) -> Bool {
        guard mode == .test || purchase.environment == .production else { return false }
        switch condition {
        case .before(let instant): return purchase.originallyPurchasedAt < instant
        case .versionBelow(let limit):
            guard let version = Version(purchase.originalVersion), let limit = Version(limit) else { return false }
            return version < limit
        }
    }

    /// Whether `text` can stand in ``Condition/versionBelow(_:)``: dotted parts that begin with a digit each.
    public static func isVersion(_ text: String) -> Bool { Version(text) != nil }
}

/// A dotted version; what follows the digits of a part (`3b2`) does not count.
private struct Version: Comparable {
    /// Each part's digits without leading zeros: of any length, so never an overflow. No zero parts at the end.
    let parts: [[UInt8]]

    init?(_ text: String) {
        var parts: [[UInt8]] = []
        for part in text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            let digits = part.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard !digits.isEmpty else { return nil }
            parts.append(Array(digits.drop { $0 == UInt8(ascii: "0") }))
        }
        while parts.last?.isEmpty == true { parts.removeLast() }
        self.parts = parts
    }

    static func < (one: Version, other: Version) -> Bool {
        one.parts.lexicographicallyPrecedes(other.parts) { one, other in
            one.count == other.count ? one.lexicographicallyPrecedes(other) : one.count < other.count
        }
    }
}
