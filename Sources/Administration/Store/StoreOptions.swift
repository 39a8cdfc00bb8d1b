internal import AppStore
internal import Licensing
internal import LicensingServices

/// Parameters of `admin store …`.
enum StoreOptions {
    static let store = Parameter<String>.option("store", "apple", "which store", isRequired: true) {
        (text) throws(ValueFault) in
        guard text == "apple" else { throw ValueFault("must be apple") }
        return text
    }

    static let environment = Parameter<StoreEnvironment>.option(
        "environment",
        "Production|Sandbox|Xcode",
        "where purchases are made",
        isRequired: true
    ) { (text) throws(ValueFault) in try CommonParameters.word(text) }

    static let bundleID = Parameter<String>.option("bundle-id", "ID", "the app's bundle identifier", isRequired: true) {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 255)
    }

    static let connection = Parameter<StoreConnectionID>.argument("CONNECTION", "its id, con_…") {
        (text) throws(ValueFault) in try CommonParameters.identifier(text)
    }

    static let connectionFilter = Parameter<StoreConnectionID>.option("connection", "ID", "those of a connection") {
        (text) throws(ValueFault) in try CommonParameters.identifier(text)
    }

    static let name = Parameter<String>.argument("NAME", "con_…, pur_… or an original transaction of the store") {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 255)
    }

    // MARK: Settings

    static let settings = [
        appAppleID.specification, root.specification, map.specification, duration.specification,
        reviewAccess.specification, renewalLeeway.specification, allowXcode.specification,
        grandfatherBefore.specification, grandfatherVersion.specification, grandfatherFeatures.specification,
        enabled.specification,
    ]

    static let unmap = Parameter<String>.option("unmap", "PRODUCT", "takes one out of the map", isRepeatable: true) {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 255)
    }

    static let noGrandfather = Parameter.flag("no-grandfather", "who bought the app keeps nothing by that")

    private static let appAppleID = Parameter<Change<Int64>>.option(
        "app-apple-id",
        "N|none",
        "the app's number in the App Store, compared in production notifications"
    ) { (text) throws(ValueFault) in
        if text == "none" { return .unset }
        guard let number = CommonParameters.integer(text, in: 1...Int64.max) else {
            throw ValueFault("must be a number or none")
        }
        return .set(number)
    }

    private static let root = Parameter<Digest256>.option(
        "root-sha256",
        "HEX",
        "a root certificate to trust beside Apple's, for tests",
        isRepeatable: true
    ) { (text) throws(ValueFault) in
        guard let digest = Digest256(hexadecimal: text) else { throw ValueFault("must be 64 hexadecimal digits") }
        return digest
    }

    private static let map = Parameter<StoreConnectionChanges.Mapping>.option(
        "map",
        "PRODUCT=FEATURE,…",
        "what a product of the store gives",
        isRepeatable: true
    ) { (text) throws(ValueFault) in
        let (id, features) = try pair(text, "PRODUCT=FEATURE,…")
        return StoreConnectionChanges.Mapping(id: id, features: try CommonParameters.featureCodes(features))
    }

    private static let duration = Parameter<StoreConnectionChanges.Mapping>.option(
        "duration",
        "PRODUCT=D|none",
        "how long a non-renewing subscription lasts, like com.acme.season=P3M",
        isRepeatable: true
    ) { (text) throws(ValueFault) in
        let (id, duration) = try pair(text, "PRODUCT=DURATION")
        return StoreConnectionChanges.Mapping(
            id: id,
            features: nil,
            duration: duration == "none" ? .unset : .set(try CalendarDuration(duration))
        )
    }

    private static let reviewAccess = Parameter<Bool>.option(
        "review-access",
        "true|false",
        "whether sandbox purchases give something to live apps, for App Review (true); false ends what they give, too"
    ) { (text) throws(ValueFault) in try CommonParameters.truth(text) }

    private static let renewalLeeway = Parameter<CalendarDuration>.option(
        "renewal-leeway",
        "D",
        "how late a renewal may reach us (PT2H)"
    ) { (text) throws(ValueFault) in try CalendarDuration(text) }

    private static let allowXcode = Parameter<Bool>.option(
        "allow-xcode",
        "true|false",
        "whether unsigned purchases of StoreKit Testing are taken, in test mode (false)"
    ) { (text) throws(ValueFault) in try CommonParameters.truth(text) }

    private static let grandfatherBefore = Parameter<Timestamp>.option(
        "grandfather-before",
        "T",
        "who bought the app before keeps features"
    ) { (text) throws(ValueFault) in try Timestamp(text, as: .start) }

    private static let grandfatherVersion = Parameter<String>.option(
        "grandfather-version-below",
        "V",
        "who bought the app in an earlier version keeps features"
    ) { (text) throws(ValueFault) in
        guard GrandfatherRule.isVersion(text) else { throw ValueFault("must be a version like 2.0") }
        return text
    }

    private static let grandfatherFeatures = Parameter<[FeatureCode]>.option(
        "grandfather-features",
        "FEATURE,…",
        "what they keep"
    ) { (text) throws(ValueFault) in try CommonParameters.featureCodes(text) }

    private static let enabled = Parameter<Bool>.option(
        "enabled",
        "true|false",
        "whether it takes anything new; what was bought stays (true)"
    ) { (text) throws(ValueFault) in try CommonParameters.truth(text) }

    private static func pair(_ text: String, _ form: String) throws(ValueFault) -> (name: String, value: String) {
        guard let sign = text.lastIndex(of: "="), sign != text.startIndex else { throw ValueFault("must be \(form)") }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }

    /// The changes that a call's options say.
    static func changes(in call: Invocation) throws(CommandFailure) -> StoreConnectionChanges {
        var changes = StoreConnectionChanges()
        changes.appAppleID = try call.value(appAppleID)
        let roots = try call.values(root)
        if !roots.isEmpty { changes.rootDigests = roots }
        changes.mappings = try call.values(map) + call.values(duration)
        changes.allowsReview = try call.value(reviewAccess)
        changes.renewalLeeway = try call.value(renewalLeeway)
        changes.allowsXcode = try call.value(allowXcode)
        changes.isEnabled = try call.value(enabled)
        let before = try call.value(grandfatherBefore)
        let version = try call.value(grandfatherVersion)
        let features = try call.value(grandfatherFeatures)
        switch (before, version, features) {
        case (nil, nil, nil): break
        case (let before?, nil, let features?):
            changes.grandfather = .set(GrandfatherRule(condition: .before(before), features: features))
        case (nil, let version?, let features?):
            changes.grandfather = .set(GrandfatherRule(condition: .versionBelow(version), features: features))
        default:
            throw .usage(
                "--grandfather-features goes with one of --grandfather-before and --grandfather-version-below",
                option: "--grandfather-features"
            )
        }
        return changes
    }
}
