import Bundles
import Cryptography
import Foundation
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import Testing

@testable import CountersignAPI

/// A database in a folder of its own with one vendor; every scenario gets a product of its own in it. The folder goes away
/// with its last user.
final class Market: Sendable {
    let folder: String
    let vendor: Vendor
    let services: Services
    let entropy = CountingEntropy()
    /// What the database's commits take for the time, in microseconds.
    let microseconds = Mutex<Int64>(0)
    private let count = Mutex(0)

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("model-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let start = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let vendor = Vendor(id: try Identifier(at: start, entropy: entropy), slug: try Slug("acme"), name: "Acme")
        self.vendor = vendor
        services = Services(keys: try DataKeys.random(), clock: NoClock(), entropy: entropy)
        let keys = try services.signingKeys.initialKeys(of: vendor.id, at: start)
        try open().writer.write { db in
            try VendorStore.insert(vendor, at: start, in: db)
            for key in keys { try SigningKeyStore.insert(key, in: db) }
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// As the server opens it.
    func open() throws -> sending Opened {
        var options = Database.Options(now: { [weak self] in self?.microseconds.withLock { $0 } ?? 0 })
        options.synchronous = .off
        options.lockWait = .seconds(30)
        let database = Database(folder: folder, options: options)
        let writer = try database.openForServing(APIWriterQueue(capacity: 16))
        return Opened(writer: writer, reader: try database.openReader())
    }

    func nextNumber() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// The writer and a reader of a market, closed with it.
struct Opened: ~Copyable {
    let writer: APIWriter
    let reader: Reader
}

/// Nobody asks it: every call here carries its time.
private struct NoClock: WallClock {
    func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp {
        throw ClockUnsure(reason: "calls of the model carry their time")
    }
}

/// One product under test, and what its things are called in scenarios.
final class Shop {
    static let features = ["a", "b", "c", "d"]

    let market: Market
    let product: Product.ID
    let plans: [Plan.ID]
    var now: Int64
    /// Every key of each license, oldest first.
    var keys: [[String]] = []
    var licenses: [License.ID] = []
    var gifts: [GiftID] = []
    var seats: [Activation.ID: Int] = [:]
    var seatIDs: [Activation.ID] = []
    var trials: [String: Int] = [:]
    private var references: [String: Paper.Reference] = [:]
    /// `seq` of the last bundle.
    var sequence: Int64 = 0

    var time: Timestamp { Timestamp(secondsSinceEpoch: now) }
    var actor: Actor { Actor(name: "model", now: time) }
    var services: Services { market.services }
    var licensing: LicenseService { LicenseService(keys: services.keys, entropy: market.entropy) }
    var catalog: CatalogService { CatalogService(keys: services.keys, entropy: market.entropy) }

    init(_ setup: Setup, in market: Market, _ opened: borrowing Opened) throws {
        self.market = market
        now = setup.start
        market.microseconds.withLock { $0 = setup.start * 1_000_000 }
        let time = Timestamp(secondsSinceEpoch: setup.start)
        let id: Product.ID = try Identifier(at: time, entropy: market.entropy)
        product = id
        let rows = try setup.plans.enumerated().map { try $1.plan(number: $0, of: id, at: time, market.entropy) }
        plans = rows.map(\.id)
        let row = Product(
            id: id,
            vendor: market.vendor.id,
            slug: try Slug("p\(market.nextNumber())"),
            name: "Product",
            settings: try setup.settings.settings()
        )
        let meters = try setup.meters.enumerated().map { number, spec in
            Meter(
                id: try Identifier(at: time, entropy: market.entropy),
                product: id,
                name: try MeterName("m\(number)"),
                limit: MeterLimit(spec.limit),
                period: spec.period.period,
                scope: try #require(MeterScope(rawValue: spec.scope))
            )
        }
        try opened.writer.write { db in
            try ProductStore.insert(row, at: time, in: db)
            for code in Self.features {
                try FeatureStore.insert(Feature(code: try FeatureCode(code), name: code), of: id, at: time, in: db)
            }
            for meter in meters { try MeterStore.insert(meter, at: time, in: db) }
            for row in rows { try PlanStore.insert(row, at: time, in: db) }
        }
    }

    // MARK: Names

    /// The text of a key; one that nobody has, where the license is not there.
    func key(_ key: KeySpec) -> String {
        guard keys.indices.contains(key.license) else { return "SOLD-BY-NOBODY-\(key.license)" }
        let all = keys[key.license]
        return all[all.count - 1 - min(key.age, all.count - 1)]
    }

    static func install(_ number: Int) -> String { "install-number-\(number)-of-the-model" }

    func claim(_ number: Int, _ fingerprint: Int? = nil) throws -> InstallClaim {
        InstallClaim(
            digest: services.keys.digest(of: try InstallID(Self.install(number)), product: product),
            fingerprint: try fingerprint.map {
                services.keys.digest(of: try DeviceFingerprint("machine-\($0)"), product: product)
            },
            device: .none,
            subject: ""
        )
    }

    func number(of seat: Activation.ID) -> Int {
        if let known = seats[seat] { return known }
        seats[seat] = seatIDs.count
        seatIDs.append(seat)
        return seatIDs.count - 1
    }

    func remember(_ license: License.ID) {
        references[license.text] = .license(licenses.count)
        licenses.append(license)
    }

    func remember(_ gift: GiftID) {
        references[gift.text] = .gift(gifts.count)
        gifts.append(gift)
    }

    func reference(_ text: String) -> Paper.Reference {
        if let known = references[text] { return known }
        let reference = Paper.Reference.trial(trials.count)
        trials[text] = trials.count
        references[text] = reference
        return reference
    }

    func caller<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Caller {
        Caller(
            vendor: market.vendor,
            product: try #require(try ProductStore.find(product, in: db)),
            mode: .live
        )
    }
}

// MARK: - What specifications mean to the product

extension Span {
    var duration: CalendarDuration { CalendarDuration(months: months, seconds: seconds) }
}

extension Int64 {
    var duration: CalendarDuration { CalendarDuration(seconds: self) }
}

extension Seats {
    var limit: SeatLimit {
        switch self {
        case .limited(let count): .limited(count)
        case .unlimited: .unlimited
        }
    }
}

extension MeterSpec.Period {
    var period: MeterPeriod {
        switch self {
        case .lifetime: .lifetime
        case .day: .day
        case .month: .month
        case .year: .year
        case .rolling(let span): .rolling(span.duration)
        }
    }
}

extension [MeterLimitSpec] {
    func limits() throws -> [MeterName: MeterLimit] {
        try reduce(into: [:]) { limits, spec in limits[try MeterName("m\(spec.meter)")] = MeterLimit(spec.limit) }
    }
}

extension [Int] {
    func features() throws -> [FeatureCode] { try map { try FeatureCode(Shop.features[$0]) } }
}

extension PlanSpec {
    func plan(number: Int, of product: Product.ID, at now: Timestamp, _ entropy: CountingEntropy) throws -> Plan {
        Plan(
            id: try Identifier(at: now, entropy: entropy),
            product: product,
            code: try PlanCode("plan\(number)"),
            name: "Plan",
            features: try features.features(),
            duration: duration?.duration,
            seatLimit: seats.limit,
            seatPolicy: try #require(SeatPolicy(rawValue: policy)),
            overagePercent: overagePercent,
            idleBeforeRelease: idle?.duration,
            leaseSeconds: lease,
            expiryGrace: grace.duration,
            expiryBasis: isFromFirstActivation ? .firstActivation : .issue,
            offlineLife: offlineLife?.duration,
            transferLimit: transferLimit,
            transferPeriod: transferPeriod.duration,
            selfRelease: isSelfRelease,
            meters: try meters.limits()
        )
    }
}

extension SettingsSpec {
    func settings() throws -> ProductSettings {
        ProductSettings(
            trialDuration: trial?.duration,
            trialPlan: try trialPlan.map { try PlanCode("plan\($0)") },
            trialStart: isExplicit ? .explicit : .firstContact,
            offlineLife: offlineLife.duration,
            refreshAfter: refreshAfter.duration
        )
    }
}

extension PlanEdit {
    func changes() throws -> PlanChanges {
        func change<Value>(_ value: Value?) -> Change<Value> { value.map { .set($0) } ?? .unset }
        var changes = PlanChanges()
        switch self {
        case .features(let features): changes.features = try features.features()
        case .seats(let seats): changes.seatLimit = seats.limit
        case .policy(let policy): changes.seatPolicy = SeatPolicy(rawValue: policy)
        case .lease(let lease): changes.leaseSeconds = change(lease)
        case .grace(let grace): changes.expiryGrace = grace.duration
        case .offlineLife(let life): changes.offlineLife = change(life?.duration)
        case .transferLimit(let limit): changes.transferLimit = change(limit)
        case .selfRelease(let isOn): changes.selfRelease = isOn
        case .duration(let span): changes.duration = change(span?.duration)
        case .meters(let meters): changes.meters = try meters.limits()
        }
        return changes
    }
}

extension SettingEdit {
    func changes() -> ProductChanges {
        switch self {
        case .trial(let span): ProductChanges(settings: [.trialDuration: span?.duration.iso8601])
        case .trialPlan(let plan):
            ProductChanges(settings: [.trialPlan: plan.map { (number: Int) -> String in "plan\(number)" }])
        case .explicit(let isOn):
            ProductChanges(settings: [.trialStart: isOn ? "explicit" : "first_contact"])
        case .offlineLife(let life): ProductChanges(settings: [.offlineLife: life.duration.iso8601])
        case .refreshAfter(let after): ProductChanges(settings: [.refreshAfter: after.duration.iso8601])
        }
    }
}
