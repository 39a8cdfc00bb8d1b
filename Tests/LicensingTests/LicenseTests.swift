import Licensing
import Testing

@Suite("License status") struct LicenseStatusTests {
    @Test(
        "the first of revoked, suspended, not started, expired, active",
        arguments: [
            (.revoked, true, true, .revoked), (.suspended, true, true, .suspended), (.active, true, true, .notStarted),
            (.active, false, true, .expired), (.active, false, false, .active), (.revoked, false, false, .revoked),
            (.suspended, false, false, .suspended), (.active, true, false, .notStarted),
        ] as [(Standing, Bool, Bool, LicenseStatus)]
    )
    func order(standing: Standing, isAhead: Bool, isOver: Bool, status: LicenseStatus) throws {
        let license = try License.fixture(
            standing: standing,
            startsAt: isAhead ? .noon.adding(seconds: 1) : nil,
            expiresAt: isOver ? .noon : nil
        )

        #expect(license.status(at: .noon) == status)
    }

    @Test(
        "start is included, end and grace are not",
        arguments: [(-1, .notStarted), (0, .active), (99, .active), (100, .active), (159, .active), (160, .expired)]
            as [(Int64, LicenseStatus)]
    )
    func boundaries(second: Int64, status: LicenseStatus) throws {
        let license = try License.fixture(
            plan: .fixture(expiryGrace: CalendarDuration(seconds: 60)),
            startsAt: .noon,
            expiresAt: .noon.adding(seconds: 100)
        )

        #expect(license.status(at: .noon.adding(seconds: second)) == status)
    }

    @Test("an expired license says when it ended, not when its grace did")
    func expiry() throws {
        let plan = try Plan.fixture(expiryGrace: CalendarDuration(days: 1))
        let license = try License.fixture(plan: plan, expiresAt: .noon)

        #expect(license.denial(at: .noon.adding(days: 1)) == .expired(at: .noon))
        #expect(license.rightEndsAt == .noon.adding(days: 1))
    }

    @Test("a license's own word counts before its plan's, and the plan's before the product's")
    func effective() throws {
        var plan = try Plan.fixture(environment: EnvironmentRule(hosts: ["a.example"]))
        let settings = ProductSettings(offlineLife: CalendarDuration(days: 3))
        #expect(try License.fixture(plan: plan).offlineLife(under: settings) == CalendarDuration(days: 3))
        plan.offlineLife = CalendarDuration(days: 5)
        let following = try License.fixture(plan: plan)
        let own = try License.fixture(
            plan: plan,
            overrides: LicenseOverrides(
                seatLimit: .unlimited,
                seatPolicy: .releaseOldest,
                offlineLife: CalendarDuration(days: 9),
                environment: EnvironmentRule()
            )
        )

        #expect(following.seatLimit == .limited(2))
        #expect(following.seatPolicy == .deny)
        #expect(following.offlineLife(under: settings) == CalendarDuration(days: 5))
        #expect(following.environment == EnvironmentRule(hosts: ["a.example"]))
        #expect(own.seatLimit == .unlimited)
        #expect(own.seatPolicy == .releaseOldest)
        #expect(own.offlineLife(under: settings) == CalendarDuration(days: 9))
        #expect(own.environment == nil)
    }

    @Test(
        "overage lets floor(limit × (100 + percent) / 100) seats in",
        arguments: [
            (3, 0, 3), (3, 10, 3), (3, 33, 3), (3, 34, 4), (3, 100, 6), (10, 25, 12), (1, 99, 1), (0, 100, 0),
            (150, 1, 151), (Int.max, 100, Int.max), (Int.max, Int.max, Int.max),
        ]
    )
    func overage(limit: Int, percent: Int, capacity: Int) throws {
        let plan = try Plan.fixture(
            seatLimit: .limited(limit),
            seatPolicy: .allowOverage,
            overagePercent: percent
        )

        #expect(try License.fixture(plan: plan).seatCapacity == capacity)
    }

    @Test("a percentage counts with the policy that has one alone")
    func overageWithoutPolicy() throws {
        let plan = try Plan.fixture(seatLimit: .limited(3), seatPolicy: .deny, overagePercent: 100)

        #expect(try License.fixture(plan: plan).seatCapacity == 3)
        #expect(try License.fixture(plan: .fixture(seatLimit: .unlimited)).seatCapacity == nil)
    }

    @Test("the issuer is the configured one, else names the vendor")
    func issuer() throws {
        let slug = try Slug("acme")

        #expect(Vendor(id: .number(1), slug: slug, name: "Acme").issuer == "countersign:acme")
        #expect(
            Vendor(id: .number(1), slug: slug, name: "Acme", configuredIssuer: "https://a.example").issuer
                == "https://a.example"
        )
    }
}

@Suite("License terms") struct LicenseTermTests {
    @Test("twelve monthly renewals from 31 January end on 31 January")
    func monthEnds() throws {
        let start = try Timestamp.at("2027-01-31T10:00:00Z")
        var term = LicenseTerm.counted(CalendarDuration(months: 1), from: start)
        var ends = [term.end?.rfc3339]

        for _ in 1..<12 {
            term = try #require(term.renewed(by: CalendarDuration(months: 1), at: start))
            ends.append(term.end?.rfc3339)
        }

        #expect(
            ends.compactMap { $0?.prefix(10) } == [
                "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31", "2027-06-30", "2027-07-31", "2027-08-31",
                "2027-09-30", "2027-10-31", "2027-11-30", "2027-12-31", "2028-01-31",
            ]
        )
    }

    @Test("an early renewal adds to the old end, months counted from the anchor through a row of the database")
    func earlyRenewal() throws {
        let end = try Timestamp.at("2027-02-28T10:00:00Z")
        let anchor = try Timestamp.at("2027-01-31T10:00:00Z")
        let term = LicenseTerm(end: end, anchor: anchor, months: 1, pending: nil)

        let renewed = term.renewed(by: CalendarDuration(months: 12), at: end.adding(seconds: -1))

        #expect(renewed?.end?.rfc3339 == "2028-02-29T10:00:00Z")
        #expect(renewed?.anchor == anchor)
        #expect(renewed?.months == 13)
    }

    @Test("a lapsed renewal begins anew at now, which is its anchor: also at the very second of the end")
    func lapsedRenewal() throws {
        let end = try Timestamp.at("2027-02-28T10:00:00Z")
        let now = try Timestamp.at("2027-03-31T12:00:00Z")
        let term = LicenseTerm(end: end, anchor: end.adding(months: -1), months: 1, pending: nil)

        #expect(
            term.renewed(by: CalendarDuration(months: 1), at: now)
                == .ending(end: try .at("2027-04-30T12:00:00Z"), anchor: now, months: 1)
        )
        #expect(
            term.renewed(by: CalendarDuration(months: 1), at: end)
                == .ending(end: try .at("2027-03-28T10:00:00Z"), anchor: end, months: 1)
        )
    }

    @Test("a renewal in days makes its end the anchor of the next one in months")
    func dayRenewal() throws {
        let end = try Timestamp.at("2027-02-28T10:00:00Z")
        let term = LicenseTerm(end: end, anchor: try .at("2027-01-31T10:00:00Z"), months: 1, pending: nil)

        let inDays = try #require(term.renewed(by: CalendarDuration(days: 3), at: end.adding(seconds: -1)))
        let inMonths = inDays.renewed(by: CalendarDuration(months: 1), at: end.adding(seconds: -1))

        #expect(inDays == .explicit(try .at("2027-03-03T10:00:00Z")))
        #expect(inMonths?.end?.rfc3339 == "2027-04-03T10:00:00Z")
    }

    @Test("an explicit end is its own anchor")
    func explicitEnd() throws {
        let end = try Timestamp.at("2027-03-31T00:00:00Z")

        let renewed = LicenseTerm.explicit(end).renewed(by: CalendarDuration(months: 1), at: end.adding(seconds: -1))
        let again = renewed?.renewed(by: CalendarDuration(months: 1), at: end)

        #expect(renewed?.end?.rfc3339 == "2027-04-30T00:00:00Z")
        #expect(again?.end?.rfc3339 == "2027-05-31T00:00:00Z")
    }

    @Test("an end that was moved without its anchor counts from itself")
    func brokenAnchor() throws {
        let end = try Timestamp.at("2027-03-15T00:00:00Z")
        let term = LicenseTerm(end: end, anchor: try .at("2027-01-31T00:00:00Z"), months: 1, pending: nil)

        #expect(term.renewed(by: CalendarDuration(months: 1), at: .earliest)?.end?.rfc3339 == "2027-04-15T00:00:00Z")
    }

    @Test("the plan's duration counts from the start, or waits for the first activation")
    func issue() throws {
        let year = CalendarDuration(months: 12)
        let fromIssue = try Plan.fixture(duration: year)
        let fromActivation = try Plan.fixture(duration: year, expiryBasis: .firstActivation)

        #expect(LicenseTerm(.plan, under: fromIssue, from: .noon).end == .noon.adding(months: 12))
        #expect(LicenseTerm(.plan, under: fromActivation, from: .noon) == .pending(year))
        #expect(
            LicenseTerm(.plan, under: fromActivation, from: .noon, firstActivatedAt: .noon.adding(days: 1)).end
                == Timestamp.noon.adding(days: 1).adding(months: 12)
        )
        #expect(LicenseTerm(.plan, under: try .fixture(), from: .noon) == .unending)
        #expect(LicenseTerm(.never, under: fromIssue, from: .noon) == .unending)
        #expect(LicenseTerm(.at(.noon), under: fromActivation, from: .earliest) == .explicit(.noon))
        #expect(
            LicenseTerm(.duration(CalendarDuration(days: 14)), under: fromIssue, from: .noon)
                == .explicit(.noon.adding(days: 14))
        )
    }

    @Test("renewal lasts as long as the plan says, unless told; what has no end cannot be renewed")
    func renewalDecision() throws {
        let yearly = try License.fixture(plan: .fixture(duration: CalendarDuration(months: 12)), expiresAt: .noon)
        let endless = try License.fixture()
        let fixedEnd = try License.fixture(expiresAt: .noon)
        let now = Timestamp.noon.adding(seconds: -1)

        #expect(yearly.renewalDecision(at: now).value?.end == .noon.adding(months: 12))
        #expect(yearly.renewalDecision(by: CalendarDuration(days: 1), at: now).value?.end == .noon.adding(days: 1))
        #expect(endless.renewalDecision(by: CalendarDuration(days: 1), at: now) == .denied(.notRenewable))
        #expect(endless.renewalDecision(at: now) == .denied(.notRenewable))
        #expect(fixedEnd.renewalDecision(at: now) == .denied(.renewalWithoutDuration))
        #expect(fixedEnd.renewalDecision(by: .zero, at: now) == .denied(.renewalWithoutDuration))
    }

    @Test("a renewal before the first activation waits with the rest")
    func pendingRenewal() throws {
        let license = try License.fixture(
            plan: .fixture(duration: CalendarDuration(months: 12), expiryBasis: .firstActivation),
            term: .pending(CalendarDuration(months: 12))
        )

        #expect(license.renewalDecision(at: .noon) == .granted(.pending(CalendarDuration(months: 24))))
        #expect(license.status(at: .latest) == .active)
    }
}

@Suite("License edits") struct LicenseEditTests {
    @Test("an edit changes what it names, never the standing")
    func edit() throws {
        let license = try License.fixture(
            standing: .suspended,
            expiresAt: .noon,
            overrides: LicenseOverrides(seatLimit: .limited(9), offlineLife: CalendarDuration(days: 2))
        )

        let same = license.edited(by: LicenseEdit())
        let edited = license.edited(
            by: LicenseEdit(
                seatLimit: .plan,
                end: .never,
                maintenanceUntil: .set(.noon),
                offlineLife: .own(CalendarDuration(days: 4))
            )
        )

        #expect(same == license)
        #expect(edited.standing == .suspended)
        #expect(edited.seatLimit == .limited(2))
        #expect(edited.expiresAt == nil)
        #expect(edited.maintenanceUntil == .noon)
        #expect(edited.overrides.offlineLife == CalendarDuration(days: 4))
        #expect(edited.edited(by: LicenseEdit(maintenanceUntil: .unset)).maintenanceUntil == nil)
    }

    @Test("another plan leaves the end as it is, unless the end shall follow the plan")
    func planChange() throws {
        let yearly = try Plan.fixture(duration: CalendarDuration(months: 12))
        let license = try License.fixture(issuedAt: .noon, expiresAt: .noon.adding(days: 30))

        #expect(license.edited(by: LicenseEdit(plan: yearly)).expiresAt == .noon.adding(days: 30))
        #expect(license.edited(by: LicenseEdit(plan: yearly, end: .plan)).expiresAt == .noon.adding(months: 12))
    }

    @Test("suspending is reversible, revoking needs the explicit word")
    func standings() throws {
        let (active, suspended, revoked) = (
            try License.fixture(), try License.fixture(standing: .suspended), try License.fixture(standing: .revoked)
        )

        #expect(active.suspensionDecision() == .granted(.suspended))
        #expect(suspended.suspensionDecision() == .granted(.suspended))
        #expect(revoked.suspensionDecision() == .denied(.revoked))
        #expect(active.reinstatementDecision(includingRevoked: false) == .granted(.active))
        #expect(suspended.reinstatementDecision(includingRevoked: false) == .granted(.active))
        #expect(revoked.reinstatementDecision(includingRevoked: false) == .denied(.revoked))
        #expect(revoked.reinstatementDecision(includingRevoked: true) == .granted(.active))
        #expect(Denial.revoked.code == .licenseRevoked)
    }

    @Test("a plan's edit takes a right where features, seats, lease, grace, offline life or a meter shrink")
    func takenRights() throws {
        let run = try feature("run")
        let old = try Plan.fixture(
            features: ["pro", "export"],
            seatLimit: .limited(3),
            leaseSeconds: 600,
            expiryGrace: CalendarDuration(days: 3),
            offlineLife: CalendarDuration(days: 10),
            meters: [run: .limited(10)]
        )
        func taken(_ change: (inout Plan) throws -> Void) rethrows -> [TakenRight] {
            var new = old
            try change(&new)
            return old.rightsTaken(byBecoming: new, under: ProductSettings(), meterLimits: [run: .limited(3)])
        }

        #expect(taken { _ in }.isEmpty)
        #expect(try taken { $0.features = [try feature("pro")] } == [.feature(try feature("export"))])
        #expect(try taken { $0.features.append(try feature("more")) }.isEmpty)
        #expect(taken { $0.seatLimit = .limited(2) } == [.seatLimit])
        #expect(taken { $0.seatLimit = .limited(4) }.isEmpty)
        #expect(taken { $0.seatLimit = .unlimited }.isEmpty)
        #expect(taken { $0.leaseSeconds = 599 } == [.lease])
        #expect(taken { $0.leaseSeconds = nil }.isEmpty)
        #expect(taken { $0.expiryGrace = CalendarDuration(days: 2) } == [.expiryGrace])
        #expect(taken { $0.offlineLife = CalendarDuration(days: 9) } == [.offlineLife])
        #expect(taken { $0.offlineLife = nil } == [.offlineLife])
        #expect(taken { $0.meters[run] = .limited(9) } == [.meter(run)])
        #expect(taken { $0.meters[run] = nil } == [.meter(run)])
        #expect(taken { $0.meters[run] = .unlimited }.isEmpty)
        #expect(taken { $0.duration = CalendarDuration(days: 1) }.isEmpty)
    }

    @Test("a limit or lease that is set for the first time takes a right")
    func newlySet() throws {
        let old = try Plan.fixture(seatLimit: .unlimited)
        var new = old
        new.seatLimit = .limited(1000)
        new.leaseSeconds = 86_400
        new.offlineLife = CalendarDuration(days: 6)

        #expect(old.rightsTaken(byBecoming: new, under: ProductSettings()) == [.seatLimit, .lease, .offlineLife])
    }

    @Test(
        "an environment rule takes a right where it is new or refuses what the old one allowed",
        arguments: [
            (nil, nil, false), (nil, .rule(["a.example"]), true), (.rule(["a.example"]), nil, false),
            (nil, .rule(), false), (.rule(), .rule(["a.example"]), true), (.rule(["a.example"]), .rule(), false),
            (.rule(["a.example"]), .rule(["A.example.", "b.example"]), false),
            (.rule(["a.example", "b.example"]), .rule(["a.example"]), true),
            (.rule(["shop.a.example"]), .rule(["*.a.example"]), false),
            (.rule(["*.shop.a.example"]), .rule(["*.a.example"]), false),
            (.rule(["*.a.example"]), .rule(["*.a.example"]), false),
            (.rule(["*.a.example"]), .rule(["*.shop.a.example"]), true),
            (.rule(["*.a.example"]), .rule(["a.example", "www.a.example"]), true),
            (.rule(["a.example"]), .rule(["*.a.example"]), true),
            (.rule(["a.example"]), .rule(["a.example"], spki: ["k"]), true),
            (.rule(spki: ["k"]), .rule(spki: ["k", "l"]), false),
            (.rule(spki: ["k", "l"]), .rule(spki: ["k"]), true),
            (.rule(spki: ["k"]), .rule(["a.example"], spki: ["k"]), true),
            (.rule(attributes: ["site": "a"]), .rule(attributes: ["site": "a"]), false),
            (.rule(attributes: ["site": "a", "tier": "1"]), .rule(attributes: ["site": "a"]), false),
            (.rule(attributes: ["site": "a"]), .rule(attributes: ["site": "a", "tier": "1"]), true),
            (.rule(attributes: ["site": "a"]), .rule(attributes: ["site": "b"]), true),
        ] as [(EnvironmentRule?, EnvironmentRule?, Bool)]
    )
    func environment(old: EnvironmentRule?, new: EnvironmentRule?, isTaken: Bool) throws {
        let (before, after) = (try Plan.fixture(environment: old), try Plan.fixture(environment: new))

        let taken = before.rightsTaken(byBecoming: after, under: ProductSettings())

        #expect(taken == (isTaken ? [.environment] : []))
    }

    @Test("a shorter offline life of the product takes a right, whatever else of it changes takes none")
    func productSettings() {
        let old = ProductSettings(offlineLife: CalendarDuration(days: 10))
        var new = ProductSettings(offlineLife: CalendarDuration(days: 9))
        #expect(old.rightsTaken(byBecoming: new) == [.offlineLife])

        new = ProductSettings(trialDuration: .zero, offlineLife: CalendarDuration(days: 10), keepLicenseKeys: false)
        #expect(old.rightsTaken(byBecoming: new).isEmpty)
        new.offlineLife = CalendarDuration(days: 11)
        #expect(old.rightsTaken(byBecoming: new).isEmpty)
    }

    @Test("a plan's meter below the product's own limit takes nothing")
    func meterFloor() throws {
        let run = try feature("run")
        let old = try Plan.fixture(meters: [run: .limited(5)])
        let new = try Plan.fixture(meters: [run: .limited(2)])

        #expect(old.rightsTaken(byBecoming: new, under: ProductSettings(), meterLimits: [run: .limited(5)]).isEmpty)
        #expect(old.rightsTaken(byBecoming: new, under: ProductSettings(), meterLimits: [run: .unlimited]).isEmpty)
        #expect(old.rightsTaken(byBecoming: new, under: ProductSettings()) == [.meter(run)])
    }

    @Test("a license is hit where the plan's word counts for it")
    func hit() throws {
        let following = try License.fixture()
        let own = try License.fixture(
            overrides: LicenseOverrides(
                seatLimit: .limited(1),
                offlineLife: CalendarDuration(days: 1),
                environment: EnvironmentRule()
            )
        )

        #expect(following.isHit(by: [.seatLimit]))
        #expect(following.isHit(by: [.environment]))
        #expect(!own.isHit(by: [.seatLimit, .offlineLife, .environment]))
        #expect(own.isHit(by: [.seatLimit, .lease]))
        #expect(!following.isHit(by: []))
        #expect(try !License.fixture(standing: .revoked).isHit(by: [.lease]))
    }
}

extension EnvironmentRule {
    fileprivate static func rule(
        _ hosts: [String] = [],
        spki: [String] = [],
        attributes: [String: String] = [:]
    ) -> EnvironmentRule {
        EnvironmentRule(hosts: hosts, spki: spki, attributes: attributes)
    }
}
