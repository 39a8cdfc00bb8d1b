import Licensing
import Testing

@Suite("Activation decision") struct ActivationDecisionTests {
    let settings = ProductSettings()
    let now = Timestamp.noon

    func decide(
        _ license: License,
        install: UInt64,
        fingerprint: Digest256? = nil,
        replacing: Activation.ID? = nil,
        oldKey: Bool = false,
        given facts: SeatFacts,
        at now: Timestamp = .noon
    ) -> Decision<ActivationGrant> {
        let request = ActivationRequest(
            install: .number(install),
            fingerprint: fingerprint,
            replacing: replacing,
            keyIsReplaced: oldKey
        )
        return license.activationDecision(for: request, given: facts, under: settings, at: now)
    }

    func isNew(_ decision: Decision<ActivationGrant>) -> Bool {
        if case .granted(let grant) = decision, case .new = grant.seat { return true }
        return false
    }

    @Test("a free seat is given, with the count after it")
    func newSeat() throws {
        let license = try License.fixture()

        let grant = try #require(decide(license, install: 3, given: SeatFacts(activations: [.fixture(1)])).value)

        guard case .new(let seat) = grant.seat else {
            Issue.record("not a new seat")
            return
        }
        let activation = seat.activation(id: .number(7))
        #expect(grant.seats == SeatUse(used: 2, limit: .limited(2)))
        #expect(grant.releasing.isEmpty)
        #expect(activation.id == .number(7))
        #expect(activation.install == .number(3))
        #expect(activation.activatedAt == now)
        #expect(activation.leaseExpiresAt == nil)
    }

    @Test("a full license refuses, whether its seats were read or only counted")
    func full() throws {
        let license = try License.fixture()
        let seats = [
            Activation.fixture(1, lastSeenAt: now.adding(days: -2)),
            Activation.fixture(2, lastSeenAt: now.adding(days: -1)),
        ]

        let decision = decide(license, install: 3, given: SeatFacts(activations: seats))

        #expect(decision == .denied(.noSeats(used: 2, limit: 2)))
        let counted = decide(license, install: 3, given: SeatFacts(activations: [], othersHeld: 2))
        #expect(counted == decision)
        #expect(decision.denial?.verdict == .unknown)
    }

    @Test("an install that holds a seat keeps it: same id, refreshed, also when the license is full or the key old")
    func alreadySeated() throws {
        let license = try License.fixture()
        let facts = SeatFacts(activations: [.fixture(1), .fixture(2)])
        let request = ActivationRequest(
            install: .number(1),
            fingerprint: .number(9),
            device: DeviceInfo(name: "Mac"),
            keyIsReplaced: true
        )

        let grant = try #require(license.activationDecision(for: request, given: facts, under: settings, at: now).value)

        #expect(grant.activation?.id == .number(1))
        #expect(grant.activation?.fingerprint == .number(9))
        #expect(grant.activation?.device.name == "Mac")
        #expect(grant.activation?.lastSeenAt == now)
        #expect(grant.activation?.activatedAt == now.adding(days: -5))
        #expect(grant.seats == SeatUse(used: 2, limit: .limited(2)))
    }

    @Test(
        "a license that is not in force gives no seat, not even the one that is held",
        arguments: [
            (.revoked, .revoked), (.suspended, .suspended), (.active, .expired(at: Timestamp.noon)),
        ] as [(Standing, Denial)]
    )
    func notInForce(standing: Standing, denial: Denial) throws {
        let license = try License.fixture(standing: standing, expiresAt: now)

        #expect(decide(license, install: 1, given: SeatFacts(activations: [.fixture(1)])) == .denied(denial))
    }

    @Test("a limit of 0 seats nobody, whatever the policy", arguments: SeatPolicy.allCases)
    func zero(policy: SeatPolicy) throws {
        let plan = try Plan.fixture(seatLimit: .limited(0), seatPolicy: policy, overagePercent: 100)

        let decision = decide(try .fixture(plan: plan), install: 1, given: SeatFacts(activations: []))

        #expect(decision == .denied(.noSeats(used: 0, limit: 0)))
    }

    @Test("an unlimited license counts seats that were not loaded, and has no transfer cap")
    func unlimited() throws {
        let plan = try Plan.fixture(seatLimit: .unlimited, transferLimit: 0)
        let license = try License.fixture(plan: plan)

        let decision = decide(
            license,
            install: 1,
            given: SeatFacts(activations: [], othersHeld: 5000, newSeatsInPeriod: 5000)
        )

        #expect(decision.value?.seats == SeatUse(used: 5001, limit: .unlimited))
        #expect(license.transferPeriodStart(at: now) == nil)
    }

    @Test("overage lets so many more in and then refuses with the plain limit")
    func overage() throws {
        let plan = try Plan.fixture(seatLimit: .limited(2), seatPolicy: .allowOverage, overagePercent: 50)
        let license = try License.fixture(plan: plan)

        let third = decide(license, install: 3, given: SeatFacts(activations: [.fixture(1), .fixture(2)]))
        let fourth = decide(
            license,
            install: 4,
            given: SeatFacts(activations: [.fixture(1), .fixture(2), .fixture(3)])
        )

        #expect(third.value?.seats == SeatUse(used: 3, limit: .limited(2)))
        guard case .denied(.noSeats(used: 3, limit: 2)) = fourth else {
            Issue.record("the fourth must be refused")
            return
        }
    }

    @Test("a lowered limit drops nobody and lets nobody in")
    func lowered() throws {
        let license = try License.fixture(plan: .fixture(seatLimit: .limited(1)))
        let facts = SeatFacts(activations: [.fixture(1), .fixture(2)])

        #expect(decide(license, install: 2, given: facts).value?.activation?.id == .number(2))
        #expect(decide(license, install: 3, given: facts).denial?.code == .noSeatsAvailable)
    }

    // MARK: Release of idle seats

    @Test(
        "release_oldest releases the longest-unseen seat once it is idle for the offline life, or longer where said",
        arguments: [
            (nil, 7 * 86_400 - 1, false), (nil, 7 * 86_400, true), (3, 7 * 86_400 - 1, false), (3, 7 * 86_400, true),
            (10, 10 * 86_400 - 1, false), (10, 10 * 86_400, true),
        ] as [(Int64?, Int64, Bool)]
    )
    func releaseOldest(idleDays: Int64?, unseen: Int64, isReleased: Bool) throws {
        let plan = try Plan.fixture(
            seatPolicy: .releaseOldest,
            idleBeforeRelease: idleDays.map { CalendarDuration(days: $0) }
        )
        let oldest = Activation.fixture(1, activatedAt: now.adding(days: -90), lastSeenAt: now.adding(seconds: -unseen))
        let facts = SeatFacts(activations: [oldest, .fixture(2, lastSeenAt: now)])

        let decision = decide(try .fixture(plan: plan), install: 3, given: facts)

        #expect(decision.value?.releasing.map(\.activation) == (isReleased ? [.number(1)] : nil))
        #expect(decision.value?.releasing.map(\.reason) == (isReleased ? [.idle] : nil))
        #expect((decision.value?.seats.used ?? 2) == 2)
    }

    @Test("above a lowered limit as many idle seats go as needed, all or none")
    func releaseSeveral() throws {
        let license = try License.fixture(plan: .fixture(seatLimit: .limited(2), seatPolicy: .releaseOldest))
        let old = (1...3).map { Activation.fixture(UInt64($0), lastSeenAt: now.adding(days: -40 + Int64($0))) }
        let fresh = Activation.fixture(4, lastSeenAt: now)
        let almost = Activation.fixture(3, lastSeenAt: now.adding(days: -6))

        let all = decide(license, install: 9, given: SeatFacts(activations: old + [fresh]))
        let none = decide(license, install: 9, given: SeatFacts(activations: [old[0], old[1], almost, fresh]))

        #expect(all.value?.releasing.map(\.activation) == [.number(1), .number(2), .number(3)])
        #expect(all.value?.seats.used == 2)
        #expect(none.denial?.code == .noSeatsAvailable)
    }

    // MARK: Reinstall

    @Test("a reinstall on a machine that holds a seat takes it over: same id, no seat more, with an old key too")
    func takeover() throws {
        let license = try License.fixture()
        let facts = SeatFacts(activations: [.fixture(1, fingerprint: .number(5)), .fixture(2)], newSeatsInPeriod: 99)

        let grant = try #require(decide(license, install: 3, fingerprint: .number(5), oldKey: true, given: facts).value)

        guard case .takenOver(let activation, let old) = grant.seat else {
            Issue.record("not a take-over")
            return
        }
        #expect(activation.id == .number(1))
        #expect(activation.install == .number(3))
        #expect(activation.takeovers == [now])
        #expect(old == .number(1))
        #expect(grant.seats.used == 2)
    }

    @Test("at most three take-overs of a seat in 30 days, then it is a new activation")
    func takeoverLimit() throws {
        let license = try License.fixture()
        let within = (1...3).map { now.adding(days: -30).adding(seconds: $0) }
        let seat = { (takeovers: [Timestamp]) in
            SeatFacts(activations: [.fixture(1, fingerprint: .number(5), takeovers: takeovers)])
        }

        let fourth = decide(license, install: 3, fingerprint: .number(5), given: seat(within))
        let afterwards = decide(
            license,
            install: 3,
            fingerprint: .number(5),
            given: seat([now.adding(days: -30)] + within.dropFirst())
        )

        #expect(isNew(fourth))
        #expect(afterwards.value?.activation?.takeovers == Array(within.dropFirst()) + [now])
    }

    @Test("of several seats of one machine the one seen last that may still be taken over")
    func takeoverChoice() throws {
        let license = try License.fixture(plan: .fixture(seatLimit: .limited(5)))
        let often = [now.adding(days: -3), now.adding(days: -2), now.adding(days: -1)]
        let facts = SeatFacts(activations: [
            .fixture(1, fingerprint: .number(5), lastSeenAt: now.adding(days: -9)),
            .fixture(2, fingerprint: .number(5), lastSeenAt: now.adding(days: -1), takeovers: often),
            .fixture(3, fingerprint: .number(5), lastSeenAt: now.adding(days: -4)),
        ])

        #expect(decide(license, install: 9, fingerprint: .number(5), given: facts).value?.activation?.id == .number(3))
    }

    @Test("a replaced install that calls again is a clone: a seat of its own while one is free, the fingerprint noted")
    func clone() throws {
        let license = try License.fixture()
        let taken = Activation.fixture(1, install: 3, fingerprint: .number(5))
        let free = SeatFacts(activations: [taken], replacedByFingerprint: .number(5))
        let full = SeatFacts(activations: [taken, .fixture(2)], replacedByFingerprint: .number(5))

        #expect(isNew(decide(license, install: 1, fingerprint: .number(5), given: free)))
        #expect(isNew(decide(license, install: 1, given: free)))
        #expect(decide(license, install: 1, fingerprint: .number(5), given: full).denial?.code == .noSeatsAvailable)
        #expect(free.newlyClonedFingerprint == .number(5))
        #expect(full.newlyClonedFingerprint == .number(5))
        #expect(SeatFacts(activations: []).newlyClonedFingerprint == nil)
    }

    @Test("a cloned fingerprint takes no seat over any more, whoever calls")
    func cloned() throws {
        let license = try License.fixture()
        let five = try #require(Digest256.number(5))
        let seats = [Activation.fixture(1, fingerprint: five)]
        let stranger = SeatFacts(activations: seats, clonedFingerprints: [five])
        let replaced = SeatFacts(activations: seats, replacedByFingerprint: five, clonedFingerprints: [five])

        #expect(isNew(decide(license, install: 9, fingerprint: five, given: stranger)))
        #expect(isNew(decide(license, install: 9, fingerprint: five, given: replaced)))
        #expect(replaced.newlyClonedFingerprint == nil)
    }

    @Test("two installs that know no fingerprint are never one machine")
    func unknownFingerprints() throws {
        let decision = decide(try .fixture(), install: 9, given: SeatFacts(activations: [.fixture(1)]))

        #expect(isNew(decision))
    }

    // MARK: Old keys and the transfer cap

    @Test("an old key gives no new seat, free or not")
    func oldKey() throws {
        let license = try License.fixture()

        #expect(decide(license, install: 9, oldKey: true, given: SeatFacts(activations: [])) == .denied(.reissued))
        #expect(
            decide(license, install: 9, oldKey: true, given: SeatFacts(activations: [.fixture(1), .fixture(2)]))
                == .denied(.reissued)
        )
        #expect(Denial.reissued.verdict == .unknown)
    }

    @Test(
        "new seats are capped at the limit and so many more in a period",
        arguments: [(2, true), (3, false), (4, false)]
    )
    func transferLimit(given count: Int, isGranted: Bool) throws {
        let plan = try Plan.fixture(transferLimit: 1, transferPeriod: CalendarDuration(months: 1))
        let license = try License.fixture(plan: plan)

        let decision = decide(license, install: 9, given: SeatFacts(activations: [], newSeatsInPeriod: count))

        #expect(isNew(decision) == isGranted)
        if !isGranted { #expect(decision == .denied(.transferLimit(most: 3))) }
        #expect(license.transferPeriodStart(at: now) == now.adding(months: -1))
    }

    @Test("without a cap nothing is counted, and without a period it is 30 days")
    func transferPeriod() throws {
        #expect(try License.fixture().transferPeriodStart(at: now) == nil)
        #expect(
            try License.fixture(plan: .fixture(transferLimit: 1)).transferPeriodStart(at: now) == now.adding(days: -30)
        )
    }

    // MARK: Replace

    @Test("replace releases the named seat and gives a new one in one step")
    func replace() throws {
        let facts = SeatFacts(activations: [.fixture(1), .fixture(2)])

        let decision = decide(try .fixture(), install: 9, replacing: .number(1), given: facts)

        #expect(isNew(decision))
        #expect(
            decision.value?.releasing == [
                SeatRelease(activation: .number(1), install: .number(1), at: now, reason: .replaced)
            ]
        )
        #expect(decision.value?.seats.used == 2)
    }

    @Test("replace names a seat of this license, or nothing is done")
    func replaceUnknown() throws {
        let license = try License.fixture()
        let released = Activation.fixture(4, releasedAt: now.adding(days: -1))
        let facts = SeatFacts(activations: [.fixture(1), released])

        #expect(decide(license, install: 9, replacing: .number(77), given: facts) == .denied(.replacedSeatNotFound))
        #expect(decide(license, install: 9, replacing: .number(4), given: facts) == .denied(.replacedSeatNotFound))
        #expect(Denial.replacedSeatNotFound.code == .validation)
    }

    @Test("replace can be repeated: an install that has its seat keeps it")
    func replaceAgain() throws {
        let facts = SeatFacts(activations: [.fixture(2), .fixture(9)])

        let decision = decide(try .fixture(), install: 9, replacing: .number(1), given: facts)

        #expect(decision.value?.activation?.id == .number(9))
        #expect(decision.value?.releasing == [])
    }

    @Test("replace is forbidden where customers may not release seats, but an ended license says that first")
    func replaceForbidden() throws {
        let plan = try Plan.fixture(selfRelease: false)
        let facts = SeatFacts(activations: [.fixture(1)])

        #expect(
            decide(try .fixture(plan: plan), install: 9, replacing: .number(1), given: facts)
                == .denied(.selfReleaseOff)
        )
        #expect(
            decide(try .fixture(plan: plan, standing: .revoked), install: 9, replacing: .number(1), given: facts)
                == .denied(.revoked)
        )
        #expect(isNew(decide(try .fixture(plan: plan), install: 9, given: facts)))
    }

    @Test("replace counts as a new seat, needs a current key, and does not get over a lowered limit")
    func replaceRules() throws {
        let facts = SeatFacts(activations: [.fixture(1), .fixture(2)], newSeatsInPeriod: 2)
        let capped = try License.fixture(plan: .fixture(transferLimit: 0))
        let lowered = try License.fixture(plan: .fixture(seatLimit: .limited(1)))

        #expect(decide(capped, install: 9, replacing: .number(1), given: facts) == .denied(.transferLimit(most: 2)))
        #expect(
            decide(try .fixture(), install: 9, replacing: .number(1), oldKey: true, given: facts) == .denied(.reissued)
        )
        #expect(decide(lowered, install: 9, replacing: .number(1), given: facts).denial?.code == .noSeatsAvailable)
    }

    // MARK: First activation and leases

    @Test("the first activation starts a term that waited for it; later ones change nothing")
    func firstActivation() throws {
        let year = CalendarDuration(months: 12)
        let waiting = try License.fixture(
            plan: .fixture(duration: year, expiryBasis: .firstActivation),
            term: .pending(year)
        )
        let running = try License.fixture(expiresAt: now.adding(days: 1), firstActivatedAt: now.adding(days: -1))

        let first = try #require(decide(waiting, install: 1, given: SeatFacts(activations: [])).value)
        let later = try #require(decide(running, install: 1, given: SeatFacts(activations: [])).value)

        #expect(first.firstActivatedAt == now)
        #expect(first.startsTerm == .ending(end: now.adding(months: 12), anchor: now, months: 12))
        #expect(later.firstActivatedAt == nil)
        #expect(later.startsTerm == nil)
    }

    @Test("a seat whose lease is over is free, is written as ended when it ended, and comes back with a new id")
    func lapsedLease() throws {
        let license = try License.fixture(plan: .fixture(seatLimit: .limited(1), leaseSeconds: 600))
        let lapsed = Activation.fixture(
            1,
            leaseRenewedAt: now.adding(seconds: -600),
            leaseExpiresAt: now
        )

        for install in [1, 2] as [UInt64] {
            let grant = try #require(decide(license, install: install, given: SeatFacts(activations: [lapsed])).value)
            guard case .new(let seat) = grant.seat else {
                Issue.record("not a new seat")
                return
            }
            #expect(
                grant.releasing == [
                    SeatRelease(activation: .number(1), install: .number(1), at: now, reason: .leaseEnded)
                ]
            )
            #expect(grant.seats.used == 1)
            #expect(seat.activation(id: .number(8)).leaseExpiresAt == now.adding(seconds: 600))
        }
        let running = decide(license, install: 2, given: SeatFacts(activations: [lapsed]), at: now.adding(seconds: -1))
        #expect(running.denial?.code == .noSeatsAvailable)
    }

    @Test("replacing a seat whose lease ended meanwhile just takes the free seat")
    func replaceLapsed() throws {
        let license = try License.fixture(plan: .fixture(seatLimit: .limited(1), leaseSeconds: 600))
        let lapsed = Activation.fixture(
            1,
            leaseRenewedAt: now.adding(seconds: -700),
            leaseExpiresAt: now.adding(seconds: -100)
        )

        let decision = decide(license, install: 2, replacing: .number(1), given: SeatFacts(activations: [lapsed]))

        #expect(decision.value?.seats.used == 1)
        #expect(decision.value?.releasing.map(\.reason) == [.leaseEnded])
    }

    @Test("activating again renews the lease")
    func renewsLease() throws {
        let license = try License.fixture(plan: .fixture(leaseSeconds: 600))
        let seat = Activation.fixture(
            1,
            leaseRenewedAt: now.adding(seconds: -10),
            leaseExpiresAt: now.adding(seconds: 590)
        )

        let grant = decide(license, install: 1, given: SeatFacts(activations: [seat])).value

        #expect(grant?.activation?.leaseExpiresAt == now.adding(seconds: 600))
    }
}
