internal import Cryptography
public import Licensing
public import Storage

/// An install's trial at one moment: what every route and every bundle says of it.
public struct TrialStanding: Hashable, Sendable {
    /// The row that counts for the install; `nil` where there is none.
    public let trial: Trial?
    /// What it is.
    public let status: TrialStatus
}

/// Starts, extends and issues trials, and tells what they are.
public struct TrialService: Sendable {
    private let keys: DataKeys
    private let entropy: any Entropy
    private let installs: InstallDirectory
    private let audit: AuditTrail

    /// - Parameters:
    ///   - keys: What tokens are digested and sealed with.
    ///   - entropy: Where identifiers and tokens come from.
    public init(keys: DataKeys, entropy: any Entropy) {
        self.keys = keys
        self.entropy = entropy
        installs = InstallDirectory(entropy: entropy)
        audit = AuditTrail(keys: keys)
    }

    // MARK: - For apps

    /// What an install's trial is at `now`; `nil` for an install that was never recorded: the setting answers.
    ///
    /// - Throws: `StorageError`.
    public static func standing<DB: Queries & ~Copyable>(
        of install: Install?,
        under settings: ProductSettings,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> TrialStanding {
        let trial = try install.flatMap { install in
            let candidates = try TrialStore.candidates(for: install, in: db)
            if let shared = install.trial { _ = try candidates.first { $0.id == shared }.referred("a trial") }
            return Trial.governing(among: candidates)
        }
        return TrialStanding(trial: trial, status: settings.trialStatus(of: trial, at: now))
    }

    /// The grants that an install has by its trial: the features of the product's trial plan while it runs.
    static func grants<DB: Queries & ~Copyable>(
        of standing: TrialStanding,
        for product: Product,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [Grant] {
        guard let trial = standing.trial, standing.status.state == .active, let code = product.settings.trialPlan else {
            return []
        }
        let plan = try PlanStore.find(code, of: product.id, in: db).referred("a trial plan")
        return trial.grants(of: plan, under: product.settings, at: now)
    }

    /// Whether `start` has something to write for this install: its trial, or the token it is to be told.
    ///
    /// - Throws: `StorageError`.
    public static func isDue<DB: Queries & ~Copyable>(
        _ call: TrialCall,
        of install: Install,
        standing: TrialStanding,
        under settings: ProductSettings,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> Bool {
        let contact = TrialContact(
            firstContactAt: install.firstContactAt,
            asksToStart: call.asksToStart,
            firstLaunchAt: call.firstLaunchAt
        )
        if settings.trialStep(at: contact, trial: standing.trial, now: now) != .none { return true }
        guard let trial = standing.trial, trial.tellsToken(to: install) else { return false }
        return try TrialStore.token(of: trial.id, in: db) == nil
    }

    /// Whether `start` would begin a trial that neither the install nor its machine had.
    ///
    /// - Throws: `StorageError`.
    public func isNew(
        _ call: TrialCall,
        by claim: InstallClaim,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        guard call.asksToStart, let settings = try ProductStore.find(caller.product.id, in: db)?.settings else {
            return false
        }
        let known = try installs.find(claim, of: caller, in: db)
        let candidates = try TrialStore.candidates(
            shared: known?.trial,
            fingerprint: claim.fingerprint ?? known?.fingerprint,
            of: caller.product.id,
            mode: caller.mode,
            in: db
        )
        return settings.trialStatus(of: Trial.governing(among: candidates), at: now).state == .available
    }

    /// Records the call of an install that asks about its trial, starts the trial where the product's settings say so,
    /// and makes the token that its install is told.
    ///
    /// - Throws: `StorageError`, `CryptographyError`, or what the source of entropy throws.
    public func start(
        _ call: TrialCall,
        by claim: InstallClaim,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        let install = try installs.record(claim, of: caller, trial: call, at: now, in: db)
        guard let trial = Trial.governing(among: try TrialStore.candidates(for: install, in: db)),
            trial.tellsToken(to: install), try TrialStore.token(of: trial.id, in: db) == nil
        else { return }
        let token = try TrialToken(entropy: entropy)
        let digest = keys.digest(of: token, product: trial.product)
        let sealed = try keys.seal(Array(token.text.utf8), for: .trialToken, row: digest.hexadecimal)
        try TrialStore.write(TrialStore.KeptToken(digest: digest, sealed: sealed), of: trial.id, in: db)
    }

    /// A token as it lies in the database, to be opened outside the snapshot.
    public struct SealedToken: Hashable, Sendable {
        let digest: Digest256
        let sealed: [UInt8]
    }

    /// The token that `install` is told; `nil` where it did not start the trial, or was not told it yet.
    ///
    /// - Throws: `StorageError`.
    public static func sealedToken<DB: Queries & ~Copyable>(
        of standing: TrialStanding,
        for install: Install,
        in db: borrowing DB
    ) throws -> SealedToken? {
        guard let trial = standing.trial, trial.tellsToken(to: install),
            let kept = try TrialStore.token(of: trial.id, in: db), let sealed = kept.sealed
        else { return nil }
        return SealedToken(digest: kept.digest, sealed: sealed)
    }

    /// Opens a token. A secret.
    ///
    /// - Throws: `CryptographyError`.
    public func open(_ token: SealedToken) throws -> String {
        let text = try keys.open(token.sealed, from: .trialToken, row: token.digest.hexadecimal)
        return String(decoding: text.copy(), as: UTF8.self)
    }

    /// What the trial is that a token stands for; `nil` for a token of no trial of this product and mode.
    ///
    /// - Throws: `StorageError`.
    public func standing<DB: Queries & ~Copyable>(
        ofToken text: String,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> TrialStanding? {
        guard let token = TrialToken(text) else { return nil }
        let digest = keys.digest(of: token, product: caller.product.id)
        let trial = try TrialStore.find(token: digest, of: caller.product.id, mode: caller.mode, in: db)
        return trial.map {
            TrialStanding(trial: $0, status: caller.product.settings.trialStatus(of: $0, at: now))
        }
    }

    // MARK: - For administrators

    /// A trial that an administrator issues, made ready before the transaction that writes it.
    public struct Draft: Sendable {
        /// The trial, of no install.
        public let trial: Trial
        /// What stands for it; shown once. A secret.
        public let token: TrialToken
        let digest: Digest256
    }

    /// Makes a trial ready that begins now, for an app that knows no install.
    ///
    /// - Parameter end: When it ends; `nil`: after the product's length.
    /// - Throws: `Refusal` (`VALIDATION`) for an end that is over, or where neither says how long it lasts; what the source
    ///   of entropy throws.
    public func draft(
        for product: Product,
        mode: Mode,
        until end: Timestamp?,
        at now: Timestamp
    ) throws -> Draft {
        guard let end = end ?? product.settings.trialLength.map({ now.adding($0) }) else {
            throw Refusal(.validation, "the product offers no trial (trial_duration): say an end", member: "until")
        }
        guard now < end else { throw Refusal(.validation, "must be in the future", member: "until") }
        let token = try TrialToken(entropy: entropy)
        let trial = Trial(
            id: try Identifier(at: now, entropy: entropy),
            product: product.id,
            mode: mode,
            install: nil,
            startedAt: now,
            endsAt: end
        )
        return Draft(trial: trial, token: token, digest: keys.digest(of: token, product: product.id))
    }

    /// Writes an issued trial.
    ///
    /// - Throws: `StorageError`.
    public func issue(
        _ draft: Draft,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try TrialStore.insert(draft.trial, tokenDigest: draft.digest, at: actor.now, in: db)
        try record("trial.issue", draft.trial, of: product, before: nil, by: actor, in: db)
    }

    /// The trial that counts for an install, as an administrator asks for it.
    ///
    /// - Parameter claim: Keyed digest of the install's id.
    /// - Throws: `Refusal` (`INSTALL_NOT_FOUND`, `TRIAL_NOT_FOUND`), `StorageError`.
    public static func trial<DB: Queries & ~Copyable>(
        ofInstall digest: Digest256,
        product: Product,
        mode: Mode,
        in db: borrowing DB
    ) throws -> Trial {
        guard let install = try InstallStore.find(digest, of: product.id, mode: mode, in: db) else {
            throw Refusal(.installNotFound, "no such install was ever in contact in \(mode) mode", member: "install_id")
        }
        guard let trial = Trial.governing(among: try TrialStore.candidates(for: install, in: db)) else {
            throw Refusal(.trialNotFound, "the install has started no trial", member: "install_id")
        }
        return trial
    }

    /// A trial by its id.
    ///
    /// - Throws: `Refusal` (`TRIAL_NOT_FOUND`), `StorageError`.
    public static func trial<DB: Queries & ~Copyable>(
        _ id: TrialID,
        of product: Product,
        in db: borrowing DB
    ) throws -> Trial {
        guard let trial = try TrialStore.find(id, of: product.id, in: db) else {
            throw Refusal(.trialNotFound, "the product has no trial \(id)", member: "trial")
        }
        return trial
    }

    /// Trials of one product and mode in the order they were made.
    ///
    /// - Parameters:
    ///   - cursor: The id of the last one of the page before.
    ///   - limit: The most that are read.
    /// - Throws: `StorageError`.
    public static func list<DB: Queries & ~Copyable>(
        of product: Product,
        mode: Mode,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Trial] {
        try TrialStore.list(of: product.id, mode: mode, after: cursor, limit: limit, in: db)
    }

    /// Extends a trial, and so that of every install that shares it; the same end again changes nothing.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) for an end that is over, or before that of the trial; `StorageError`.
    public func extend(
        _ trial: Trial,
        of product: Product,
        until end: Timestamp,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Trial {
        guard actor.now < end else { throw Refusal(.validation, "must be in the future", member: "until") }
        if trial.extendedUntil == end { return trial }
        let known = product.settings.trialStatus(of: trial, at: actor.now).endsAt
        guard known.map({ $0 < end }) ?? true, let extended = trial.extended(until: end) else {
            throw Refusal(.validation, "the trial ends later already: extending takes nothing away", member: "until")
        }
        try TrialStore.update(extended, in: db)
        try record("trial.extend", extended, of: product, before: trial, by: actor, in: db)
        return extended
    }

    /// Gives a product's trials the length and start that its settings have now; to be called in the transaction that
    /// changed `trial_duration` or `trial_start`.
    ///
    /// - Parameters:
    ///   - product: With its settings as they are now.
    ///   - isReviving: Whether trials that are over get the new length too.
    /// - Returns: How many trials have another end.
    /// - Throws: `StorageError`.
    @discardableResult
    public static func applyLength(
        of product: Product,
        isReviving: Bool,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Int {
        guard let length = product.settings.trialLength else { return 0 }
        return try TrialStore.changeLength(
            to: length,
            of: product.id,
            start: product.settings.trialStart,
            isReviving: isReviving,
            at: now,
            in: db
        )
    }

    private func record(
        _ action: String,
        _ trial: Trial,
        of product: Product,
        before: Trial?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: trial.id.text,
                before: before?.auditText,
                after: trial.auditText
            ),
            by: actor,
            in: db
        )
    }
}
