import Licensing
import Testing

@Suite("Clock guard") struct ClockGuardTests {
    let hour: Int64 = 3600
    let day: Int64 = 86_400

    func reading(_ wall: Int64, boot: Int64 = 0) -> ClockGuard.Reading {
        ClockGuard.Reading(wall: Timestamp.noon.adding(seconds: wall), boot: boot)
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
        plan.offlineLife = CalendarDuration(months: 120)
        #expect(try plan.checked() == plan)
    }
}
