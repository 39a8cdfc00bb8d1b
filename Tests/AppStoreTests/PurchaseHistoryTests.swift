import AppStore
import Licensing
import StoreTestSupport
import Testing

/// A transaction for tests of rules; signed an hour ago.
func transaction(
    _ productID: String = "unlock",
    _ type: StoreProductType = .nonConsumable,
    _ change: (inout StoreTransaction) -> Void = { _ in }
) -> StoreTransaction {
    var transaction = StoreTransaction(
        transactionID: "t1",
        originalTransactionID: "o1",
        productID: productID,
        bundleID: TestStore.bundleID,
        environment: .production,
        type: type,
        purchasedAt: TestStore.now.adding(seconds: -10 * day),
        originallyPurchasedAt: TestStore.now.adding(seconds: -10 * day),
        signedMilliseconds: nowMilliseconds - hour * 1000,
        priceMilliunits: 9_990,
        currency: "USD"
    )
    if type == .autoRenewable {
        transaction.webOrderLineItemID = "w1"
        transaction.expiresAt = TestStore.now.adding(seconds: 20 * day)
    }
    change(&transaction)
    return transaction
}

func monthly(_ change: (inout StoreTransaction) -> Void = { _ in }) -> StoreTransaction {
    transaction("monthly", .autoRenewable, change)
}

func renewalInfo(_ change: (inout RenewalInfo) -> Void = { _ in }) -> RenewalInfo {
    var renewal = RenewalInfo(
        originalTransactionID: "o1",
        environment: .production,
        signedMilliseconds: nowMilliseconds - hour * 1000,
        renews: true
    )
    change(&renewal)
    return renewal
}

/// A history of these copies, identifiers by order of arrival.
func history(_ transactions: [StoreTransaction], _ renewals: [RenewalInfo] = []) -> PurchaseHistory {
    var history = PurchaseHistory(originalTransactionID: "o1")
    for (index, transaction) in transactions.enumerated() {
        _ = history.apply(transaction, id: PurchaseID(high: 0, low: UInt64(index + 1)))
    }
    for renewal in renewals { _ = history.apply(renewal) }
    return history
}

@Suite("Purchases by their newest copy") struct PurchaseHistoryTests {
    let now = TestStore.now
    let minute: Int64 = 60_000

    private func condition(
        _ transactions: [StoreTransaction],
        _ renewals: [RenewalInfo] = [],
        at moment: Timestamp = TestStore.now,
        _ change: (inout StoreConnection) -> Void = { _ in }
    ) throws -> PurchaseCondition {
        let history = history(transactions, renewals)
        let purchase = try #require(history.purchases.first)
        return try history.condition(of: purchase, under: makeConnection(.production, change), at: moment)
    }

    @Test("copies of one purchase have one key, whatever they are called: a period by its number, others by product")
    func keys() {
        #expect(monthly().purchaseKey == monthly { $0.transactionID = "t2" }.purchaseKey)
        #expect(monthly().purchaseKey != monthly { $0.webOrderLineItemID = "w2" }.purchaseKey)
        let unnumbered = monthly { $0.webOrderLineItemID = nil }
        #expect(unnumbered.purchaseKey == monthly { $0.webOrderLineItemID = "0" }.purchaseKey)
        #expect(
            unnumbered.purchaseKey
                != monthly {
                    $0.webOrderLineItemID = nil; $0.transactionID = "t2"
                }.purchaseKey
        )
        #expect(transaction().purchaseKey == transaction { $0.transactionID = "t2" }.purchaseKey)
        #expect(transaction().purchaseKey != transaction("tokens").purchaseKey)
        // No choice of names makes two purchases one.
        let one = transaction("b:c") { $0.originalTransactionID = "a" }
        let other = transaction("c") { $0.originalTransactionID = "a:b" }
        #expect(one.purchaseKey != other.purchaseKey)
    }

    @Test("a copy signed before the refund brings nothing back, however often it is presented")
    func replay() throws {
        let bought = transaction { $0.signedMilliseconds -= 60 * minute }
        let refunded = transaction { $0.revokedAt = TestStore.now }
        for order in [[bought, refunded, bought], [refunded, bought], [refunded, bought, bought]] {
            #expect(try condition(order) == .revoked)
        }
        var history = history([refunded])
        #expect(history.apply(bought, id: PurchaseID(high: 9, low: 9)) == .unchanged)
        // The restored copy has another name and is the same purchase.
        let restored = transaction {
            $0.transactionID = "t2"; $0.signedMilliseconds -= 30 * minute
        }
        #expect(history.apply(restored, id: PurchaseID(high: 9, low: 9)) == .unchanged)
        #expect(history.purchases.count == 1)
    }

    @Test("a refund that is reversed gives the right back, unless it is the older news")
    func reversal() throws {
        let refunded = transaction { $0.revokedAt = TestStore.now.adding(seconds: -day) }
        let reversed = transaction { $0.signedMilliseconds += minute }
        #expect(try condition([refunded, reversed]) == .active)
        #expect(try condition([reversed, refunded]) == .active)
    }

    @Test("of two copies signed in the same millisecond the refund wins, in either order")
    func equalMoments() throws {
        let bought = transaction()
        let refunded = transaction { $0.revokedAt = TestStore.now }
        #expect(try condition([bought, refunded]) == .revoked)
        #expect(try condition([refunded, bought]) == .revoked)
    }

    @Test("every order of delivery, with every copy twice, ends alike")
    func permutationsEndAlike() throws {
        // A subscription bought, renewed, refunded for its first period, in grace, recovered; copies that disagree
        // within one millisecond.
        let first = monthly { $0.signedMilliseconds -= 100 * minute }
        let refunded = monthly {
            $0.revokedAt = TestStore.now; $0.signedMilliseconds -= 40 * minute
        }
        let second = monthly {
            $0.webOrderLineItemID = "w2"
            $0.transactionID = "t2"
            $0.purchasedAt = TestStore.now
        }
        let twin = monthly {
            $0.webOrderLineItemID = "w2"
            $0.transactionID = "t3"
            $0.purchasedAt = TestStore.now
            $0.expiresAt = TestStore.now.adding(seconds: 30 * day)
        }
        let transactions = [first, refunded, second, twin, first]
        let renewals = [
            renewalInfo {
                $0.graceEndsAt = TestStore.now.adding(seconds: day); $0.signedMilliseconds -= 50 * minute
            },
            renewalInfo(), renewalInfo { $0.isInBillingRetry = true },
        ]
        func outcome(_ transactions: [StoreTransaction], _ renewals: [RenewalInfo]) -> Set<StoreTransaction> {
            Set(history(transactions, renewals).purchases.map(\.transaction))
        }
        let expected = outcome(transactions, renewals)
        #expect(expected == [refunded, twin])
        for order in permutations(transactions) { #expect(outcome(order, renewals) == expected) }
        let renewal = history([], renewals).renewal
        for order in permutations(renewals) { #expect(history([], order).renewal == renewal) }
    }

    @Test("applying says what a row needs: insert, update or nothing")
    func changes() {
        var history = PurchaseHistory(originalTransactionID: "o1")
        let id = PurchaseID(high: 0, low: 1)
        #expect(history.apply(monthly(), id: id) == .inserted)
        #expect(history.apply(monthly(), id: PurchaseID(high: 0, low: 2)) == .unchanged)
        #expect(history.apply(monthly { $0.signedMilliseconds += 1 }, id: PurchaseID(high: 0, low: 3)) == .updated)
        #expect(history.purchases.map(\.id) == [id])
        #expect(history.apply(renewalInfo()) == .inserted)
        #expect(history.apply(renewalInfo { $0.signedMilliseconds -= 1 }) == .unchanged)
        #expect(history.apply(renewalInfo { $0.signedMilliseconds += 1 }) == .updated)
    }

    @Test("every end is exclusive: a period that ends now has ended")
    func ends() throws {
        let end = now.adding(seconds: 20 * day)
        #expect(try condition([monthly()], at: end.adding(seconds: -1)) == .active)
        #expect(try condition([monthly()], at: end) == .expired)
    }

    @Test("a purchase without end stays until it is refunded")
    func noEnd() throws {
        #expect(try condition([transaction()], at: .latest) == .active)
        #expect(try condition([transaction { $0.revokedAt = .earliest }]) == .revoked)
    }

    @Test("grace entitles until its end, whatever the flag for billing retry says; the flag alone does not")
    func grace() throws {
        let over = monthly { $0.expiresAt = TestStore.now.adding(seconds: -day) }
        let graceEnd = now.adding(seconds: 6 * day)
        for isInBillingRetry in [true, false] {
            let renewal = renewalInfo {
                $0.graceEndsAt = graceEnd; $0.isInBillingRetry = isInBillingRetry
            }
            #expect(try condition([over], [renewal]) == .active)
            #expect(try condition([over], [renewal], at: graceEnd) == .expired)
        }
        #expect(try condition([over], [renewalInfo { $0.isInBillingRetry = true }]) == .expired)
    }

    @Test("a grace that ends before the period shortens nothing")
    func earlyGrace() throws {
        let renewal = renewalInfo { $0.graceEndsAt = TestStore.now.adding(seconds: -day) }
        #expect(try condition([monthly()], [renewal]) == .active)
    }

    @Test("the leeway holds until a renewal may have reached us, not where none is on its way")
    func leeway() throws {
        let end = now.adding(seconds: 20 * day)
        func at(_ seconds: Int64, _ renewals: [RenewalInfo]) throws -> PurchaseCondition {
            try condition([monthly()], renewals, at: end.adding(seconds: seconds)) {
                $0.renewalLeeway = StoreConnection.standardRenewalLeeway
            }
        }
        for renewals in [[], [renewalInfo()], [renewalInfo { $0.renews = nil }]] {
            #expect(try at(7199, renewals) == .active)
            #expect(try at(7200, renewals) == .expired)
        }
        let notRenewing = [
            renewalInfo { $0.renews = false }, renewalInfo { $0.expirationIntent = 1 },
            renewalInfo { $0.isInBillingRetry = true },
        ]
        for renewal in notRenewing {
            #expect(try at(-1, [renewal]) == .active)
            #expect(try at(0, [renewal]) == .expired)
        }
        // No other type waits for a renewal.
        let timed = transaction { $0.expiresAt = TestStore.now }
        #expect(try condition([timed]) { $0.renewalLeeway = StoreConnection.standardRenewalLeeway } == .expired)
    }

    @Test("leeway and grace are for the last period: refunding that one does not fall back on them")
    func lastPeriod() throws {
        let first = monthly { $0.expiresAt = TestStore.now.adding(seconds: -60) }
        let second = monthly {
            $0.webOrderLineItemID = "w2"
            $0.purchasedAt = TestStore.now.adding(seconds: -60)
            $0.revokedAt = TestStore.now
        }
        let grace = renewalInfo { $0.graceEndsAt = TestStore.now.adding(seconds: day) }
        let connection = try makeConnection { $0.renewalLeeway = StoreConnection.standardRenewalLeeway }
        let both = history([first, second], [grace])
        #expect(!both.isInForce("monthly", under: connection, in: .live, at: now))
        #expect(history([first], []).isInForce("monthly", under: connection, in: .live, at: now))
    }

    @Test("the refund of an earlier period leaves the current one, and the other way round")
    func periods() throws {
        let current = monthly {
            $0.webOrderLineItemID = "w2"; $0.purchasedAt = TestStore.now.adding(seconds: -day)
        }
        let earlier = monthly {
            $0.expiresAt = TestStore.now.adding(seconds: -day); $0.revokedAt = TestStore.now
        }
        let connection = try makeConnection()
        #expect(history([current, earlier]).isInForce("monthly", under: connection, in: .live, at: now))
        let refunded = monthly {
            $0.webOrderLineItemID = "w2"; $0.revokedAt = TestStore.now
        }
        let over = monthly { $0.expiresAt = TestStore.now.adding(seconds: -day) }
        #expect(!history([refunded, over]).isInForce("monthly", under: connection, in: .live, at: now))
    }

    @Test("an upgrade leaves the lower product nothing, also where Apple calls it revoked")
    func upgrade() throws {
        let lower = monthly { $0.isUpgraded = true }
        let higher = transaction("yearly", .autoRenewable) {
            $0.webOrderLineItemID = "w2"; $0.purchasedAt = TestStore.now
        }
        #expect(try condition([lower]) == .upgraded)
        #expect(
            try condition([
                monthly {
                    $0.isUpgraded = true; $0.revokedAt = TestStore.now
                }
            ]) == .upgraded
        )
        let connection = try makeConnection()
        let both = history([lower, higher])
        #expect(both.isInForce("yearly", under: connection, in: .live, at: now))
        #expect(!both.isInForce("monthly", under: connection, in: .live, at: now))
    }

    @Test("a consumable never lasts, refunded or not, and an unmapped product never gave anything")
    func neverEntitling() throws {
        #expect(try condition([transaction("tokens", .consumable)]) == .consumable)
        #expect(try condition([transaction("tokens", .consumable) { $0.revokedAt = TestStore.now }]) == .consumable)
        #expect(try condition([transaction("unknown")]) == .unmapped)
        #expect(try condition([transaction("unknown") { $0.revokedAt = TestStore.now }]) == .unmapped)
    }

    @Test("a non-renewing subscription lasts as long as the map says, in the calendar, or for ever")
    func nonRenewing() throws {
        let start = Timestamp(secondsSinceEpoch: 1_769_817_600)  // 2026-01-31T00:00:00Z
        let season = transaction("season", .nonRenewing) { $0.purchasedAt = start }
        let end = start.adding(months: 1)
        func at(_ moment: Timestamp) throws -> PurchaseCondition {
            try condition([season], at: moment) {
                $0.products = [StoreProduct(id: "season", features: [], duration: CalendarDuration(months: 1))]
            }
        }
        #expect(end.secondsSinceEpoch == 1_772_236_800)  // 2026-02-28T00:00:00Z
        #expect(try at(end.adding(seconds: -1)) == .active)
        #expect(try at(end) == .expired)
        #expect(try condition([season], at: .latest) == .active)
    }

    @Test("what a family shares ends when it is taken from the member, and nobody else loses it")
    func family() throws {
        let shared = transaction { $0.isFamilyShared = true }
        #expect(try condition([shared]) == .active)
        #expect(
            try condition([
                shared,
                transaction {
                    $0.revokedAt = TestStore.now; $0.signedMilliseconds += 1
                },
            ]) == .revoked
        )
    }

    @Test("grants name feature, purchase, beginning and the end with grace and leeway")
    func grants() throws {
        let features = try [FeatureCode("pro"), FeatureCode("export")]
        let connection = try makeConnection {
            $0.products = [StoreProduct(id: "monthly", features: features)]
            $0.renewalLeeway = CalendarDuration(seconds: 100)
        }
        let ahead = monthly { $0.purchasedAt = TestStore.now.adding(seconds: 20) }
        let over = monthly {
            $0.webOrderLineItemID = "w0"; $0.purchasedAt = .earliest; $0.expiresAt = TestStore.now
        }
        let grants = history([ahead, over]).grants(
            under: connection,
            in: .live,
            at: now,
            offlineLife: CalendarDuration(days: 7)
        )
        #expect(grants.map(\.feature) == features)
        for grant in grants {
            #expect(grant.reference == .purchase(PurchaseID(high: 0, low: 1)))
            #expect(grant.source == .store)
            #expect(grant.starts == now)
            #expect(grant.ends == now.adding(seconds: 20 * day + 100))
            #expect(grant.offlineLife == CalendarDuration(days: 7))
        }
    }

    @Test("under a live credential a sandbox purchase gives what was presented, until its day is over")
    func review() throws {
        let sandbox = try makeConnection(.sandbox)
        let bought = history([transaction { $0.environment = .sandbox }])
        let id = PurchaseID(high: 0, low: 1)
        let end = ReviewAccess.end(firstPresentedAt: now)
        func grants(_ mode: Mode, _ moment: Timestamp, _ limits: [PurchaseID: Timestamp]) -> [Grant] {
            bought.grants(under: sandbox, in: mode, at: moment, offlineLife: CalendarDuration(days: 7), limits: limits)
        }
        #expect(grants(.test, now, [:]).map(\.ends) == [nil])
        #expect(grants(.live, now, [:]).isEmpty)
        #expect(grants(.live, now, [id: end]).map(\.ends) == [end])
        #expect(grants(.live, end, [id: end]).isEmpty)
        #expect(!bought.isInForce("unlock", under: sandbox, in: .live, at: end, limits: [id: end]))
    }
}
