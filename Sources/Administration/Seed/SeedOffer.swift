internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// An offer of a seed document; what it leaves out of one that is there stays as it is.
struct SeedOffer: SeedNode {
    let pointer: JSONPointer
    let id: OfferName?
    let changes: OfferChanges

    static let identifyingMember = "id"
    var identity: String? { id?.text }

    private static let members: Set<String> = [
        "id", "plan", "kind", "price_milliunits", "currency", "store_product_id", "trial_duration", "url", "from",
        "until",
    ]

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        id = reader.read("id", isRequired: true) { (text) throws(ValueFault) in try OfferName(text) }
        var changes = OfferChanges(kind: reader.word("kind", isRequired: true))
        changes.plan = reader.read("plan") { (text) throws(ValueFault) in try PlanCode(text) }.map { .set($0) }
        changes.priceMilliunits = reader.integer("price_milliunits", in: 0 ... .max).map { .set($0) }
        changes.currency = reader.text("currency").map { .set($0) }
        changes.storeProductID = reader.text("store_product_id").map { .set($0) }
        changes.trialDuration = reader.read("trial_duration") { (text) throws(ValueFault) in
            try CalendarDuration(text)
        }.map { .set($0) }
        changes.url = reader.text("url").map { .set($0) }
        changes.from = reader.read("from") { (text) throws(ValueFault) in try Timestamp(text, as: .start) }
            .map { .set($0) }
        changes.until = reader.read("until") { (text) throws(ValueFault) in try Timestamp(text, as: .end) }
            .map { .set($0) }
        self.changes = changes
        reader.refuseUnknown(except: Self.members)
    }
}
