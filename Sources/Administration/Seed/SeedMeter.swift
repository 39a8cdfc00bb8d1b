internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A meter of a seed document.
struct SeedMeter: SeedNode {
    let pointer: JSONPointer
    let name: MeterName?
    let changes: MeterChanges

    static let identifyingMember = "name"
    var identity: String? { name?.text }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        name = reader.read("name", isRequired: true) { (text) throws(ValueFault) in try MeterName(text) }
        changes = MeterChanges(
            limit: reader.meterLimit("limit"),
            period: reader.read("period") { (text) throws(ValueFault) in try MeterPeriod(text) },
            scope: reader.word("scope")
        )
        reader.refuseUnknown(except: ["name", "limit", "period", "scope"])
    }
}

extension MemberReader {
    /// A whole number from 0 on, or `unlimited`.
    mutating func meterLimit(_ name: String) -> MeterLimit? {
        guard let value = value(name) else { return nil }
        if value.isString("unlimited") { return .unlimited }
        guard let number = value.int64, number >= 0 else {
            refuse(name, "must be a whole number from 0 on, or \"unlimited\"")
            return nil
        }
        return .limited(number)
    }

    /// A plan's `meters`: names with limits.
    mutating func meterLimits(_ name: String) -> [MeterName: MeterLimit]? {
        guard var object = object(name) else { return nil }
        var limits: [MeterName: MeterLimit] = [:]
        for member in object.names {
            do throws(ValueFault) {
                // A limit of null is left out, as everywhere.
                let meter = try MeterName(member)
                if let limit = object.meterLimit(member) { limits[meter] = limit }
            } catch {
                object.refuse(member, error.reason)
            }
        }
        absorb(object)
        return limits
    }
}
