extension Model {
    /// Does one operation; what the caller hears of it.
    mutating func perform(_ operation: Operation) -> Told {
        switch operation {
        case .activate(let key, let install, let fingerprint, let replacing):
            var told = activate(key, install, fingerprint, replacing: replacing)
            settle(install, fingerprint)
            told.paper = paper(install)
            return told
        case .validate(let key, let install, let fingerprint): return validate(key, install, fingerprint)
        case .deactivate(let key, let install):
            var told = deactivate(key, install)
            settle(install, nil)
            told.paper = paper(install)
            return told
        case .heartbeat(let key, let install): return heartbeat(key, install)
        case .seats(let key, let install): return listSeats(key, install)
        case .sync(let install, let fingerprint): return ask(install, fingerprint) { _ in Told("OK") }
        case .trial(let install, let fingerprint, let start, let firstLaunch):
            return askTrial(install, fingerprint, start: start, firstLaunch: firstLaunch)
        case .peek(let install, let amounts, let key):
            var told = peek(install, amounts, key)
            told.paper = paper(install)
            return told
        case .consume(let install, let amounts, let key, let repeatKey):
            var told = consume(install, amounts, key, repeatKey)
            settle(install, nil)
            told.paper = paper(install)
            return told
        case .present(let document, let install, let fingerprint): return present(document, install, fingerprint)
        case .notify(let name, let isSandbox, let document, let renewal):
            return notify(name, isSandbox: isSandbox, document, renewal)
        case .connect(let isSandbox, let edit): return connect(isSandbox: isSandbox, edit)
        case .issue, .suspend, .reinstate, .revoke, .renew, .reissue, .edit, .releaseSeat: return administer(operation)
        case .give(let recipient, let features, let lasting): return give(recipient, features, lasting)
        case .withdraw(let gift):
            guard gifts.indices.contains(gift) else { return .skipped }
            gifts[gift].isWithdrawn = true
            return Told("OK")
        case .editPlan(let plan, let edit, _):
            plans[plan] = edited(plan, edit)
            return Told("OK")
        case .set(let edit, let revives): return set(edit, revives: revives)
        case .extendTrial(let install, let until): return extendTrial(install, now + until)
        case .resetMeter(let meter, let install): return resetMeter(meter, install)
        case .refundMeter(let meter, let install, let amount): return refundMeter(meter, install, amount)
        case .wait(let seconds):
            now += seconds
            return .skipped
        case .waitForEnd(let place, let offset):
            let ends = ends
            if !ends.isEmpty { now = ends[place % ends.count] + offset }
            return .skipped
        case .restart: return .skipped
        }
    }

    private mutating func administer(_ operation: Operation) -> Told {
        if case .issue(let plan, let seats, let end, let startsIn, let customer, let life) = operation {
            return issue(plan, seats, end, startsIn, customer, life)
        }
        guard let license = operation.license, licenses.indices.contains(license) else { return .skipped }
        switch operation {
        case .suspend: return suspend(license)
        case .reinstate(_, let revoked): return reinstate(license, revoked: revoked)
        case .revoke: return revoke(license)
        case .renew(_, let span): return renew(license, span)
        case .reissue(_, let revokesSeats): return reissue(license, revokesSeats: revokesSeats)
        case .edit(_, let edit): return self.edit(license, edit)
        case .releaseSeat(_, let seat): return releaseSeat(license, seat)
        default: return .skipped
        }
    }
}

extension Operation {
    /// The license that an administrator changes.
    var license: Int? {
        switch self {
        case .suspend(let license), .reinstate(let license, _), .revoke(let license), .renew(let license, _),
            .reissue(let license, _), .edit(let license, _), .releaseSeat(let license, _):
            return license
        default: return nil
        }
    }

    /// The install that calls.
    var install: Int? {
        switch self {
        case .activate(_, let install, _, _), .deactivate(_, let install), .heartbeat(_, let install),
            .seats(_, let install), .sync(let install, _), .trial(let install, _, _, _), .peek(let install, _, _),
            .consume(let install, _, _, _), .present(_, let install, _):
            return install
        case .validate(_, let install, _): return install
        default: return nil
        }
    }
}
