internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// A product of a seed document.
struct SeedProduct: SeedNode {
    let pointer: JSONPointer
    let slug: Slug?
    let changes: ProductChanges
    let features: [SeedFeature]
    let meters: [SeedMeter]
    let plans: [SeedPlan]
    let credentials: [SeedCredential]
    let licenses: [SeedLicense]
    let offers: [SeedOffer]
    let connections: [SeedConnection]
    let spendTiers: [SeedSpendTier]

    static let identifyingMember = "slug"
    var identity: String? { slug?.text }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        slug = reader.read("slug", isRequired: true) { (text) throws(ValueFault) in try Slug(text) }
        changes = ProductChanges(
            name: reader.read("name") { (text) throws(ValueFault) in try CatalogLimits.checkedName(text) },
            keyPrefix: reader.read("key_prefix") { (text) throws(ValueFault) in try KeyPrefix(text) },
            settings: Self.settings(&reader)
        )
        features = reader.nodes("features")
        meters = reader.nodes("meters")
        plans = reader.nodes("plans")
        credentials = reader.nodes("credentials")
        for credential in credentials where credential.kind == .unified {
            reader.refuse(
                InvalidMember(credential.pointer.appending("kind"), "ul belongs to a whole vendor: list it there")
            )
        }
        licenses = reader.nodes("licenses")
        offers = reader.nodes("offers")
        spendTiers = reader.nodes("spend_tiers")
        connections = reader.nodes("store_connections")
        reader.refuseUnknown(
            except: [
                "slug", "name", "key_prefix", "settings", "features", "meters", "plans", "credentials", "licenses",
                "offers", "store_connections", "spend_tiers",
            ]
        )
    }

    /// Settings as the texts that the command line takes: one reading for both.
    private static func settings(_ reader: inout MemberReader) -> [ProductSetting: String?] {
        guard var members = reader.object("settings") else { return [:] }
        var settings: [ProductSetting: String?] = [:]
        for setting in ProductSetting.allCases {
            guard let value = members.value(setting.rawValue), let text = text(setting, value, &members) else {
                continue
            }
            do throws(Refusal) {
                let changes = ProductChanges(settings: [setting: text])
                _ = try Product.probe.edited(by: changes)
                settings[setting] = text
            } catch {
                members.refuse(setting.rawValue, error.message)
            }
        }
        members.refuseUnknown(except: Set(ProductSetting.allCases.map(\.rawValue)))
        reader.absorb(members)
        return settings
    }

    private static func text(
        _ setting: ProductSetting,
        _ value: JSONValue,
        _ members: inout MemberReader
    ) -> String? {
        switch setting {
        case .freeTier, .keepLicenseKeys: return members.bool(setting.rawValue).map { $0 ? "true" : "false" }
        case .extra:
            guard value.kind == .object else {
                members.refuse(setting.rawValue, "must be a JSON object")
                return nil
            }
            return String(decoding: value.source, as: UTF8.self)
        case .trialDuration:
            if value.int64 == 0 { return "0" }
            return members.requiredText(setting.rawValue)
        case .trialPlan, .trialStart, .offlineLife, .refreshAfter, .minimumVersion:
            return members.requiredText(setting.rawValue)
        }
    }
}

extension Product {
    /// A product to try a change on.
    fileprivate static var probe: Product {
        guard let slug = try? Slug("probe") else { preconditionFailure("probe is a slug") }
        return Product(id: Product.ID(high: 0, low: 0), vendor: Vendor.ID(high: 0, low: 0), slug: slug, name: "probe")
    }
}

/// A feature of a seed document.
struct SeedFeature: SeedNode {
    let pointer: JSONPointer
    let code: FeatureCode?
    /// `nil`: its code, or what it is called already.
    let name: String?

    static let identifyingMember = "code"
    var identity: String? { code?.text }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        code = reader.read("code", isRequired: true) { (text) throws(ValueFault) in try FeatureCode(text) }
        name = reader.read("name") { (text) throws(ValueFault) in try CatalogLimits.checkedName(text) }
        reader.refuseUnknown(except: ["code", "name"])
    }
}
