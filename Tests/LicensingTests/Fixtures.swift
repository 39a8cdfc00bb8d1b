import Licensing

/// Bytes that a test chose, over and over.
struct FixedEntropy: Entropy {
    var pattern: [UInt8]

    func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { pattern[$0 % pattern.count] }
    }
}

/// Bytes of a simple generator: many different ones, the same in each run.
final class CountingEntropy: Entropy {
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    func bytes(_ count: Int) -> [UInt8] {
        var state = seed
        return (0..<count).map { _ in
            // Knuth's MMIX generator; its upper bits are good enough for tests.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }
}

extension Identifier {
    static func number(_ number: UInt64) -> Self { Self(high: 1, low: number) }
}

extension Digest256 {
    static func number(_ number: UInt8) -> Digest256? { Digest256(bytes: [UInt8](repeating: number, count: 32)) }
}

extension Timestamp {
    /// 2027-01-15T08:00:00Z, a moment that means nothing.
    static let noon = Timestamp(secondsSinceEpoch: 1_800_000_000)

    static func at(_ text: String) throws -> Timestamp { try Timestamp(text, as: .instant) }

    func adding(days: Int64) -> Timestamp { adding(seconds: days * 86_400) }
}

func feature(_ code: String) throws -> FeatureCode { try FeatureCode(code) }

extension Plan {
    static func fixture(
        features: [String] = ["pro"],
        duration: CalendarDuration? = nil,
        seatLimit: SeatLimit = .limited(2),
        seatPolicy: SeatPolicy = .deny,
        overagePercent: Int = 0,
        idleBeforeRelease: CalendarDuration? = nil,
        leaseSeconds: Int64? = nil,
        expiryGrace: CalendarDuration = .zero,
        expiryBasis: ExpiryBasis = .issue,
        offlineLife: CalendarDuration? = nil,
        transferLimit: Int? = nil,
        transferPeriod: CalendarDuration? = nil,
        selfRelease: Bool = true,
        environment: EnvironmentRule? = nil,
        meters: [MeterName: MeterLimit] = [:]
    ) throws -> Plan {
        Plan(
            id: .number(1),
            product: .number(1),
            code: try PlanCode("pro"),
            name: "Pro",
            features: try features.map { try feature($0) },
            duration: duration,
            seatLimit: seatLimit,
            seatPolicy: seatPolicy,
            overagePercent: overagePercent,
            idleBeforeRelease: idleBeforeRelease,
            leaseSeconds: leaseSeconds,
            expiryGrace: expiryGrace,
            expiryBasis: expiryBasis,
            offlineLife: offlineLife,
            transferLimit: transferLimit,
            transferPeriod: transferPeriod,
            selfRelease: selfRelease,
            environment: environment,
            meters: meters
        )
    }
}

extension License {
    static func fixture(
        plan: Plan? = nil,
        standing: Standing = .active,
        issuedAt: Timestamp = Timestamp.noon.adding(days: -10),
        startsAt: Timestamp? = nil,
        expiresAt: Timestamp? = nil,
        term: LicenseTerm? = nil,
        firstActivatedAt: Timestamp? = nil,
        overrides: LicenseOverrides = .none
    ) throws -> License {
        License(
            id: .number(1),
            product: .number(1),
            mode: .live,
            plan: try plan ?? Plan.fixture(),
            standing: standing,
            issuedAt: issuedAt,
            startsAt: startsAt,
            term: term ?? expiresAt.map { .explicit($0) } ?? .unending,
            firstActivatedAt: firstActivatedAt,
            overrides: overrides,
            keyLastFour: "9999"
        )
    }
}

extension Activation {
    /// The seat with this number, held by the install with the same number.
    static func fixture(
        _ number: UInt64,
        install: UInt64? = nil,
        fingerprint: Digest256? = nil,
        activatedAt: Timestamp = Timestamp.noon.adding(days: -5),
        lastSeenAt: Timestamp? = nil,
        leaseRenewedAt: Timestamp? = nil,
        leaseExpiresAt: Timestamp? = nil,
        takeovers: [Timestamp] = [],
        releasedAt: Timestamp? = nil
    ) -> Activation {
        Activation(
            id: .number(number),
            license: .number(1),
            install: .number(install ?? number),
            fingerprint: fingerprint,
            activatedAt: activatedAt,
            lastSeenAt: lastSeenAt ?? activatedAt,
            leaseRenewedAt: leaseRenewedAt,
            leaseExpiresAt: leaseExpiresAt,
            takeovers: takeovers,
            releasedAt: releasedAt
        )
    }
}

/// What is decided about an activation at `now`, under the standard settings.
func decide(
    _ license: License,
    install: UInt64,
    fingerprint: Digest256? = nil,
    replacing: Activation.ID? = nil,
    oldKey: Bool = false,
    given facts: SeatFacts,
    at now: Timestamp = .noon
) -> Decision<ActivationGrant> {
    let request = ActivationRequest(
        install: .number(install),
        fingerprint: fingerprint,
        replacing: replacing,
        keyIsReplaced: oldKey
    )
    return license.activationDecision(for: request, given: facts, under: ProductSettings(), at: now)
}

/// Whether a seat was given that nobody held.
func isNew(_ decision: Decision<ActivationGrant>) -> Bool {
    if case .granted(let grant) = decision, case .new = grant.seat { return true }
    return false
}
