import Cryptography
import Licensing
import Storage
import Testing

@testable import LicensingServices

/// An office whose product has meters.
struct MeterOffice: Sendable {
    let office: LicenseOffice
    let catalog: CatalogService
    let counts: MeterCounts

    static let noon = LicenseOffice.noon

    init() throws {
        office = try LicenseOffice()
        catalog = CatalogService(keys: office.keys, entropy: SystemEntropy())
        counts = MeterCounts(keys: office.keys, entropy: SystemEntropy())
    }

    @discardableResult
    func add(
        _ name: String = "run",
        limit: MeterLimit = .limited(10),
        period: String = "lifetime",
        scope: MeterScope = .install
    ) throws -> Meter {
        let changes = MeterChanges(limit: limit, period: try MeterPeriod(period), scope: scope)
        let meter = try catalog.draft(
            meter: try MeterName(name),
            of: office.product.id,
            changes,
            at: Self.noon
        )
        try office.write { db in try catalog.create(meter, of: office.product, by: office.actor(), in: db) }
        return meter
    }

    func edit(_ changes: MeterChanges, affectsExisting: Bool = false) throws {
        try office.write { db in
            _ = try catalog.edit(
                CatalogFinder.meter(MeterName("run"), of: office.product, in: db),
                of: office.product,
                by: changes,
                affectsExisting: affectsExisting,
                actor: office.actor(),
                in: db
            )
        }
    }

    /// Has a plan raise limits.
    func raise(_ plan: Plan, _ limits: [String: MeterLimit], affectsExisting: Bool = false) throws {
        var changes = PlanChanges()
        changes.meters = try Dictionary(uniqueKeysWithValues: limits.map { (try MeterName($0), $1) })
        try office.write { db in
            _ = try catalog.edit(
                CatalogFinder.plan(plan.code, of: office.product, in: db),
                of: office.product,
                by: changes,
                affectsExisting: affectsExisting,
                actor: office.actor(),
                in: db
            )
        }
    }

    func caller(_ mode: Mode = .live) -> Caller {
        Caller(vendor: office.vendor, product: office.product, mode: mode)
    }

    /// Sells a license and seats installs of it.
    @discardableResult
    func sell(
        _ plan: String = "pro",
        mode: Mode = .live,
        email: String? = nil,
        to installs: String...
    ) throws -> (id: License.ID, key: String) {
        let issued = try office.issue(office.order(plan: plan, mode: mode, customerEmail: email))
        let key = try #require(issued.key).text
        for install in installs {
            let claim = try office.install(install)
            let keyClaim = try office.claim(key)
            let decision = try office.write { db in
                try SeatService(entropy: SystemEntropy())
                    .activate(keyClaim, on: claim, replacing: nil, for: caller(mode), at: Self.noon, in: db)?.decision
            }
            try #require(decision?.value != nil)
        }
        return (issued.license.id, key)
    }

    func request(_ amounts: [(String, Int64)], key: String? = nil) throws -> MeterRequest {
        MeterRequest(
            try amounts.map { MeterAmount(try MeterName($0.0), $0.1) },
            key: try key.map { try office.claim($0) }
        )
    }

    func consume(
        _ amounts: [(String, Int64)] = [("run", 1)],
        by install: String = "install-one-of-tests",
        key: String? = nil,
        mode: Mode = .live,
        at now: Timestamp = MeterOffice.noon
    ) throws -> MeterOutcome {
        let request = try request(amounts, key: key)
        let claim = try office.install(install)
        return try office.write { db in
            let install = try InstallDirectory(entropy: SystemEntropy())
                .record(claim, of: caller(mode), at: now, in: db)
            return try MeterService.consume(request, by: install, for: caller(mode), at: now, in: db)
        }
    }

    func peek(
        _ amounts: [(String, Int64)] = [("run", 1)],
        by install: String = "install-one-of-tests",
        key: String? = nil,
        at now: Timestamp = MeterOffice.noon
    ) throws -> MeterOutcome {
        let request = try request(amounts, key: key)
        let claim = try office.install(install)
        return try office.read { db in
            let install = try InstallDirectory(entropy: SystemEntropy()).find(claim, of: caller(), in: db)
            return try MeterService.peek(request, by: install, for: caller(), at: now, in: db)
        }
    }

    func find(
        _ target: MeterTarget,
        _ name: String = "run",
        mode: Mode? = nil,
        at now: Timestamp = MeterOffice.noon
    ) throws -> MeterCount {
        try office.read { db in
            try counts.find(
                target,
                of: CatalogFinder.meter(MeterName(name), of: office.product, in: db),
                in: office.product,
                mode: mode,
                at: now,
                from: db
            )
        }
    }

    func refund(_ amount: Int64, of target: MeterTarget, at now: Timestamp = MeterOffice.noon) throws -> MeterCount {
        let count = try find(target, at: now)
        return try office.write { db in
            try counts.refund(amount, of: count, in: office.product, because: "test", by: office.actor(at: now), in: db)
        }
    }

    func reset(_ target: MeterTarget, at now: Timestamp = MeterOffice.noon) throws -> MeterCount {
        let count = try find(target, at: now)
        return try office.write { db in
            try counts.reset(count, of: office.product, because: "test", by: office.actor(at: now), in: db)
        }
    }

    /// What the bundle of an install says of its meters.
    func claims(_ install: String, at now: Timestamp = MeterOffice.noon) throws -> [MeterReport] {
        let claim = try office.install(install)
        return try office.read { db in
            let install = try #require(
                try InstallDirectory(entropy: SystemEntropy()).find(claim, of: caller(), in: db)
            )
            return try MeterService.reports(of: install, for: caller(), at: now, in: db)
        }
    }
}

extension MeterOutcome {
    /// The answer, where it is one.
    var answer: MeterAnswer? {
        if case .answered(let answer) = self { return answer }
        return nil
    }

    var isAllowed: Bool? { answer?.isAllowed }
    var used: [Int64]? { answer?.reports.map(\.used) }
    var limits: [MeterLimit]? { answer?.reports.map(\.limit) }
}
