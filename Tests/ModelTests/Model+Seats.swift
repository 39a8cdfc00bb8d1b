// Activate, validate, deactivate, heartbeat, seats.
extension Model {
    /// The license of a key, and whether a newer key replaced it.
    func find(_ key: KeySpec) -> (license: Int, isReplaced: Bool)? {
        guard key.realm == nil, licenses.indices.contains(key.license) else { return nil }
        return (key.license, key.age > 0 && licenses[key.license].keys > 1)
    }

    func withUse(_ told: Told, of license: Int) -> Told {
        var told = told
        told.used = held(license).count
        told.limit = seatLimit(licenses[license])
        return told
    }

    func told(_ place: Int?) -> Told.Seat? {
        place.map { Told.Seat(number: seats[$0].number, leaseEnd: leaseEnd(seats[$0])) }
    }

    mutating func activate(_ key: KeySpec, _ install: Int, _ fingerprint: Int?, replacing: Int?) -> Told {
        record(install, fingerprint)
        guard let (license, isOld) = find(key) else { return Told("LICENSE_NOT_FOUND") }
        let (code, place) = claim(license, install, fingerprint, replacing: replacing, isOld: isOld)
        var told = withUse(Told(code), of: license)
        told.license = self.told(license)
        told.seat = self.told(place)
        if code == "NO_SEATS_AVAILABLE" {
            told.rows = held(license).map { Told.Row(seat: seats[$0].number, isThis: seats[$0].install == install) }
        }
        return told
    }

    private mutating func claim(
        _ license: Int,
        _ install: Int,
        _ fingerprint: Int?,
        replacing: Int?,
        isOld: Bool
    ) -> (String, Int?) {
        // A replaced install that calls again shares its fingerprint with another machine, whatever it is answered.
        let replacedBy = licenses[license].replacedBy[install]
        if let replacedBy { licenses[license].clones.insert(replacedBy) }
        let (row, plan) = (licenses[license], plan(licenses[license]))
        if let refusal = refusal(row) { return (refusal, nil) }
        if replacing != nil && !plan.isSelfRelease { return ("FORBIDDEN", nil) }
        if let own = seat(of: license, heldBy: install) {
            refresh(own, fingerprint)
            begin(license)
            return ("OK", own)
        }
        if let fingerprint, !row.clones.contains(fingerprint),
            let place = held(license).first(where: { seats[$0].fingerprint == fingerprint && mayBeTakenOver($0) })
        {
            endLapsed { $0.license == license && $0.install == install }
            licenses[license].replacedBy[seats[place].install] = fingerprint
            seats[place].takeovers.append(now)
            seats[place].install = install
            refresh(place, fingerprint)
            begin(license)
            return ("OK", place)
        }
        var rest = held(license)
        var ending: [Int] = []
        if let replacing {
            let place = seats.firstIndex { $0.number == replacing && $0.license == license && $0.release == nil }
            guard let place else { return ("VALIDATION", nil) }
            rest.removeAll { $0 == place }
            // A seat whose lease is over is free already.
            if isHeld(seats[place]) { ending.append(place) }
        }
        if isOld { return ("LICENSE_REISSUED", nil) }
        if let limit = seatLimit(row) {
            let capacity = plan.policy == "allow_overage" ? limit * (100 + plan.overagePercent) / 100 : limit
            let excess = rest.count - capacity + 1
            if excess > 0 {
                guard plan.policy == "release_oldest", limit > 0, excess <= rest.count else {
                    return ("NO_SEATS_AVAILABLE", nil)
                }
                let oldest = rest.suffix(excess)
                let idle = max(plan.idle ?? 0, offlineLife(row))
                guard oldest.allSatisfy({ seats[$0].seen + idle <= now }) else { return ("NO_SEATS_AVAILABLE", nil) }
                ending += oldest
            }
            if let more = plan.transferLimit, newSeats(of: license) >= limit + more { return ("TRANSFER_LIMIT", nil) }
        }
        for place in ending { seats[place].release = "customer" }
        endLapsed { $0.license == license }
        seats.append(
            Seat(
                number: seats.count,
                license: license,
                install: install,
                fingerprint: fingerprint,
                taken: now,
                seen: now
            )
        )
        renewLease(seats.count - 1)
        begin(license)
        return ("OK", seats.count - 1)
    }

    /// At most three times in 30 days.
    private func mayBeTakenOver(_ place: Int) -> Bool {
        seats[place].takeovers.filter { now < $0 + 30 * 86_400 }.count < 3
    }

    /// New seats in the rolling period; ends of leases and what administrators released do not count.
    private func newSeats(of license: Int) -> Int {
        let period = plan(licenses[license]).transferPeriod
        return seats.filter { seat in
            seat.license == license && now < seat.taken + period
                && (seat.release == nil ? isHeld(seat) : seat.release == "customer")
        }.count
    }

    private mutating func refresh(_ place: Int, _ fingerprint: Int?) {
        seats[place].fingerprint = fingerprint ?? seats[place].fingerprint
        seats[place].seen = max(seats[place].seen, now)
        renewLease(place)
    }

    /// A license is activated: for the first time, perhaps.
    private mutating func begin(_ license: Int) {
        if licenses[license].firstActivated == nil { licenses[license].firstActivated = now }
        if case .pending(let span) = licenses[license].term { licenses[license].term = counted(span, from: now) }
    }

    /// Whether a validation or heartbeat renews the lease of a seat: half of it is over, none was kept yet, or one of a
    /// time when the plan had one.
    func isRenewalDue(_ place: Int) -> Bool {
        guard let due = renewalDue(seats[place]) else { return seats[place].lease != nil }
        return seats[place].lease == nil || due <= now
    }

    mutating func validate(_ key: KeySpec, _ install: Int?, _ fingerprint: Int?) -> Told {
        let due = find(key).flatMap { found -> Int? in
            guard refusal(licenses[found.license]) == nil, let install else { return nil }
            return seat(of: found.license, heldBy: install).flatMap { isRenewalDue($0) ? $0 : nil }
        }
        func answer(_ model: Model) -> Told {
            guard let (license, isReplaced) = model.find(key) else { return Told("LICENSE_NOT_FOUND") }
            let seat = install.flatMap { model.seat(of: license, heldBy: $0) }
            let code =
                model.refusal(model.licenses[license]) ?? (install == nil || seat != nil ? "VALID" : "NOT_ACTIVATED")
            var told = model.withUse(Told(code), of: license)
            told.license = model.told(license)
            told.seat = model.told(seat)
            told.keyIsReplaced = isReplaced
            return told
        }
        guard let install else { return answer(self) }
        return ask(install, fingerprint, renewing: due, answer)
    }

    mutating func heartbeat(_ key: KeySpec, _ install: Int) -> Told {
        let due = find(key).flatMap { found -> Int? in
            guard refusal(licenses[found.license]) == nil else { return nil }
            return seat(of: found.license, heldBy: install).flatMap { isRenewalDue($0) ? $0 : nil }
        }
        return ask(install, nil, renewing: due) { model in
            guard let (license, _) = model.find(key) else { return Told("LICENSE_NOT_FOUND") }
            if let refusal = model.refusal(model.licenses[license]) { return Told(refusal) }
            guard let seat = model.seat(of: license, heldBy: install) else { return Told("NOT_ACTIVATED") }
            var told = Told("OK")
            told.seat = model.told(seat)
            return told
        }
    }

    mutating func listSeats(_ key: KeySpec, _ install: Int) -> Told {
        ask(install, nil) { model in
            guard let (license, _) = model.find(key) else { return Told("LICENSE_NOT_FOUND") }
            if let refusal = model.refusal(model.licenses[license]) { return Told(refusal) }
            guard model.plan(model.licenses[license]).isSelfRelease else { return Told("FORBIDDEN") }
            var told = model.withUse(Told("OK"), of: license)
            told.rows = model.held(license).map { place in
                Told.Row(seat: model.seats[place].number, isThis: model.seats[place].install == install)
            }
            return told
        }
    }

    mutating func deactivate(_ key: KeySpec, _ install: Int) -> Told {
        record(install, nil)
        guard let (license, _) = find(key) else { return Told("LICENSE_NOT_FOUND") }
        var told = Told("OK")
        told.isReleased = seat(of: license, heldBy: install) != nil
        if let place = seat(of: license, heldBy: install) { seats[place].release = "customer" }
        endLapsed { $0.license == license && $0.install == install }
        return withUse(told, of: license)
    }

    /// A question of an app: answered at once, unless something must be written first.
    mutating func ask(
        _ install: Int,
        _ fingerprint: Int?,
        renewing place: Int? = nil,
        _ answer: (Model) -> Told
    ) -> Told {
        if isNew(install, fingerprint) || place != nil { record(install, fingerprint) }
        if let place {
            renewLease(place)
            seats[place].seen = max(seats[place].seen, now)
        }
        var told = answer(self)
        told.paper = paper(install)
        settle(install, fingerprint)
        return told
    }
}
