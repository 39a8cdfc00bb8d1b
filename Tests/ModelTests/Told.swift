/// What a caller hears of one operation, of the product or of the model; everything is named by its number in the order of
/// its making.
struct Told: Hashable, Sendable {
    struct Seat: Hashable, Sendable {
        var number: Int
        var leaseEnd: Int64?
    }

    struct Row: Hashable, Sendable {
        var seat: Int
        var isThis: Bool
    }

    struct License: Hashable, Sendable {
        var number: Int
        var plan: Int
        var status: String
        var starts: Int64?
        var ends: Int64?
    }

    struct Meter: Hashable, Sendable {
        var meter: Int
        var isAllowed: Bool
        var used: Int64
        var limit: Int64?
        var resets: Int64?
    }

    struct Trial: Hashable, Sendable {
        var state: String
        var starts: Int64?
        var ends: Int64?
    }

    struct Purchase: Hashable, Sendable {
        var name: Paper.Reference
        var state: String
        var ends: Int64?
    }

    var code: String
    var license: License?
    var used: Int?
    var limit: Int?
    var seat: Seat?
    var isReleased: Bool?
    var keyIsReplaced: Bool?
    var rows: [Row]?
    var meters: [Meter]?
    var trial: Trial?
    /// Seconds that a trial has left.
    var remaining: Int64?
    var affected: Int?
    var purchase: Purchase?
    /// What the bundle says, of the install that called or of one that looks on.
    var paper: Paper?

    init(_ code: String) { self.code = code }

    /// Nothing was done: what was named is not there.
    static let skipped = Told("SKIPPED")
}

/// What a bundle says.
struct Paper: Hashable, Sendable {
    enum Reference: Hashable, Sendable {
        case license(Int)
        case gift(Int)
        /// By the order in which trials were first told of.
        case trial(Int)
        case purchase(article: Int, period: Int, isSandbox: Bool)
        case tier(Int)
    }

    struct Grant: Hashable, Sendable {
        var feature: Int
        var source: String
        var starts: Int64
        var ends: Int64?
        var until: Int64
        var reference: Reference
    }

    struct License: Hashable, Sendable {
        var number: Int
        var plan: Int
        var status: String
        var starts: Int64
        var ends: Int64?
        var seat: Int
    }

    struct Meter: Hashable, Sendable {
        var meter: Int
        var used: Int64
        var limit: Int64?
        var resets: Int64?
    }

    struct Entitlement: Hashable, Sendable {
        var feature: Int
        var source: String
        var ends: Int64?
    }

    /// Whose product it is of, in which mode, by what it says and by the key that signs it.
    var realm: Realm?
    var grants: [Grant] = []
    /// By number.
    var licenses: [License] = []
    var trial: Told.Trial?
    /// By place.
    var meters: [Meter] = []
    var entitlements: [Entitlement] = []
    var issued: Int64
    var expires: Int64
    var refresh: Int64
}
