import Licensing
import Testing

@Suite("Gifts") struct GiftTests {
    let now = Timestamp.noon

    func gift(_ target: GiftTarget, ends: Timestamp? = nil, withdrawnAt: Timestamp? = nil) throws -> Gift {
        Gift(
            id: .number(1),
            product: .number(1),
            mode: .live,
            target: target,
            features: [try feature("export")],
            starts: now,
            ends: ends,
            withdrawnAt: withdrawnAt
        )
    }

    func install(_ number: UInt64 = 1, product: UInt64 = 1, mode: Mode = .live) throws -> Install {
        Install(
            id: .number(number),
            product: .number(product),
            mode: mode,
            digest: try #require(Digest256.number(1)),
            firstContactAt: now,
            lastSeenAt: now
        )
    }

    func seat(_ license: UInt64, of customer: UInt64? = nil, leaseEnd: Timestamp? = nil) -> HeldSeat {
        HeldSeat(license: .number(license), customer: customer.map { .number($0) }, leaseEnd: leaseEnd)
    }

    @Test("a gift reaches its install, the installs of its license, or those of its customer, and no others")
    func reach() throws {
        func count(_ target: GiftTarget, _ install: Install? = nil, holding seats: [HeldSeat] = []) throws -> Int {
            let install = try install ?? self.install()
            return try gift(target).grants(for: install, holding: seats, under: ProductSettings(), at: now).count
        }

        #expect(try count(.install(.number(1))) == 1)
        #expect(try count(.install(.number(2)), holding: [seat(1, of: 5)]) == 0)
        #expect(try count(.license(.number(1)), holding: [seat(1)]) == 1)
        #expect(try count(.license(.number(1)), holding: [seat(2)]) == 0)
        #expect(try count(.customer(.number(5)), holding: [seat(2, of: 5)]) == 1)
        #expect(try count(.customer(.number(6)), holding: [seat(1), seat(2, of: 5)]) == 0)
        #expect(try count(.install(.number(1)), install(product: 2)) == 0)
        #expect(try count(.install(.number(1)), install(mode: .test)) == 0)
        #expect(try count(.customer(.number(5)), install(mode: .test), holding: [seat(2, of: 5)]) == 0)
    }

    @Test("a clock that was set back a little takes nothing that was just given")
    func setBack() throws {
        let earlier = now.adding(seconds: -60)

        let grants = try gift(.install(.number(1)))
            .grants(for: install(), holding: [], under: ProductSettings(), at: earlier)

        #expect(grants.map(\.starts) == [earlier])
    }

    @Test("what a gift gives by a floating seat lasts no longer than the lease; by several, than the last of them")
    func lease() throws {
        func leaseEnd(_ seats: [HeldSeat]) throws -> Timestamp? {
            let grants = try gift(.customer(.number(5)))
                .grants(for: install(), holding: seats, under: ProductSettings(), at: now)
            return try #require(grants.first).leaseEnd
        }
        let (soon, later) = (now.adding(seconds: 60), now.adding(seconds: 90))

        #expect(try leaseEnd([seat(1, of: 5, leaseEnd: soon)]) == soon)
        #expect(try leaseEnd([seat(1, of: 5, leaseEnd: later), seat(2, of: 5, leaseEnd: soon)]) == later)
        #expect(try leaseEnd([seat(1, of: 5, leaseEnd: soon), seat(2, of: 5)]) == nil)
        #expect(try leaseEnd([seat(1, of: 5, leaseEnd: soon), seat(2, of: 6)]) == soon)
    }

    @Test("a gift ends at its end, to the second, or when it is withdrawn")
    func end() throws {
        let ending = try gift(.install(.number(1)), ends: now.adding(seconds: 10))
        let withdrawn = try #require(try gift(.install(.number(1))).withdrawn(at: now))
        func count(_ gift: Gift, _ second: Int64) throws -> Int {
            try gift.grants(for: install(), holding: [], under: ProductSettings(), at: now.adding(seconds: second))
                .count
        }

        #expect(try count(ending, 0) == 1)
        #expect(try count(ending, 9) == 1)
        #expect(try count(ending, 10) == 0)
        #expect(try count(withdrawn, 0) == 0)
        #expect(ending.status(at: now.adding(seconds: 9)) == .active)
        #expect(ending.status(at: now.adding(seconds: 10)) == .expired)
        #expect(withdrawn.status(at: now) == .withdrawn)
        #expect(withdrawn.withdrawn(at: now.adding(seconds: 5)) == nil)
    }
}

@Suite("Spend tiers") struct SpendTierTests {
    let now = Timestamp.noon

    func tier(
        currency: String = "USD",
        threshold: Int64 = 50_000,
        features: [String] = ["export"],
        duration: CalendarDuration? = nil
    ) throws -> SpendTier {
        SpendTier(
            id: .number(7),
            product: .number(1),
            code: try PlanCode("patron"),
            currency: currency,
            thresholdMilliunits: threshold,
            features: try features.map { try feature($0) },
            duration: duration
        )
    }

    @Test("a tier gives from the moment its threshold was reached, for as long as it says, to the second")
    func duration() throws {
        let tier = try tier(duration: CalendarDuration(months: 12))
        func count(_ instant: Timestamp) -> Int {
            tier.grants(reachedAt: now, under: ProductSettings(), at: instant).count
        }

        #expect(count(now) == 1)
        #expect(count(now.adding(months: 12).adding(seconds: -1)) == 1)
        #expect(count(now.adding(months: 12)) == 0)
        #expect(tier.grants(reachedAt: nil, under: ProductSettings(), at: now).isEmpty)
        let endless = try self.tier().grants(reachedAt: now, under: ProductSettings(), at: now)
        #expect(endless.map(\.ends) == [nil])
        #expect(endless.map(\.source) == [.gift])
        #expect(endless.map(\.reference.text) == [try self.tier().gift.text])
        #expect(try self.tier().gift.text.dropFirst(4) == self.tier().id.text.dropFirst(4))
    }

    @Test("what was paid by a store whose clock is ahead of ours has begun")
    func storeAhead() throws {
        let grants = try tier().grants(reachedAt: now.adding(seconds: 90), under: ProductSettings(), at: now)

        #expect(grants.map(\.starts) == [now])
    }

    @Test(
        "a tier out of range is refused by the name of its member",
        arguments: [
            ("usd", 1, ["a"], nil, "currency"), ("US", 1, ["a"], nil, "currency"), ("ÜS", 1, ["a"], nil, "currency"),
            ("USD", 0, ["a"], nil, "threshold_milliunits"), ("USD", -1, ["a"], nil, "threshold_milliunits"),
            ("USD", SpendTier.highestThreshold + 1, ["a"], nil, "threshold_milliunits"),
            ("USD", 1, [], nil, "features"), ("USD", 1, ["a", "a"], nil, "features"),
            ("USD", 1, ["a"], CalendarDuration.zero, "duration"),
        ] as [(String, Int64, [String], CalendarDuration?, String)]
    )
    func checked(
        currency: String,
        threshold: Int64,
        features: [String],
        duration: CalendarDuration?,
        member: String
    ) throws {
        let tier = try tier(currency: currency, threshold: threshold, features: features, duration: duration)

        let fault = #expect(throws: SpendTierFault.self) { try tier.checked() }

        #expect(fault?.member == member)
    }

    @Test("the smallest and the largest threshold are taken", arguments: [1, SpendTier.highestThreshold])
    func range(threshold: Int64) throws {
        let tier = try tier(threshold: threshold)

        #expect(try tier.checked() == tier)
    }
}
