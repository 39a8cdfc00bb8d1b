internal import AppStore
internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A connection to a store of a seed document.
struct SeedConnection: SeedNode {
    let pointer: JSONPointer
    let environment: StoreEnvironment?
    let bundleID: String?
    let changes: StoreConnectionChanges

    static let identifyingMember = "bundle_id"
    var identity: String? {
        guard let environment, let bundleID else { return nil }
        return "\(environment.rawValue) \(bundleID)"
    }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        if let store = reader.requiredText("store"), store != "apple" { reader.refuse("store", "must be apple") }
        environment = reader.word("environment", isRequired: true)
        bundleID = reader.read("bundle_id", isRequired: true) { (text) throws(ValueFault) in
            try CommonParameters.line(text, upTo: 255)
        }
        var changes = StoreConnectionChanges()
        changes.appAppleID = reader.integer("app_apple_id", in: 1 ... .max).map { .set($0) }
        changes.rootDigests = Self.roots(&reader)
        changes.allowsReview = reader.bool("review_access")
        changes.renewalLeeway = reader.read("renewal_leeway") { (text) throws(ValueFault) in
            try CalendarDuration(text)
        }
        changes.allowsXcode = reader.bool("allow_xcode")
        changes.isEnabled = reader.bool("enabled")
        changes.grandfather = Self.grandfather(&reader).map { .set($0) }
        changes.mappings = reader.nodes("products", as: SeedStoreProduct.self).compactMap(\.mapping)
        self.changes = changes
        reader.refuseUnknown(except: [
            "store", "environment", "bundle_id", "app_apple_id", "root_sha256", "review_access", "renewal_leeway",
            "allow_xcode", "enabled", "grandfather", "products",
        ])
    }

    private static func roots(_ reader: inout MemberReader) -> [Digest256]? {
        guard let elements = reader.elements("root_sha256") else { return nil }
        var digests: [Digest256] = []
        for (value, pointer) in elements {
            guard let digest = value.string.flatMap({ Digest256(hexadecimal: $0) }) else {
                reader.refuse(InvalidMember(pointer, "must be a SHA-256 of 64 hexadecimal digits"))
                continue
            }
            digests.append(digest)
        }
        return digests
    }

    private static func grandfather(_ reader: inout MemberReader) -> GrandfatherRule? {
        guard var members = reader.object("grandfather") else { return nil }
        let before = members.read("before") { (text) throws(ValueFault) in try Timestamp(text, as: .start) }
        let version = members.read("version_below") { (text) throws(ValueFault) in
            guard GrandfatherRule.isVersion(text) else { throw ValueFault("must be a version like 2.0") }
            return text
        }
        let features = members.featureCodes("features")
        if features == nil { members.refuse("features", "is required") }
        if (members.value("before") == nil) == (members.value("version_below") == nil) {
            members.refuse("before", "or version_below, one of the two, is required")
        }
        members.refuseUnknown(except: ["before", "version_below", "features"])
        reader.absorb(members)
        guard let features else { return nil }
        if let before { return GrandfatherRule(condition: .before(before), features: features) }
        return version.map { GrandfatherRule(condition: .versionBelow($0), features: features) }
    }
}

/// A product of a store in a seed document, and what it gives.
struct SeedStoreProduct: SeedNode {
    let mapping: StoreConnectionChanges.Mapping?

    static let identifyingMember = "id"
    var identity: String? { mapping?.id }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        let id = reader.read("id", isRequired: true) { (text) throws(ValueFault) in
            try CommonParameters.line(text, upTo: 255)
        }
        let features = reader.featureCodes("features")
        if features == nil { reader.refuse("features", "is required") }
        let duration = reader.read("duration") { (text) throws(ValueFault) in try CalendarDuration(text) }
        reader.refuseUnknown(except: ["id", "features", "duration"])
        mapping = id.map { .init(id: $0, features: features, duration: duration.map { .set($0) }) }
    }
}
