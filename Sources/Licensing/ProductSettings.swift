/// When a trial's clock starts.
public enum TrialStart: String, Hashable, Sendable, CaseIterable {
    /// At the install's first authenticated call, whatever it answers.
    case firstContact = "first_contact"
    /// When a client asks for it.
    case explicit
}

/// How a product behaves; each member may be unset, and then the default named here counts.
public struct ProductSettings: Hashable, Sendable {
    /// How long a trial lasts. `nil`: never configured; zero: trials are off. Different answers, see `TrialOffer`.
    public var trialDuration: CalendarDuration?
    /// The plan whose features a trial gives.
    public var trialPlan: PlanCode?
    /// When a trial's clock starts.
    public var trialStart: TrialStart
    /// How long a bundle proves anything without contact, where neither license nor plan says otherwise.
    public var offlineLife: CalendarDuration
    /// When a client should ask again, counted from a bundle's making.
    public var refreshAfter: CalendarDuration
    /// An install without grants is limited instead of unlicensed; adds no grant.
    public var freeTier: Bool
    /// Whether a license key is kept sealed, so that it can be sent again.
    public var keepLicenseKeys: Bool
    /// The oldest version of the app that should still run, for the client to judge.
    public var minimumVersion: String?
    /// The vendor's own JSON object for its client, as text; at most `longestExtra` bytes.
    public var extra: String?

    /// Seven days.
    public static let standardOfflineLife = CalendarDuration(days: 7)
    /// One day.
    public static let standardRefreshAfter = CalendarDuration(days: 1)
    /// The most bytes of `extra`.
    public static let longestExtra = 2048

    /// Settings of these members; the defaults are those of a new product.
    public init(
        trialDuration: CalendarDuration? = nil,
        trialPlan: PlanCode? = nil,
        trialStart: TrialStart = .firstContact,
        offlineLife: CalendarDuration = ProductSettings.standardOfflineLife,
        refreshAfter: CalendarDuration = ProductSettings.standardRefreshAfter,
        freeTier: Bool = false,
        keepLicenseKeys: Bool = true,
        minimumVersion: String? = nil,
        extra: String? = nil
    ) {
        self.trialDuration = trialDuration
        self.trialPlan = trialPlan
        self.trialStart = trialStart
        self.offlineLife = offlineLife
        self.refreshAfter = refreshAfter
        self.freeTier = freeTier
        self.keepLicenseKeys = keepLicenseKeys
        self.minimumVersion = minimumVersion
        self.extra = extra
    }
}
