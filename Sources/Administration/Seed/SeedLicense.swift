internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A license of a seed document, recognized by its order id, or by an imported key.
struct SeedLicense: SeedNode {
    let pointer: JSONPointer
    /// `nil` where a member could not be read.
    let order: LicenseOrder?

    static let identifyingMember = "order_id"
    var identity: String? { order?.orderID.map { "\(order?.mode.rawValue ?? "") \($0)" } }

    private static let members: Set<String> = [
        "order_id", "plan", "customer", "mode", "seat_limit", "seat_policy", "expires_at", "duration", "starts_at",
        "maintenance_until", "offline_life", "environment", "key",
    ]

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        let plan = reader.read("plan", isRequired: true) { (text) throws(ValueFault) in try PlanCode(text) }
        let orderID = reader.read("order_id") { (text) throws(ValueFault) in try LicenseForms.orderID(text) }
        let key = reader.text("key", maximum: LicenseKey.longest)
        if reader.value("order_id") == nil, reader.value("key") == nil {
            reader.refuse("order_id", "is required, so that a second run finds the license (or an imported key)")
        }
        let customer = Self.customer(&reader)
        let end = Self.end(&reader)
        let (seats, policy): (SeatLimit?, SeatPolicy?) = (reader.seatLimit("seat_limit"), reader.word("seat_policy"))
        let starts = reader.read("starts_at") { (text) throws(ValueFault) in try LicenseForms.start(text) }
        let maintenance = reader.read("maintenance_until") { (text) throws(ValueFault) in
            try LicenseForms.maintenance(text)
        }
        let offlineLife = reader.read("offline_life") { (text) throws(ValueFault) in
            try CalendarDuration(text).checkedAsLicenseOfflineLife()
        }
        let environment = reader.environment("environment")
        let mode: Mode = reader.word("mode") ?? .live
        reader.refuseUnknown(except: Self.members)
        order = plan.map { plan in
            LicenseOrder(
                plan: plan,
                mode: mode,
                orderID: orderID,
                seatLimit: seats,
                seatPolicy: policy,
                end: end,
                startsAt: starts,
                maintenanceUntil: maintenance?.value,
                offlineLife: offlineLife,
                environment: environment,
                customerName: customer.name,
                customerEmail: customer.email,
                importedKey: key
            )
        }
    }

    private static func customer(_ reader: inout MemberReader) -> (name: String?, email: EmailAddress?) {
        guard var members = reader.object("customer") else { return (nil, nil) }
        let name = members.read("name") { (text) throws(ValueFault) in try LicenseForms.name(text) }
        let email = members.read("email") { (text) throws(ValueFault) in try EmailAddress(text) }
        members.refuseUnknown(except: ["name", "email"])
        reader.absorb(members)
        return (name, email)
    }

    private static func end(_ reader: inout MemberReader) -> EndChoice {
        let end = reader.read("expires_at") { (text) throws(ValueFault) in try LicenseForms.end(text) }
        let duration = reader.read("duration") { (text) throws(ValueFault) in try LicenseForms.duration(text) }
        if end != nil, duration != nil { reader.refuse("duration", "excludes expires_at") }
        return end ?? duration.map { .duration($0) } ?? .plan
    }
}
