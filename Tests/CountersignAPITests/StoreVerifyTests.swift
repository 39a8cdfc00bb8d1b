import AppStore
import Bundles
import Cryptography
import Licensing
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI
@testable import LicensingServices

@Suite("Verifying purchases") struct StoreVerifyTests {
    @Test("a genuine purchase grants what the map says, and the next sync says so too")
    func granted() throws {
        var api = try TestAPI.open()
        try api.connect()

        let answer = try api.verify(unlock(), more: #","nonce":"n""#)

        #expect(answer.status == 200)
        #expect(answer.members == ["verdict", "purchase", "entitlements", "bundle", "server_time"])
        #expect(answer.verdict == "granted")
        #expect(answer["purchase", "product"]?.string == "unlock")
        #expect(answer["purchase", "state"]?.string == "active")
        #expect(answer["purchase", "environment"]?.string == "Production")
        #expect(answer["purchase", "expires_at"]?.isNull == true)
        let grant = try #require(try api.bundle(in: answer, nonce: "n").claims.grants.first)
        #expect(grant.reference == answer["purchase", "id"]?.string)
        #expect(try api.rights() == ["pro store -1"])
        #expect(try api.rights(2) == [])
    }

    @Test(
        "a period ends with its leeway, to the second",
        arguments: [(7199, 200, "active"), (7200, 402, "expired")] as [(Int64, Int, String)]
    )
    func periodEnd(seconds: Int64, status: Int, state: String) throws {
        var api = try TestAPI.open()
        try api.connect()
        #expect(try api.verify(month(end: day)).status == 200)
        #expect(try api.rights() == ["pro store \(day + 7200)"])
        api.catalog.clock.advance(by: day + seconds)

        let answer = try api.verify(month(end: day))

        #expect(answer.status == status)
        #expect(answer["purchase", "state"]?.string == state)
        #expect(try api.bundle(in: answer).claims.grants.isEmpty == (status == 402))
        if status == 402 {
            #expect(answer.code == "PURCHASE_EXPIRED")
            #expect(answer.verdict == "rejected")
        }
    }

    @Test("who presented a purchase first stays the first, also of several within one second")
    func presentationOrder() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()

        for install in 1...10 { #expect(try api.verify(unlock(), install).status == 200) }

        let presented = try (1...10).map { try #require(try api.install($0)).id }
        let links = try api.writer.write { db in
            try PurchaseLinkStore.all(to: "2000000001", under: connection.id, mode: .live, in: db)
        }
        #expect(links.map(\.install) == presented)
    }

    @Test("a refund takes the right, and the copy from before it brings nothing back")
    func replay() throws {
        var api = try TestAPI.open()
        try api.connect()
        let before = try api.store.sign(unlock())
        #expect(api.verify(jws: before).status == 200)

        let refund = try api.verify(unlock().refunded(signed: -10))
        let replayed = api.verify(jws: before)
        let elsewhere = api.verify(jws: before, 2)

        for (answer, install) in [(refund, 1), (replayed, 1), (elsewhere, 2)] {
            #expect(answer.status == 402)
            #expect(answer.code == "PURCHASE_REVOKED")
            #expect(answer["purchase", "state"]?.string == "revoked")
            #expect(try api.bundle(in: answer, for: install).claims.grants.isEmpty)
        }
        #expect(try api.rights() == [])
    }

    @Test("an old receipt takes nothing away that another purchase of the product gives")
    func anotherInForce() throws {
        var api = try TestAPI.open()
        try api.connect()
        #expect(try api.verify(month(1, end: -20 * day)).status == 402)
        #expect(try api.verify(month(2, end: 10 * day)).status == 200)

        let answer = try api.verify(month(1, end: -20 * day))

        #expect(answer.status == 200)
        #expect(answer.verdict == "granted")
        #expect(answer["purchase", "state"]?.string == "expired")
        #expect(try api.verify(month(1, end: -20 * day), 2).status == 200)
    }

    @Test(
        "what gives nothing by its nature changes nothing",
        arguments: [
            ("consumable", unlock().with("type", "Consumable").with("productId", "tokens")),
            (
                "consumable",
                unlock().with("type", "Consumable").with("productId", "tokens").refunded(signed: -5)
            ),
            ("upgraded", month(end: day).with("isUpgraded", true)),
            ("unmapped", unlock().with("productId", "unheard-of")),
        ]
    )
    func unchanged(state: String, transaction: Members) throws {
        var api = try TestAPI.open()
        try api.connect()

        let answer = try api.verify(transaction)

        #expect(answer.status == 200)
        #expect(answer.verdict == "unknown")
        #expect(answer["purchase", "state"]?.string == state)
        #expect(try api.bundle(in: answer).claims.grants.isEmpty)
    }

    @Test("ten installs share a purchase; the eleventh is told, and has nothing")
    func links() throws {
        var api = try TestAPI.open()
        try api.connect()
        for install in 1...10 { #expect(try api.verify(unlock(), install).status == 200) }

        let answer = try api.verify(unlock(), 11)

        #expect(answer.status == 409)
        #expect(answer.code == "NO_SEATS_AVAILABLE")
        #expect(answer.verdict == "unknown")
        #expect(answer["seats", "limit"]?.int64 == 10)
        #expect(try api.bundle(in: answer, for: 11).claims.grants.isEmpty)
        #expect(try api.verify(unlock(), 10).status == 200)
    }

    @Test("a reinstall on a known machine takes its own link over")
    func fingerprint() throws {
        var api = try TestAPI.open()
        try api.connect()
        let machine = #","fingerprint":"machine-of-the-tests-1""#
        #expect(try api.verify(unlock(), 1, more: machine).status == 200)
        for install in 2...10 { #expect(try api.verify(unlock(), install).status == 200) }

        #expect(try api.verify(unlock(), 11, more: machine).status == 200)

        #expect(try api.rights(11) == ["pro store -1"])
        #expect(try api.rights(1) == [])
        #expect(try api.count("SELECT count(*) FROM purchase_links") == 10)
    }

    @Test("a link unseen for longer than the offline life gives way")
    func idleLink() throws {
        var api = try TestAPI.open()
        try api.connect()
        for install in 1...10 { #expect(try api.verify(unlock(), install).status == 200) }
        let offlineSeconds = api.catalog.editor.settings.offlineLife.longestSeconds
        api.catalog.clock.advance(by: offlineSeconds)
        #expect(try api.verify(unlock(), 11).status == 409)
        api.catalog.clock.advance(by: 1)

        #expect(try api.verify(unlock(), 11).status == 200)
    }

    // MARK: Environments

    @Test("a sandbox purchase under a live key grants for a day from its first presentation")
    func review() throws {
        var api = try TestAPI.open()
        try api.connect(.sandbox)
        let purchase = unlock().inSandbox()
        let first = try api.verify(purchase)
        #expect(first.status == 200)
        #expect(first["purchase", "environment"]?.string == "Sandbox")
        #expect(try api.rights() == ["pro store \(day)"])

        api.catalog.clock.advance(by: day - 1)
        #expect(try api.verify(purchase).status == 200)
        #expect(try api.rights() == ["pro store \(day)"])
        api.catalog.clock.advance(by: 1)
        #expect(try api.rights() == [])
        let over = try api.verify(purchase)
        let another = try api.verify(purchase.with("transactionId", "2000000777"))

        #expect(over.status == 402)
        #expect(over.code == "PURCHASE_EXPIRED")
        #expect(over["purchase", "state"]?.string == "expired")
        #expect(another.status == 200)
        #expect(try api.rights() == ["pro store \(2 * day)"])
    }

    @Test("at most 100 installs of a product have a sandbox purchase under a live key at a time")
    func reviewLimit() throws {
        var api = try TestAPI.open()
        try api.connect(.sandbox)
        for install in 1...100 {
            #expect(try api.verify(unlock("30\(1000 + install)").inSandbox(), install).status == 200)
        }

        let answer = try api.verify(unlock("999").inSandbox(), 101)
        let shared = try api.verify(unlock("301001").inSandbox(), 102)

        for (answer, install) in [(answer, 101), (shared, 102)] {
            #expect(answer.status == 409)
            #expect(answer.code == "NO_SEATS_AVAILABLE")
            #expect(try api.rights(install) == [])
        }
        api.catalog.clock.advance(by: day)
        #expect(try api.verify(unlock("999").inSandbox(), 101).status == 200)
    }

    @Test("a sandbox purchase is one state with links by mode, and its refund ends both")
    func sandboxModes() throws {
        var api = try TestAPI.open()
        let connection = try api.connect(.sandbox)
        let test = api.catalog.testToken
        #expect(try api.verify(unlock().inSandbox()).status == 200)
        #expect(try api.verify(unlock().inSandbox(), token: test).status == 200)
        #expect(try api.rights(token: test, mode: .test) == ["pro store -1"])
        #expect(try api.count("SELECT count(*) FROM purchases") == 1)
        #expect(try api.count("SELECT count(*) FROM purchase_links") == 2)

        let refund = unlock().inSandbox().refunded(signed: -5)
        let answer = try api.notify(
            connection,
            "REFUND",
            uuid: "u1",
            transaction: refund,
            environment: "Sandbox"
        )

        #expect(answer.status == 200)
        #expect(try api.rights() == [])
        #expect(try api.rights(token: test, mode: .test) == [])
    }

    @Test("unsigned purchases count in test mode alone, where the connection says so")
    func xcode() throws {
        var api = try TestAPI.open()
        let connection = try api.connect(.xcode) { $0.allowsXcode = true }
        let transaction = unlock().with("environment", "Xcode")
        let header = #"{"alg":"ES256","x5c":[""]}"#
        let jws = try api.store.sign(transaction, header: header)

        #expect(api.verify(jws: jws).code == "STORE_UNVERIFIED")
        #expect(api.verify(jws: jws, token: api.catalog.testToken).status == 200)
        #expect(try api.rights(token: api.catalog.testToken, mode: .test) == ["pro store -1"])
        try api.edit(connection) { $0.allowsXcode = false }
        #expect(try api.rights(token: api.catalog.testToken, mode: .test) == [])
        #expect(api.verify(jws: jws, token: api.catalog.testToken).code == "STORE_UNVERIFIED")
    }

    @Test("of one purchase that nobody signed the last periods are kept, and none of the documents")
    func unsignedPeriods() throws {
        var api = try TestAPI.open()
        try api.connect(.xcode) { $0.allowsXcode = true }
        let token = api.catalog.testToken
        let most = StoreService.mostUnsignedPeriods
        func show(_ number: Int, end: Int64) throws -> Received {
            let period = month(number, end: end).with("environment", "Xcode")
            return api.verify(jws: try api.store.sign(period, header: #"{"alg":"ES256","x5c":[""]}"#), token: token)
        }

        // The newest first: it must not be the one that goes.
        #expect(try show(most + 10, end: 20 * day).status == 200)
        for number in 1..<(most + 10) { #expect(try show(number, end: Int64(number - 1000) * day).status == 200) }

        #expect(try api.count("SELECT count(*) FROM purchases") == most)
        #expect(try api.count("SELECT count(*) FROM store_documents") == 0)
        #expect(try api.rights(token: token, mode: .test).map { $0.hasPrefix("pro store ") } == [true])
    }

    @Test("a connection keeps so many purchases that nobody signed; the first give way, with what they gave")
    func unsignedPurchases() throws {
        var api = try TestAPI.open()
        try api.connect(.xcode) { $0.allowsXcode = true }
        let token = api.catalog.testToken
        func show(_ id: String, _ install: Int) throws -> Received {
            let bought = unlock(id).with("environment", "Xcode")
            return api.verify(
                jws: try api.store.sign(bought, header: #"{"alg":"ES256","x5c":[""]}"#),
                install,
                token: token
            )
        }
        #expect(try show("1", 1).status == 200)
        // As many others as may be kept beside it, which count as made known later.
        try api.writer.write { db in
            _ = try db.run(
                """
                WITH RECURSIVE numbers (number) AS (
                    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < :most
                )
                INSERT INTO purchases
                SELECT 'pur_7' || printf('%025d', number), connection_id, 'copy ' || number, purchase_key,
                    transaction_id, web_order_line_item_id, store_product_id, bundle_id, environment, type,
                    purchased_at, originally_purchased_at, expires_at, signed_ms, revoked_at, is_upgraded,
                    is_family_shared, price_milliunits, currency, recorded_at
                FROM purchases, numbers
                """,
                ["most": .int(StoreService.mostUnsigned - 1)]
            )
        }
        #expect(try show("1", 1).status == 200)
        #expect(try api.rights(1, token: token, mode: .test) == ["pro store -1"])

        #expect(try show("2", 2).status == 200)

        #expect(try api.count("SELECT count(*) FROM purchases") == StoreService.mostUnsigned)
        #expect(try api.rights(1, token: token, mode: .test) == [])
        #expect(try api.rights(2, token: token, mode: .test) == ["pro store -1"])
        #expect(try api.count("SELECT count(*) FROM purchase_links") == 1)
        // The app presents what it has when it starts.
        #expect(try show("1", 1).status == 200)
        #expect(try api.rights(1, token: token, mode: .test) == ["pro store -1"])
    }

    @Test("a connection keeps so many purchases of the app that nobody signed")
    func unsignedAppPurchases() throws {
        var api = try TestAPI.open()
        try api.connect(.xcode) { $0.allowsXcode = true }
        let token = api.catalog.testToken
        func show(_ id: String) throws -> Received {
            let app: Members = [
                "bundleId": TestStore.bundleID, "receiptType": "Xcode", "receiptCreationDate": startMilliseconds,
                "originalPurchaseDate": startMilliseconds, "originalApplicationVersion": "1", "appTransactionId": id,
            ]
            let jws = String(decoding: try api.store.sign(app, header: #"{"alg":"ES256","x5c":[""]}"#), as: UTF8.self)
            return api.post(
                "/v1/store/verify",
                #"{"install_id":"\#(installID(1))","store":"apple","signed_app_transaction":"\#(jws)"}"#,
                token: token
            )
        }
        #expect(try show("1").status == 200)
        try api.writer.write { db in
            _ = try db.run(
                """
                WITH RECURSIVE numbers (number) AS (
                    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < :most
                )
                INSERT INTO app_purchases
                SELECT 'pur_7' || printf('%025d', number), connection_id, 'copy ' || number, app_transaction_id,
                    bundle_id, environment, originally_purchased_ms, original_version, signed_ms, recorded_at
                FROM app_purchases, numbers
                """,
                ["most": .int(StoreService.mostUnsigned - 1)]
            )
        }

        #expect(try show("2").status == 200)

        #expect(try api.count("SELECT count(*) FROM app_purchases") == StoreService.mostUnsigned)
        #expect(try api.count("SELECT count(*) FROM app_purchases WHERE app_transaction_id = '2'") == 1)
    }

    // MARK: Mistakes

    @Test("no connection at all is a matter of configuration")
    func noConnection() throws {
        var api = try TestAPI.open()

        let answer = try api.verify(unlock())

        #expect(answer.status == 400)
        #expect(answer.code == "VALIDATION")
        #expect(answer.pointers == ["/store"])
        #expect(answer.verdict == "unknown")
        #expect(try api.install(1) != nil)
    }

    enum Mistake: String, CaseIterable, Sendable {
        case otherApp, otherEnvironment, otherRoot, slowClock, switchedOff, reviewOff, productionUnderTest
    }

    @Test("a mistake of the operator is never a rejection, and changes nothing", arguments: Mistake.allCases)
    func mistakes(mistake: Mistake) throws {
        var api = try TestAPI.open()
        var transaction = unlock()
        var token = api.catalog.appToken
        switch mistake {
        case .otherApp: try api.connect(bundleID: "com.example.other")
        case .otherEnvironment: try api.connect(.sandbox)
        case .otherRoot: try api.connect { $0.rootDigests = [] }
        case .slowClock:
            try api.connect()
            transaction = unlock(signed: 301)
        case .switchedOff: try api.connect { $0.isEnabled = false }
        case .reviewOff:
            try api.connect(.sandbox) { $0.allowsReview = false }
            transaction = transaction.inSandbox()
        case .productionUnderTest:
            try api.connect()
            token = api.catalog.testToken
        }

        for transaction in [transaction, transaction.with("revocationDate", startMilliseconds - 60_000)] {
            let answer = try api.verify(transaction, token: token)

            #expect(answer.status == (mistake == .switchedOff ? 503 : 400))
            #expect(answer.code == (mistake == .switchedOff ? "UNAVAILABLE" : "STORE_UNVERIFIED"))
            #expect(answer.verdict == "unknown")
        }
        #expect(try api.count("SELECT count(*) FROM purchases") == 0)
        #expect(try api.count("SELECT count(*) FROM purchase_links") == 0)
        #expect(try api.count("SELECT count(*) FROM installs") == 1)
    }

    @Test("what is not genuine is told apart from what is, before and behind the worker")
    func notGenuine() throws {
        var api = try TestAPI.open()
        try api.connect()
        let jws = try api.store.sign(unlock())
        var forged = jws
        forged[forged.count - 20] ^= 1

        for (text, install) in [(Array("a.b.c".utf8), 1), (forged, 2), (jws + [0x2E], 3)] {
            let answer = api.verify(jws: text, install)
            #expect(answer.status == 400)
            #expect(answer.code == "STORE_UNVERIFIED")
            #expect(try api.install(install) != nil)
        }
        let huge = api.verify(jws: Array(repeating: UInt8(ascii: "a"), count: 64 * 1024 + 1))
        #expect(huge.code == "STORE_UNVERIFIED")
        #expect(try api.count("SELECT count(*) FROM store_documents") == 0)
    }

    @Test(
        "members that are missing or wrong are named",
        arguments: [
            (#""store":"apple""#, ["/signed_transaction"]),
            (#""store":"apple","signed_transaction":"""#, ["/signed_transaction"]),
            (#""store":"apple","signed_transaction":[]"#, ["/signed_transaction"]),
            (#""store":"google","signed_transaction":"a.b.c""#, ["/store"]),
            (#""signed_transaction":"a.b.c""#, ["/store"]),
            (#""store":"apple","signed_transaction":7"#, ["/signed_transaction"]),
        ]
    )
    func members(body: String, pointers: [String]) throws {
        var api = try TestAPI.open()
        try api.connect()

        let answer = api.post("/v1/store/verify", #"{"install_id":"\#(installID(1))",\#(body)}"#)

        #expect(answer.code == "VALIDATION")
        #expect(answer.pointers.prefix(1) == pointers.prefix(1))
    }

    @Test("trusted are the shipped root, the configured ones and the connection's own")
    func pins() throws {
        let api = try TestAPI.open()
        let own = try api.connect()
        let configured = try #require(Digest256(bytes: Array(repeating: 7, count: 32)))
        let service = StoreService(
            keys: api.catalog.services.keys,
            entropy: SystemEntropy(),
            configuredRootDigests: [configured]
        )

        let connection = try api.writer.write { db in try service.connection(own.id, in: db) }

        let ownRoot = try #require(Digest256(bytes: SHA256.digest(of: try api.store.root)))
        #expect(connection?.rootDigests == StoreConnection.appleRootDigests + [ownRoot, configured])
        #expect(StoreConnection.appleRootDigests.count == 1)
    }

    @Test("a product's purchases are nobody else's")
    func strangers() throws {
        var api = try TestAPI.open()
        try api.connect()
        #expect(try api.verify(unlock()).status == 200)

        let answer = try api.verify(unlock(), token: api.catalog.viewerToken)

        #expect(answer.pointers == ["/store"])
    }

    // MARK: Grandfathering

    static func app(purchased days: Int64, environment: String = "Production") -> Members {
        [
            "bundleId": TestStore.bundleID, "receiptType": environment, "originalApplicationVersion": "1.4",
            "receiptCreationDate": startMilliseconds - 1000, "appTransactionId": "704",
            "originalPurchaseDate": startMilliseconds + days * day * 1000,
        ]
    }

    @Test(
        "who bought the app when it was paid keeps what it had",
        arguments: [
            (-366, "Production", "granted", ["export store -1"]),
            (-365, "Production", "unknown", []),
            (-400, "Sandbox", "unknown", []),
        ] as [(Int64, String, String, [String])]
    )
    func grandfathered(days: Int64, environment: String, verdict: String, rights: [String]) throws {
        var api = try TestAPI.open()
        let rule = GrandfatherRule(
            condition: .before(Catalog.start.adding(seconds: -365 * day)),
            features: [try FeatureCode("export")]
        )
        try api.connect { $0.grandfather = .set(rule) }
        try api.connect(.sandbox) { $0.grandfather = .set(rule) }
        let jws = String(
            decoding: try api.store.sign(Self.app(purchased: days, environment: environment)),
            as: UTF8.self
        )

        let answer = api.post(
            "/v1/store/verify",
            #"{"install_id":"\#(installID(1))","store":"apple","signed_app_transaction":"\#(jws)"}"#
        )

        #expect(answer.status == 200)
        #expect(answer.verdict == verdict)
        #expect(answer["purchase"] == nil)
        #expect(try api.rights() == rights)
    }

    @Test("a purchase and the purchase of the app may be shown together")
    func both() throws {
        var api = try TestAPI.open()
        let rule = GrandfatherRule(condition: .versionBelow("2.0"), features: [try FeatureCode("export")])
        try api.connect { $0.grandfather = .set(rule) }
        let app = String(decoding: try api.store.sign(Self.app(purchased: -30)), as: UTF8.self)

        let answer = try api.verify(unlock(), more: #","signed_app_transaction":"\#(app)""#)

        #expect(answer.verdict == "granted")
        #expect(try api.rights() == ["export store -1", "pro store -1"])
    }

    // MARK: What stays

    @Test("everything is there after a new start")
    func restart() throws {
        var api = try TestAPI.open()
        try api.connect()
        #expect(try api.verify(month(end: day)).status == 200)
        let install = try #require(try api.install(1))

        let database = Database(folder: api.catalog.folder.path, options: api.catalog.database.options)
        let grants = try database.openReader().snapshot { db in
            try StoreRights.grants(of: install, under: ProductSettings(), at: Catalog.start, in: db)
        }

        #expect(grants.map(\.feature.text) == ["pro"])
        #expect(grants.first?.ends == Catalog.start.adding(seconds: day + 7200))
    }

    @Test("spend counts once, for who presented first, and a refund takes it back")
    func spend() throws {
        var api = try TestAPI.open()
        try api.connect()
        let tip = unlock("71").with("type", "Consumable").with("productId", "tokens").with("price", 5_000)
        #expect(try api.verify(unlock()).status == 200)
        api.catalog.clock.advance(by: 1)
        #expect(try api.verify(unlock(), 2).status == 200)
        #expect(try api.verify(tip).status == 200)
        func spend(_ install: Int) throws -> Int64 {
            let row = try #require(try api.install(install))
            return try api.writer.write { db in
                try StoreRights.spend(of: row, in: "USD", at: Catalog.start, in: db).totalMilliunits
            }
        }
        #expect(try spend(1) == 24_990)
        #expect(try spend(2) == 0)

        #expect(try api.verify(unlock().refunded(signed: -1)).status == 402)

        #expect(try spend(1) == 5_000)
    }
}
