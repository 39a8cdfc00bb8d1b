internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// The options that say something about a plan: the members of the seed document, `none` for what is to be unset.
enum PlanOptions {
    static let specifications = [
        CommonParameters.name.specification, features.specification, type.specification, duration.specification,
        seats.specification, seatPolicy.specification, overage.specification, idle.specification, lease.specification,
        grace.specification, basis.specification, offlineLife.specification, transferLimit.specification,
        transferPeriod.specification, selfRelease.specification, environment.specification, meters.specification,
    ]

    static func changes(_ call: Invocation) throws -> PlanChanges {
        var changes = PlanChanges()
        changes.name = try call.value(CommonParameters.name)
        changes.features = try call.value(features)
        changes.type = try call.value(type)
        changes.duration = try call.value(duration)
        changes.seatLimit = try call.value(seats)
        changes.seatPolicy = try call.value(seatPolicy)
        changes.overagePercent = try call.value(overage)
        changes.idleBeforeRelease = try call.value(idle)
        changes.leaseSeconds = try call.value(lease)
        changes.expiryGrace = try call.value(grace)
        changes.expiryBasis = try call.value(basis)
        changes.offlineLife = try call.value(offlineLife)
        changes.transferLimit = try call.value(transferLimit)
        changes.transferPeriod = try call.value(transferPeriod)
        changes.selfRelease = try call.value(selfRelease)
        changes.environment = try call.value(environment)
        changes.meters = try call.value(meters)
        return changes
    }

    private static let features = Parameter<[FeatureCode]>.option("features", "A,B", "what it gives: all of it") {
        (text) throws(ValueFault) in try CommonParameters.featureCodes(text)
    }
    private static let type = Parameter<EntitlementType>.option(
        "type",
        "trial|subscription|purchase",
        "what it sells (subscription with a duration, else purchase)"
    ) { (text) throws(ValueFault) in try CommonParameters.word(text) }
    private static let duration = changeable("duration", "D|none", "how long a license lasts, such as P1Y") {
        (text) throws(ValueFault) in try CalendarDuration(text).checkedAsPositive()
    }
    private static let seats = Parameter<SeatLimit>.option("seats", "N|unlimited", "how many installs at once") {
        (text) throws(ValueFault) in try SeatLimit(text)
    }
    private static let seatPolicy = Parameter<SeatPolicy>.option(
        "seat-policy",
        "deny|release_oldest|allow_overage",
        "what a full license does with one more (deny)"
    ) { (text) throws(ValueFault) in try CommonParameters.word(text) }
    private static let overage = Parameter<Int>.option(
        "overage-percent",
        "N",
        "how many percent allow_overage lets in beyond"
    ) { (text) throws(ValueFault) in Int(try number(text, in: 0...10_000)) }
    private static let idle = changeable(
        "idle-before-release",
        "D|none",
        "how long unseen before release_oldest (none: the offline life)"
    ) { (text) throws(ValueFault) in try CalendarDuration(text) }
    private static let lease = changeable("lease-seconds", "N|none", "floating: how long a seat lasts unrenewed") {
        (text) throws(ValueFault) in try number(text, in: 1...31_622_400)
    }
    private static let grace = Parameter<CalendarDuration>.option(
        "expiry-grace",
        "D",
        "how long after its end a license still counts"
    ) { (text) throws(ValueFault) in try CalendarDuration(text) }
    private static let basis = Parameter<ExpiryBasis>.option(
        "expiry-basis",
        "issue|first_activation",
        "where the duration is counted from"
    ) { (text) throws(ValueFault) in try CommonParameters.word(text) }
    private static let offlineLife = changeable(
        "offline-life",
        "D|none",
        "how long without contact, 1 hour to 10 years (none: the product's)"
    ) { (text) throws(ValueFault) in try CalendarDuration(text).checkedAsLicenseOfflineLife() }
    private static let transferLimit = changeable(
        "transfer-limit",
        "N|none",
        "new seats beyond the seat limit in a period"
    ) { (text) throws(ValueFault) in Int(try number(text, in: 0...1_000_000)) }
    private static let transferPeriod = changeable("transfer-period", "D|none", "that period (none: P30D)") {
        (text) throws(ValueFault) in try CalendarDuration(text).checkedAsPositive()
    }
    private static let selfRelease = Parameter<Bool>.option(
        "self-release",
        "true|false",
        "whether customers may release seats (true)"
    ) { (text) throws(ValueFault) in try CommonParameters.truth(text) }
    private static let environment = changeable(
        "environment",
        "JSON|none",
        "where its grants count: {\"hosts\":[…],\"spki\":[…],\"attributes\":{…}}"
    ) { (text) throws(ValueFault) in
        guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { throw ValueFault("must be JSON") }
        return try EnvironmentRule(document.root)
    }

    private static let meters = Parameter<[MeterName: MeterLimit]>.option(
        "meters",
        "A=N,B=unlimited",
        "meters whose limit it raises: all of them ('' for none)"
    ) { (text) throws(ValueFault) in
        var limits: [MeterName: MeterLimit] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: !text.contains(",")) {
            guard let sign = part.firstIndex(of: "=") else {
                throw ValueFault("must be like flow_run=100,export=unlimited")
            }
            let name = try MeterName(part[..<sign].filter { $0 != " " })
            guard limits[name] == nil else { throw ValueFault("must name a meter once") }
            limits[name] = try MeterLimit(part[part.index(after: sign)...].filter { $0 != " " })
        }
        return limits
    }

    private static func changeable<Value: Sendable>(
        _ name: String,
        _ placeholder: String,
        _ help: String,
        _ parse: @escaping @Sendable (String) throws(ValueFault) -> Value
    ) -> Parameter<Change<Value>> {
        .option(name, placeholder, help) { (text) throws(ValueFault) in
            text == "none" ? .unset : .set(try parse(text))
        }
    }

    private static func number(_ text: String, in range: ClosedRange<Int64>) throws(ValueFault) -> Int64 {
        guard let number = CommonParameters.integer(text, in: range) else {
            throw ValueFault("must be a whole number, \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
