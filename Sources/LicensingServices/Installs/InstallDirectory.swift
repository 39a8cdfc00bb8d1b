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
