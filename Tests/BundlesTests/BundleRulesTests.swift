import Bundles
import Licensing
import Testing

@Suite("Bundle rules") struct BundleRulesTests {
    @Test(
        "a proof ends with its right, its offline life or its lease, whichever is first",
        arguments: [
            (nil, nil, 7 * day), (day, nil, day), (30 * day, nil, 7 * day), (nil, 3600, 3600), (day, 3600, 3600),
            (3600, day, 3600),
        ] as [(Int64?, Int64?, Int64)]
    )
    func proofEnd(ends: Int64?, lease: Int64?, expected: Int64) throws {
        let grant = try Grant.fixture(
            ends: ends.map { now.adding(seconds: $0) },
            leaseEnd: lease.map { now.adding(seconds: $0) }
        )

        #expect(grant.until(issuedAt: now) == now.adding(seconds: expected))
    }

    @Test("an offline life in months is counted by the calendar from the making")
    func calendarLife() throws {
        let january31 = try Timestamp("2027-01-31T12:00:00Z", as: .instant)
        let grant = try Grant.fixture(offlineLife: CalendarDuration(months: 1))

        #expect(grant.until(issuedAt: january31) == (try Timestamp("2027-02-28T12:00:00Z", as: .instant)))
    }

    @Test(
        "only live grants are in a bundle; every end is exclusive",
        arguments: [
            (0, nil, nil, true), (1, nil, nil, false), (-5, 1, nil, true), (-5, 0, nil, false), (-5, nil, 1, true),
            (-5, nil, 0, false),
        ] as [(Int64, Int64?, Int64?, Bool)]
    )
    func live(starts: Int64, ends: Int64?, lease: Int64?, isListed: Bool) throws {
        let grant = try Grant.fixture(
            starts: now.adding(seconds: starts),
            ends: ends.map { now.adding(seconds: $0) },
            leaseEnd: lease.map { now.adding(seconds: $0) }
        )

        let claims = LicenseBundle.Claims(try .fixture(grants: [grant]), at: now)

        #expect(claims.grants.isEmpty != isListed)
        #expect(grant.isLive(at: now) == isListed)
    }

    @Test("exp is the latest until of the grants, without grants the product's offline life")
    func expiry() throws {
        let short = try Grant.fixture(ends: now.adding(seconds: 3600))
        let long = try Grant.fixture(feature: "more", ends: now.adding(seconds: 7200))
        let settings = ProductSettings(offlineLife: CalendarDuration(days: 3))

        #expect(
            LicenseBundle.Claims(try .fixture(grants: [long, short], settings: settings), at: now).expiresAt
                == now.adding(seconds: 7200)
        )
        #expect(
            LicenseBundle.Claims(try .fixture(settings: settings), at: now).expiresAt == now.adding(seconds: 3 * day)
        )
    }

    @Test(
        "a client asks again after the setting, never later than half of the time to the first end",
        arguments: [(nil, day), (10 * day, day), (2 * day, day), (day, day / 2), (3601, 1800), (1, 0)]
            as [(Int64?, Int64)]
    )
    func refresh(ends: Int64?, expected: Int64) throws {
        let settings = ProductSettings(refreshAfter: CalendarDuration(days: 1))
        let grants = try ends.map { ends in
            [
                try Grant.fixture(ends: now.adding(seconds: ends), offlineLife: CalendarDuration(days: 90)),
                try Grant.fixture(feature: "later", offlineLife: CalendarDuration(days: 90)),
            ]
        }

        let claims = LicenseBundle.Claims(try .fixture(grants: grants ?? [], settings: settings), at: now)

        #expect(claims.refreshAfter == now.adding(seconds: expected))
    }

    @Test("grants are ordered by feature, source, latest end and reference")
    func order() throws {
        let purchase = GrantReference.purchase(.init(high: 9, low: 9))
        let expected = try [
            Grant.fixture(feature: "a", reference: purchase),
            .fixture(feature: "a", reference: .license(.init(high: 1, low: 2))),
            .fixture(feature: "a", reference: .license(.init(high: 1, low: 3))),
            .fixture(feature: "a", reference: .license(.init(high: 1, low: 1)), ends: now.adding(seconds: 9)),
            .fixture(feature: "a", reference: .license(.init(high: 1, low: 0)), ends: now.adding(seconds: 5)),
            .fixture(feature: "a", reference: .gift(.init(high: 0, low: 0))),
            .fixture(feature: "a", reference: .trial(.init(high: 0, low: 0))),
            .fixture(feature: "a.b", reference: .trial(.init(high: 0, low: 0))),
            .fixture(feature: "b", reference: purchase),
        ]

        for shift in expected.indices {
            let shuffled = Array(expected[shift...] + expected[..<shift]).reversed()
            let claims = LicenseBundle.Claims(try .fixture(grants: Array(shuffled)), at: now)
            #expect(claims.grants.map(\.reference) == expected.map(\.reference.text))
            #expect(claims.grants.map(\.feature) == expected.map(\.feature))
        }
    }

    @Test("of more than 512 grants those that end first are left out, never the last of a feature")
    func cap() throws {
        var grants: [Grant] = []
        for index in 0..<600 {
            grants.append(
                try .fixture(
                    feature: "many",
                    reference: .gift(.init(high: 1, low: UInt64(index))),
                    ends: now.adding(seconds: Int64(1000 + index))
                )
            )
        }
        grants.append(try .fixture(feature: "single", ends: now.adding(seconds: 1)))
        grants.append(try .fixture(feature: "endless"))

        let claims = LicenseBundle.Claims(try .fixture(grants: grants), at: now)

        #expect(claims.grants.count == 512)
        #expect(claims.grants.map(\.feature.text).filter { $0 != "many" } == ["endless", "single"])
        let kept = claims.grants.filter { $0.feature.text == "many" }
        #expect(kept.compactMap(\.ends).min() == now.adding(seconds: Int64(1000 + 600 - 510)))
        #expect(kept.compactMap(\.ends) == kept.compactMap(\.ends).sorted(by: >))
    }

    @Test("grants without an end are left out last")
    func capKeepsEndless() throws {
        let endless = try (0..<512).map {
            try Grant.fixture(reference: .gift(.init(high: 1, low: UInt64($0))))
        }
        let ending = try Grant.fixture(ends: now.adding(seconds: 1000 * day))

        let claims = LicenseBundle.Claims(try .fixture(grants: [ending] + endless), at: now)

        #expect(claims.grants.count == 512)
        #expect(claims.grants.allSatisfy { $0.ends == nil })
    }

    @Test("a trial of zero is off, an absent one was never configured")
    func trialSetting() {
        func seconds(_ duration: CalendarDuration?) -> Int64? {
            LicenseBundle.Settings(ProductSettings(trialDuration: duration), at: now).trialSeconds
        }

        #expect(seconds(nil) == nil)
        #expect(seconds(.zero) == 0)
        #expect(seconds(CalendarDuration(days: 14)) == 14 * day)
    }

    @Test("the subject is a digest of product and folded install id")
    func subject() throws {
        let install = try InstallID("7F0E1C52-3B7A-4F3D-9C35-0F4A1F0D9B11")

        // printf 'countersign-install-v1\0keysmith\0007f0e1c52-…' | openssl dgst -sha256 -binary | basenc --base64url
        #expect(
            LicenseBundle.subject(product: try .product, install: install)
                == "fFite-i20_-wZK3c7VD0BR5bUaTYNHSwi3X0EeY0lc0"
        )
        #expect(
            LicenseBundle.subject(product: try Slug("other"), install: install)
                != LicenseBundle.subject(product: try .product, install: install)
        )
    }
}
