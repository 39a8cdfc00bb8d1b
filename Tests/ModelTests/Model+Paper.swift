// Bundles.
extension Model {
    private static let sources = ["store", "license", "gift", "trial"]

    /// The bundle of an install.
    mutating func paper(_ number: Int) -> Paper {
        var grants: [(grant: Paper.Grant, order: [Int64])] = []
        var licenses: [Paper.License] = []
        func add(
            _ features: [Int],
            _ source: String,
            _ starts: Int64,
            _ ends: Int64?,
            lease: Int64?,
            life: Int64,
            _ reference: Paper.Reference,
            order: [Int64]
        ) {
            guard ends.map({ now < $0 }) ?? true else { return }
            let until = [ends, lease, now + life].compactMap { $0 }.min() ?? now
            for feature in features {
                let grant = Paper.Grant(
                    feature: feature,
                    source: source,
                    starts: starts,
                    ends: ends,
                    until: until,
                    reference: reference
                )
                grants.append((grant, order))
            }
        }
        var reach: [(license: Int, lease: Int64?)] = []
        for place in seats.indices where seats[place].install == number && isHeld(seats[place]) {
            let license = self.licenses[seats[place].license]
            let lease = leaseEnd(seats[place])
            reach.append((seats[place].license, lease))
            // Without a start of its own it is in force from its issue on, also by a clock that was set back since.
            let starts = license.starts ?? min(license.issued, now)
            licenses.append(
                Paper.License(
                    number: seats[place].license,
                    plan: license.plan,
                    status: status(license),
                    starts: starts,
                    ends: rightEnd(license),
                    seat: seats[place].number
                )
            )
            guard refusal(license) == nil else { continue }
            add(
                plan(license).features,
                "license",
                starts,
                rightEnd(license),
                lease: lease,
                life: offlineLife(license),
                .license(seats[place].license),
                order: [license.issued, Int64(seats[place].license)]
            )
        }
        for (place, gift) in gifts.enumerated() where !gift.isWithdrawn && installs[number] != nil {
            let reaching: [Int64?]
            switch gift.recipient {
            case .install(let install): reaching = install == number ? [nil] : []
            case .license(let license): reaching = reach.filter { $0.license == license }.map(\.lease)
            case .customer(let customer):
                reaching = reach.filter { self.licenses[$0.license].customer == customer }.map(\.lease)
            }
            guard !reaching.isEmpty else { continue }
            // Of several seats the one that is held longest counts.
            let lease = reaching.contains(nil) ? nil : reaching.compactMap { $0 }.max()
            add(
                gift.features,
                "gift",
                min(gift.starts, now),
                gift.ends,
                lease: lease,
                life: settings.offlineLife,
                .gift(place),
                order: [gift.starts, Int64(place)]
            )
        }
        for grant in storeGrants(number) {
            add(
                grant.features,
                "store",
                grant.starts,
                grant.ends,
                lease: nil,
                life: settings.offlineLife,
                grant.purchase.name,
                order: [grant.purchase.made, Int64(place(of: grant.purchase))]
            )
        }
        for (place, tier) in (ledger?.tiers ?? []).enumerated() {
            guard let reached = reached(tier.threshold, by: number) else { continue }
            add(
                tier.features,
                "gift",
                min(reached, now),
                tier.lasting.map { adding($0, to: reached) },
                lease: nil,
                life: settings.offlineLife,
                .tier(place),
                // Made before everything else.
                order: [ledger?.start ?? 0, Int64(place - 100)]
            )
        }
        let trial = trial(of: number)
        let told = told(trial: trial).1
        if let trial, told.state == "active", let plan = settings.trialPlan {
            let known = toldTrials[trial] ?? toldTrials.count
            if !plans[plan].features.isEmpty { toldTrials[trial] = known }
            add(
                plans[plan].features,
                "trial",
                min(trials[trial].start, now),
                told.ends,
                lease: nil,
                life: settings.offlineLife,
                .trial(known),
                order: [Int64(trial)]
            )
        }
        return paper(number, grants, licenses, told)
    }

    private func paper(
        _ number: Int,
        _ grants: [(grant: Paper.Grant, order: [Int64])],
        _ licenses: [Paper.License],
        _ trial: Told.Trial
    ) -> Paper {
        // By feature, then source, then the latest end, then the reference.
        let listed = grants.sorted { left, right in
            Self.rank(left.grant) + left.order < Self.rank(right.grant) + right.order
        }.map(\.grant)
        let first = listed.map(\.until).min()
        let last = listed.map(\.until).max() ?? now + settings.offlineLife
        var entitlements: [Paper.Entitlement] = []
        for grant in listed {
            guard let old = entitlements.last, old.feature == grant.feature else {
                entitlements.append(
                    Paper.Entitlement(feature: grant.feature, source: grant.source, ends: grant.ends)
                )
                continue
            }
            let ends = old.ends.flatMap { old in grant.ends.map { max(old, $0) } }
            entitlements[entitlements.count - 1].ends = ends
        }
        var paper = Paper(
            issued: now,
            expires: last,
            refresh: now + min(settings.refreshAfter, ((first ?? last) - now) / 2)
        )
        paper.grants = listed
        paper.licenses = licenses.sorted { $0.number < $1.number }
        paper.trial = trial.state == "unavailable" ? nil : trial
        paper.entitlements = entitlements
        if installs[number] != nil { paper.meters = meterRows(number) }
        return paper
    }

    private static func rank(_ grant: Paper.Grant) -> [Int64] {
        let source = sources.firstIndex(of: grant.source) ?? sources.count
        return [Int64(grant.feature), Int64(source), -(grant.ends ?? .max)]
    }

    /// Each meter that counts for the install without doubt.
    private func meterRows(_ number: Int) -> [Paper.Meter] {
        let active = active(number)
        let plans = active.map { plan(licenses[$0]) }
        return meters.indices.compactMap { meter in
            guard let subject = subject(meter, number, active.count == 1 ? active[0] : nil) else { return nil }
            let usage = current(Counter(meter: meter, subject: subject))
            var resets = windowEnd(meter, usage.opened)
            if !usage.isOpened { resets = nil }
            return Paper.Meter(meter: meter, used: usage.used, limit: limit(meter, plans), resets: resets)
        }
    }
}

extension [Int64] {
    /// Element by element.
    static func < (left: [Int64], right: [Int64]) -> Bool { left.lexicographicallyPrecedes(right) }
}
