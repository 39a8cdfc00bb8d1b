import Licensing
import Testing

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
