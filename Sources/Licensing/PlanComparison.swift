/// A right that an edit of a plan, or of its product's settings, takes from licenses.
public enum TakenRight: Hashable, Sendable {
    /// A feature removed.
    case feature(FeatureCode)
    /// A lower or newly set seat limit.
    case seatLimit
    /// A shorter or newly set lease.
    case lease
    /// A shorter grace.
    case expiryGrace
    /// A shorter offline life.
    case offlineLife
    /// An environment rule that is new, or refuses what the old one allowed.
    case environment
    /// A lower limit of a meter.
    case meter(MeterName)

    /// Names the member of the plan, for people.
    public var text: String {
        switch self {
        case .feature(let code): return "features (\(code))"
        case .seatLimit: return "seat_limit"
        case .lease: return "lease_seconds"
        case .expiryGrace: return "expiry_grace"
        case .offlineLife: return "offline_life"
        case .environment: return "environment"
        case .meter(let name): return "meters (\(name))"
        }
    }
}

extension Plan {
    /// The rights that its licenses lose when it becomes `new`: what is refused without `--affects-existing`.
    ///
    /// - Parameters:
    ///   - new: The plan after the edit.
    ///   - settings: The product's, for the offline life of a plan that names none.
    ///   - meterLimits: The limits of the product's meters, below which a plan cannot bring them.
    public func rightsTaken(
        byBecoming new: Plan,
        under settings: ProductSettings,
        meterLimits: [MeterName: MeterLimit] = [:]
    ) -> [TakenRight] {
        var taken = Set(features).subtracting(new.features).sorted().map { TakenRight.feature($0) }
        switch (seatLimit, new.seatLimit) {
        case (.limited(let old), .limited(let new)) where new < old: taken.append(.seatLimit)
        case (.unlimited, .limited): taken.append(.seatLimit)
        default: break
        }
        if let lease = new.leaseSeconds, lease < leaseSeconds ?? .max { taken.append(.lease) }
        if new.expiryGrace.canBeShorter(than: expiryGrace) { taken.append(.expiryGrace) }
        let oldOfflineLife = offlineLife ?? settings.offlineLife
        if (new.offlineLife ?? settings.offlineLife).canBeShorter(than: oldOfflineLife) { taken.append(.offlineLife) }
        let everywhere = EnvironmentRule()
        if !(new.environment ?? everywhere).allowsAll(of: environment ?? everywhere) { taken.append(.environment) }
        for (name, old) in meters.sorted(by: { $0.key < $1.key }) {
            // The product's own limit counts where it is higher.
            let after = [new.meters[name], meterLimits[name]].compactMap { $0 }.max()
            if after.map({ $0 < old }) ?? true { taken.append(.meter(name)) }
        }
        return taken
    }
}

extension ProductSettings {
    /// The rights that licenses lose when they become `new`, where neither the license nor its plan has a word of its own.
    public func rightsTaken(byBecoming new: ProductSettings) -> [TakenRight] {
        new.offlineLife.canBeShorter(than: offlineLife) ? [.offlineLife] : []
    }
}

extension License {
    /// Whether it loses one of `taken`: not where it is revoked, nor where its own word counts instead of the plan's.
    public func isHit(by taken: [TakenRight]) -> Bool {
        guard standing != .revoked else { return false }
        return taken.contains { right in
            switch right {
            case .seatLimit: return overrides.seatLimit == nil
            case .offlineLife: return overrides.offlineLife == nil
            case .environment: return overrides.environment == nil
            case .feature, .lease, .expiryGrace, .meter: return true
            }
        }
    }
}
