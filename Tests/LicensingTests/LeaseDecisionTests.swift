import Licensing
import Testing

@Suite("Activation decision about first activations and leases") struct LeaseDecisionTests {
    let now = Timestamp.noon

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
