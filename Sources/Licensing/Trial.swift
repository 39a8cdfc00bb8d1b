/// A product's try-out period of one install, or of one machine where a fingerprint is known.
public struct Trial: Hashable, Sendable {
    /// Names the trial for good.
    public var id: TrialID
    /// Of which product.
    public var product: Product.ID
    /// Live or test.
    public var mode: Mode
    /// The install that started it, by its first contact or its word: the only one that is told the trial's token. `nil`
    /// where an administrator issued it, and once that install was removed.
    public var install: Install.ID?
    /// When the clock started: the first contact, or under `explicit` the moment of the start; possibly earlier, by the
    /// client's own word.
    public var startedAt: Timestamp
    /// When it ends, or `nil` while no length has ever applied to it.
    public var endsAt: Timestamp?
    /// Until when an administrator extended it; survives every change of the length.
    public var extendedUntil: Timestamp?

    /// A trial of these members.
    public init(
        id: TrialID,
        product: Product.ID,
        mode: Mode,
        install: Install.ID?,
        startedAt: Timestamp,
        endsAt: Timestamp? = nil,
        extendedUntil: Timestamp? = nil
    ) {
        self.id = id
        self.product = product
        self.mode = mode
        self.install = install
        self.startedAt = startedAt
        self.endsAt = endsAt
        self.extendedUntil = extendedUntil
    }

    /// When it ends, an extension included, or `nil` where it has not begun.
    public var end: Timestamp? {
        guard let endsAt else { return extendedUntil }
        return extendedUntil.map { max($0, endsAt) } ?? endsAt
    }

    /// Whether it is more than a recorded first contact: a length applied, or somebody extended it. From then on this
    /// trial answers, whatever the product's settings become.
    public var hasBegun: Bool { end != nil }

    /// The one that counts among the rows found by the install and by its fingerprint: of those that have begun the one
    /// that started first, else the earliest first contact.
    ///
    /// A fingerprint that no trial is known by yet is the governing one's from then on: a reinstall finds it, also after
    /// the machine's fingerprint drifted.
    public static func governing(among trials: [Trial]) -> Trial? {
        trials.min { left, right in
            if left.hasBegun != right.hasBegun { return left.hasBegun }
            return (left.startedAt, left.id) < (right.startedAt, right.id)
        }
    }
}

/// What a trial is at a moment: `state` on the wire.
public enum TrialState: String, Hashable, Sendable, CaseIterable {
    /// It runs.
    case active
    /// It is over.
    case expired
    /// It may be started.
    case available
    /// There is none.
    case unavailable
}

/// The answer to `trial`, and what a bundle says of it.
public struct TrialStatus: Hashable, Sendable {
    /// What it is.
    public var state: TrialState
    /// Why.
    public var code: OutcomeCode
    /// When it started, where it did.
    public var startedAt: Timestamp?
    /// When it ends, where it started.
    public var endsAt: Timestamp?
    /// Seconds left, 0 once over; `nil` where it did not start.
    public var remainingSeconds: Int64?

    /// What the code says about the right.
    public var verdict: Verdict { code.verdict }
}

/// What a call of an install means for its trial: what to write.
public enum TrialStep: Hashable, Sendable {
    /// Nothing.
    case none
    /// Insert a row that starts and ends so; no end: only the first contact is recorded.
    case insert(startedAt: Timestamp, endsAt: Timestamp?)
    /// Give the row this start and end.
    case update(startedAt: Timestamp, endsAt: Timestamp?)
}

/// One call of an install, as far as trials are concerned.
public struct TrialContact: Hashable, Sendable {
    /// When the install was first heard of: now at a first contact.
    public var firstContactAt: Timestamp
    /// Whether the call asks for a trial: `/v1/trial` unless `start` is false.
    public var asksToStart: Bool
    /// The client's word on its first launch; moves a start earlier, never later, and counts for nothing under `explicit`.
    public var firstLaunchAt: Timestamp?

    /// A call of these members.
    public init(firstContactAt: Timestamp, asksToStart: Bool = false, firstLaunchAt: Timestamp? = nil) {
        self.firstContactAt = firstContactAt
        self.asksToStart = asksToStart
        self.firstLaunchAt = firstLaunchAt
    }
}

extension ProductSettings {
    /// The length that a trial that begins now has, or `nil` where trials are off or were never configured.
    public var trialLength: CalendarDuration? {
        trialDuration.flatMap { $0.isZero ? nil : $0 }
    }

    /// Whether these settings, put in the place of `former` ones, give trials another end.
    public func movesTrials(of former: ProductSettings) -> Bool {
        trialDuration != former.trialDuration || trialStart != former.trialStart
    }

    /// What a call means for the install's trial.
    ///
    /// `first_contact`: the clock starts at the install's first contact, whether or not a trial is offered then; a length
    /// that comes later is measured from there. `explicit`: it starts when asked for, while one is offered; a first
    /// contact that was recorded before counts for nothing. What has begun only ever moves earlier, by the client's word, or
    /// where a clock that was wrong began it in the future.
    ///
    /// - Parameters:
    ///   - contact: The call.
    ///   - trial: `Trial.governing(among:)` of the rows of the install and of its fingerprint.
    ///   - now: The time.
    public func trialStep(at contact: TrialContact, trial: Trial?, now: Timestamp) -> TrialStep {
        switch trialStart {
        case .explicit:
            if let trial, trial.hasBegun { return .none }
            guard contact.asksToStart, let length = trialLength else { return .none }
            let ends = now.adding(length)
            return trial == nil ? .insert(startedAt: now, endsAt: ends) : .update(startedAt: now, endsAt: ends)
        case .firstContact:
            let told = min(contact.firstContactAt, contact.firstLaunchAt ?? now, now)
            guard let trial else { return .insert(startedAt: told, endsAt: trialLength.map { told.adding($0) }) }
            // Of two calls at the same moment the one that is written last may have read the clock first: a start that lies
            // ahead by less than a clock may go back is kept, and one of a clock that was wrong is put right.
            let isAhead = trial.startedAt > now.adding(seconds: ClockGuard.mostBehind)
            let known = isAhead ? now : trial.startedAt
            let start = contact.firstLaunchAt.map { min(known, $0) } ?? known
            if let endsAt = trial.endsAt {
                // A trial that is over does not end again, and one that trials were turned off for keeps its length.
                guard start < trial.startedAt, now < endsAt else { return .none }
                let ends =
                    trialLength.map { start.adding($0) }
                    ?? endsAt.adding(seconds: start.seconds(since: trial.startedAt))
                return .update(startedAt: start, endsAt: min(endsAt, ends))
            }
            // An extension alone has begun it: a length that comes later is for those that run then.
            guard !trial.hasBegun, start < trial.startedAt || trialLength != nil else { return .none }
            return .update(startedAt: start, endsAt: trialLength.map { start.adding($0) })
        }
    }

    /// Whether a call of `install` must be recorded for its trial's sake: under `first_contact` its clock runs from its
    /// first contact on, also where that was recorded while trials were started by hand.
    public func recordsFirstContact(of install: Install) -> Bool {
        trialStart == .firstContact && install.trial == nil
    }

    /// What an install's trial is at `now`, after its `trialStep` was written.
    ///
    /// - Parameters:
    ///   - trial: `Trial.governing(among:)` of the rows of the install and of its fingerprint.
    ///   - now: The time.
    public func trialStatus(of trial: Trial?, at now: Timestamp) -> TrialStatus {
        if let trial, let end = trial.end ?? unwrittenEnd(of: trial) {
            let isActive = now < end
            return TrialStatus(
                state: isActive ? .active : .expired,
                code: isActive ? .trialActive : .trialExpired,
                startedAt: trial.startedAt,
                endsAt: end,
                remainingSeconds: max(0, end.seconds(since: now))
            )
        }
        guard let trialDuration else { return TrialStatus(state: .unavailable, code: .trialNotConfigured) }
        guard !trialDuration.isZero else { return TrialStatus(state: .unavailable, code: .trialDisabled) }
        return TrialStatus(state: .available, code: .trialAvailable)
    }

    /// The end of a recorded first contact that a length applies to, though it was not written yet.
    private func unwrittenEnd(of trial: Trial) -> Timestamp? {
        guard trialStart == .firstContact, let length = trialLength else { return nil }
        return trial.startedAt.adding(length)
    }
}

extension Trial {
    /// The end to write when the product's length changes, or `nil` where the row stays as it is.
    ///
    /// A running trial gets its start and the new length, an ended one only where `isReviving`; turning trials off (no
    /// length, or a length of nothing) changes none. A recorded first contact gets an end under `first_contact` alone.
    public func end(
        afterChangeTo settings: ProductSettings,
        isReviving: Bool,
        at now: Timestamp
    ) -> Timestamp? {
        guard let length = settings.trialLength else { return nil }
        if let end {
            guard now < end || isReviving else { return nil }
        } else {
            guard settings.trialStart == .firstContact else { return nil }
        }
        let end = startedAt.adding(length)
        return end == endsAt ? nil : end
    }

    /// The trial of an install that shares it, as a call of that install leaves it.
    ///
    /// Where the install that started it is gone, this one stands in for it.
    public func shared(by install: Install) -> Trial {
        var trial = self
        if trial.install == nil { trial.install = install.id }
        return trial
    }

    /// The trial after `TrialStep.update` of a call by `install`: under `explicit` that call started it.
    public func updated(
        startedAt: Timestamp,
        endsAt: Timestamp?,
        by install: Install,
        under settings: ProductSettings
    ) -> Trial {
        var trial = self
        if settings.trialStart == .explicit, !hasBegun { trial.install = install.id }
        trial.startedAt = startedAt
        trial.endsAt = endsAt
        return trial
    }

    /// Whether `install` is told its token: it has begun, and this install started it.
    public func tellsToken(to install: Install) -> Bool { hasBegun && self.install == install.id }

    /// The trial after an administrator extended it, or `nil` where `until` is not later than its end: extending takes
    /// nothing away.
    public func extended(until: Timestamp) -> Trial? {
        if let end, until <= end { return nil }
        var trial = self
        trial.extendedUntil = until
        return trial
    }

    /// The grants that an install has by its trial at `now`: the features of the product's trial plan while it runs.
    ///
    /// - Parameters:
    ///   - plan: The product's `trialPlan`.
    ///   - settings: The product's.
    ///   - now: The time.
    public func grants(of plan: Plan, under settings: ProductSettings, at now: Timestamp) -> [Grant] {
        let status = settings.trialStatus(of: self, at: now)
        guard status.state == .active, let end = status.endsAt else { return [] }
        let environment = plan.environment.flatMap { $0.isEmpty ? nil : $0 }
        return plan.features.map { feature in
            Grant(
                feature: feature,
                reference: .trial(id),
                // A clock that was set back a little must not take a trial that runs.
                starts: min(startedAt, now),
                ends: end,
                offlineLife: settings.offlineLife,
                environment: environment
            )
        }
    }
}
