import Licensing
import Testing

extension Trial {
    static func fixture(
        _ number: UInt64 = 1,
        startedAt: Timestamp,
        endsAt: Timestamp? = nil,
        extendedUntil: Timestamp? = nil
    ) -> Trial {
        Trial(
            id: .number(number),
            product: .number(1),
            mode: .live,
            install: .number(1),
            startedAt: startedAt,
            endsAt: endsAt,
            extendedUntil: extendedUntil
        )
    }
}

@Suite("Trials") struct TrialTests {
    let now = Timestamp.noon
    let week = CalendarDuration(days: 7)

    func settings(_ length: CalendarDuration?, _ start: TrialStart = .firstContact) -> ProductSettings {
        ProductSettings(trialDuration: length, trialStart: start)
    }

    func contact(days: Int64 = 0, asks: Bool = false, firstLaunch: Int64? = nil) -> TrialContact {
        TrialContact(
            firstContactAt: now.adding(days: days),
            asksToStart: asks,
            firstLaunchAt: firstLaunch.map { now.adding(days: $0) }
        )
    }

    // MARK: What is answered

    @Test(
        "without a trial the setting answers: never configured, off, available",
        arguments: [
            (nil, .unavailable, .trialNotConfigured), (.zero, .unavailable, .trialDisabled),
            (CalendarDuration(days: 7), .available, .trialAvailable),
        ] as [(CalendarDuration?, TrialState, OutcomeCode)]
    )
    func withoutTrial(length: CalendarDuration?, state: TrialState, code: OutcomeCode) {
        let status = settings(length, .explicit).trialStatus(of: nil, at: now)

        #expect(status.state == state)
        #expect(status.code == code)
        #expect(status.verdict == .unknown)
        #expect(status.remainingSeconds == nil)
    }

    @Test(
        "a trial runs until its end, which is exclusive",
        arguments: [(0, .active, 100), (99, .active, 1), (100, .expired, 0), (500, .expired, 0)]
            as [(Int64, TrialState, Int64)]
    )
    func boundary(second: Int64, state: TrialState, remaining: Int64) {
        let trial = Trial.fixture(startedAt: now, endsAt: now.adding(seconds: 100))

        let status = settings(week).trialStatus(of: trial, at: now.adding(seconds: second))

        #expect(status.state == state)
        #expect(status.remainingSeconds == remaining)
        #expect(status.startedAt == now)
        #expect(status.endsAt == now.adding(seconds: 100))
        #expect(status.verdict == (state == .active ? .granted : .rejected))
    }

    @Test(
        "an install whose trial ran is answered by it, whatever the setting is now",
        arguments: [nil, .zero, CalendarDuration(days: 90)]
    )
    func settingAfterwards(length: CalendarDuration?) {
        let running = Trial.fixture(startedAt: now, endsAt: now.adding(days: 7))
        let over = Trial.fixture(startedAt: now.adding(days: -9), endsAt: now.adding(days: -2))

        for start in TrialStart.allCases {
            #expect(settings(length, start).trialStatus(of: running, at: now).code == .trialActive)
            #expect(settings(length, start).trialStatus(of: over, at: now).code == .trialExpired)
        }
    }

    @Test("a recorded first contact answers by the setting until a length applies, and never that one is available")
    func recorded() {
        let recorded = Trial.fixture(startedAt: now.adding(days: -3))

        #expect(settings(nil).trialStatus(of: recorded, at: now).code == .trialNotConfigured)
        #expect(settings(.zero).trialStatus(of: recorded, at: now).code == .trialDisabled)
        #expect(settings(week).trialStatus(of: recorded, at: now).code == .trialActive)
        #expect(settings(CalendarDuration(days: 3)).trialStatus(of: recorded, at: now).code == .trialExpired)
        #expect(settings(week, .explicit).trialStatus(of: recorded, at: now).code == .trialAvailable)
    }

    // MARK: When it starts

    @Test("the first contact starts the clock, whether or not it asks and whether or not a trial is offered")
    func firstContact() {
        for asks in [true, false] {
            #expect(
                settings(week).trialStep(at: contact(asks: asks), trial: nil, now: now)
                    == .insert(startedAt: now, endsAt: now.adding(days: 7))
            )
            #expect(
                settings(nil).trialStep(at: contact(asks: asks), trial: nil, now: now)
                    == .insert(startedAt: now, endsAt: nil)
            )
            #expect(
                settings(.zero).trialStep(at: contact(asks: asks), trial: nil, now: now)
                    == .insert(startedAt: now, endsAt: nil)
            )
        }
    }

    @Test("turning trials on later measures from the first contact: an older install gets one that is over")
    func turnedOn() {
        let old = Trial.fixture(startedAt: now.adding(days: -10))

        let step = settings(week).trialStep(at: contact(days: -10), trial: old, now: now)

        #expect(step == .update(startedAt: now.adding(days: -10), endsAt: now.adding(days: -3)))
    }

    @Test("later contacts change nothing", arguments: [nil, .zero, CalendarDuration(days: 30)])
    func laterContacts(length: CalendarDuration?) {
        let running = Trial.fixture(startedAt: now.adding(days: -1), endsAt: now.adding(days: 6))

        #expect(settings(length).trialStep(at: contact(days: -1, asks: true), trial: running, now: now) == .none)
        #expect(settings(length, .explicit).trialStep(at: contact(asks: true), trial: running, now: now) == .none)
    }

    @Test("a call that read the clock earlier and is written later moves nothing", arguments: [1, 2, 60, 3600])
    func overtaken(seconds: Int64) {
        let (first, overtaken) = (now, now.adding(seconds: -seconds))
        let begun = Trial.fixture(startedAt: first, endsAt: first.adding(days: 7))
        let recorded = Trial.fixture(startedAt: first)

        for asks in [true, false] {
            let contact = TrialContact(firstContactAt: first, asksToStart: asks)
            #expect(settings(week).trialStep(at: contact, trial: begun, now: overtaken) == .none)
            #expect(settings(nil).trialStep(at: contact, trial: recorded, now: overtaken) == .none)
            #expect(
                settings(week).trialStep(at: contact, trial: recorded, now: overtaken)
                    == .update(startedAt: first, endsAt: first.adding(days: 7))
            )
        }
    }

    @Test("a start that a wrong clock put into the future is put right", arguments: [3601, 86_400, 180 * 86_400])
    func ahead(seconds: Int64) {
        let start = now.adding(seconds: seconds)
        let begun = Trial.fixture(startedAt: start, endsAt: start.adding(days: 7))

        let step = settings(week).trialStep(at: TrialContact(firstContactAt: start), trial: begun, now: now)

        #expect(step == .update(startedAt: now, endsAt: now.adding(days: 7)))
    }

    @Test("explicit: it starts when asked for while it is offered, and only then")
    func explicit() {
        let recorded = Trial.fixture(startedAt: now.adding(days: -30))
        let ends = now.adding(days: 7)

        #expect(settings(week, .explicit).trialStep(at: contact(), trial: nil, now: now) == .none)
        #expect(
            settings(week, .explicit).trialStep(at: contact(days: -30, asks: true), trial: nil, now: now)
                == .insert(startedAt: now, endsAt: ends)
        )
        #expect(
            settings(week, .explicit).trialStep(at: contact(asks: true), trial: recorded, now: now)
                == .update(startedAt: now, endsAt: ends)
        )
        #expect(settings(.zero, .explicit).trialStep(at: contact(asks: true), trial: nil, now: now) == .none)
        #expect(settings(nil, .explicit).trialStep(at: contact(asks: true), trial: nil, now: now) == .none)
    }

    @Test("switching from explicit to first contact counts from the first contact for what has not begun")
    func switched() {
        let step = settings(week).trialStep(at: contact(days: -3), trial: nil, now: now)

        #expect(step == .insert(startedAt: now.adding(days: -3), endsAt: now.adding(days: 4)))
    }

    // MARK: The client's word

    @Test("the client's first launch moves a start earlier, never later")
    func firstLaunch() {
        #expect(
            settings(week).trialStep(at: contact(firstLaunch: -2), trial: nil, now: now)
                == .insert(startedAt: now.adding(days: -2), endsAt: now.adding(days: 5))
        )
        #expect(
            settings(week).trialStep(at: contact(firstLaunch: 5), trial: nil, now: now)
                == .insert(startedAt: now, endsAt: now.adding(days: 7))
        )
        let running = Trial.fixture(startedAt: now.adding(days: -1), endsAt: now.adding(days: 6))
        #expect(
            settings(week).trialStep(at: contact(firstLaunch: -4), trial: running, now: now)
                == .update(startedAt: now.adding(days: -4), endsAt: now.adding(days: 3))
        )
        #expect(settings(week).trialStep(at: contact(firstLaunch: 0), trial: running, now: now) == .none)
    }

    @Test("an earlier start keeps a trial's length where trials are off by now, and never lengthens it")
    func firstLaunchLater() {
        let running = Trial.fixture(startedAt: now.adding(days: -1), endsAt: now.adding(days: 6))

        #expect(
            settings(.zero).trialStep(at: contact(firstLaunch: -4), trial: running, now: now)
                == .update(startedAt: now.adding(days: -4), endsAt: now.adding(days: 3))
        )
        #expect(
            settings(CalendarDuration(days: 90)).trialStep(at: contact(firstLaunch: -4), trial: running, now: now)
                == .update(startedAt: now.adding(days: -4), endsAt: now.adding(days: 6))
        )
    }

    @Test("the client's word counts for nothing under explicit, nor for a trial that is over")
    func firstLaunchIgnored() {
        let over = Trial.fixture(startedAt: now.adding(days: -9), endsAt: now.adding(days: -2))

        #expect(
            settings(week, .explicit).trialStep(at: contact(asks: true, firstLaunch: -4), trial: nil, now: now)
                == .insert(startedAt: now, endsAt: now.adding(days: 7))
        )
        #expect(settings(week).trialStep(at: contact(firstLaunch: -20), trial: over, now: now) == .none)
    }

    // MARK: One a machine

    @Test("of the install's and the machine's rows the one that began first counts")
    func governing() {
        let recorded = Trial.fixture(1, startedAt: now.adding(days: -90))
        let later = Trial.fixture(2, startedAt: now.adding(days: -3), endsAt: now)
        let earlier = Trial.fixture(3, startedAt: now.adding(days: -9), endsAt: now)

        #expect(Trial.governing(among: []) == nil)
        #expect(Trial.governing(among: [later, recorded, earlier]) == earlier)
        #expect(Trial.governing(among: [recorded]) == recorded)
        #expect(Trial.governing(among: [recorded, later]) == later)
    }

    @Test("an install that shares a trial stands in where the one that started it is gone")
    func shared() throws {
        let install = Install(
            id: .number(2),
            product: .number(1),
            mode: .live,
            digest: try #require(Digest256.number(2)),
            firstContactAt: now,
            lastSeenAt: now
        )
        var trial = Trial.fixture(startedAt: now)

        #expect(trial.shared(by: install).install == .number(1))
        trial.install = nil
        #expect(trial.shared(by: install).install == install.id)
    }

    @Test("under explicit the install that started the trial is told its token, else that of the first contact")
    func whoIsTold() throws {
        let first = Trial.fixture(startedAt: now)
        let other = Install(
            id: .number(2),
            product: .number(1),
            mode: .live,
            digest: try #require(Digest256.number(2)),
            firstContactAt: now,
            lastSeenAt: now
        )
        let end = now.adding(days: 7)

        let explicit = first.updated(startedAt: now, endsAt: end, by: other, under: settings(week, .explicit))
        let contact = first.updated(startedAt: now, endsAt: end, by: other, under: settings(week))

        #expect(explicit.tellsToken(to: other))
        #expect(!contact.tellsToken(to: other))
        #expect(!first.tellsToken(to: other))
    }

    // MARK: Changes by an administrator

    @Test("another length gives running trials their start and that length, and leaves ended ones ended")
    func newLength() {
        let running = Trial.fixture(startedAt: now.adding(days: -5), endsAt: now.adding(days: 2))
        let over = Trial.fixture(startedAt: now.adding(days: -9), endsAt: now)
        let recorded = Trial.fixture(startedAt: now.adding(days: -1))
        let month = settings(CalendarDuration(days: 30))

        #expect(running.end(afterChangeTo: month, isReviving: false, at: now) == now.adding(days: 25))
        #expect(
            running.end(afterChangeTo: settings(CalendarDuration(days: 1)), isReviving: false, at: now)
                == now.adding(days: -4)
        )
        #expect(over.end(afterChangeTo: month, isReviving: false, at: now) == nil)
        #expect(over.end(afterChangeTo: month, isReviving: true, at: now) == now.adding(days: 21))
        #expect(recorded.end(afterChangeTo: month, isReviving: false, at: now) == now.adding(days: 29))
        #expect(
            recorded.end(
                afterChangeTo: settings(week, .explicit),
                isReviving: false,
                at: now
            ) == nil
        )
    }

    @Test("an extension that runs makes the trial a running one for another length, one that is over does not")
    func newLengthOfExtended() {
        let month = settings(CalendarDuration(days: 30))
        let start = now.adding(days: -9)
        let running = Trial.fixture(startedAt: start, endsAt: now.adding(days: -2), extendedUntil: now.adding(days: 1))
        let over = Trial.fixture(startedAt: start, extendedUntil: now)

        #expect(running.end(afterChangeTo: month, isReviving: false, at: now) == start.adding(days: 30))
        #expect(over.end(afterChangeTo: month, isReviving: false, at: now) == nil)
        #expect(over.end(afterChangeTo: month, isReviving: true, at: now) == start.adding(days: 30))
        #expect(month.trialStep(at: contact(days: -9, asks: true), trial: over, now: now) == .none)
    }

    @Test("turning trials off shortens none", arguments: [nil, CalendarDuration.zero])
    func turnedOff(length: CalendarDuration?) {
        let running = Trial.fixture(startedAt: now.adding(days: -5), endsAt: now.adding(days: 2))

        #expect(running.end(afterChangeTo: settings(length), isReviving: true, at: now) == nil)
    }

    @Test("an extension makes a trial longer, revives one that is over, survives another length and never shortens")
    func extend() throws {
        let over = Trial.fixture(startedAt: now.adding(days: -9), endsAt: now.adding(days: -2))

        var extended = try #require(over.extended(until: now.adding(days: 3)))
        #expect(settings(week).trialStatus(of: extended, at: now).code == .trialActive)
        #expect(settings(.zero).trialStatus(of: extended, at: now).endsAt == now.adding(days: 3))
        extended.endsAt = now.adding(days: -5)
        #expect(extended.end == now.adding(days: 3))
        #expect(extended.extended(until: now.adding(days: 3)) == nil)
        #expect(over.extended(until: now.adding(days: -4)) == nil)
        #expect(Trial.fixture(startedAt: now).extended(until: now.adding(days: 1))?.hasBegun == true)
    }

    // MARK: What it gives

    @Test("a running trial gives the features of the trial plan, one that is over or without a plan nothing")
    func grants() throws {
        let rule = EnvironmentRule(hosts: ["a.example"])
        let plan = try Plan.fixture(features: ["pro", "export"], environment: rule)
        let trial = Trial.fixture(startedAt: now, endsAt: now.adding(days: 7))

        let grants = trial.grants(of: plan, under: settings(week), at: now)

        #expect(grants.map(\.feature.text) == ["pro", "export"])
        #expect(
            grants.allSatisfy {
                $0.source == .trial && $0.ends == now.adding(days: 7) && $0.starts == now && $0.environment == rule
            }
        )
        #expect(trial.grants(of: plan, under: settings(week), at: now.adding(days: 7)).isEmpty)
    }
}
