import AppStore
import Bundles
import Cryptography
import Licensing
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI
@testable import HTTPServer
@testable import LicensingServices

@Suite("Notifications of the App Store") struct StoreNotificationTests {
    @Test("a renewal reaches the installs that presented the subscription")
    func renewed() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()
        #expect(try api.verify(month(1, end: day)).status == 200)

        let answer = try api.notify(
            connection,
            "DID_RENEW",
            uuid: "u1",
            transaction: month(2, end: 31 * day, signed: 0),
            renewal: renewal(signed: 0)
        )

        #expect(answer.status == 200)
        #expect(try api.rights().contains("pro store \(31 * day + 7200)"))
        #expect(try api.count("SELECT count(*) FROM audit WHERE action = 'store.notification'") == 1)
    }

    @Test("a notification counts once, whatever comes of it")
    func duplicates() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()

        for _ in 1...3 { #expect(try api.notify(connection, "SOMETHING_NEW", uuid: "u1").status == 200) }

        #expect(try api.count("SELECT count(*) FROM store_notifications") == 1)
        #expect(try api.count("SELECT count(*) FROM audit WHERE action = 'store.notification'") == 1)
        #expect(try api.count("SELECT count(*) FROM store_documents") == 1)
    }

    @Test("deliveries in every order, duplicates among them, end in one state")
    func orders() throws {
        let steps: [(type: String, transaction: Members, renewal: Members?)] = [
            ("SUBSCRIBED", month(1, end: day, signed: -300), renewal(signed: -300)),
            ("DID_RENEW", month(2, end: 31 * day, signed: -200), renewal(signed: -200)),
            ("REFUND", month(2, end: 31 * day).refunded(signed: -100), nil),
        ]
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            var api = try TestAPI.open()
            let connection = try api.connect()
            for index in order + order {
                let step = steps[index]
                let uuid = "u\(index)"
                let answer = try api.notify(
                    connection,
                    step.type,
                    uuid: uuid,
                    transaction: step.transaction,
                    renewal: step.renewal
                )
                #expect(answer.status == 200)
            }

            let shown = try api.verify(month(2, end: 31 * day, signed: -200))

            #expect(shown.status == 200, "\(order)")
            #expect(shown["purchase", "state"]?.string == "revoked", "\(order)")
            #expect(try api.rights() == ["pro store \(day)"], "\(order)")
        }
    }

    @Test("grace entitles until its end; a failed payment alone does not")
    func grace() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()
        #expect(try api.verify(month(end: -60)).status == 200)
        let failed = renewal(signed: -40).with("isInBillingRetryPeriod", true)
        #expect(try api.notify(connection, "DID_FAIL_TO_RENEW", uuid: "u1", renewal: failed).status == 200)
        #expect(try api.rights() == [])

        let grace = failed.with("signedDate", startMilliseconds - 30_000)
            .with("gracePeriodExpiresDate", startMilliseconds + 16 * day * 1000)
        #expect(try api.notify(connection, "DID_FAIL_TO_RENEW", uuid: "u2", renewal: grace).status == 200)

        #expect(try api.rights() == ["pro store \(16 * day)"])
    }

    @Test("what is refused is answered by whether it is worth sending again")
    func refused() throws {
        var api = try TestAPI.open()
        let connection = try api.connect { $0.appAppleID = .set(TestStore.appAppleID) }
        let other = try TestStore()

        let unknown = try StoreConnectionID.fresh()
        #expect(api.notify("/v1/store/apple/notifications/\(unknown)", jws: [0x61]).status == 404)
        #expect(api.notify("/v1/store/apple/notifications/nonsense", jws: [0x61]).status == 404)
        #expect(api.notify(connection.notificationPath, jws: Array("a.b.c".utf8)).status == 400)
        #expect(api.notify(connection.notificationPath, jws: try other.sign("{}")).code == "STORE_UNVERIFIED")
        #expect(try api.notify(connection, "TEST", uuid: "u", environment: "Sandbox").code == "STORE_UNVERIFIED")
        #expect(try api.notify(connection, "TEST", uuid: "u", signed: 301).status == 503)
        #expect(api.send(request("POST", connection.notificationPath, token: nil, body: "{}")).code == "VALIDATION")
        try api.edit(connection) { $0.isEnabled = false }
        #expect(try api.notify(connection, "TEST", uuid: "u").status == 503)
        #expect(try api.count("SELECT count(*) FROM store_notifications") == 0)
    }

    @Test("both routes have the limits of their bodies")
    func limits() {
        let limits = Dictionary(uniqueKeysWithValues: Routes.all.map { ($0.name, $0.bodyLimit) })

        #expect(limits["store.verify"] == 98_304)
        #expect(limits["store.notification"] == 327_680)
        let router = Routes.router(["store.verify": 5])
        #expect(router.routes.first { $0.name == "store.verify" }?.bodyLimit == 5)
    }

    @Test("what was signed, and the name of a notification, is kept for 180 days; what comes later changes nothing")
    func retention() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()
        #expect(try api.verify(unlock()).status == 200)
        let notification = try api.notification("SUBSCRIBED", uuid: "u1", transaction: month(end: day))
        let send = { (api: inout TestAPI) in api.notify(connection.notificationPath, jws: notification) }
        #expect(send(&api)["status"]?.string == "recorded")
        #expect(try api.verify(month(end: day)).status == 200)
        let rights = try api.rights()
        func removed(after days: Int64) throws -> Int {
            try api.writer.write { db in
                _ = try StoreService.removeOldDocuments(at: Catalog.start.adding(seconds: days * day + 1), in: db)
            }
            return try api.count("SELECT count(*) FROM store_documents")
        }

        #expect(try removed(after: 179) == 3)
        #expect(send(&api)["status"]?.string == "known")
        #expect(try removed(after: 180) == 0)
        #expect(try api.count("SELECT count(*) FROM store_notifications") == 0)
        #expect(try api.rights() == rights)
        #expect(send(&api)["status"]?.string == "recorded")
        #expect(try api.rights() == rights)
        #expect(try api.count("SELECT count(*) FROM purchases") == 2)
    }

    @Test("events that nobody fetched are kept for 180 days, the newest for good, and the audit log stays whole")
    func events() throws {
        var api = try TestAPI.open()
        let connection = try api.connect()
        for number in 1...3 { #expect(try api.notify(connection, "TEST", uuid: "u\(number)").status == 200) }
        let audit = AuditTrail(keys: api.catalog.services.keys)
        let events = try api.count("SELECT count(*) FROM outbox")
        let newest = try api.count("SELECT max(position) FROM outbox")
        let sound = try api.writer.write { db in try audit.verify(in: db) }
        func left(after days: Int64) throws -> Int {
            try api.writer.write { db in
                _ = try RetentionService().removeExpired(at: Catalog.start.adding(seconds: days * day + 1), in: db)
            }
            return try api.count("SELECT count(*) FROM outbox")
        }

        #expect(try left(after: 179) == events)
        #expect(try left(after: 180) == 1)
        #expect(try api.count("SELECT max(position) FROM outbox") == newest)
        #expect(try api.writer.write { db in try audit.verify(in: db) } == sound)
        #expect(try api.notify(connection, "TEST", uuid: "u9").status == 200)
        #expect(try api.count("SELECT max(position) FROM outbox") == newest + 1)
    }
}
