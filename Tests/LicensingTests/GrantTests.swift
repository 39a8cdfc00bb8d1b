import Licensing
import Testing

@Suite("Grants and bundle times") struct GrantTests {
    let now = Timestamp.noon
    let settings = ProductSettings()

    func grant(
        _ code: String = "pro",
        _ reference: GrantReference = .license(.number(1)),
        starts: Timestamp = .earliest,
        ends: Timestamp? = nil,
        offlineDays: Int64 = 7,
        leaseEnd: Timestamp? = nil
    ) throws -> Grant {
        Grant(
            feature: try feature(code),
            reference: reference,
            starts: starts,
            ends: ends,
            offlineLife: CalendarDuration(days: offlineDays),
            leaseEnd: leaseEnd
        )
    }

    @Test("a license in force grants its plan's features to a held seat, until its grace ends")
    func licenseGrants() throws {
        let rule = EnvironmentRule(hosts: ["*.example.com"])
        let plan = try Plan.fixture(
            features: ["pro", "export"],
            leaseSeconds: 600,
            expiryGrace: CalendarDuration(days: 2),
            environment: rule
        )
        let license = try License.fixture(plan: plan, issuedAt: now.adding(days: -3), expiresAt: now.adding(days: 1))
        let seat = Activation.fixture(1, leaseRenewedAt: now, leaseExpiresAt: now.adding(seconds: 600))

        let grants = license.grants(for: seat, under: settings, at: now)

        #expect(grants.map(\.feature.text) == ["pro", "export"])
        #expect(grants.allSatisfy { $0.source == .license && $0.reference == .license(.number(1)) })
        #expect(grants.allSatisfy { $0.starts == now.adding(days: -3) && $0.ends == now.adding(days: 3) })
        #expect(grants.allSatisfy { $0.leaseEnd == now.adding(seconds: 600) && $0.environment == rule })
        #expect(grants.allSatisfy { $0.until(issuedAt: now) == now.adding(seconds: 600) })
    }

    @Test(
        "a clock that was set back a little takes nothing from who has just bought",
        arguments: [1, 30, 3600] as [Int64]
    )
    func clockSetBack(seconds: Int64) throws {
        let license = try License.fixture(plan: Plan.fixture(features: ["pro"]), issuedAt: now)
        let earlier = now.adding(seconds: -seconds)

        let grants = license.grants(for: .fixture(1), under: settings, at: earlier)

        #expect(grants.map(\.starts) == [earlier])
        #expect(grants.allSatisfy { $0.isLive(at: earlier) })
    }

    @Test("nothing is granted by a license that is not in force or a seat that is not held")
    func noGrants() throws {
        let seat = Activation.fixture(1)

        #expect(try License.fixture(standing: .revoked).grants(for: seat, under: settings, at: now).isEmpty)
        #expect(try License.fixture(standing: .suspended).grants(for: seat, under: settings, at: now).isEmpty)
        #expect(
            try License.fixture(startsAt: now.adding(seconds: 1)).grants(for: seat, under: settings, at: now).isEmpty
        )
        #expect(try License.fixture(expiresAt: now).grants(for: seat, under: settings, at: now).isEmpty)
        #expect(try License.fixture().grants(for: .fixture(1, releasedAt: now), under: settings, at: now).isEmpty)
    }

    @Test(
        "a proof ends with the right, the offline life or the lease, whichever is first",
        arguments: [
            (nil, nil, 7 * 86_400), (100, nil, 100), (100, 50, 50), (nil, 50, 50), (9_000_000, nil, 7 * 86_400),
        ]
            as [(Int64?, Int64?, Int64)]
    )
    func until(ends: Int64?, lease: Int64?, until: Int64) throws {
        let grant = try grant(
            ends: ends.map { now.adding(seconds: $0) },
            leaseEnd: lease.map { now.adding(seconds: $0) }
        )

        #expect(grant.until(issuedAt: now) == now.adding(seconds: until))
    }

    @Test(
        "a grant is live from its start to before its end",
        arguments: [(-1, false), (0, true), (9, true), (10, false)]
    )
    func live(second: Int64, isLive: Bool) throws {
        let grant = try grant(starts: now, ends: now.adding(seconds: 10))

        #expect(grant.isLive(at: now.adding(seconds: second)) == isLive)
    }

    @Test("a bundle lists by feature, source, latest end and reference")
    func order() throws {
        let expected = [
            try grant("a", .trial(.number(1))),
            try grant("b", .purchase(.number(1)), ends: now.adding(days: 1)),
            try grant("b", .license(.number(1))),
            try grant("b", .license(.number(2))),
            try grant("b", .license(.number(3)), ends: now.adding(days: 9)),
            try grant("b", .license(.number(4)), ends: now.adding(days: 8)),
            try grant("b", .gift(.number(1))),
            try grant("b.c", .purchase(.number(1))),
        ]

        #expect(Grant.listed(expected.reversed(), at: now) == expected)
        #expect(Grant.listed(expected + [try grant("z", ends: now)], at: now) == expected)
    }

    @Test("of too many grants those that end first are left out, never the last of a feature")
    func cut() throws {
        let lonely = try grant("lonely", ends: now.adding(seconds: 1))
        let others = try (1...10).map {
            try grant("pro", .gift(.number(UInt64($0))), ends: now.adding(seconds: 10 + Int64($0)))
        }

        let listed = Grant.listed(others + [lonely], at: now, most: 4)

        #expect(listed.map(\.feature.text) == ["lonely", "pro", "pro", "pro"])
        #expect(listed.dropFirst().map(\.ends) == [20, 19, 18].map { now.adding(seconds: $0) })
    }

    @Test("an entitlement has the first source and the last end, and no end is later than any")
    func entitlements() throws {
        let grants = [
            try grant("b", .trial(.number(1)), ends: now.adding(days: 9)),
            try grant("b", .purchase(.number(1)), ends: now.adding(days: 1)),
            try grant("a", .gift(.number(1))),
            try grant("a", .license(.number(1)), ends: now.adding(days: 1)),
            try grant("c", .gift(.number(1)), ends: now),
        ]

        #expect(
            Entitlement.union(of: grants, at: now) == [
                Entitlement(feature: try feature("a"), source: .license, expiresAt: nil),
                Entitlement(feature: try feature("b"), source: .store, expiresAt: now.adding(days: 9)),
            ]
        )
        #expect(Entitlement.union(of: [], at: now).isEmpty)
        #expect(Entitlement.union(of: grants.reversed(), at: now) == Entitlement.union(of: grants, at: now))
    }

    @Test("exp is the latest until, and refresh_after at most half of the time to the first")
    func bundleTimes() throws {
        let grants = [try grant(ends: now.adding(seconds: 101)), try grant("b")]

        let times = BundleTimes(grants: grants, under: settings, issuedAt: now)

        #expect(times.expiresAt == now.adding(days: 7))
        #expect(times.refreshAfter == now.adding(seconds: 50))
    }

    @Test("without grants exp is the product's offline life, and refresh_after its setting")
    func emptyBundle() throws {
        let times = BundleTimes(grants: [], under: settings, issuedAt: now)

        #expect(times.expiresAt == now.adding(days: 7))
        #expect(times.refreshAfter == now.adding(days: 1))
    }

    @Test("refresh_after is the setting while the first until is far")
    func refreshSetting() throws {
        let times = BundleTimes(grants: [try grant()], under: settings, issuedAt: now)

        #expect(times.refreshAfter == now.adding(days: 1))
    }
}

@Suite("Environment rules") struct EnvironmentRuleTests {
    @Test(
        "hosts match whole or below one leading wildcard",
        arguments: [
            ("example.com", "example.com", true), ("example.com", "EXAMPLE.com.", true),
            ("example.com", "a.example.com", false), ("*.example.com", "a.example.com", true),
            ("*.example.com", "a.b.example.com", true), ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false), ("*.example.com", ".example.com", false),
        ]
    )
    func hosts(pattern: String, host: String, isAllowed: Bool) {
        #expect(EnvironmentRule(hosts: [pattern]).allows(RunningEnvironment(host: host)) == isAllowed)
    }

    @Test("every part that says something must hold, and without an environment only an empty rule does")
    func parts() {
        let rule = EnvironmentRule(hosts: ["a.example"], spki: ["k1", "k2"], attributes: ["edition": "x"])
        var environment = RunningEnvironment(
            host: "a.example",
            spki: ["k2"],
            attributes: ["edition": "x", "more": "y"]
        )

        #expect(rule.allows(environment))
        #expect(!rule.allows(nil))
        #expect(EnvironmentRule().allows(nil))
        environment.spki = ["k3"]
        #expect(!rule.allows(environment))
        environment.spki = ["k1"]
        environment.attributes["edition"] = "X"
        #expect(!rule.allows(environment))
        environment.attributes["edition"] = "x"
        environment.host = nil
        #expect(!rule.allows(environment))
    }

    @Test(
        "hosts are checked when a rule is made",
        arguments: [
            "", "*", "*.", "a.*.b", "**.a", "https://a", "a b", "a/", ".a", "a..b", "*a.b", "a.example:80",
            "-a.example",
            "a-.example", "a\"b", "[::1]", "*.::1", "::1%eth0", "a:b", "münchen.example", "a@b",
            String(repeating: "a", count: 64) + ".example",
        ]
    )
    func badHost(host: String) {
        #expect(throws: ValueFault.self) { try EnvironmentRule(checking: [host]) }
    }

    @Test(
        "a host that can match is taken as it is written",
        arguments: [
            ("WWW.Example.com", "www.example.com"), ("example.com.", "example.com"), ("*.Example.com", "a.example.com"),
            ("localhost", "localhost"), ("build_7", "build_7"), ("192.0.2.7", "192.0.2.7"),
            ("2001:db8::1", "2001:DB8::1"),
            ("::ffff:192.0.2.7", "::ffff:192.0.2.7"), ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example"),
        ]
    )
    func goodHost(pattern: String, host: String) throws {
        let rule = try EnvironmentRule(checking: [pattern])

        #expect(rule.hosts == [pattern])
        #expect(rule.allows(RunningEnvironment(host: host)))
    }

    @Test("a key is a SHA-256 in base64, and an attribute has a name")
    func keysAndAttributes() throws {
        let digest = String(repeating: "A", count: 42) + "8="
        #expect(try EnvironmentRule(checking: [], spki: [digest]).spki == [digest])

        for key in [
            "", "zz", String(digest.dropLast()), digest + "=", String(repeating: "A", count: 42) + "9=",
            String(repeating: "a", count: 64), String(repeating: "-", count: 42) + "8=",
            String(repeating: "A", count: 43) + "A",
        ] {
            #expect(throws: ValueFault.self, "\(key)") { try EnvironmentRule(checking: [], spki: [digest, key]) }
        }
        #expect(throws: ValueFault.self) { try EnvironmentRule(checking: [], attributes: ["a": "x", "": "x"]) }
        #expect(try EnvironmentRule(checking: [], attributes: ["edition": ""]).attributes == ["edition": ""])
    }
}
