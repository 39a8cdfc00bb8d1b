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

@Suite("The worker") struct WorkerTests {
    private final class Kept: Sendable {}

    private func submit(_ queue: WorkerQueue, _ origin: Origin, keeping kept: Kept? = nil) -> Bool {
        queue.submit(
            WorkerQueue.Submission(ticket: Ticket(loop: 0, slot: 0, generation: 1), origin: origin) { _ in
                _ = kept
                throw HTTPFailure.notFound
            }
        )
    }

    @Test("its queue has room for 64, works off what waits, and then ends")
    func queue() throws {
        let queue = WorkerQueue()
        let origins = try (0..<4).map { _ in Origin(try StoreConnectionID.fresh()) }
        for number in 0..<64 { #expect(submit(queue, origins[number % 4])) }
        #expect(!submit(queue, Origin(try StoreConnectionID.fresh())))
        #expect(queue.take() != nil)
        #expect(submit(queue, origins[0]))

        queue.stop()

        #expect(!submit(queue, origins[1]))
        for _ in 1...64 { #expect(queue.take() != nil) }
        #expect(queue.take() == nil)
    }

    @Test("one origin, an app's key or a store's connection, leaves the others their places and their turns")
    func shares() throws {
        let queue = WorkerQueue()
        let greedy = Origin(try CredentialID.fresh())
        let others = [Origin(try CredentialID.fresh()), Origin(try StoreConnectionID.fresh())]

        let accepted = (0..<1_000).count { _ in submit(queue, greedy) }
        for other in others { #expect(submit(queue, other)) }
        let next = (0..<3).compactMap { _ in queue.take()?.origin }

        #expect(accepted == 16)
        #expect(next == [greedy] + others)
    }

    @Test("a worker that is never idle keeps nothing of what it has done")
    func keepsNothing() throws {
        let queue = WorkerQueue()
        let origin = Origin(try CredentialID.fresh())
        #expect(submit(queue, origin))
        weak var first: Kept?

        for round in 0..<100 {
            let kept = Kept()
            if round == 0 { first = kept }
            #expect(submit(queue, origin, keeping: kept))
            #expect(queue.take() != nil)
        }

        #expect(queue.count == 1)
        #expect(first == nil)
    }

    @Test("over a socket, a purchase is verified, and one that is not genuine is refused", .timeLimit(.minutes(30)))
    func overSocket() throws {
        let store = try TestStore.standard.get()
        let server = try LiveServer(setUp: { db, catalog in
            var changes = StoreConnectionChanges()
            changes.rootDigests = [try #require(Digest256(bytes: SHA256.digest(of: store.root)))]
            changes.mappings = [.init(id: "unlock", features: [try FeatureCode("pro")])]
            _ = try StoreConnectionService(keys: catalog.services.keys).connect(
                .fresh(),
                .production,
                bundleID: TestStore.bundleID,
                with: changes,
                of: catalog.editor,
                by: Actor(name: "test", now: Catalog.start),
                in: db
            )
        })
        let client = try server.connect()
        let jws = String(decoding: try store.sign(unlock()), as: UTF8.self)
        func body(_ jws: String) -> String {
            #"{"install_id":"\#(installID(1))","store":"apple","signed_transaction":"\#(jws)"}"#
        }

        try client.send(server.request("/v1/store/verify", body(jws)))
        let good = try client.receive()
        try client.send(server.request("/v1/store/verify", body(jws.dropLast(4) + "AAAA")))
        let bad = try client.receive()

        #expect(good.status == 200)
        #expect(good.verdict == "granted")
        #expect(bad.code == "STORE_UNVERIFIED")
    }
}
