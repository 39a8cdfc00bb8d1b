/// What may be bought in the App Store: each under one original transaction.
struct Article: Sendable {
    enum Kind: Sendable {
        case kept, subscription, season, consumable
    }

    /// The store's name for it.
    var name: String
    var kind: Kind
    /// In thousandths of a dollar.
    var price: Int64

    /// Two subscriptions of one product, a thing that the map may not name, and others.
    static let all = [
        Article(name: "unlock", kind: .kept, price: 20_000), Article(name: "monthly", kind: .subscription, price: 5000),
        Article(name: "monthly", kind: .subscription, price: 5000),
        Article(name: "season", kind: .season, price: 9000), Article(name: "tokens", kind: .consumable, price: 1000),
        Article(name: "extra", kind: .kept, price: 3000),
    ]

    static let names = ["unlock", "monthly", "season", "tokens", "extra"]
}

/// What the App Store is to sign of a purchase, or of a paid period.
struct CopySpec: Codable, Hashable, Sendable {
    /// An article's place.
    var article: Int
    /// Of subscriptions.
    var period = 0
    var isSandbox = false
    /// Which transaction of the purchase: what is restored has a name of its own.
    var transaction = 0
    /// Seconds before now.
    var bought: Int64
    /// Seconds from then on; of subscriptions.
    var lasting: Int64
    /// Seconds before now.
    var signed: Int64
    var isRevoked = false
    var isUpgraded = false
    var isShared = false
}

/// What an app or the store shows.
enum DocumentSpec: Codable, Hashable, Sendable {
    case new(CopySpec)
    /// The one at this place among all that there were, as it was, or as it was refunded in the same moment.
    case again(Int, isRevoked: Bool)
}

/// What the App Store is to sign of how a subscription goes on.
struct RenewalSpec: Codable, Hashable, Sendable {
    var article: Int
    /// Seconds before now.
    var signed: Int64
    var renews: Bool?
    var hasIntent = false
    var isRetried = false
    /// Seconds from now.
    var grace: Int64?
}

/// A transaction as it is signed, in seconds since 1970.
struct Copy: Hashable, Sendable {
    var article: Int
    var period: Int
    var isSandbox: Bool
    var transaction: Int
    var bought: Int64
    var ends: Int64?
    /// In milliseconds, no two the same but of a copy that is shown again.
    var signed: Int64
    var isRevoked: Bool
    var isUpgraded: Bool
    var isShared: Bool
}

struct Renewal: Hashable, Sendable {
    var article: Int
    var signed: Int64
    var renews: Bool?
    var hasIntent: Bool
    var isRetried: Bool
    var grace: Int64?

    var isKnownNotToRenew: Bool { renews == false || hasIntent || isRetried }
}

/// The other side of the App Store: makes what it signs. Product and model have one each, which do the same.
struct Apple: Sendable {
    private var copies: [Copy] = []
    private var count: Int64 = 0

    private mutating func milliseconds(_ seconds: Int64) -> Int64 {
        count += 1
        return seconds * 1000 + count % 1000
    }

    /// Nil where it is to be one from before and there is none.
    mutating func copy(_ spec: DocumentSpec, at now: Int64) -> Copy? {
        switch spec {
        case .again(let place, let isRevoked):
            guard !copies.isEmpty else { return nil }
            var copy = copies[place % copies.count]
            copy.isRevoked = copy.isRevoked || isRevoked
            return copy
        case .new(let spec):
            let isSubscription = Article.all[spec.article].kind == .subscription
            let bought = now - spec.bought
            let copy = Copy(
                article: spec.article,
                period: isSubscription ? spec.period : 0,
                isSandbox: spec.isSandbox,
                transaction: spec.transaction,
                bought: bought,
                ends: isSubscription ? bought + spec.lasting : nil,
                signed: milliseconds(now - spec.signed),
                isRevoked: spec.isRevoked,
                isUpgraded: spec.isUpgraded,
                isShared: spec.isShared
            )
            copies.append(copy)
            return copy
        }
    }

    mutating func renewal(_ spec: RenewalSpec, at now: Int64) -> Renewal {
        Renewal(
            article: spec.article,
            signed: milliseconds(now - spec.signed),
            renews: spec.renews,
            hasIntent: spec.hasIntent,
            isRetried: spec.isRetried,
            grace: spec.grace.map { now + $0 }
        )
    }
}
