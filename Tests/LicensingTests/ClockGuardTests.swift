import Licensing
import Testing

@Suite("Clock guard") struct ClockGuardTests {
    let hour: Int64 = 3600
    let day: Int64 = 86_400

    func reading(_ wall: Int64, boot: Int64 = 0) -> ClockGuard.Reading {
        ClockGuard.Reading(wall: Timestamp.noon.adding(seconds: wall), boot: boot)
    }

    func time(_ date: CommitDate?) -> Int64? {
        date.map { Timestamp(secondsSinceEpoch: $0.seconds).seconds(since: .noon) }
    }

    @Test(
        "at the start the clock may be an hour behind the last commit and 366 days past it",
        arguments: [
            (0, nil), (-3600, nil), (-3601, .behindLastCommit(seconds: 3601)), (366 * 86_400, nil),
            (366 * 86_400 + 1, .aheadOfLastCommit(seconds: 366 * 86_400 + 1)),
        ] as [(Int64, ClockGuard.Doubt?)]
    )
    func start(wall: Int64, doubt: ClockGuard.Doubt?) {
        let clock = ClockGuard(startingAt: reading(wall), lastCommit: .noon, isAccepted: false)

        #expect(clock.doubt == doubt)
    }

    @Test("a new database measures against nothing")
    func newDatabase() {
        let clock = ClockGuard(startingAt: reading(-1_000_000_000), lastCommit: nil, isAccepted: false)

        #expect(clock.doubt == nil)
    }

    @Test("a forward jump of more than 7 days is doubted until the clock is right")
    func jump() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)

        clock.observe(reading(7 * day + 10, boot: 10), lastCommit: .noon)
        #expect(clock.doubt == nil)
        clock.observe(reading(7 * day + 12, boot: 11), lastCommit: .noon)
        #expect(clock.doubt == .jumpedForward(seconds: 7 * day + 1))
        clock.observe(reading(12, boot: 12), lastCommit: .noon)
        #expect(clock.doubt == nil)
    }

    @Test("a machine that slept for a month did not jump: the boot-time clock slept with it")
    func sleep() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)

        clock.observe(reading(30 * day, boot: 30 * day), lastCommit: .noon)

        #expect(clock.doubt == nil)
    }

    @Test("an idle server that runs for years beyond its last commit is sure")
    func idle() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)

        clock.observe(reading(800 * day, boot: 800 * day), lastCommit: .noon)

        #expect(clock.doubt == nil)
    }

    @Test("a clock that is set back behind the last commit is doubted, and right when it comes back")
    func back() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)

        clock.observe(reading(-20 * day, boot: 5), lastCommit: .noon)
        #expect(clock.doubt == .behindLastCommit(seconds: 20 * day))
        clock.observe(reading(6, boot: 6), lastCommit: .noon)
        #expect(clock.doubt == nil)
    }

    @Test("a machine that starts in 1970 is trusted once its clock is set, however far that jumps")
    func startedTooEarly() {
        var clock = ClockGuard(
            startingAt: ClockGuard.Reading(wall: .earliest, boot: 0),
            lastCommit: .noon,
            isAccepted: false
        )
        #expect(clock.doubt != nil)

        clock.observe(reading(60, boot: 30), lastCommit: .noon)

        #expect(clock.doubt == nil)
    }

    @Test("a machine that starts in 1970 and is set too far is not trusted either")
    func startedTooEarlyThenTooLate() {
        var clock = ClockGuard(
            startingAt: ClockGuard.Reading(wall: .earliest, boot: 0),
            lastCommit: .noon,
            isAccepted: false
        )

        clock.observe(reading(400 * day, boot: 30), lastCommit: .noon)

        #expect(clock.doubt == .aheadOfLastCommit(seconds: 400 * day - 30))
    }

    @Test("what was in doubt at the start is trusted when the clock is set right, and measured from there")
    func startedTooLate() {
        var clock = ClockGuard(startingAt: reading(900 * day), lastCommit: .noon, isAccepted: false)
        #expect(clock.doubt != nil)

        clock.observe(reading(hour, boot: 60), lastCommit: .noon)
        #expect(clock.doubt == nil)
        clock.observe(reading(30 * day, boot: 120), lastCommit: .noon)
        #expect(clock.doubt != nil)
    }

    @Test("an accepted clock is measured against no earlier commit, but against later ones")
    func accepted() {
        let wrong = Timestamp.noon.adding(seconds: 500 * day)
        var clock = ClockGuard(startingAt: reading(0), lastCommit: wrong, isAccepted: true)
        #expect(clock.doubt == nil)

        clock.observe(reading(1, boot: 1), lastCommit: wrong)
        #expect(clock.doubt == nil)
        clock.observe(reading(-2 * hour, boot: 2), lastCommit: .noon)
        #expect(clock.doubt == .behindLastCommit(seconds: 2 * hour))
    }

    @Test("the date of a commit never falls, so that small steps back do not add up")
    func ratchet() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: nil, isAccepted: false)
        var last = clock.date(reading(0), after: nil)
        #expect(time(last) == 0)

        for step in 1...5 as ClosedRange<Int64> {
            let wall = -59 * 60 * step + step
            let date = clock.date(
                reading(wall, boot: step),
                after: last.map { Timestamp(secondsSinceEpoch: $0.seconds) }
            )
            #expect((date == nil) == (wall < -hour), "step \(step)")
            last = date ?? last
            #expect(time(last) == 0)
        }
        clock.observe(reading(6, boot: 6), lastCommit: nil)
        #expect(clock.doubt == nil)
    }

    @Test(
        "a step that is taken back within a minute leaves no doubt, however much was committed in it",
        arguments: [-86_400, -3599, -1, 1, 1799, 1801, 3600, 3601, 86_400, 7 * 86_400, 7 * 86_400 + 1, 400 * 86_400]
            as [Int64]
    )
    func glitch(step: Int64) {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)
        var last = Timestamp.noon
        func commit(_ wall: Int64, _ boot: Int64) {
            guard let date = clock.date(reading(wall, boot: boot), after: last) else { return }
            #expect(date.seconds >= last.secondsSinceEpoch)
            last = Timestamp(secondsSinceEpoch: date.seconds)
        }
        commit(10, 10)

        for second in 11..<70 as Range<Int64> { commit(second + step, second) }

        clock.observe(reading(70, boot: 70), lastCommit: last)
        #expect(clock.doubt == nil)
        commit(71, 71)
        #expect(last.seconds(since: .noon) >= 71)
        // What a start would say.
        let restarted = ClockGuard(startingAt: reading(72, boot: 3), lastCommit: last, isAccepted: false)
        #expect(restarted.doubt == nil)
    }

    @Test("a step that lasts is what commits are dated by; taken back then, it is doubted")
    func lastingStep() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)

        clock.observe(reading(5 * hour, boot: 1), lastCommit: .noon)
        #expect(time(clock.date(reading(5 * hour + 30, boot: 31), after: .noon)) == 31 + ClockGuard.mostUnsettled)
        clock.observe(reading(5 * hour + 60, boot: 61), lastCommit: .noon)
        #expect(time(clock.date(reading(5 * hour + 61, boot: 62), after: .noon)) == 5 * hour + 61)

        clock.observe(reading(63, boot: 63), lastCommit: .noon)
        #expect(clock.doubt == .behindLastCommit(seconds: 5 * hour - 2))
    }

    @Test("nothing is dated while the clock is in doubt, and that begins to last anew")
    func noDateInDoubt() {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)

        #expect(clock.date(reading(8 * day, boot: 1), after: .noon) == nil)
        #expect(clock.date(reading(-2 * hour, boot: 2), after: .noon) == nil)
        #expect(time(clock.date(reading(3, boot: 3), after: .noon)) == 3)
    }

    @Test("where the operator accepted another clock, the next date takes the place of the one that was not believed")
    func acceptedDate() {
        let wrong = Timestamp.noon.adding(seconds: 500 * day)
        var clock = ClockGuard(startingAt: reading(0), lastCommit: wrong, isAccepted: true)

        let date = clock.date(reading(1, boot: 1), after: wrong)

        #expect(time(date) == 1 && date?.replacesLast == true)
        #expect(clock.date(reading(2, boot: 2), after: .noon)?.replacesLast == false)
    }

    @Test(
        "a date that another process wrote by a wrong clock is not believed while both clocks here agree",
        arguments: [3601, 86_400, 300 * 86_400] as [Int64]
    )
    func foreignDate(ahead: Int64) {
        var clock = ClockGuard(startingAt: reading(0), lastCommit: .noon, isAccepted: false)
        let wrong = Timestamp.noon.adding(seconds: 10 + ahead)

        clock.observe(reading(10, boot: 10), lastCommit: wrong)
        #expect(clock.doubt == nil)
        let date = clock.date(reading(10, boot: 10), after: wrong)
        #expect(time(date) == 10 && date?.replacesLast == true)

        // What is possible counts, and once it is possible.
        clock.observe(reading(11, boot: 11), lastCommit: .noon.adding(seconds: 3600))
        clock.observe(reading(-1, boot: 12), lastCommit: nil)
        #expect(clock.doubt == .behindLastCommit(seconds: 3601))
        clock.observe(reading(ahead + 11, boot: ahead + 11), lastCommit: wrong)
        clock.observe(reading(0, boot: ahead + 12), lastCommit: nil)
        #expect(clock.doubt == .behindLastCommit(seconds: ahead + 10))
    }

    @Test("a reading within the bounds is one that the guard does not doubt")
    func bounds() {
        for lastCommit in [nil, Timestamp.noon, Timestamp.noon.adding(seconds: -400 * day)] {
            var clock = ClockGuard(startingAt: reading(0), lastCommit: lastCommit, isAccepted: false)
            for wall in [-500 * day, -hour - 1, -hour, 0, 7 * day + 1, 7 * day + 2, 400 * day] {
                let reading = reading(wall, boot: 1)
                let bounds = clock.bounds
                let isWithin =
                    reading.wallMicroseconds >= bounds.earliestWall && reading.offset <= bounds.latestOffset
                clock.observe(reading, lastCommit: nil)
                #expect((clock.doubt == nil) == isWithin, "\(wall)")
            }
        }
    }
}

extension ClockGuard.Reading {
    /// Both clocks in whole seconds.
    init(wall: Timestamp, boot: Int64) {
        self.init(wallMicroseconds: wall.secondsSinceEpoch * 1_000_000, bootMicroseconds: boot * 1_000_000)
    }
}

@Suite("Settings and ranges") struct SettingsTests {
    @Test("a trial of no length is off, and unset is never configured", arguments: ["0", "P0D", "PT0S"])
    func trialOff(text: String) throws {
        var settings = ProductSettings()
        #expect(settings.trialDuration == nil)

        try settings.set(.trialDuration, to: text)
        #expect(settings.trialDuration == .zero)
        #expect(settings.text(of: .trialDuration) == "PT0S")

        try settings.set(.trialDuration, to: "")
        #expect(settings.trialDuration == nil)
    }

    @Test(
        "each setting is set by its text, told by it, and unset to its default",
        arguments: [
            (.trialDuration, "P14D"), (.trialPlan, "pro"), (.trialStart, "explicit"), (.offlineLife, "P30D"),
            (.refreshAfter, "PT6H"), (.freeTier, "true"), (.keepLicenseKeys, "false"), (.minimumVersion, "2.1"),
            (.extra, "{}"),
        ] as [(ProductSetting, String)]
    )
    func roundTrip(setting: ProductSetting, text: String) throws {
        var settings = ProductSettings()

        try settings.set(setting, to: text)
        #expect(settings != ProductSettings())
        #expect(settings.text(of: setting) == text)

        try settings.set(setting, to: nil)
        #expect(settings == ProductSettings())
    }

    @Test(
        "what does not parse or is out of range changes nothing",
        arguments: [
            (.trialDuration, "14"), (.trialPlan, "Pro"), (.trialStart, "never"), (.offlineLife, "PT59M"),
            (.offlineLife, "P367D"), (.refreshAfter, "PT0S"), (.freeTier, "yes"), (.keepLicenseKeys, "1"),
            (.minimumVersion, String(repeating: "1", count: 65)), (.extra, String(repeating: "x", count: 2049)),
        ] as [(ProductSetting, String)]
    )
    func refusal(setting: ProductSetting, text: String) {
        var settings = ProductSettings()

        #expect(throws: ValueFault.self) { try settings.set(setting, to: text) }
        #expect(settings == ProductSettings())
    }

    @Test("a seat limit is a whole number from 0 on, or unlimited")
    func seatLimit() throws {
        #expect(try SeatLimit("0") == .limited(0))
        #expect(try SeatLimit("25") == .limited(25))
        #expect(try SeatLimit("unlimited") == .unlimited)
        for text in ["", "-1", "1.0", "one", "Unlimited", "1 ", "9999999999999"] {
            #expect(throws: ValueFault.self) { try SeatLimit(text) }
        }
    }

    @Test("a plan's members are checked by name")
    func plan() throws {
        var plan = try Plan.fixture()
        #expect(try plan.checked() == plan)

        func member(_ change: (inout Plan) -> Void) -> String? {
            var changed = plan
            change(&changed)
            do throws(PlanFault) {
                _ = try changed.checked()
                return nil
            } catch {
                return error.member
            }
        }
        #expect(member { $0.overagePercent = -1 } == "overage_percent")
        #expect(member { $0.leaseSeconds = 0 } == "lease_seconds")
        #expect(member { $0.offlineLife = CalendarDuration(seconds: 60) } == "offline_life")
        #expect(member { $0.duration = .zero } == "duration")
        #expect(member { $0.seatLimit = .limited(-1) } == "seat_limit")
        #expect(member { $0.features += $0.features } == "features")
        let digest = String(repeating: "A", count: EnvironmentRule.mostBytesOnGrants / plan.features.count)
        #expect(member { $0.environment = EnvironmentRule(spki: [digest]) } == "environment")
        plan.offlineLife = CalendarDuration(months: 120)
        #expect(try plan.checked() == plan)
    }
}
