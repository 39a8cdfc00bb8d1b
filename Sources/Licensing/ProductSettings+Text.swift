/// A setting of a product by the name that the command line and the seed document use.
public enum ProductSetting: String, Hashable, Sendable, CaseIterable {
    /// A duration; zero turns trials off, unset means never configured.
    case trialDuration = "trial_duration"
    /// A plan's code.
    case trialPlan = "trial_plan"
    /// `first_contact` or `explicit`.
    case trialStart = "trial_start"
    /// A duration, 1 hour to 366 days.
    case offlineLife = "offline_life"
    /// A duration.
    case refreshAfter = "refresh_after"
    /// `true` or `false`.
    case freeTier = "free_tier"
    /// `true` or `false`.
    case keepLicenseKeys = "keep_license_keys"
    /// Free text, at most 64 bytes.
    case minimumVersion = "minimum_version"
    /// A JSON object, at most 2 KiB.
    case extra
}

extension ProductSettings {
    /// Sets one member from its text, or unsets it: then its default counts.
    ///
    /// `0` is taken for `trial_duration` besides `P0D` and `PT0S`. That `extra` is a JSON object is the caller's to check,
    /// as is that the trial's plan exists.
    ///
    /// - Parameters:
    ///   - setting: Which.
    ///   - text: Its value; `nil` or empty unsets it.
    /// - Throws: `ValueFault` where the text is not such a value.
    public mutating func set(_ setting: ProductSetting, to text: String?) throws(ValueFault) {
        let text = text.flatMap { $0.isEmpty ? nil : $0 }
        switch setting {
        case .trialDuration: trialDuration = try Self.trialDuration(text)
        case .trialPlan: trialPlan = try Self.parsed(text) { (text) throws(ValueFault) in try PlanCode(text) }
        case .trialStart:
            guard let start = text.map({ TrialStart(rawValue: $0) }) ?? .firstContact else {
                throw ValueFault("must be first_contact or explicit")
            }
            trialStart = start
        case .offlineLife:
            let life = try Self.parsed(text) { (text) throws(ValueFault) in
                try CalendarDuration(text).checkedAsProductOfflineLife()
            }
            offlineLife = life ?? Self.standardOfflineLife
        case .refreshAfter:
            let after = try Self.parsed(text) { (text) throws(ValueFault) in
                try CalendarDuration(text).checkedAsPositive()
            }
            refreshAfter = after ?? Self.standardRefreshAfter
        case .freeTier: freeTier = try Self.flag(text, standard: false)
        case .keepLicenseKeys: keepLicenseKeys = try Self.flag(text, standard: true)
        case .minimumVersion:
            guard (text?.utf8.count ?? 0) <= 64 else { throw ValueFault("must be at most 64 bytes long") }
            guard text?.unicodeScalars.allSatisfy(\.properties.isWhitespace) != true else {
                throw ValueFault("must not be blank")
            }
            minimumVersion = text
        case .extra:
            guard (text?.utf8.count ?? 0) <= Self.longestExtra else {
                throw ValueFault("must be at most 2048 bytes long")
            }
            extra = text
        }
    }

    /// The text of a member that is not at its default, or `nil`: what `set` reads back.
    public func text(of setting: ProductSetting) -> String? {
        let standard = ProductSettings()
        switch setting {
        case .trialDuration: return trialDuration?.iso8601
        case .trialPlan: return trialPlan?.text
        case .trialStart: return trialStart == standard.trialStart ? nil : trialStart.rawValue
        case .offlineLife: return offlineLife == standard.offlineLife ? nil : offlineLife.iso8601
        case .refreshAfter: return refreshAfter == standard.refreshAfter ? nil : refreshAfter.iso8601
        case .freeTier: return freeTier == standard.freeTier ? nil : "\(freeTier)"
        case .keepLicenseKeys: return keepLicenseKeys == standard.keepLicenseKeys ? nil : "\(keepLicenseKeys)"
        case .minimumVersion: return minimumVersion
        case .extra: return extra
        }
    }

    private static func trialDuration(_ text: String?) throws(ValueFault) -> CalendarDuration? {
        guard let text else { return nil }
        return text == "0" ? .zero : try CalendarDuration(text)
    }

    private static func parsed<Value>(
        _ text: String?,
        as parse: (String) throws(ValueFault) -> Value
    ) throws(ValueFault) -> Value? {
        guard let text else { return nil }
        return try parse(text)
    }

    private static func flag(_ text: String?, standard: Bool) throws(ValueFault) -> Bool {
        switch text {
        case nil: return standard
        case "true": return true
        case "false": return false
        default: throw ValueFault("must be true or false")
        }
    }
}
