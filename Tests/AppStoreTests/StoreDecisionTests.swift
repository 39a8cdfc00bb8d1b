import AppStore
import Licensing
import StoreTestSupport
import Testing

private func install(_ number: UInt64) -> Identifier<Install> { Identifier(high: 0, low: number) }

private func digest(_ byte: UInt8) -> Digest256? { Digest256(bytes: Array(repeating: byte, count: 32)) }

@Suite("Which installs have a purchase") struct PurchaseLinkTests {
    let now = TestStore.now

    private func link(_ number: UInt64, unseen seconds: Int64 = 0, fingerprint: UInt8? = nil) -> PurchaseLink {
        PurchaseLink(
            install: install(number),
            fingerprint: fingerprint.flatMap(digest),
            presentedAt: now.adding(seconds: -100 * day),
            lastSeenAt: now.adding(seconds: -seconds)
        )
    }

    private func decide(_ number: UInt64, _ fingerprint: UInt8? = nil, among links: [PurchaseLink]) -> LinkDecision {
        LinkDecision.decide(
            for: install(number),
            fingerprint: fingerprint.flatMap(digest),
            among: links,
            offlineLife: CalendarDuration(days: 7),
            at: now
        )
    }

    @Test("ten installs are linked, the eleventh is not, and the ten stay")
    func limit() {
        let ten = (1...10).map { link($0) }
        #expect(decide(10, among: Array(ten[..<9])) == .added)
        #expect(decide(11, among: ten) == .full(limit: 10))
        #expect(decide(3, among: ten) == .linked)
        #expect(!LinkDecision.full(limit: 10).isLinked && LinkDecision.added.isLinked)
    }

    @Test("a reinstall takes the place of its own machine, also when all are in use")
    func fingerprint() {
        let ten = (1...10).map { link($0, fingerprint: UInt8($0)) }
        #expect(decide(11, 4, among: ten) == .takesOver(install(4)))
        #expect(decide(11, 4, among: [link(4, fingerprint: 4)]) == .takesOver(install(4)))
        #expect(decide(11, nil, among: ten) == .full(limit: 10))
    }

    @Test("when all are in use, the one unseen for longest gives way if its last proof has ended")
    func idle() {
        var ten = (1...10).map { link($0) }
        ten[4] = link(5, unseen: 7 * day)
        #expect(decide(11, among: ten) == .full(limit: 10))
        ten[4] = link(5, unseen: 7 * day + 1)
        ten[6] = link(7, unseen: 9 * day)
        #expect(decide(11, among: ten) == .takesOver(install(7)))
    }

    @Test("a link is live for 30 days after the install was last seen, however long a proof lasts")
    func life() {
        #expect(link(1, unseen: 30 * day - 1).isLive(at: now))
        #expect(!link(1, unseen: 30 * day).isLive(at: now))
        let ten = (1...9).map { link($0) } + [link(10, unseen: 30 * day)]
        let decision = LinkDecision.decide(
            for: install(11),
            fingerprint: nil,
            among: ten,
            offlineLife: CalendarDuration(days: 365),
            at: now
        )
        #expect(decision == .takesOver(install(10)))
    }
}

@Suite("What the store's answers become") struct StoreOutcomeTests {
    let now = TestStore.now

    @Test(
        "the table of outcomes",
        arguments: [
            (.active, false, .linked, nil, .granted),
            (.active, false, .full(limit: 10), nil, .noLinkFree(limit: 10)),
            (.active, false, .added, .full(limit: 100), .noLinkFree(limit: 100)),
            (.active, false, .added, .over(at: .earliest), .rejected(.purchaseExpired)),
            (.active, true, .added, .over(at: .earliest), .granted),
            (.expired, false, .linked, nil, .rejected(.purchaseExpired)),
            (.expired, true, .linked, nil, .granted),
            (.expired, false, .full(limit: 10), nil, .rejected(.purchaseExpired)),
            (.revoked, false, .linked, nil, .rejected(.purchaseRevoked)),
            (.revoked, true, .linked, nil, .granted),
            (.upgraded, false, .linked, nil, .unchanged),
            (.consumable, true, .full(limit: 10), nil, .unchanged),
            (.unmapped, false, .added, nil, .unchanged),
        ] as [(PurchaseCondition, Bool, LinkDecision, ReviewAccess?, StoreOutcome)]
    )
    func table(
        _ condition: PurchaseCondition,
        _ isAnotherInForce: Bool,
        _ link: LinkDecision,
        _ review: ReviewAccess?,
        _ expected: StoreOutcome
    ) {
        #expect(
            StoreOutcome.decide(condition, isAnotherInForce: isAnotherInForce, link: link, review: review) == expected
        )
    }

    @Test("only a genuine purchase that is over is a rejection")
    func verdicts() {
        #expect(StoreOutcome.granted.verdict == .granted)
        #expect(StoreOutcome.rejected(.purchaseRevoked).verdict == .rejected)
        #expect(StoreOutcome.noLinkFree(limit: 10).verdict == .unknown)
        #expect(StoreOutcome.unchanged.verdict == .unknown)
    }

    @Test("review access lasts 24 hours from the first presentation, for at most 100 installs")
    func review() {
        let end = now.adding(seconds: day)
        #expect(ReviewAccess.decide(firstPresentedAt: nil, others: 0, at: now) == .granted(until: end))
        #expect(
            ReviewAccess.decide(firstPresentedAt: now, others: 99, at: end.adding(seconds: -1)) == .granted(until: end)
        )
        #expect(ReviewAccess.decide(firstPresentedAt: now, others: 0, at: end) == .over(at: end))
        #expect(ReviewAccess.decide(firstPresentedAt: nil, others: 100, at: now) == .full(limit: 100))
    }

    @Test("what is told about the presented purchase")
    func presented() throws {
        let bought = history([monthly()])
        let purchase = try #require(bought.purchases.first)
        let connection = try makeConnection { $0.renewalLeeway = CalendarDuration(seconds: 7200) }
        let told = PresentedPurchase(purchase, of: bought, under: connection, at: now)
        #expect(told.productID == "monthly")
        #expect(told.condition == .active)
        #expect(told.environment == .production)
        #expect(told.expiresAt == now.adding(seconds: 20 * day + 7200))
        let limited = PresentedPurchase(purchase, of: bought, under: connection, at: now, limit: now)
        #expect(limited.condition == .expired)
        #expect(limited.expiresAt == now)
        #expect(
            PurchaseCondition.allCases.map(\.rawValue)
                == ["active", "expired", "revoked", "upgraded", "consumable", "unmapped"]
        )
    }
}

@Suite("Spend") struct StoreSpendTests {
    let now = TestStore.now

    private func total(_ histories: PurchaseHistory...) -> Int64 {
        var spend = StoreSpend(currency: "USD")
        for history in histories { spend.add(history, presentedAt: .earliest) }
        return spend.totalMilliunits
    }

    @Test("each purchase counts once, whatever its copies and however often its history is added")
    func once() {
        let copies = history([monthly(), monthly { $0.transactionID = "t2" }, monthly { $0.webOrderLineItemID = "w2" }])
        #expect(total(copies) == 2 * 9_990)
        #expect(total(copies, copies) == 2 * 9_990)
        #expect(total(history([transaction("tokens", .consumable)])) == 9_990)
    }

    @Test("what is refunded, of the sandbox, in another currency, shared or free does not count")
    func excluded() {
        let others = [
            transaction { $0.revokedAt = TestStore.now }, transaction { $0.environment = .sandbox },
            transaction { $0.currency = "EUR" }, transaction { $0.currency = nil },
            transaction { $0.isFamilyShared = true },
            transaction { $0.priceMilliunits = nil }, transaction { $0.priceMilliunits = -5 },
        ]
        for other in others { #expect(total(history([other])) == 0) }
        #expect(total(history([transaction { $0.priceMilliunits = .max }, monthly()])) == .max)
    }

    @Test("a threshold is reached by the purchase that crosses it, not before the install presented it")
    func moment() {
        let first = monthly {
            $0.priceMilliunits = 30_000; $0.purchasedAt = TestStore.now.adding(seconds: -50 * day)
        }
        let second = monthly {
            $0.webOrderLineItemID = "w2"
            $0.priceMilliunits = 20_000
            $0.purchasedAt = TestStore.now.adding(seconds: -20 * day)
        }
        var spend = StoreSpend(currency: "USD")
        spend.add(history([second, first]), presentedAt: now.adding(seconds: -40 * day))
        #expect(spend.reached(30_000) == now.adding(seconds: -40 * day))
        #expect(spend.reached(50_000) == now.adding(seconds: -20 * day))
        #expect(spend.reached(50_001) == nil)
    }

    @Test("a history counts for the first that presented it of those still linked")
    func presenter() {
        func link(_ number: UInt64, presented: Int64, unseen: Int64) -> PurchaseLink {
            PurchaseLink(
                install: install(number),
                fingerprint: nil,
                presentedAt: now.adding(seconds: -presented * day),
                lastSeenAt: now.adding(seconds: -unseen * day)
            )
        }
        let links = [
            link(1, presented: 90, unseen: 30), link(2, presented: 80, unseen: 29), link(3, presented: 5, unseen: 0),
        ]
        #expect(StoreSpend.firstPresenter(among: links, at: now)?.install == install(2))
        #expect(StoreSpend.firstPresenter(among: [], at: now) == nil)
    }
}

@Suite("Customers of old") struct GrandfatherTests {
    let store: TestStore

    init() throws { store = try TestStore.standard.get() }

    private func members() -> Members {
        [
            "receiptType": "Production", "bundleId": TestStore.bundleID, "appAppleId": TestStore.appAppleID,
            "applicationVersion": "412", "originalApplicationVersion": "1.9.2",
            "originalPurchaseDate": 1_500_000_000_500,
            "receiptCreationDate": nowMilliseconds - hour * 1000, "appTransactionId": "700",
        ]
    }

    private func open(_ members: Members, in mode: Mode = .live) throws -> AppTransaction {
        var chains = ChainCache()
        let connections = try [store.connection(), store.connection(.sandbox)]
        return try SignedAppTransaction(store.sign(members), admittedBy: connections, in: mode)
            .verified(at: TestStore.now, chains: &chains)
    }

    @Test("an app transaction is verified like any other")
    func genuine() throws {
        let app = try open(members())
        #expect(app.originalVersion == "1.9.2")
        #expect(app.originallyPurchasedAt == Timestamp(secondsSinceEpoch: 1_500_000_000))
        #expect(app.environment == .production)
        #expect(app.purchaseKey.text == "app:700")
        let unnamed = try open(members().with("appTransactionId", nil))
        #expect(unnamed.purchaseKey.text == "app-purchased:1500000000500:1.9.2")
        #expect(throws: StoreRefusal.wrongBundle) { try open(members().with("bundleId", "com.example.other")) }
        #expect(throws: StoreRefusal.wrongEnvironment) { try open(members(), in: .test) }
    }

    @Test(
        "what an app transaction must have is there",
        arguments: [
            "bundleId", "receiptType", "receiptCreationDate", "originalPurchaseDate", "originalApplicationVersion",
        ]
    )
    func required(_ name: String) throws {
        #expect(throws: StoreRefusal.badPayload) { try open(members().with(name, nil)) }
    }

    @Test("a transaction and an app transaction are not taken for each other")
    func confusion() throws {
        #expect(throws: StoreRefusal.badPayload) { try open(unlockMembers()) }
        let connection = try store.connection()
        #expect(throws: StoreRefusal.badPayload) {
            try SignedTransaction(store.sign(members()), admittedBy: [connection], in: .live)
        }
    }

    @Test("who bought before the instant keeps the features")
    func before() throws {
        let app = try open(members())
        func holds(_ seconds: Int64) -> Bool {
            GrandfatherRule(condition: .before(Timestamp(secondsSinceEpoch: seconds)), features: [])
                .holds(for: app, in: .live)
        }
        #expect(holds(1_500_000_001))
        #expect(!holds(1_500_000_000))
    }

    @Test(
        "versions are compared number by number, of any length",
        arguments: [
            ("1.9", "1.10", true), ("1.10", "1.9", false), ("2.0", "2", false), ("2", "2.0.0", false),
            ("1.99999999999999999999", "1.100000000000000000000", true), ("411", "412", true), ("412", "412", false),
            ("1.9b3", "1.10", true), ("007", "8", true), ("", "2", false), ("beta", "2", false), ("1..2", "2", false),
        ]
    )
    func versions(_ version: String, _ limit: String, _ isBelow: Bool) throws {
        var app = try open(members())
        app.originalVersion = version
        let rule = GrandfatherRule(condition: .versionBelow(limit), features: [])
        #expect(rule.holds(for: app, in: .live) == isBelow)
        #expect(GrandfatherRule.isVersion(limit))
    }

    @Test("the sandbox, where every app was bought in 2013, makes no customer of old in live mode")
    func sandbox() throws {
        let app = try open(members().with("receiptType", "Sandbox"), in: .live)
        let rule = GrandfatherRule(condition: .before(TestStore.now), features: [])
        #expect(!rule.holds(for: app, in: .live))
        #expect(rule.holds(for: app, in: .test))
    }
}
