/// Why a seat is no longer held.
public enum ReleaseReason: String, Hashable, Sendable, CaseIterable {
    /// The install gave it back.
    case deactivated
    /// Another install of the customer took its place by `replace`.
    case replaced
    /// It was idle and the license full: `release_oldest`.
    case idle
    /// Its floating lease ended.
    case leaseEnded = "lease_ended"
    /// An administrator released it.
    case administrator
    /// The license was reissued with `--revoke-seats`.
    case reissued
}

/// The record that an install holds a seat of a license; its id never changes while the seat is held.
public struct Activation: Hashable, Sendable, IdentifiedEntity {
    /// `act_`
    public static let identifierPrefix = "act_"

    /// Names the seat while it is held, across reinstalls.
    public var id: Identifier<Activation>
    /// Of which license.
    public var license: Identifier<License>
    /// Who holds it.
    public var install: Identifier<Install>
    /// The holder's fingerprint, where one is known.
    public var fingerprint: Digest256?
    /// What the holder last told about itself.
    public var device: DeviceInfo
    /// When the seat was taken.
    public var activatedAt: Timestamp
    /// When the holder was last heard of; may lag by a few seconds.
    public var lastSeenAt: Timestamp
    /// When the floating lease was last renewed, or `nil` where the plan had no lease then.
    public var leaseRenewedAt: Timestamp?
    /// When the floating lease ends by the plan as it was at that renewal; see `leaseEnd(leaseSeconds:)`.
    public var leaseExpiresAt: Timestamp?
    /// When the seat was last taken over by a reinstall, the newest times, oldest first, at most `mostTakeovers` needed.
    public var takeovers: [Timestamp]
    /// When it was released, or `nil` while it is held.
    public var releasedAt: Timestamp?
    /// Why.
    public var releaseReason: ReleaseReason?

    /// How often a reinstall may take one seat over in `takeoverPeriod`.
    public static let mostTakeovers = 3
    /// 30 days.
    public static let takeoverPeriod = CalendarDuration(days: 30)

    /// An activation of these members.
    public init(
        id: Identifier<Activation>,
        license: Identifier<License>,
        install: Identifier<Install>,
        fingerprint: Digest256? = nil,
        device: DeviceInfo = .none,
        activatedAt: Timestamp,
        lastSeenAt: Timestamp,
        leaseRenewedAt: Timestamp? = nil,
        leaseExpiresAt: Timestamp? = nil,
        takeovers: [Timestamp] = [],
        releasedAt: Timestamp? = nil,
        releaseReason: ReleaseReason? = nil
    ) {
        self.id = id
        self.license = license
        self.install = install
        self.fingerprint = fingerprint
        self.device = device
        self.activatedAt = activatedAt
        self.lastSeenAt = lastSeenAt
        self.leaseRenewedAt = leaseRenewedAt
        self.leaseExpiresAt = leaseExpiresAt
        self.takeovers = takeovers
        self.releasedAt = releasedAt
        self.releaseReason = releaseReason
    }
}
