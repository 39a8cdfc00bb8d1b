import Bundles
import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Trials of installs") struct TrialServiceTests {
    typealias Shop = TrialShop

    // MARK: Start

    @Test("any first contact starts the clock, and the trial ends to the second")
    func firstContact() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])

        try shop.contact("a", at: Shop.noon)

        let last = try shop.status("a", at: Shop.day(14, second: -1))
        #expect(last.code == .trialActive)
        #expect(last.remainingSeconds == 1)
        #expect(last.startedAt == Shop.noon)
        let over = try shop.status("a", at: Shop.day(14))
        #expect(over.code == .trialExpired)
        #expect(over.remainingSeconds == 0)
        #expect(over.verdict == .rejected)
    }

    @Test("twenty first starts of one install or one machine make one trial")
    func once() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])

        for number in 0..<20 {
            try shop.ask("same", at: Shop.day(Int64(number)))
            try shop.ask("install-\(number)", "one", at: Shop.day(Int64(number)))
        }

        #expect(try shop.trialCount() == 2)
        #expect(try shop.status("install-19", at: Shop.day(20)).startedAt == Shop.noon)
    }

    @Test("a reinstall on the same machine finds the same start and the same end")
    func reinstall() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("old", "laptop", at: Shop.noon)

        let again = try shop.ask("new", "laptop", at: Shop.day(10))

        #expect(again.startedAt == Shop.noon)
        #expect(again.endsAt == Shop.day(14))
        #expect(try shop.ask("third", "laptop", at: Shop.day(14)).code == .trialExpired)
        #expect(try shop.ask("other", "desktop", at: Shop.day(14)).code == .trialActive)
    }

    @Test("a machine whose fingerprint drifts has had its trial by each of them")
    func drift() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("old", "before", at: Shop.noon)
        try shop.contact("old", "after", at: Shop.day(1))

        let reinstalls = try ["before", "after"].map { (machine: String) in
            try shop.ask("new-\(machine)", machine, at: Shop.day(2))
        }

        #expect(reinstalls.map(\.startedAt) == [Shop.noon, Shop.noon])
        #expect(try shop.trialCount() == 1)
    }

    @Test("an install that tells its machine later has its trial found by a reinstall")
    func fingerprintLater() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("old", at: Shop.noon)
        try shop.contact("old", "laptop", at: Shop.day(1))

        let again = try shop.ask("new", "laptop", at: Shop.day(2))

        #expect(again.startedAt == Shop.noon)
        #expect(try shop.trialCount() == 1)
    }

    @Test("live and test never meet, nor do their machines")
    func modes() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.ask("a", "laptop", mode: .test, at: Shop.noon)

        let live = try shop.ask("a", "laptop", at: Shop.day(20))

        #expect(live.code == .trialActive)
        #expect(live.startedAt == Shop.day(20))
        #expect(try shop.status("a", mode: .test, at: Shop.day(20)).code == .trialExpired)
    }

    @Test("the client's first launch moves the start earlier, never later, and not under explicit")
    func firstLaunch() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])

        #expect(try shop.ask("a", firstLaunchAt: Shop.day(-3)).startedAt == Shop.day(-3))
        #expect(try shop.ask("a", firstLaunchAt: Shop.day(-1), at: Shop.day(1)).startedAt == Shop.day(-3))
        #expect(try shop.ask("b", firstLaunchAt: Shop.day(5)).startedAt == Shop.noon)
        try shop.set([.trialStart: "explicit"])
        #expect(try shop.ask("c", firstLaunchAt: Shop.day(-3)).startedAt == Shop.noon)
    }

    @Test("explicit: a contact starts nothing, asking does, once for a machine")
    func explicit() throws {
        let shop = try TrialShop([.trialDuration: "P14D", .trialStart: "explicit"])
        try shop.contact("a", "laptop", at: Shop.noon)

        #expect(try shop.ask("a", "laptop", start: false, at: Shop.day(1)).code == .trialAvailable)
        let started = try shop.ask("a", "laptop", at: Shop.day(2))
        #expect(started.startedAt == Shop.day(2))
        #expect(try shop.ask("b", "laptop", at: Shop.day(9)).endsAt == Shop.day(16))
        #expect(try shop.ask("b", "laptop", at: Shop.day(16)).code == .trialExpired)
        #expect(try shop.trialCount() == 1)
    }

    @Test("switching from explicit to first contact counts an old install's clock from its first contact")
    func switched() throws {
        let shop = try TrialShop([.trialDuration: "P14D", .trialStart: "explicit"])
        let install = try shop.contact("a", at: Shop.noon)
        try shop.set([.trialStart: "first_contact"], day: 5)

        #expect(shop.installs.mustRecord(try shop.claim("a"), known: install, for: try shop.caller()))
        let known = try shop.contact("a", at: Shop.day(5))

        #expect(!shop.installs.mustRecord(try shop.claim("a"), known: known, for: try shop.caller()))
        #expect(try shop.status("a", at: Shop.day(5)).endsAt == Shop.day(14))
    }

    // MARK: Lengths

    @Test("14 days, then none, then 30: what ran goes on, what was over stays over, first contacts count from then")
    func lengths() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("early", at: Shop.noon)
        try shop.contact("running", at: Shop.day(10))
        try shop.set([.trialDuration: "0"], day: 15)

        #expect(try shop.status("early", at: Shop.day(15)).code == .trialExpired)
        #expect(try shop.status("running", at: Shop.day(15)).endsAt == Shop.day(24))
        try shop.contact("meanwhile", at: Shop.day(15))
        #expect(try shop.status("meanwhile", at: Shop.day(15)).code == .trialDisabled)

        try shop.set([.trialDuration: "P30D"], day: 20)
        #expect(try shop.status("early", at: Shop.day(20)).code == .trialExpired)
        #expect(try shop.status("running", at: Shop.day(20)).endsAt == Shop.day(40))
        #expect(try shop.status("meanwhile", at: Shop.day(20)).endsAt == Shop.day(45))
        #expect(try shop.status("meanwhile", at: Shop.day(45)).code == .trialExpired)

        #expect(try shop.set([.trialDuration: "P30D"], day: 20) == .unchanged)
        #expect(try shop.set([.trialDuration: "P30D"], revivesTrials: true, day: 20) == .changed)
        #expect(try shop.status("early", at: Shop.day(30, second: -1)).code == .trialActive)
        #expect(try shop.status("early", at: Shop.day(30)).code == .trialExpired)
    }

    @Test("never configured and off are two answers, also after a restart; turned on later, an old install's is over")
    func offAndAbsent() throws {
        let shop = try TrialShop()
        try shop.contact("a", at: Shop.noon)

        #expect(try shop.status("a", at: Shop.day(1)).code == .trialNotConfigured)
        try shop.set([.trialDuration: "0"], day: 1)
        #expect(try shop.status("a", at: Shop.day(1)).code == .trialDisabled)
        try shop.set([.trialDuration: ""], day: 1)
        #expect(try shop.status("a", at: Shop.day(1)).code == .trialNotConfigured)
        try shop.set([.trialDuration: "P14D"], day: 20)
        #expect(try shop.ask("a", at: Shop.day(20)).code == .trialExpired)
        #expect(try shop.ask("b", at: Shop.day(20)).code == .trialActive)
    }

    @Test(
        "one statement gives every trial the end that the rule says",
        arguments: ["P14D", "P1M", "P2M", "P13M", "P1Y", "P1M3DT4H5M6S", "PT90S", "P9000Y"],
        [false, true]
    )
    func oneStatement(length: String, isReviving: Bool) throws {
        let shop = try TrialShop()
        let now = Shop.noon
        let starts = [
            "1970-01-01T00:00:00Z", "2023-12-31T23:59:59Z", "2024-01-31T00:00:00Z", "2024-02-29T12:00:00Z",
            "2026-10-31T09:08:07Z", "2026-11-29T01:02:03Z", "2026-11-30T12:00:00Z", "9998-12-31T00:00:00Z",
        ]
        var trials: [Trial] = []
        for start in try starts.map({ text throws in try Timestamp(text, as: .instant) }) {
            for end in [nil, now.adding(seconds: -1), now, now.adding(seconds: 1)] as [Timestamp?] {
                for extended in [nil, now, now.adding(seconds: 1)] as [Timestamp?] {
                    trials.append(
                        Trial(
                            id: Identifier(high: 1, low: UInt64(trials.count)),
                            product: shop.product,
                            mode: .live,
                            install: nil,
                            startedAt: start,
                            endsAt: end,
                            extendedUntil: extended
                        )
                    )
                }
            }
        }
        for startsAt in TrialStart.allCases {
            try shop.write { db in
                try db.run("DELETE FROM trials")
                for trial in trials { try TrialStore.insert(trial, at: now, in: db) }
            }
            var product = try shop.row()
            product.settings.trialStart = startsAt
            product.settings.trialDuration = try CalendarDuration(length)

            let changed = try shop.write { db in
                try TrialService.applyLength(of: product, isReviving: isReviving, at: now, in: db)
            }

            let expected = trials.map { trial -> Trial in
                var trial = trial
                let end = trial.end(afterChangeTo: product.settings, isReviving: isReviving, at: now)
                trial.endsAt = end ?? trial.endsAt
                return trial
            }
            let found = try shop.read { db in
                try TrialStore.list(of: shop.product, mode: .live, after: nil, limit: 1000, in: db)
            }
            #expect(found == expected)
            #expect(changed == zip(trials, expected).count { $0 != $1 })
        }
    }

    // MARK: What it gives

    @Test("all answers agree: grants of the trial plan and the bundle's claim last exactly as long as the trial")
    func bundle() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        try shop.contact("a", at: Shop.noon)

        let running = try shop.state("a", at: Shop.day(14, second: -1))
        #expect(running.entitlements.map(\.feature.text) == ["pro_unlock"])
        #expect(running.entitlements.first?.source == .trial)
        #expect(running.entitlements.first?.expiresAt == Shop.day(14))
        #expect(running.facts.trial?.state == .active)
        #expect(running.facts.trial?.starts == Shop.noon)
        #expect(running.facts.trial?.ends == Shop.day(14))
        let over = try shop.state("a", at: Shop.day(14))
        #expect(over.entitlements.isEmpty)
        #expect(over.facts.trial?.state == .expired)
    }

    @Test("a bundle says nothing of a trial that is not offered, and only its state while it may be started")
    func claimWithout() throws {
        let shop = try TrialShop()
        try shop.contact("a")
        #expect(try shop.state("a", at: Shop.noon).facts.trial == nil)

        try shop.set([.trialDuration: "P14D", .trialStart: "explicit"])

        let claim = try #require(try shop.state("a", at: Shop.noon).facts.trial)
        #expect(claim.state == .available)
        #expect(claim.starts == nil)
        #expect(claim.ends == nil)
    }

    // MARK: Machines

    @Test("an install may tell any number of fingerprints: its trial stays one, known by the first of them")
    func machines() throws {
        let shop = try TrialShop([.trialDuration: "P14D"])
        let most = TrialStore.mostMachines

        for number in 0..<(most + 8) { try shop.contact("a", "machine \(number)") }

        #expect(try shop.trialCount() == 1)
        let rows = try shop.read { db in try db.first("SELECT count(*) FROM trial_fingerprints") { try $0.int() } }
        #expect(rows == most)
        #expect(try shop.status("a", at: Shop.day(1)).code == .trialActive)
        for number in [0, most - 1] {
            #expect(try shop.ask("b \(number)", "machine \(number)", at: Shop.day(1)).startedAt == Shop.noon)
        }
    }
}
