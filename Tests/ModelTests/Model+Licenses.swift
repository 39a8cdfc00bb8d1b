// What administrators do.
extension Model {
    /// The term that lasts so long from a moment: calendar months keep it as their anchor, other lengths their end.
    func counted(_ span: Span, from start: Int64) -> License.Term {
        let end = adding(span, to: start)
        return span.seconds == 0
            ? .ending(end, anchor: start, months: span.months) : .ending(end, anchor: end, months: 0)
    }

    private func term(_ end: End, _ plan: PlanSpec, from start: Int64, firstActivated: Int64?) -> License.Term {
        let span: Span?
        switch end {
        case .never: span = nil
        case .after(let seconds): return .ending(now + seconds, anchor: now + seconds, months: 0)
        case .plan: span = plan.duration
        case .lasting(let own): span = own
        }
        guard let span else { return .unending }
        guard plan.isFromFirstActivation else { return counted(span, from: start) }
        return firstActivated.map { counted(span, from: $0) } ?? .pending(span)
    }

    mutating func issue(
        _ plan: Int,
        _ seats: Seats?,
        _ end: End,
        _ startsIn: Int64?,
        _ customer: Int?,
        _ offlineLife: Int64?
    ) -> Told {
        let starts = startsIn.map { now + $0 }
        let term = term(end, plans[plan], from: starts ?? now, firstActivated: nil)
        if let starts, case .ending(let end, _, _) = term, end <= starts { return Told("VALIDATION") }
        licenses.append(
            License(
                plan: plan,
                issued: now,
                starts: starts,
                term: term,
                seats: seats,
                offlineLife: offlineLife,
                customer: customer
            )
        )
        if let customer { customers.insert(customer) }
        return shown(licenses.count - 1)
    }

    /// A license as administrators are told of it.
    func shown(_ number: Int) -> Told {
        var told = withUse(Told("OK"), of: number)
        told.license = self.told(number)
        told.rows = held(number).map { Told.Row(seat: seats[$0].number, isThis: false) }
        return told
    }

    mutating func suspend(_ number: Int) -> Told {
        guard licenses[number].standing != "revoked" else { return Told("LICENSE_REVOKED") }
        licenses[number].standing = "suspended"
        return shown(number)
    }

    mutating func reinstate(_ number: Int, revoked: Bool) -> Told {
        guard licenses[number].standing != "revoked" || revoked else { return Told("LICENSE_REVOKED") }
        licenses[number].standing = "active"
        return shown(number)
    }

    mutating func revoke(_ number: Int) -> Told {
        licenses[number].standing = "revoked"
        return shown(number)
    }

    mutating func renew(_ number: Int, _ given: Span?) -> Told {
        let term = licenses[number].term
        guard term != .unending else { return Told("NOT_RENEWABLE") }
        guard let span = given ?? plan(licenses[number]).duration else { return Told("VALIDATION") }
        switch term {
        case .unending: break
        case .pending(let old):
            licenses[number].term = .pending(
                Span(months: old.months + span.months, seconds: old.seconds + span.seconds)
            )
        case .ending(let end, let anchor, let months):
            if end <= now {
                licenses[number].term = counted(span, from: now)
            } else if span.seconds != 0 {
                let new = adding(span, to: end)
                licenses[number].term = .ending(new, anchor: new, months: 0)
            } else {
                let total = months + span.months
                licenses[number].term = .ending(
                    adding(Span(months: total), to: anchor),
                    anchor: anchor,
                    months: total
                )
            }
        }
        return shown(number)
    }

    mutating func reissue(_ number: Int, revokesSeats: Bool) -> Told {
        licenses[number].keys += 1
        if revokesSeats {
            for place in seats.indices where seats[place].license == number && seats[place].release == nil {
                seats[place].release = "administrator"
            }
        }
        return shown(number)
    }

    mutating func edit(_ number: Int, _ edit: LicenseEditSpec) -> Told {
        switch edit {
        case .plan(let plan): licenses[number].plan = plan
        case .seats(let seats): licenses[number].seats = seats
        case .offlineLife(let life): licenses[number].offlineLife = life
        case .end(let end):
            let license = licenses[number]
            let term = term(
                end,
                plan(license),
                from: license.starts ?? license.issued,
                firstActivated: license.firstActivated
            )
            if let starts = license.starts, case .ending(let end, _, _) = term, end <= starts {
                return Told("VALIDATION")
            }
            licenses[number].term = term
        }
        return shown(number)
    }

    mutating func releaseSeat(_ number: Int, _ seat: Int) -> Told {
        guard let place = seats.firstIndex(where: { $0.number == seat && $0.license == number }) else {
            return Told("ACTIVATION_NOT_FOUND")
        }
        let isReleased = isHeld(seats[place])
        if isReleased { seats[place].release = "administrator" }
        endLapsed { $0.number == seat }
        var told = shown(number)
        told.isReleased = isReleased
        return told
    }

    // MARK: The catalog

    func edited(_ plan: Int, _ edit: PlanEdit) -> PlanSpec {
        var new = plans[plan]
        switch edit {
        case .features(let features): new.features = features
        case .seats(let seats): new.seats = seats
        case .policy(let policy): new.policy = policy
        case .lease(let lease): new.lease = lease
        case .grace(let grace): new.grace = grace
        case .offlineLife(let life): new.offlineLife = life
        case .transferLimit(let limit): new.transferLimit = limit
        case .selfRelease(let isOn): new.isSelfRelease = isOn
        case .duration(let duration): new.duration = duration
        case .meters(let meters): new.meters = meters
        }
        return new
    }

    /// How many licenses an edit of their plan takes a right from.
    func losers(by edit: PlanEdit, of plan: Int) -> Int {
        let (old, new) = (plans[plan], edited(plan, edit))
        return licenses.filter { $0.plan == plan && $0.standing != "revoked" && loses($0, old, new) }.count
    }

    /// How many licenses an edit of their product takes a right from.
    func losers(by edit: SettingEdit) -> Int {
        guard case .offlineLife(let life) = edit, life < settings.offlineLife else { return 0 }
        return licenses.filter { license in
            license.standing != "revoked" && license.offlineLife == nil && plans[license.plan].offlineLife == nil
        }.count
    }

    /// Whether an edit of its plan takes a right from a license.
    private func loses(_ license: License, _ old: PlanSpec, _ new: PlanSpec) -> Bool {
        func isLess(_ new: Int64?, than old: Int64?) -> Bool { new.map { $0 < old ?? .max } ?? false }
        func count(_ seats: Seats) -> Int64? {
            if case .limited(let count) = seats { return Int64(count) }
            return nil
        }
        if !Set(old.features).isSubset(of: new.features) { return true }
        if license.seats == nil && isLess(count(new.seats), than: count(old.seats)) { return true }
        if isLess(new.lease, than: old.lease) || new.grace < old.grace { return true }
        let life = (old.offlineLife ?? settings.offlineLife, new.offlineLife ?? settings.offlineLife)
        if license.offlineLife == nil && life.1 < life.0 { return true }
        return meters.indices.contains { isLess(limit($0, [new]), than: limit($0, [old])) }
    }

    mutating func set(_ edit: SettingEdit, revives: Bool) -> Told {
        let before = settings
        switch edit {
        case .trial(let span): settings.trial = span
        case .trialPlan(let plan): settings.trialPlan = plan
        case .explicit(let isExplicit): settings.isExplicit = isExplicit
        case .offlineLife(let seconds): settings.offlineLife = seconds
        case .refreshAfter(let seconds): settings.refreshAfter = seconds
        }
        let isMoved = before.trial != settings.trial || before.isExplicit != settings.isExplicit
        if isMoved || revives { applyTrialLength(revives: revives) }
        return Told("OK")
    }

    mutating func give(_ recipient: Recipient, _ features: [Int], _ lasting: Int64?) -> Told {
        switch recipient {
        case .install(let number):
            if installs[number] == nil { return Told("INSTALL_NOT_FOUND") }
        case .license(let number):
            if !licenses.indices.contains(number) { return .skipped }
        case .customer(let number):
            if !customers.contains(number) { return Told("CUSTOMER_NOT_FOUND") }
        }
        gifts.append(
            Gift(recipient: recipient, features: features, starts: now, ends: lasting.map { now + $0 })
        )
        return Told("OK")
    }
}
