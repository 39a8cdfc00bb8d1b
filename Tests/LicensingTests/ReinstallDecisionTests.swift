import Licensing
import Testing

@Suite("Activation decision about reinstalls and clones") struct ReinstallDecisionTests {
    let now = Timestamp.noon

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
}
