import Bundles
import Cryptography
import Licensing
import Testing

@Suite("Size of a bundle") struct BundleSizeTests {
    /// Signs the facts, has a client take the bundle, and tells what that says.
    private func accepted(_ facts: LicenseBundle.Facts) throws -> (claims: LicenseBundle.Claims, featuresLeftOut: Int) {
        let pair = try Pair.make()
        let (token, featuresLeftOut) = try pair.issuer.issue(facts, at: now)
        let bundle = try pair.verifier().verify(token, subject: facts.subject, context: .fixture())
        return (bundle.claims, featuresLeftOut)
    }

    /// A name as long as names may be.
    private func name(_ prefix: String, _ number: Int) -> String {
        let name = "\(prefix)\(number)-"
        return name + String(repeating: "x", count: 64 - name.utf8.count)
    }

    private func license(_ number: Int) throws -> LicenseBundle.License {
        LicenseBundle.License(
            id: .init(high: 1, low: UInt64(number)),
            plan: try PlanCode(name("p", 1)),
            status: .active,
            starts: now,
            ends: .latest,
            maintenanceUntil: .latest,
            activation: .init(high: 2, low: UInt64(number))
        )
    }

    /// A rule that has about so many bytes.
    private func rule(_ bytes: Int) -> EnvironmentRule {
        EnvironmentRule(attributes: ["a": String(repeating: "v", count: bytes - 60)])
    }

    @Test("the fullest product, with the longest rule that its fullest plan may have, fits as it is")
    func fullest() throws {
        let features = Feature.mostInProduct
        let longest = rule(EnvironmentRule.mostBytesOnGrants / features)
        #expect(throws: Never.self) { try longest.requireRoom(on: features) }
        let facts = try LicenseBundle.Facts.fixture(
            nonce: String(repeating: "n", count: 128),
            grants: (0..<features).map { number in
                try .fixture(feature: name("f", number), ends: .latest, environment: longest)
            },
            licenses: [license(1)],
            meters: (0..<Meter.mostInProduct).map { number in
                LicenseBundle.Meter(meter: try MeterName(name("m", number)), used: .max, limit: .max, resets: .latest)
            },
            settings: ProductSettings(extra: #"{"a":"\#(String(repeating: "b", count: 2000))"}"#)
        )

        let (claims, featuresLeftOut) = try accepted(facts)

        #expect(featuresLeftOut == 0)
        #expect(claims == LicenseBundle.Claims(facts, at: now))
    }

    @Test("what gives nothing more is left out first: no feature is lost, and each keeps the grant that ends last")
    func dispensable() throws {
        let ends = (1...4).map { now.adding(seconds: Int64($0) * day) }
        let grants = try (0..<64).flatMap { number in
            try ends.map { try Grant.fixture(feature: name("f", number), ends: $0, environment: rule(1024)) }
        }

        let (claims, featuresLeftOut) = try accepted(.fixture(grants: grants, licenses: [license(1)]))

        #expect(featuresLeftOut == 0)
        #expect(claims.grants.count < grants.count)
        let last = claims.grants.filter { $0.ends == ends[3] }
        #expect(Set(last.map(\.feature)).count == 64)
        #expect(claims.licenses.count == 1)
    }

    @Test("licenses without number push out themselves, and no grant")
    func licenses() throws {
        let grants = try (0..<100).map { number in try Grant.fixture(feature: name("f", number)) }
        let licenses = try (0..<3000).map(license)

        let (claims, featuresLeftOut) = try accepted(.fixture(grants: grants, licenses: licenses))

        #expect(featuresLeftOut == 0)
        #expect(claims.grants.count == grants.count)
        #expect(claims.licenses == Array(licenses.prefix(claims.licenses.count)))
        #expect(claims.licenses.count > 100)
    }

    @Test("where even one grant a feature is too much, those that end first are left out, and that is told")
    func tooMuch() throws {
        let grants = try (0..<256).map { number in
            try Grant.fixture(
                feature: name("f", number),
                ends: number == 7 ? nil : now.adding(seconds: Int64(number + 1) * day),
                offlineLife: CalendarDuration(days: 366),
                environment: rule(1024)
            )
        }

        let (claims, featuresLeftOut) = try accepted(.fixture(grants: grants, licenses: [license(1)]))

        let kept = Set(claims.grants.map(\.feature))
        #expect(kept.count == claims.grants.count && kept.count > 100)
        #expect(featuresLeftOut == 256 - kept.count)
        let leftOut = grants.filter { !kept.contains($0.feature) }.compactMap(\.ends)
        let ends = claims.grants.compactMap(\.ends)
        #expect(try #require(leftOut.max()) < #require(ends.min()))
        #expect(claims.grants.contains { $0.ends == nil })
        #expect(claims.grants == claims.grants.sorted { $0.feature < $1.feature })
        #expect(claims.expiresAt == claims.grants.map(\.until).max())
    }
}
