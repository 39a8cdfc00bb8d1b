import AppStore
import Cryptography
import Licensing
import StoreTestSupport
import Testing

@Suite("Which connection takes what") struct ConnectionTests {
    let store: TestStore

    init() throws { store = try TestStore.standard.get() }

    @Test("the shipped pin is Apple Root CA - G3")
    func pin() throws {
        let hexadecimal = StoreConnection.appleRootDigests.flatMap(\.bytes)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(hexadecimal == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
    }

    @Test(
        "production is live, the sandbox test and, for review, live; unsigned data test where allowed",
        arguments: [
            (.production, .live, true), (.production, .test, false), (.sandbox, .live, true), (.sandbox, .test, true),
            (.xcode, .live, false), (.xcode, .test, true), (.localTesting, .test, true), (.localTesting, .live, false),
        ] as [(StoreEnvironment, Mode, Bool)]
    )
    func modes(_ environment: StoreEnvironment, _ mode: Mode, _ isTaken: Bool) throws {
        let connections = try [
            store.connection(.production), store.connection(.sandbox),
            store.connection(.xcode) { $0.allowsXcode = true },
        ]
        let jws = try store.sign(unlockMembers().with("environment", environment.rawValue))
        var chosen: StoreConnection?
        let reason = refusal { () throws(StoreRefusal) in
            chosen = try SignedTransaction(jws, admittedBy: connections, in: mode).connection
        }
        #expect(reason == (isTaken ? nil : .wrongEnvironment))
        if isTaken { #expect(chosen?.environment == (environment == .localTesting ? .xcode : environment)) }
    }

    @Test("without review access a live credential gets nothing from the sandbox")
    func noReview() throws {
        let connections = try [store.connection(.production), store.connection(.sandbox) { $0.allowsReview = false }]
        let jws = try store.sign(unlockMembers().with("environment", "Sandbox"))
        #expect(
            refusal { () throws(StoreRefusal) in try SignedTransaction(jws, admittedBy: connections, in: .live) }
                == .wrongEnvironment
        )
        #expect(
            refusal { () throws(StoreRefusal) in try SignedTransaction(jws, admittedBy: connections, in: .test) } == nil
        )
    }

    @Test("of two apps of one product the one with the bundle identifier is chosen, unless it is switched off")
    func bundles() throws {
        let other = try store.connection { $0.bundleID = "com.example.editor.mac" }
        let own = try store.connection()
        let jws = try store.sign(unlockMembers())
        #expect(try SignedTransaction(jws, admittedBy: [other, own], in: .live).connection == own)
        let off = try store.connection { $0.isEnabled = false }
        #expect(
            refusal { () throws(StoreRefusal) in try SignedTransaction(jws, admittedBy: [other, off], in: .live) }
                == .connectionDisabled
        )
    }

    @Test("without a connection that allows it, Xcode's own signature counts for nothing")
    func xcodeNotAllowed() throws {
        let jws = try store.sign(unlockMembers().with("environment", "Xcode"), header: TestStore.header([store.root]))
        for connection in try [store.connection(.xcode), store.connection(.production) { $0.allowsXcode = true }] {
            #expect(
                refusal { () throws(StoreRefusal) in try SignedTransaction(jws, admittedBy: [connection], in: .test) }
                    == .wrongEnvironment
            )
        }
    }

    @Test("StoreKit Testing is read as it comes: one certificate, instants with fractions, periods without numbers")
    func xcode() throws {
        let members = monthlyMembers().with("environment", "Xcode").with("webOrderLineItemId", "0")
            .with("purchaseDate", Raw("1780000000049.7048")).with("originalPurchaseDate", Raw("-62135769600000"))
        let jws = try store.sign(members, header: TestStore.header([store.root]), key: P256.SigningKey.generate())
        let connection = try store.connection(.xcode) { $0.allowsXcode = true }
        var chains = ChainCache()
        let transaction = try SignedTransaction(jws, admittedBy: [connection], in: .test)
            .verified(at: TestStore.now, chains: &chains)
        #expect(transaction.purchasedAt == Timestamp(secondsSinceEpoch: 1_780_000_000))
        #expect(transaction.originallyPurchasedAt == .earliest)
        #expect(transaction.purchaseKey.text == "transaction:2000000001")
        #expect(chains.count == 0)
        // An exponent is no fraction.
        let exponent = try store.sign(
            members.with("purchaseDate", Raw("1.78e12")),
            header: TestStore.header([store.root])
        )
        #expect(
            refusal { () throws(StoreRefusal) in
                try SignedTransaction(exponent, admittedBy: [connection], in: .test)
                    .verified(at: TestStore.now, chains: &chains)
            } == .badPayload
        )
    }
}

@Suite("Notifications") struct NotificationTests {
    let store: TestStore

    init() throws { store = try TestStore.standard.get() }

    private func data(_ transaction: Members? = nil, _ renewal: Members? = nil) throws -> Members {
        var data: Members = [
            "appAppleId": TestStore.appAppleID, "bundleId": TestStore.bundleID, "environment": "Production",
            "status": 1,
        ]
        if let transaction {
            data = data.with("signedTransactionInfo", String(decoding: try store.sign(transaction), as: UTF8.self))
        }
        if let renewal {
            data = data.with("signedRenewalInfo", String(decoding: try store.sign(renewal), as: UTF8.self))
        }
        return data
    }

    private func notification(_ data: Members?, as name: String = "data") -> Members {
        let members: Members = [
            "notificationType": "DID_RENEW", "subtype": "BILLING_RECOVERY", "notificationUUID": "uuid-1",
            "version": "2.0", "signedDate": nowMilliseconds - hour * 1000,
        ]
        return data.map { members.with(name, Raw($0.json)) } ?? members
    }

    private func open(
        _ members: Members,
        _ connection: StoreConnection,
        by signer: TestStore? = nil
    ) throws -> Result<StoreNotification, StoreRefusal> {
        let jws = try (signer ?? store).sign(members)
        do throws(StoreRefusal) {
            var chains = ChainCache()
            return .success(try SignedNotification(jws, for: connection).verified(at: TestStore.now, chains: &chains))
        } catch {
            return .failure(error)
        }
    }

    private func reason(
        _ members: Members,
        _ environment: StoreEnvironment = .production,
        by signer: TestStore? = nil
    ) throws -> StoreRefusal? {
        switch try open(members, store.connection(environment), by: signer) {
        case .success: nil
        case .failure(let refusal): refusal
        }
    }

    @Test("a notification is taken with the transaction and the renewal information nested in it")
    func genuine() throws {
        let renewal = renewalMembers().with("gracePeriodExpiresDate", nowMilliseconds)
            .with("isInBillingRetryPeriod", true).with("expirationIntent", 2).with("autoRenewStatus", 0)
        let opened = try open(notification(data(monthlyMembers(), renewal)), store.connection()).get()
        #expect(opened.uuid == "uuid-1")
        #expect(opened.type == "DID_RENEW")
        #expect(opened.subtype == "BILLING_RECOVERY")
        #expect(opened.status == 1)
        #expect(opened.transaction?.productID == "monthly")
        #expect(opened.renewal?.graceEndsAt == TestStore.now)
        #expect(opened.renewal?.renews == false)
        #expect(opened.renewal?.expirationIntent == 2)
        #expect(opened.renewal?.isInBillingRetry == true)
    }

    @Test("a notification may have 256 KiB, what is nested in it 64 KiB")
    func size() throws {
        #expect(try reason(notification(data()).with("filler", String(repeating: "x", count: 100_000))) == nil)
        #expect(try reason(notification(data()).with("filler", String(repeating: "x", count: 200_000))) == .tooLarge)
        let large = monthlyMembers().with("filler", String(repeating: "x", count: 60_000))
        #expect(try reason(notification(data(large))) == .tooLarge)
    }

    @Test(
        "type, UUID, moment and one of the four subjects are required",
        arguments: ["notificationType", "notificationUUID", "signedDate", "data"]
    )
    func required(_ name: String) throws {
        #expect(try reason(notification(data()).with(name, nil)) == .badPayload)
        #expect(try reason(notification(data()).with(name, Raw("true"))) == .badPayload)
    }

    @Test("a summary, an app's data and a token for purchases elsewhere are subjects too")
    func subjects() throws {
        #expect(try reason(notification(data(), as: "summary")) == nil)
        #expect(try reason(notification(data(), as: "appData")) == nil)
        let token: Members = [
            "externalPurchaseId": "7d1c", "appAppleId": TestStore.appAppleID, "bundleId": TestStore.bundleID,
        ]
        #expect(try reason(notification(token, as: "externalPurchaseToken")) == nil)
        let sandbox = token.with("externalPurchaseId", "SANDBOX_7d1c")
        #expect(try reason(notification(sandbox, as: "externalPurchaseToken")) == .wrongEnvironment)
        #expect(try reason(notification(sandbox, as: "externalPurchaseToken"), .sandbox) == nil)
        #expect(
            try reason(notification(token.with("externalPurchaseId", nil), as: "externalPurchaseToken")) == .badPayload
        )
    }

    @Test("it is for the app and the environment of the connection; the app's number counts in production")
    func address() throws {
        #expect(try reason(notification(data().with("bundleId", "com.example.other"))) == .wrongBundle)
        #expect(try reason(notification(data().with("bundleId", nil))) == .wrongBundle)
        #expect(try reason(notification(data().with("environment", "Sandbox"))) == .wrongEnvironment)
        #expect(try reason(notification(data().with("environment", nil))) == .wrongEnvironment)
        #expect(try reason(notification(data().with("appAppleId", 1))) == .wrongAppID)
        #expect(try reason(notification(data().with("appAppleId", nil))) == .wrongAppID)
        #expect(try reason(notification(data().with("appAppleId", "1234567890"))) == .badPayload)
        let sandbox = try data().with("environment", "Sandbox").with("appAppleId", nil)
        #expect(try reason(notification(sandbox), .sandbox) == nil)
    }

    @Test("what is nested is verified on its own")
    func nested() throws {
        let other = try TestStore()
        let forged = String(decoding: try other.sign(monthlyMembers()), as: UTF8.self)
        #expect(try reason(notification(data().with("signedTransactionInfo", forged))) == .untrustedRoot)
        #expect(try reason(notification(data().with("signedTransactionInfo", "x.y"))) == .malformedJWS)
        #expect(try reason(notification(data(monthlyMembers().with("bundleId", "com.example.other")))) == .wrongBundle)
        #expect(try reason(notification(data(monthlyMembers().with("environment", "Sandbox")))) == .wrongEnvironment)
        #expect(
            try reason(notification(data(nil, renewalMembers().with("environment", "Sandbox")))) == .wrongEnvironment
        )
        #expect(try reason(notification(data(nil, renewalMembers().with("originalTransactionId", nil)))) == .badPayload)
        #expect(try reason(notification(data(nil, renewalMembers().with("autoRenewStatus", true)))) == .badPayload)
        let early = monthlyMembers().with("signedDate", nowMilliseconds + 400_000)
        #expect(try reason(notification(data(early))) == .signedInFuture)
    }

    @Test("it is signed like everything else")
    func signature() throws {
        #expect(try reason(notification(data()), by: TestStore()) == .untrustedRoot)
        let unmarked = try TestStore(leaf: .leaf.with { $0.marker = nil }, under: store)
        #expect(try reason(notification(data()), by: unmarked) == .missingMarker)
        #expect(try reason(notification(data()).with("signedDate", nowMilliseconds + 400_000)) == .signedInFuture)
    }

    @Test("a connection that is switched off asks for another try, one of Xcode takes none")
    func connections() throws {
        let off = try store.connection { $0.isEnabled = false }
        guard case .failure(let reason) = try open(notification(data()), off) else {
            Issue.record("taken by a connection that is switched off")
            return
        }
        #expect(reason == .connectionDisabled && reason.wantsRetry)
        let xcode = try store.connection(.xcode) { $0.allowsXcode = true }
        guard case .failure(.wrongEnvironment) = try open(notification(data().with("environment", "Xcode")), xcode)
        else {
            Issue.record("an unsigned environment got a notification")
            return
        }
    }

    @Test("a refund with a status of active or grace is one of an earlier period")
    func earlierPeriod() throws {
        for (type, status, isEarlier) in [
            ("REFUND", 1, true), ("REFUND", 4, true), ("REFUND", 5, false), ("REVOKE", 1, false),
        ] {
            let members = try notification(data().with("status", status)).with("notificationType", type)
            #expect(try open(members, store.connection()).get().refundsEarlierPeriod == isEarlier)
        }
    }
}
