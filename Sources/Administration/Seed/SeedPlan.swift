internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A plan of a seed document.
struct SeedPlan: SeedNode {
    let pointer: JSONPointer
    let code: PlanCode?
    let changes: PlanChanges

    static let identifyingMember = "code"
    var identity: String? { code?.text }

    private static let members: Set<String> = [
        "code", "name", "features", "type", "duration", "seat_limit", "seat_policy", "overage_percent",
        "idle_before_release", "lease_seconds", "expiry_grace", "expiry_basis", "offline_life", "transfer_limit",
        "transfer_period", "self_release", "environment", "meters",
    ]

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        code = reader.read("code", isRequired: true) { (text) throws(ValueFault) in try PlanCode(text) }
        var changes = PlanChanges()
        changes.name = reader.read("name") { (text) throws(ValueFault) in try CatalogLimits.checkedName(text) }
        changes.features = reader.featureCodes("features")
        changes.type = reader.word("type")
        changes.duration = reader.read("duration") { (text) throws(ValueFault) in
            try CalendarDuration(text).checkedAsPositive()
        }.map { .set($0) }
        changes.seatLimit = reader.seatLimit("seat_limit")
        changes.seatPolicy = reader.word("seat_policy")
        changes.overagePercent = reader.integer("overage_percent", in: 0...10_000).map { Int($0) }
        changes.idleBeforeRelease = Self.duration("idle_before_release", &reader).map { .set($0) }
        changes.leaseSeconds = reader.integer("lease_seconds", in: 1...31_622_400).map { .set($0) }
        changes.expiryGrace = Self.duration("expiry_grace", &reader)
        changes.expiryBasis = reader.word("expiry_basis")
        changes.offlineLife = reader.read("offline_life") { (text) throws(ValueFault) in
            try CalendarDuration(text).checkedAsLicenseOfflineLife()
        }.map { .set($0) }
        changes.transferLimit = reader.integer("transfer_limit", in: 0...1_000_000).map { .set(Int($0)) }
        changes.transferPeriod = reader.read("transfer_period") { (text) throws(ValueFault) in
            try CalendarDuration(text).checkedAsPositive()
        }.map { .set($0) }
        changes.selfRelease = reader.bool("self_release")
        changes.environment = reader.environment("environment").map { .set($0) }
        changes.meters = reader.meterLimits("meters")
        self.changes = changes
        reader.refuseUnknown(except: Self.members)
    }

    private static func duration(_ name: String, _ reader: inout MemberReader) -> CalendarDuration? {
        reader.read(name) { (text) throws(ValueFault) in try CalendarDuration(text) }
    }
}
