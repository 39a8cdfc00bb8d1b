import Licensing
import Testing

@Suite("Leases") struct LeaseTests {
    let now = Timestamp.noon

    @Test(
        "a lease ends by the shorter of what was kept and what the plan says now",
        arguments: [(600, 600), (60, 60), (3600, 600), (nil, nil)] as [(Int64?, Int64?)]
    )
    func shortened(planSeconds: Int64?, end: Int64?) {
        let seat = Activation.fixture(1, leaseRenewedAt: now, leaseExpiresAt: now.adding(seconds: 600))

        #expect(seat.leaseEnd(leaseSeconds: planSeconds) == end.map { now.adding(seconds: $0) })
    }

    @Test("a seat from before the plan had a lease counts as renewed when it was last seen")
    func newlyFloating() {
        let seat = Activation.fixture(1, activatedAt: now.adding(days: -9), lastSeenAt: now)

        #expect(seat.leaseEnd(leaseSeconds: 60) == now.adding(seconds: 60))
        #expect(seat.isHeld(at: now.adding(seconds: 59), leaseSeconds: 60))
        #expect(!seat.isHeld(at: now.adding(seconds: 60), leaseSeconds: 60))
    }

    @Test("a lease from before the plan had none is forgotten by whoever calls, once, and never found over")
    func formerlyFloating() throws {
        let license = try License.fixture(plan: .fixture())
        let seat = Activation.fixture(1, leaseRenewedAt: now, leaseExpiresAt: now.adding(seconds: 600))
        let later = now.adding(days: 30)

        let heartbeat = try #require(license.heartbeatDecision(seat: seat, at: later).value)
        let validation = license.validation(isInstallGiven: true, seat: seat, keyIsReplaced: false, at: later)
        let again = try #require(license.heartbeatDecision(seat: heartbeat.seat, at: later).value)

        #expect(heartbeat.writesLease && validation.writesLease && !again.writesLease)
        var seen = heartbeat.seat
        seen.lastSeenAt = later
        #expect(seen.isHeld(at: later.adding(seconds: 599), leaseSeconds: 600))
        #expect(validation.seat?.leaseRenewedAt == nil)
    }

    @Test("a released seat is not held")
    func released() {
        #expect(!Activation.fixture(1, releasedAt: now).isHeld(at: now, leaseSeconds: nil))
    }

    @Test(
        "validate and heartbeat renew a lease once half of it is over",
        arguments: [(299, false), (300, true), (599, true)] as [(Int64, Bool)]
    )
    func renewal(secondsLater: Int64, isWritten: Bool) throws {
        let license = try License.fixture(plan: .fixture(leaseSeconds: 600))
        let seat = Activation.fixture(1, leaseRenewedAt: now, leaseExpiresAt: now.adding(seconds: 600))
        let later = now.adding(seconds: secondsLater)

        let heartbeat = try #require(license.heartbeatDecision(seat: seat, at: later).value)
        let validation = license.validation(isInstallGiven: true, seat: seat, keyIsReplaced: false, at: later)

        let end = isWritten ? later.adding(seconds: 600) : now.adding(seconds: 600)
        #expect(heartbeat.writesLease == isWritten)
        #expect(heartbeat.leaseEnd == end)
        #expect(validation.writesLease == isWritten)
        #expect(validation.seat?.leaseExpiresAt == end)
    }

    @Test(
        "an activation that read the clock earlier and is written later takes nothing of a lease; a wrong clock's is put right",
        arguments: [(1, 1), (60, 60), (3600, 3600), (3601, 0), (86_400, 0)] as [(Int64, Int64)]
    )
    func overtaken(secondsAhead: Int64, kept: Int64) throws {
        let license = try License.fixture(plan: .fixture(leaseSeconds: 600))
        let renewed = now.adding(seconds: secondsAhead)
        let seat = Activation.fixture(1, leaseRenewedAt: renewed, leaseExpiresAt: renewed.adding(seconds: 600))

        let grant = try #require(decide(license, install: 1, given: SeatFacts(activations: [seat])).value)

        #expect(grant.activation?.leaseRenewedAt == now.adding(seconds: kept))
        #expect(grant.activation?.leaseExpiresAt == now.adding(seconds: kept + 600))
    }

    @Test("a lease that is over is not renewed: the seat is gone")
    func over() throws {
        let license = try License.fixture(plan: .fixture(leaseSeconds: 600))
        let seat = Activation.fixture(1, leaseRenewedAt: now, leaseExpiresAt: now.adding(seconds: 600))
        let end = now.adding(seconds: 600)

        #expect(license.heartbeatDecision(seat: seat, at: end) == .denied(.notActivated))
        #expect(
            license.validation(isInstallGiven: true, seat: seat, keyIsReplaced: false, at: end).code == .notActivated
        )
        #expect(license.seatUse(of: [seat, .fixture(2, lastSeenAt: end)], at: end).used == 1)
    }

    @Test("without a lease nothing is written and nothing ends")
    func fixedSeat() throws {
        let renewal = try License.fixture().heartbeatDecision(seat: .fixture(1), at: now).value

        #expect(renewal?.leaseEnd == nil)
        #expect(renewal?.writesLease == false)
    }
}

@Suite("Questions about seats") struct SeatQuestionTests {
    let now = Timestamp.noon

    @Test(
        "validate answers the first that matches, and says in every case that the key is old",
        arguments: [
            (.revoked, true, .licenseRevoked, .rejected), (.suspended, true, .licenseSuspended, .rejected),
            (.active, true, .valid, .granted), (.active, false, .notActivated, .unknown),
            (.revoked, false, .licenseRevoked, .rejected),
        ] as [(Standing, Bool, OutcomeCode, Verdict)]
    )
    func validate(standing: Standing, isSeated: Bool, code: OutcomeCode, verdict: Verdict) throws {
        let license = try License.fixture(standing: standing)

        let validation = license.validation(
            isInstallGiven: true,
            seat: isSeated ? .fixture(1) : nil,
            keyIsReplaced: true,
            at: now
        )

        #expect(validation.code == code)
        #expect(validation.verdict == verdict)
        #expect(validation.keyIsReplaced)
        #expect((validation.seat != nil) == isSeated)
    }

    @Test("without an install the license alone is asked about")
    func validateKeyAlone() throws {
        let expired = try License.fixture(expiresAt: now)
        let ahead = try License.fixture(startsAt: now.adding(seconds: 1))
        func code(_ license: License) -> OutcomeCode {
            license.validation(isInstallGiven: false, seat: nil, keyIsReplaced: false, at: now).code
        }

        #expect(try code(.fixture()) == .valid)
        #expect(code(expired) == .licenseExpired)
        #expect(code(ahead) == .licenseNotStarted)
        #expect(OutcomeCode.licenseNotStarted.verdict == .unknown)
    }

    @Test("heartbeat needs a license in force and a seat")
    func heartbeat() throws {
        #expect(try License.fixture().heartbeatDecision(seat: nil, at: now) == .denied(.notActivated))
        #expect(
            try License.fixture(standing: .suspended).heartbeatDecision(seat: .fixture(1), at: now)
                == .denied(.suspended)
        )
        #expect(
            try License.fixture(startsAt: now.adding(seconds: 9)).heartbeatDecision(seat: .fixture(1), at: now)
                == .denied(.notStarted(until: now.adding(seconds: 9)))
        )
    }

    @Test("deactivating releases once, and works whatever the license's status", arguments: Standing.allCases)
    func deactivate(standing: Standing) throws {
        let license = try License.fixture(standing: standing, expiresAt: now.adding(days: -1))

        let once = license.deactivation(of: .fixture(1), at: now)
        let twice = license.deactivation(of: nil, at: now)

        #expect(once.isReleased)
        #expect(once.release == SeatRelease(activation: .number(1), install: .number(1), at: now, reason: .deactivated))
        #expect(twice == license.deactivation(of: .fixture(1, releasedAt: now), at: now))
        #expect(!twice.isReleased)
        #expect(twice.release == nil)
    }

    @Test("a seat whose lease was over is not released once more, but its row is closed")
    func deactivateLapsed() throws {
        let license = try License.fixture(plan: .fixture(leaseSeconds: 60))
        let seat = Activation.fixture(
            1,
            leaseRenewedAt: now.adding(seconds: -90),
            leaseExpiresAt: now.adding(seconds: -30)
        )

        let answer = license.deactivation(of: seat, at: now)

        #expect(!answer.isReleased)
        #expect(answer.release?.reason == .leaseEnded)
        #expect(answer.release?.at == now.adding(seconds: -30))
    }

    @Test("the list of seats marks the caller's, last seen first, and needs no seat")
    func list() throws {
        let license = try License.fixture()
        let seats = [Activation.fixture(1, lastSeenAt: now.adding(days: -3)), .fixture(2, lastSeenAt: now)]

        let list = license.seatListDecision(for: .number(1), given: seats, at: now).value
        let stranger = license.seatListDecision(for: .number(9), given: seats, at: now).value

        #expect(list?.map(\.activation.id) == [.number(2), .number(1)])
        #expect(list?.map(\.isThis) == [false, true])
        #expect(stranger?.map(\.isThis) == [false, false])
    }

    @Test("the list is forbidden without self-release; a license not in force says that first")
    func listForbidden() throws {
        let plan = try Plan.fixture(selfRelease: false)

        #expect(
            try License.fixture(plan: plan).seatListDecision(for: .number(1), given: [], at: now)
                == .denied(.selfReleaseOff)
        )
        #expect(
            try License.fixture(plan: plan, standing: .revoked).seatListDecision(for: .number(1), given: [], at: now)
                == .denied(.revoked)
        )
    }
}
