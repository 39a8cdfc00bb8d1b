public import Licensing
public import Storage

/// Finds installs, and records the first contact of new ones.
public struct InstallDirectory: Sendable {
    private let entropy: any Entropy
    private let trials: TrialRecorder

    /// - Parameter entropy: Where identifiers come from.
    public init(entropy: any Entropy) {
        self.entropy = entropy
        trials = TrialRecorder(entropy: entropy)
    }

    /// The install's row; `nil` before its first contact was recorded.
    ///
    /// - Throws: `StorageError`.
    public func find<DB: Queries & ~Copyable>(
        _ claim: InstallClaim,
        of caller: Caller,
        in db: borrowing DB
    ) throws -> Install? {
        try InstallStore.find(claim.digest, of: caller.product.id, mode: caller.mode, in: db)
    }

    /// Whether a call must be recorded before it is answered: a first contact, a known install whose trial's clock is not
    /// written yet, and one that tells another machine than before: a trial is once for a machine too.
    ///
    /// - Parameters:
    ///   - claim: What the call says.
    ///   - install: The install's row, where it has one.
    ///   - caller: Whose install it is.
    public func mustRecord(_ claim: InstallClaim, known install: Install?, for caller: Caller) -> Bool {
        guard let install else { return true }
        if let fingerprint = claim.fingerprint, fingerprint != install.fingerprint { return true }
        return caller.product.settings.recordsFirstContact(of: install)
    }

    /// Records that the install was in contact at `now`, the first time and every other, and what that means for its
    /// trial.
    ///
    /// - Parameter trial: What the call says of the install's trial.
    /// - Throws: `StorageError`, or what the source of entropy throws.
    @discardableResult
    public func record(
        _ claim: InstallClaim,
        of caller: Caller,
        trial: TrialCall = .silent,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Install {
        if var install = try find(claim, of: caller, in: db) {
            let isElsewhere = claim.fingerprint.map { $0 != install.fingerprint } ?? false
            install.fingerprint = claim.fingerprint ?? install.fingerprint
            install.device = install.device.updated(by: claim.device)
            install.lastSeenAt = max(install.lastSeenAt, now)
            try InstallStore.refresh(install, in: db)
            guard install.trial == nil || isElsewhere || trial != .silent else { return install }
            return try trials.record(trial, of: install, at: now, in: db)
        }
        let install = Install(
            id: try Identifier(at: now, entropy: entropy),
            product: caller.product.id,
            mode: caller.mode,
            digest: claim.digest,
            fingerprint: claim.fingerprint,
            device: claim.device,
            firstContactAt: now,
            lastSeenAt: now
        )
        try InstallStore.insert(install, in: db)
        return try trials.record(trial, of: install, at: now, in: db)
    }
}

/// What reads learned of installs since the last flush: kept in memory by each loop, written in one go.
///
/// A crash loses the last seconds of it, which no rule needs.
public struct Sightings: Sendable {
    /// One install as it was last seen.
    private struct Sighting: Sendable {
        var claim: InstallClaim
        var caller: Caller
        var at: Timestamp
    }

    private var byInstall: [Install.ID: Sighting] = [:]
    /// The most installs that are remembered between two flushes; of more, the further ones are not.
    public static let most = 16_384

    /// Nothing seen yet.
    public init() {}

    /// Whether there is nothing to write.
    public var isEmpty: Bool { byInstall.isEmpty }

    /// Remembers that an install was seen.
    public mutating func note(_ install: Install, _ claim: InstallClaim, of caller: Caller, at now: Timestamp) {
        guard byInstall.count < Self.most || byInstall[install.id] != nil else { return }
        byInstall[install.id] = Sighting(claim: claim, caller: caller, at: now)
    }

    /// Takes out what is remembered.
    public mutating func take() -> Sightings {
        let taken = self
        byInstall.removeAll(keepingCapacity: true)
        return taken
    }

    /// Writes what was remembered: last seen, of installs and the seats they hold, and what they told of their devices.
    ///
    /// - Throws: `StorageError`.
    public func write(by directory: InstallDirectory, in db: borrowing WriteTransaction) throws {
        for (id, sighting) in byInstall {
            try directory.record(sighting.claim, of: sighting.caller, at: sighting.at, in: db)
            try InstallStore.touch(id, at: sighting.at, in: db)
        }
    }
}
