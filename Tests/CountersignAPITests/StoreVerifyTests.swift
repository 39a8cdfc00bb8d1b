import AppStore
import Bundles
import Cryptography
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI

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
