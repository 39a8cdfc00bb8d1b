public import Cryptography
public import Licensing

/// The signed document that says what one install may do, offline: a JWS in compact form (RFC 7515) signed with ES256.
///
/// A value of this type has been verified; what a server is about to sign is only ``Claims``.
public struct LicenseBundle: Hashable, Sendable {
    /// The document as it came: what is stored, since nobody re-encodes what was signed.
    public let token: [UInt8]

    /// The key that signed it.
    public let keyID: KeyID

    /// What it says.
    public let claims: Claims

    /// Whether it carries the nonce of the request just made: its ``Claims/issuedAt`` is trusted time then, and it
    /// replaces the accepted pair and the clock's floor whatever they were.
    public let isFresh: Bool
}

extension LicenseBundle {
    /// What a bundle says, in the order in which it is written.
    public struct Claims: Hashable, Sendable {
        /// `ver` of the documents that this code writes and reads.
        public static let version: Int64 = 1

        /// `iss`: the vendor, `countersign:<slug>` or a configured URL.
        public var issuer: String
        /// `aud`: the product's slug.
        public var audience: String
        /// `sub`: see ``LicenseBundle/subject(product:install:)``.
        public var subject: String
        /// `iat`: when it was made.
        public var issuedAt: Timestamp
        /// `exp`: the latest ``Grant/until``; without grants the product's offline life after ``issuedAt``.
        public var expiresAt: Timestamp
        /// `seq`: the state's version in the snapshot that the facts were read from; an order, never a time; 0 to 2⁵³ − 1.
        public var sequence: Int64
        /// `mode`.
        public var mode: Mode
        /// `refresh_after`: when a client should ask again.
        public var refreshAfter: Timestamp
        /// `nonce`: the request's.
        public var nonce: String?
        /// `grants`: live ones, in the order of `Grant.listed`, at most `Grant.mostInBundle`.
        public var grants: [Grant]
        /// `licenses`: one for each that the install holds a seat of.
        public var licenses: [License]
        /// `trial`: absent while there is none and none is offered.
        public var trial: Trial?
        /// `meters`, as of ``issuedAt``.
        public var meters: [Meter]
        /// `settings`.
        public var settings: Settings

        /// Claims of exactly these members; ``init(_:)`` is what follows the rules.
        public init(
            issuer: String,
            audience: String,
            subject: String,
            issuedAt: Timestamp,
            expiresAt: Timestamp,
            sequence: Int64,
            mode: Mode,
            refreshAfter: Timestamp,
            nonce: String? = nil,
            grants: [Grant] = [],
            licenses: [License] = [],
            trial: Trial? = nil,
            meters: [Meter] = [],
            settings: Settings
        ) {
            self.issuer = issuer
            self.audience = audience
            self.subject = subject
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
            self.sequence = sequence
            self.mode = mode
            self.refreshAfter = refreshAfter
            self.nonce = nonce
            self.grants = grants
            self.licenses = licenses
            self.trial = trial
            self.meters = meters
            self.settings = settings
        }
    }

    /// One reason why the install has a feature; counts while ``starts`` <= now < ``until``.
    public struct Grant: Hashable, Sendable {
        /// What it gives.
        public var feature: FeatureCode
        /// Where it comes from.
        public var source: GrantSource
        /// The first second of the right.
        public var starts: Timestamp
        /// When the right ends, of a license with its grace; `nil` for no end.
        public var ends: Timestamp?
        /// When this proof of it ends: never after ``ends``.
        public var until: Timestamp
        /// `ref`: what it rests on, `pur_…`, `lic_…`, `gft_…` or `trl_…`.
        public var reference: String
        /// `env`: where it counts, `nil` for everywhere.
        public var environment: EnvironmentRule?

        /// A grant of these members.
        public init(
            feature: FeatureCode,
            source: GrantSource,
            starts: Timestamp,
            ends: Timestamp?,
            until: Timestamp,
            reference: String,
            environment: EnvironmentRule? = nil
        ) {
            self.feature = feature
            self.source = source
            self.starts = starts
            self.ends = ends
            self.until = until
            self.reference = reference
            self.environment = environment
        }
    }

    /// A license that the install holds a seat of.
    public struct License: Hashable, Sendable {
        /// Which one.
        public var id: Licensing.License.ID
        /// Its plan.
        public var plan: PlanCode
        /// What it was when the bundle was made.
        public var status: LicenseStatus
        /// The first second of the right.
        public var starts: Timestamp
        /// When the right ends, its grace included; `nil` for no end.
        public var ends: Timestamp?
        /// Until when new versions are included, to compare with the app's build date.
        public var maintenanceUntil: Timestamp?
        /// The seat.
        public var activation: Activation.ID

        /// A license of these members.
        public init(
            id: Licensing.License.ID,
            plan: PlanCode,
            status: LicenseStatus,
            starts: Timestamp,
            ends: Timestamp?,
            maintenanceUntil: Timestamp?,
            activation: Activation.ID
        ) {
            self.id = id
            self.plan = plan
            self.status = status
            self.starts = starts
            self.ends = ends
            self.maintenanceUntil = maintenanceUntil
            self.activation = activation
        }
    }

    /// The install's trial.
    public struct Trial: Hashable, Sendable {
        /// What a trial can be.
        public enum State: String, Hashable, Sendable, CaseIterable {
            /// It runs.
            case active
            /// It is over.
            case expired
            /// It may be started.
            case available
            /// There is none to have.
            case unavailable
        }

        /// What it is.
        public var state: State
        /// Its first second; `nil` while available.
        public var starts: Timestamp?
        /// Its end; `nil` while available.
        public var ends: Timestamp?

        /// A trial of these members.
        public init(state: State, starts: Timestamp? = nil, ends: Timestamp? = nil) {
            self.state = state
            self.starts = starts
            self.ends = ends
        }
    }

    /// What has been used of one meter.
    public struct Meter: Hashable, Sendable {
        /// Which one.
        public var meter: MeterName
        /// How much of it in the running period.
        public var used: Int64
        /// How much there is, `nil` for no limit.
        public var limit: Int64?
        /// When counting begins anew, `nil` for never or not yet known.
        public var resets: Timestamp?

        /// A meter of these members.
        public init(meter: MeterName, used: Int64, limit: Int64?, resets: Timestamp?) {
            self.meter = meter
            self.used = used
            self.limit = limit
            self.resets = resets
        }
    }

    /// The product's settings as the vendor signs them.
    public struct Settings: Hashable, Sendable {
        /// The length of a trial; 0 turns trials off, `nil` was never configured.
        public var trialSeconds: Int64?
        /// Whether an install without grants is limited instead of unlicensed.
        public var freeTier: Bool
        /// The oldest version that should still run.
        public var minimumVersion: String?
        /// The product's time without contact.
        public var offlineSeconds: Int64
        /// The vendor's own JSON object, as text, at most 2 KiB; whoever sets it has checked that it is one.
        public var extra: String?

        /// Settings of these members.
        public init(
            trialSeconds: Int64?,
            freeTier: Bool,
            minimumVersion: String?,
            offlineSeconds: Int64,
            extra: String?
        ) {
            self.trialSeconds = trialSeconds
            self.freeTier = freeTier
            self.minimumVersion = minimumVersion
            self.offlineSeconds = offlineSeconds
            self.extra = extra
        }

        /// A product's settings, calendar durations counted from `now`.
        public init(_ settings: ProductSettings, at now: Timestamp) {
            self.init(
                trialSeconds: settings.trialDuration.map { now.adding($0).seconds(since: now) },
                freeTier: settings.freeTier,
                minimumVersion: settings.minimumVersion,
                offlineSeconds: now.adding(settings.offlineLife).seconds(since: now),
                extra: settings.extra
            )
        }
    }
}

extension LicenseBundle {
    /// `sub` of an install's bundles: base64url of SHA-256(`countersign-install-v1` ‖ 0 ‖ slug ‖ 0 ‖ folded id).
    ///
    /// The id is a secret and never in a bundle; only who has it can tell that the bundle is for this install.
    public static func subject(product: Slug, install: InstallID) -> String {
        var input: [UInt8] = []
        input.reserveCapacity(128)
        input.append(contentsOf: "countersign-install-v1\0".utf8)
        input.append(contentsOf: product.text.utf8)
        input.append(0)
        input.append(contentsOf: install.folded.utf8)
        return Base64URL.string(SHA256.digest(of: input))
    }
}
