// Meters.
extension Model {
    /// The highest of the product's limit and those of plans; nil is unlimited.
    func limit(_ meter: Int, _ plans: [PlanSpec]) -> Int64? {
        var limit = meters[meter].limit
        for raised in plans.flatMap(\.meters) where raised.meter == meter {
            guard let old = limit, let new = raised.limit else { return nil }
            limit = max(old, new)
        }
        return limit
    }

    func windowEnd(_ meter: Int, _ opened: Int64) -> Int64? {
        switch meters[meter].period {
        case .lifetime: nil
        case .day: startOfDay(opened) + 86_400
        case .month: adding(Span(months: 1), to: startOfMonth(opened))
        case .year: adding(Span(months: 12), to: startOfYear(opened))
        case .rolling(let span): adding(span, to: opened)
        }
    }

    /// What was counted in the window that is open now.
    func current(_ counter: Counter) -> Usage {
        if let usage = usage[counter] {
            guard let end = windowEnd(counter.meter, usage.opened), end <= now else { return usage }
        }
        switch meters[counter.meter].period {
        case .lifetime: return Usage(opened: 0, used: 0)
        case .day: return Usage(opened: startOfDay(now), used: 0)
        case .month: return Usage(opened: startOfMonth(now), used: 0)
        case .year: return Usage(opened: startOfYear(now), used: 0)
        case .rolling: return Usage(opened: now, used: 0, isOpened: false)
        }
    }

    private func report(_ meter: Int, _ usage: Usage, _ limit: Int64?, isAllowed: Bool) -> Told.Meter {
        var resets = windowEnd(meter, usage.opened)
        if !usage.isOpened { resets = nil }
        return Told.Meter(meter: meter, isAllowed: isAllowed, used: usage.used, limit: limit, resets: resets)
    }

    func subject(_ meter: Int, _ install: Int, _ license: Int?) -> Subject? {
        switch meters[meter].scope {
        case "install": .install(install)
        case "license": license.map { .license($0) }
        default: license.map { license in licenses[license].customer.map { .customer($0) } ?? .license(license) }
        }
    }

    /// The license that counts, or why there is none.
    private func license(_ install: Int, _ key: KeySpec?) -> (license: Int?, code: String?) {
        guard let key else {
            let active = active(install)
            if active.count > 1 { return (nil, "VALIDATION") }
            return active.first.map { ($0, nil) } ?? (nil, "NOT_ACTIVATED")
        }
        guard let (license, _) = find(key) else { return (nil, "LICENSE_NOT_FOUND") }
        if let refusal = refusal(licenses[license]) { return (nil, refusal) }
        return seat(of: license, heldBy: install) == nil ? (nil, "NOT_ACTIVATED") : (license, nil)
    }

    /// What would be told of these amounts, and what would be counted.
    private func weigh(_ install: Int, _ amounts: [AmountSpec], _ key: KeySpec?) -> (Told, [(Counter, Usage)]) {
        var counting: Int?
        if amounts.contains(where: { meters[$0.meter].scope != "install" }) {
            let (license, code) = license(install, key)
            if let code { return (Told(code), []) }
            counting = license
        }
        let plans = active(install).map { plan(licenses[$0]) }
        var (before, after): ([Told.Meter], [Told.Meter]) = ([], [])
        var writes: [(Counter, Usage)] = []
        for amount in amounts {
            guard let subject = subject(amount.meter, install, counting) else { continue }
            let counter = Counter(meter: amount.meter, subject: subject)
            var usage = current(counter)
            let limit = limit(amount.meter, plans)
            let fits = limit.map { usage.used + amount.amount <= $0 } ?? true
            before.append(report(amount.meter, usage, limit, isAllowed: fits))
            usage.used += amount.amount
            usage.isOpened = true
            after.append(report(amount.meter, usage, limit, isAllowed: true))
            writes.append((counter, usage))
        }
        let isAllowed = before.allSatisfy(\.isAllowed)
        var told = Told(isAllowed ? "ALLOWED" : "REFUSED")
        told.meters = before
        var counted = told
        counted.meters = after
        return isAllowed ? (counted, writes) : (told, [])
    }

    mutating func peek(_ install: Int, _ amounts: [AmountSpec], _ key: KeySpec?) -> Told {
        ask(install, nil) { model in
            let (told, writes) = model.weigh(install, amounts, key)
            guard told.code == "ALLOWED" else { return told }
            var peeked = told
            peeked.meters = writes.map { counter, usage in
                let current = model.current(counter)
                let plans = model.active(install).map { model.plan(model.licenses[$0]) }
                return model.report(counter.meter, current, model.limit(counter.meter, plans), isAllowed: true)
            }
            return peeked
        }
    }

    mutating func consume(_ install: Int, _ amounts: [AmountSpec], _ key: KeySpec?, _ repeatKey: Int?) -> Told {
        if isNew(install, nil) { record(install, nil) }
        let shown = key.map { key -> [Int] in
            guard key.realm == nil, licenses.indices.contains(key.license) else { return [-1, key.license] }
            return [key.license, licenses[key.license].keys - min(key.age, licenses[key.license].keys - 1)]
        }
        let name = repeatKey.map { RepeatKey(install: install, key: $0) }
        if let name, let kept = kept[name], now < kept.at + 86_400 {
            guard kept.amounts == amounts && kept.key == shown else { return Told("IDEMPOTENCY_CONFLICT") }
            return kept.told
        }
        let (told, writes) = weigh(install, amounts, key)
        for (counter, usage) in writes { self.usage[counter] = usage }
        // Only what was counted is kept.
        if let name, told.code == "ALLOWED" {
            kept[name] = Kept(amounts: amounts, key: shown, told: told, at: now)
        }
        return told
    }

    mutating func resetMeter(_ meter: Int, _ install: Int) -> Told {
        change(meter, install) { _, _ in nil }
    }

    mutating func refundMeter(_ meter: Int, _ install: Int, _ amount: Int64) -> Told {
        change(meter, install) { usage, isOver in
            // Of a window that is over nothing is given back.
            isOver ? usage : Usage(opened: usage.opened, used: max(0, usage.used - amount))
        }
    }

    private mutating func change(_ meter: Int, _ install: Int, _ change: (Usage, Bool) -> Usage?) -> Told {
        guard meters[meter].scope == "install" else { return Told("VALIDATION") }
        guard installs[install] != nil else { return Told("INSTALL_NOT_FOUND") }
        let counter = Counter(meter: meter, subject: .install(install))
        if let row = usage[counter] {
            let isOver = windowEnd(meter, row.opened).map { $0 <= now } ?? false
            usage[counter] = change(row, isOver)
        }
        let plans = active(install).map { plan(licenses[$0]) }
        var told = Told("OK")
        told.meters = [report(meter, current(counter), limit(meter, plans), isAllowed: true)]
        return told
    }
}
