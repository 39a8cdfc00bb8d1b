import Licensing
import LicensingServices
import Testing

// What specifications mean to the product.

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
