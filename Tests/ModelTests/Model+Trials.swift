// Trials.
extension Model {
    var trialLength: Span? { settings.trial.flatMap { $0.isZero ? nil : $0 } }

    /// The trial that counts for an install: its own or its machine's, one that has begun before one that has not, then the
    /// one that started first.
    func trial(of number: Int) -> Int? {
        guard let install = installs[number] else { return nil }
        return candidates(install).min { left, right in
            let (old, new) = (trials[left], trials[right])
            if (old.lastEnd != nil) != (new.lastEnd != nil) { return old.lastEnd != nil }
            return (old.start, old.made, left) < (new.start, new.made, right)
        }
    }

    private func candidates(_ install: Install) -> [Int] {
        trials.indices.filter { place in
            place == install.trial
                || install.fingerprint.map { trials[place].fingerprints.contains($0) } ?? false
        }
    }

    /// What the call of an install means for its trial.
    mutating func stepTrial(_ number: Int, asks: Bool, firstLaunch: Int64?) {
        guard let install = installs[number] else { return }
        var place = trial(of: number)
        if let change = trialChange(place, install, asks: asks, firstLaunch: firstLaunch) {
            if let place {
                if settings.isExplicit { trials[place].owner = number }
                trials[place].start = change.start
                trials[place].end = change.end
            } else {
                trials.append(
                    Trial(
                        owner: number,
                        made: now,
                        start: change.start,
                        end: change.end
                    )
                )
                place = trials.count - 1
            }
        }
        guard let place else { return }
        // A reinstall finds it by the machine; a fingerprint is of one trial.
        if let fingerprint = install.fingerprint, !trials.contains(where: { $0.fingerprints.contains(fingerprint) }) {
            trials[place].fingerprints.insert(fingerprint)
        }
        if install.trial == nil { installs[number]?.trial = place }
    }

    /// The start and end that a call gives to a trial; nil where it changes nothing.
    func trialChange(
        _ place: Int?,
        _ install: Install,
        asks: Bool,
        firstLaunch: Int64?
    ) -> (start: Int64, end: Int64?)? {
        let row = place.map { trials[$0] }
        if settings.isExplicit {
            guard row?.lastEnd == nil, asks, let length = trialLength else { return nil }
            return (now, adding(length, to: now))
        }
        guard let row else {
            let start = min(install.firstContact, firstLaunch ?? now, now)
            return (start, trialLength.map { adding($0, to: start) })
        }
        // Only the client's word moves it, and only earlier; and whoever finds it more than an hour ahead.
        let known = row.start - now > 3600 ? now : row.start
        let start = min(known, firstLaunch ?? known)
        if let end = row.end {
            // What is over does not end again; what trials were turned off for keeps its length.
            guard start < row.start, now < end else { return nil }
            let moved = trialLength.map { adding($0, to: start) } ?? end - (row.start - start)
            return (start, min(end, moved))
        }
        guard row.extended == nil, start < row.start || trialLength != nil else { return nil }
        return (start, trialLength.map { adding($0, to: start) })
    }

    func told(trial place: Int?) -> (code: String, Told.Trial) {
        if let place, let end = trials[place].lastEnd {
            let isActive = now < end
            return (
                isActive ? "TRIAL_ACTIVE" : "TRIAL_EXPIRED",
                Told.Trial(state: isActive ? "active" : "expired", starts: trials[place].start, ends: end)
            )
        }
        guard let setting = settings.trial else { return ("TRIAL_NOT_CONFIGURED", Told.Trial(state: "unavailable")) }
        guard !setting.isZero else { return ("TRIAL_DISABLED", Told.Trial(state: "unavailable")) }
        return ("TRIAL_AVAILABLE", Told.Trial(state: "available"))
    }

    mutating func askTrial(_ number: Int, _ fingerprint: Int?, start: Bool, firstLaunch: Int64?) -> Told {
        let word = firstLaunch.map { now - $0 }
        var isDue = false
        if let install = installs[number] {
            isDue = trialChange(trial(of: number), install, asks: start, firstLaunch: word) != nil
        }
        if isNew(number, fingerprint) || isDue || isTokenDue(number) {
            record(number, fingerprint, asks: start, firstLaunch: word)
            if isTokenDue(number), let place = trial(of: number) { trials[place].hasToken = true }
        }
        let (code, trial) = told(trial: trial(of: number))
        var told = Told(code)
        told.trial = trial
        told.remaining = trial.ends.map { max(0, $0 - now) }
        told.paper = paper(number)
        settle(number, fingerprint)
        return told
    }

    /// Whether an install is to be told a token that was not made yet.
    private func isTokenDue(_ number: Int) -> Bool {
        guard let place = trial(of: number) else { return false }
        return trials[place].lastEnd != nil && trials[place].owner == number && !trials[place].hasToken
    }

    mutating func applyTrialLength(revives: Bool) {
        guard let length = trialLength else { return }
        for place in trials.indices {
            if let end = trials[place].lastEnd {
                guard now < end || revives else { continue }
            } else if settings.isExplicit {
                continue
            }
            trials[place].end = adding(length, to: trials[place].start)
        }
    }

    mutating func extendTrial(_ number: Int, _ until: Int64) -> Told {
        guard installs[number] != nil else { return Told("INSTALL_NOT_FOUND") }
        guard let place = trial(of: number) else { return Told("TRIAL_NOT_FOUND") }
        guard now < until else { return Told("VALIDATION") }
        if trials[place].extended == until { return Told("OK") }
        if let end = trials[place].lastEnd, until <= end { return Told("VALIDATION") }
        trials[place].extended = until
        return Told("OK")
    }
}
