/// Draws scenarios. Knows nothing of the model: what is drawn must mean something whatever came before.
struct Generator {
    var random: Randomness
    private var consumed: Operation?
    private var activated: (key: KeySpec, install: Int)?
    private var issued: [Realm: Int] = [:]
    /// Those that are called, and the one of the moment.
    private var realms = [Realm()]
    private(set) var realm = Realm()
    /// Products with an App Store.
    private var connected: Set<Int> = []
    /// What was begun goes on before anything else is drawn; the next is the last.
    private var ahead: [Operation] = []

    /// How many installs there are; most calls are of the first six, the others come in crowds.
    static let installs = 9

    private static let hour: Int64 = 3600
    static let day: Int64 = 86_400

    init(seed: UInt64) { random = Randomness(seed: seed) }

    mutating func scenario(_ count: Int) -> Scenario {
        let setup = setup()
        // One at a time for what takes long, several for what must stay apart.
        realms = random.once(in: 2) ? [setup.realms[random.below(2)]] : setup.realms
        realm = realms[0]
        connected = Set(setup.products.indices.filter { setup.products[$0].store != nil })
        var steps: [Step] = []
        for _ in 0..<count {
            if ahead.isEmpty && random.once(in: 3) { realm = random.pick(realms) }
            steps.append(Step(realm: realm, operation: operation()))
        }
        return Scenario(setup: setup, steps: steps)
    }

    // MARK: The setup

    private mutating func setup() -> Setup {
        // Ends of months, of leap years, of days, and others.
        let starts: [Int64] = [
            1_801_353_599, 1_835_395_200, 1_798_761_590, 1_830_297_600, 1_800_000_000, 1_851_078_000,
        ]
        // One product, two of one vendor or of two, or both.
        let vendors = random.pick([[0], [0], [0, 0], [0, 1], [0, 0, 1]])
        return Setup(start: random.pick(starts), products: vendors.map { product(of: $0) })
    }

    private mutating func product(of vendor: Int) -> ProductSpec {
        let plans = (0..<3).map { _ in plan() }
        let periods: [MeterSpec.Period] = [
            .lifetime, .day, .month, .year, .rolling(Span(seconds: Self.hour)), .rolling(Span(months: 1)),
        ]
        let meters = (0..<3).map { number in
            MeterSpec(
                limit: random.once(in: 5) ? nil : Int64(random.below(6)),
                period: random.pick(periods),
                scope: number == 0 ? "install" : random.pick(["install", "license", "customer", "customer"])
            )
        }
        let settings = SettingsSpec(
            trial: random.pick([nil, Span(), .days(14), .days(14), Span(months: 1)]),
            trialPlan: random.pick([nil, 0, 1]),
            isExplicit: random.once(in: 3),
            offlineLife: random.pick([Self.hour, 2 * Self.day, 7 * Self.day])
        )
        return ProductSpec(vendor: vendor, plans: plans, meters: meters, settings: settings, store: store())
    }

    private mutating func plan() -> PlanSpec {
        var plan = PlanSpec()
        plan.features = features()
        plan.duration = random.pick([nil, .days(30), Span(months: 1), Span(months: 12), Span(seconds: Self.hour)])
        plan.isFromFirstActivation = random.once(in: 3)
        plan.seats = seats()
        plan.policy = policy()
        plan.overagePercent = random.pick([0, 34, 50, 100])
        plan.idle = random.pick([nil, Self.hour, 3 * Self.day])
        plan.lease = lease()
        plan.grace = grace()
        plan.offlineLife = random.pick([nil, nil, Self.hour, Self.day])
        plan.transferLimit = random.once(in: 4) ? random.below(3) : nil
        plan.transferPeriod = random.pick([Self.day, 30 * Self.day])
        plan.isSelfRelease = !random.once(in: 5)
        plan.meters = meters()
        return plan
    }

    mutating func features() -> [Int] { (0..<4).filter { _ in random.once(in: 2) } }

    private mutating func seats() -> Seats {
        random.once(in: 6) ? .unlimited : .limited(random.pick([0, 1, 1, 2, 2, 3]))
    }

    private mutating func policy() -> String { random.pick(["deny", "deny", "release_oldest", "allow_overage"]) }

    private mutating func lease() -> Int64? { random.pick([nil, nil, 600, Self.hour, Self.day + 1]) }

    private mutating func grace() -> Int64 { random.pick([0, 0, 60, 3 * Self.day]) }

    private mutating func meters() -> [MeterLimitSpec] {
        (0..<3).filter { _ in random.once(in: 3) }.map { meter in
            MeterLimitSpec(meter: meter, limit: random.once(in: 6) ? nil : Int64(random.below(9)))
        }
    }

    // MARK: Operations

    private mutating func install() -> Int { random.below(6) }

    mutating func fingerprint() -> Int? { random.pick([nil, nil, 0, 0, 1, 2]) }

    private mutating func license() -> Int { random.below(max(1, min(issued[realm, default: 0], 4))) }

    private mutating func key() -> KeySpec {
        if random.once(in: 60) { return KeySpec(license: 99) }
        if realms.count > 1 && random.once(in: 12) {
            let other = random.pick(realms)
            if other != realm { return KeySpec(license: random.below(3), realm: other) }
        }
        return KeySpec(license: license(), age: random.once(in: 4) ? random.pick([1, 1, 2]) : 0)
    }

    private mutating func end() -> End {
        switch random.below(6) {
        case 0, 1: .plan
        case 2: .never
        case 3: .after(random.pick([1, 60, Self.hour, 40 * Self.day]))
        case 4: .lasting(Span(months: random.pick([1, 3])))
        default: .lasting(Span(months: random.pick([0, 1]), seconds: random.pick([600, Self.day])))
        }
    }

    private mutating func amounts() -> [AmountSpec] {
        let count = random.once(in: 4) ? 2 : 1
        var meters: [Int] = []
        while meters.count < count {
            let meter = random.below(3)
            if !meters.contains(meter) { meters.append(meter) }
        }
        return meters.map { AmountSpec(meter: $0, amount: Int64(random.pick([1, 1, 1, 2, 5]))) }
    }

    private mutating func operation() -> Operation {
        if let next = ahead.popLast() { return next }
        if issued[realm, default: 0] < 2 { return issue() }
        if connected.contains(realm.product) && random.once(in: 12) { return storeOperation() }
        switch random.below(100) {
        case 0..<18: return activate()
        case 18..<20: return crowd()
        case 20..<28: return validate()
        case 28..<34: return .deactivate(key(), install: install())
        case 34..<40:
            let (key, install) = holder()
            return .heartbeat(key, install: install)
        case 40..<43: return .seats(key(), install: install())
        case 43..<47: return .sync(install: install(), fingerprint: fingerprint())
        case 47..<53:
            return .trial(
                install: install(),
                fingerprint: fingerprint(),
                start: !random.once(in: 4),
                firstLaunch: random.once(in: 4) ? random.pick([0, 60, 3 * Self.day, 40 * Self.day]) : nil
            )
        case 53..<56:
            return .peek(install: install(), amounts(), random.once(in: 3) ? key() : nil)
        case 56..<64: return consume()
        case 64..<79: return time()
        case 79: return random.once(in: 3) ? .restart : time()
        default: return administration()
        }
    }

    private mutating func activate() -> Operation {
        let (key, install) = (key(), install())
        // In another realm it means another license.
        if key.realm == nil { activated = (key, install) }
        return .activate(
            key,
            install: install,
            fingerprint: fingerprint(),
            replacing: random.once(in: 6) ? random.below(12) : nil
        )
    }

    /// A license and an install: those of the last activation, half of the time.
    private mutating func holder() -> (KeySpec, Int) {
        if let activated, random.once(in: 2) { return activated }
        return (key(), install())
    }

    private mutating func validate() -> Operation {
        let (key, install) = holder()
        return .validate(key, install: random.once(in: 5) ? nil : install, fingerprint: fingerprint())
    }

    /// A crowd on one license, at one moment or soon after each other: a machine that is set up anew again and again, or
    /// two that share their fingerprints, first one and then another, with newcomers between them.
    private mutating func crowd() -> Operation {
        let (key, machine, first) = (KeySpec(license: license()), random.below(5), random.below(4))
        let pause: Operation? = random.pick([nil, nil, nil, .wait(1), .wait(-1), .wait(10 * Self.day)])
        let areTwins = random.once(in: 2)
        var steps: [Operation] = []
        for number in 0..<6 {
            if number > 0, let pause { steps.append(pause) }
            let fingerprint = areTwins && number > 1 ? machine + 1 : machine
            steps.append(
                .activate(
                    key,
                    install: areTwins && number % 2 == 0 ? first : first + number,
                    fingerprint: random.once(in: 12) ? nil : fingerprint,
                    replacing: nil
                )
            )
        }
        return begin(steps)
    }

    /// The first of several operations; the others come next.
    mutating func begin(_ operations: [Operation]) -> Operation {
        ahead = operations.reversed()
        return ahead.removeLast()
    }

    private mutating func consume() -> Operation {
        if let consumed, random.once(in: 4) { return consumed }
        var key = random.once(in: 3) ? key() : nil
        let repeatKey = random.once(in: 2) ? random.below(2) : nil
        // What is repeated must be the same text each time: whether a stranger's license is there is not known here.
        if repeatKey != nil { key?.realm = nil }
        let operation = Operation.consume(install: install(), amounts(), key, repeatKey: repeatKey)
        if key?.realm == nil { consumed = operation }
        return operation
    }

    private mutating func time() -> Operation {
        switch random.below(10) {
        case 0...4: .waitForEnd(random.pick([0, 0, 0, 1, 2, 3, 7]), offset: Int64(random.pick([-1, 0, 0, 0, 1])))
        case 5: .wait(-Int64(1 + random.below(240)))
        case 6: .wait(Int64(1 + random.below(10)))
        case 7: .wait(Int64(random.below(7200)))
        case 8: .wait(Int64(random.below(3)) * Self.day + 1)
        default: .wait(random.pick([Self.hour, 300, 15 * Self.day, 31 * Self.day]))
        }
    }

    private mutating func issue() -> Operation {
        issued[realm, default: 0] += 1
        return .issue(
            plan: random.below(3),
            seats: random.once(in: 4) ? seats() : nil,
            end: end(),
            startsIn: random.once(in: 6) ? random.pick([0, 60, Self.day]) : nil,
            customer: random.once(in: 2) ? random.below(2) : nil,
            offlineLife: random.once(in: 6) ? random.pick([Self.hour, 400 * Self.day]) : nil
        )
    }

    private mutating func administration() -> Operation {
        // Customers are known to all products of a vendor, what is theirs is not.
        if realms.count > 1 && random.once(in: 6) {
            return .give(.customer(random.below(2)), features: [random.below(4)], lasting: nil)
        }
        switch random.below(20) {
        case 0:
            return issue()
        case 1: return .suspend(license())
        case 2, 3: return .reinstate(license(), revoked: random.once(in: 2))
        case 4: return random.once(in: 3) ? .revoke(license()) : .reinstate(license(), revoked: true)
        case 5, 6: return .renew(license(), random.pick([nil, .days(30), Span(months: 1), Span(months: 2)]))
        case 7: return .reissue(license(), revokesSeats: random.once(in: 3))
        case 8: return .edit(license(), licenseEdit())
        case 9, 10: return .releaseSeat(license(), seat: random.below(12))
        case 11, 12:
            return .give(
                random.pick([.install(install()), .license(license()), .customer(random.below(3))]),
                features: random.pick([[0], [1, 2], [3]]),
                lasting: random.pick([nil, 60, Self.hour, 20 * Self.day])
            )
        case 13: return .withdraw(random.below(4))
        case 14, 15: return .editPlan(random.below(3), planEdit(), affectsExisting: !random.once(in: 3))
        case 16, 17: return .set(settingEdit(), revives: random.once(in: 5))
        case 18: return .extendTrial(install: install(), until: random.pick([60, 5 * Self.day, 60 * Self.day]))
        default:
            let meter = random.below(3)
            return random.once(in: 2)
                ? .resetMeter(meter, install: install())
                : .refundMeter(meter, install: install(), amount: Int64(1 + random.below(3)))
        }
    }

    private mutating func licenseEdit() -> LicenseEditSpec {
        switch random.below(4) {
        case 0: .plan(random.below(3))
        case 1: .seats(random.once(in: 3) ? nil : seats())
        case 2: .end(end())
        default: .offlineLife(random.pick([nil, Self.hour, 10 * Self.day]))
        }
    }

    private mutating func planEdit() -> PlanEdit {
        switch random.below(10) {
        case 0: .features(features())
        case 1: .seats(seats())
        case 2: .policy(policy())
        case 3, 4: .lease(lease())
        case 5: .grace(grace())
        case 6: .offlineLife(random.pick([nil, Self.hour, 3 * Self.day]))
        case 7: .transferLimit(random.pick([nil, 0, 1]))
        case 8: .selfRelease(random.once(in: 2))
        default: random.once(in: 2) ? .meters(meters()) : .duration(random.pick([nil, .days(30), Span(months: 1)]))
        }
    }

    private mutating func settingEdit() -> SettingEdit {
        switch random.below(8) {
        case 0...3: .trial(random.pick([nil, Span(), .days(7), .days(14), .days(30), Span(months: 1)]))
        case 4: .trialPlan(random.pick([nil, 0, 1, 2]))
        case 5: .explicit(random.once(in: 2))
        case 6: .offlineLife(random.pick([Self.hour, 2 * Self.day, 7 * Self.day]))
        default: .refreshAfter(random.pick([Self.hour, Self.day, 9 * Self.day]))
        }
    }
}
