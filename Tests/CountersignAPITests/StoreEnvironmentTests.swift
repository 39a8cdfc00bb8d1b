import AppStore
import Licensing
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import LicensingServices

@Suite("Verifying purchases of each environment") struct StoreEnvironmentTests {
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
}
