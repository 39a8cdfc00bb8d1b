/// A length of time: calendar months, then seconds.
struct Span: Codable, Hashable, Sendable {
    var months: Int64 = 0
    var seconds: Int64 = 0

    static func days(_ days: Int64) -> Span { Span(seconds: days * 86_400) }

    var isZero: Bool { months == 0 && seconds == 0 }
}

/// A number of seats, or without end.
enum Seats: Codable, Hashable, Sendable {
    case limited(Int)
    case unlimited
}

/// What is said of a license's end.
enum End: Codable, Hashable, Sendable {
    case plan
    case never
    /// So many seconds from now.
    case after(Int64)
    case lasting(Span)
}

/// What a plan says; plans and meters are named by their places.
struct PlanSpec: Codable, Hashable, Sendable {
    /// Places of features.
    var features: [Int] = [0, 1]
    var duration: Span?
    var isFromFirstActivation = false
    var seats = Seats.limited(2)
    var policy = "deny"
    var overagePercent = 0
    /// Seconds.
    var idle: Int64?
    var lease: Int64?
    /// Seconds.
    var grace: Int64 = 0
    /// Seconds.
    var offlineLife: Int64?
    var transferLimit: Int?
    /// Seconds.
    var transferPeriod: Int64 = 30 * 86_400
    var isSelfRelease = true
    /// Limits of meters, by their places; nil is unlimited.
    var meters: [MeterLimitSpec] = []
}

struct MeterLimitSpec: Codable, Hashable, Sendable {
    var meter: Int
    var limit: Int64?
}

struct MeterSpec: Codable, Hashable, Sendable {
    enum Period: Codable, Hashable, Sendable {
        case lifetime
        case day
        case month
        case year
        case rolling(Span)
    }

    var limit: Int64?
    var period: Period
    /// `install`, `license` or `customer`.
    var scope: String
}

struct SettingsSpec: Codable, Hashable, Sendable {
    /// Nil: never configured; nothing: off.
    var trial: Span?
    /// A plan's place.
    var trialPlan: Int?
    var isExplicit = false
    /// Seconds.
    var offlineLife: Int64 = 7 * 86_400
    /// Seconds.
    var refreshAfter: Int64 = 86_400
}

struct ProductSpec: Codable, Hashable, Sendable {
    /// A vendor's place: 0 or 1.
    var vendor = 0
    var plans: [PlanSpec]
    var meters: [MeterSpec]
    var settings: SettingsSpec
    /// Nil: not connected to the App Store.
    var store: StoreSpec?
}

/// How a product is connected to the App Store.
struct StoreSpec: Codable, Hashable, Sendable {
    var production: ConnectionSpec?
    var sandbox: ConnectionSpec?
    var tiers: [TierSpec] = []
}

struct ConnectionSpec: Codable, Hashable, Sendable {
    var isEnabled = true
    var allowsReview = true
    /// Seconds.
    var leeway: Int64 = 7200
    /// Places of features, by what the store calls its products; what is not named gives nothing.
    var map: [String: [Int]]
    /// How long a season lasts; nil: for ever.
    var season: Span?
}

struct TierSpec: Codable, Hashable, Sendable {
    /// In thousandths of a dollar.
    var threshold: Int64
    var features: [Int]
    var lasting: Span?
}

/// One edit of a connection.
enum ConnectionEdit: Codable, Hashable, Sendable {
    case enabled(Bool)
    case review(Bool)
    case leeway(Int64)
    /// Nil: it is named no more.
    case map(String, [Int]?)
    case season(Span?)
}

/// What is there before the first operation.
struct Setup: Codable, Hashable, Sendable {
    /// Seconds since 1970.
    var start: Int64
    var products: [ProductSpec]

    /// Every product in both modes.
    var realms: [Realm] {
        products.indices.flatMap { [Realm(product: $0), Realm(product: $0, isTest: true)] }
    }
}

/// A product in one mode: what its keys see.
struct Realm: Codable, Hashable, Sendable {
    /// A product's place.
    var product = 0
    var isTest = false

    /// The same product in the other mode.
    var twin: Realm { Realm(product: product, isTest: !isTest) }
}

/// One edit of a plan.
enum PlanEdit: Codable, Hashable, Sendable {
    case features([Int])
    case seats(Seats)
    case policy(String)
    case lease(Int64?)
    case grace(Int64)
    case offlineLife(Int64?)
    case transferLimit(Int?)
    case selfRelease(Bool)
    case duration(Span?)
    case meters([MeterLimitSpec])
}

/// One edit of a license.
enum LicenseEditSpec: Codable, Hashable, Sendable {
    case plan(Int)
    /// Nil follows the plan.
    case seats(Seats?)
    case end(End)
    /// Seconds; nil follows the plan.
    case offlineLife(Int64?)
}

/// One change of the product's settings.
enum SettingEdit: Codable, Hashable, Sendable {
    case trial(Span?)
    case trialPlan(Int?)
    case explicit(Bool)
    case offlineLife(Int64)
    case refreshAfter(Int64)
}

/// Whom a gift is for.
enum Recipient: Codable, Hashable, Sendable {
    case install(Int)
    case license(Int)
    case customer(Int)
}

struct AmountSpec: Codable, Hashable, Sendable {
    var meter: Int
    var amount: Int64
}

/// Which license's key is shown: of the license at this place, nobody's where there is none; `age` 0 is the current one, 1
/// the one before.
struct KeySpec: Codable, Hashable, Sendable {
    var license: Int
    var age = 0
    /// Of which realm, where it is not that of the call: there it is nobody's.
    var realm: Realm?
}

/// What is done at a step. Everything is named by places, so that a step keeps its meaning when others are left out.
enum Operation: Codable, Hashable, Sendable {
    // By apps.
    case activate(KeySpec, install: Int, fingerprint: Int?, replacing: Int?)
    case validate(KeySpec, install: Int?, fingerprint: Int?)
    case deactivate(KeySpec, install: Int)
    case heartbeat(KeySpec, install: Int)
    case seats(KeySpec, install: Int)
    case sync(install: Int, fingerprint: Int?)
    /// `firstLaunch`: seconds before now.
    case trial(install: Int, fingerprint: Int?, start: Bool, firstLaunch: Int64?)
    case peek(install: Int, [AmountSpec], KeySpec?)
    case consume(install: Int, [AmountSpec], KeySpec?, repeatKey: Int?)
    case present(DocumentSpec, install: Int, fingerprint: Int?)
    // By the App Store.
    case notify(name: Int, isSandbox: Bool, DocumentSpec?, RenewalSpec?)
    // By administrators.
    case issue(plan: Int, seats: Seats?, end: End, startsIn: Int64?, customer: Int?, offlineLife: Int64?)
    case suspend(Int)
    case reinstate(Int, revoked: Bool)
    case revoke(Int)
    case renew(Int, Span?)
    case reissue(Int, revokesSeats: Bool)
    case edit(Int, LicenseEditSpec)
    /// `seat`: the place among all seats that were ever given.
    case releaseSeat(Int, seat: Int)
    case give(Recipient, features: [Int], lasting: Int64?)
    case withdraw(Int)
    case editPlan(Int, PlanEdit, affectsExisting: Bool)
    /// `revives`: what it takes from trials that are over, or from licenses, is meant.
    case set(SettingEdit, revives: Bool)
    /// `until`: seconds from now.
    case extendTrial(install: Int, until: Int64)
    case resetMeter(Int, install: Int)
    case refundMeter(Int, install: Int, amount: Int64)
    case connect(isSandbox: Bool, ConnectionEdit)
    // Time, and the server itself.
    case wait(Int64)
    /// To so many seconds from one of the ends that lie ahead.
    case waitForEnd(Int, offset: Int64)
    case restart
}

/// What is done in which realm.
struct Step: Codable, Hashable, Sendable {
    var realm = Realm()
    var operation: Operation
}

/// A run that can be told, and told again.
struct Scenario: Codable, Hashable, Sendable {
    var setup: Setup
    var steps: [Step]
}
