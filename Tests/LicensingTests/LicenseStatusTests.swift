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
