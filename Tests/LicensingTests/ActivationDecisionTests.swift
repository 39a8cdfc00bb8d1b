import Licensing
import Testing

@Suite("Activation decision") struct ActivationDecisionTests {
    let settings = ProductSettings()
    let now = Timestamp.noon

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
}
