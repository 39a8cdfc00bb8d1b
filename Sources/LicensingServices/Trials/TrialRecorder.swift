public import Licensing
internal import Storage

/// What a call says of the trial of the install that makes it.
public struct TrialCall: Hashable, Sendable {
    /// Whether it asks for a trial.
    public var asksToStart: Bool
    /// The client's word on its first launch.
    public var firstLaunchAt: Timestamp?

    /// A call that says this.
    public init(asksToStart: Bool, firstLaunchAt: Timestamp? = nil) {
        self.asksToStart = asksToStart
        self.firstLaunchAt = firstLaunchAt
    }

    /// A call about something else.
    public static let silent = TrialCall(asksToStart: false)
}

/// Writes what a contact of an install means for its trial; used by `InstallDirectory.record` alone, so that no route can
/// forget it.
struct TrialRecorder: Sendable {
    let entropy: any Entropy

    /// Writes it, and returns the install with the trial it shares from now on.
    func record(
        _ call: TrialCall,
        of install: Install,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Install {
        // Read here, not taken from the caller: a length that was changed since the request was recognized has already
        // been given to all trials but this one.
        guard let settings = try ProductStore.find(install.product, in: db)?.settings else { return install }
        let candidates = try TrialStore.candidates(for: install, in: db)
        var trial = Trial.governing(among: candidates)
        let contact = TrialContact(
            firstContactAt: install.firstContactAt,
            asksToStart: call.asksToStart,
            firstLaunchAt: call.firstLaunchAt
        )
        switch settings.trialStep(at: contact, trial: trial, now: now) {
        case .none: break
        case .insert(let startedAt, let endsAt):
            let fresh = Trial(
                id: try Identifier(at: now, entropy: entropy),
                product: install.product,
                mode: install.mode,
                install: install.id,
                startedAt: startedAt,
                endsAt: endsAt
            )
            try TrialStore.insert(fresh, at: now, in: db)
            trial = fresh
        case .update(let startedAt, let endsAt):
            trial = trial?.updated(startedAt: startedAt, endsAt: endsAt, by: install, under: settings)
        }
        guard let trial else { return install }
        let shared = trial.shared(by: install)
        if let before = candidates.first(where: { $0.id == shared.id }), before != shared {
            try TrialStore.update(shared, in: db)
        }
        if let fingerprint = install.fingerprint { try TrialStore.note(fingerprint, of: shared, in: db) }
        var install = install
        if install.trial == nil {
            install.trial = shared.id
            try InstallStore.share(shared.id, by: install.id, in: db)
        }
        return install
    }
}
