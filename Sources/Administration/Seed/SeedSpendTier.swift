internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A spend tier of a seed document.
struct SeedSpendTier: SeedNode {
    let pointer: JSONPointer
    let code: PlanCode?
    let changes: SpendTierChanges

    static let identifyingMember = "code"
    var identity: String? { code?.text }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        code = reader.read("code", isRequired: true) { (text) throws(ValueFault) in try PlanCode(text) }
        changes = SpendTierChanges(
            currency: reader.text("currency"),
            thresholdMilliunits: reader.integer("threshold_milliunits", in: 1...SpendTier.highestThreshold),
            features: reader.featureCodes("features"),
            duration: reader.read("duration") { (text) throws(ValueFault) in
                try CalendarDuration(text).checkedAsPositive()
            }.map { .set($0) }
        )
        reader.refuseUnknown(except: ["code", "currency", "threshold_milliunits", "features", "duration"])
    }
}
