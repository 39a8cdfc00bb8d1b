import Licensing
import Testing

@Suite("Activation decision about a seat to replace") struct ReplaceDecisionTests {
    let now = Timestamp.noon

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
}
