import CFaultyVFS
import Dispatch
import HTTPServer
import Licensing
import LicensingServices
import Storage
import Testing

@testable import CountersignAPI

/// A server whose limits let one of everything through, and whose writes can be troubled.
private struct TroubledServer {
    let server: LiveServer
    let client: LiveClient
    private let vfs: String

    /// What keeps a write from being kept.
    enum Trouble: CaseIterable, Sendable {
        /// There is no room for the transaction.
        case fullDisk
        /// COMMIT fails, and nobody knows what is there.
        case unknownCommit
        /// The job alone is undone.
        case undoneJob
    }

    /// What a client is charged for.
    enum Call: String, CaseIterable, Sendable { case trial, sync, activate, validate, heartbeat }

    init(_ change: (inout RateLimits) -> Void) throws {
        vfs = "charges-\(UInt64.random(in: 0...(.max)))"
        faulty_vfs_register(vfs)
        var limits = RateLimits()
        limits.trustedProxies = [try #require(NetworkPrefix(parsing: "127.0.0.1"))]
        change(&limits)
        let settings = ProductSettings(trialDuration: try CalendarDuration("P14D"), trialStart: .explicit)
        let setUp: @Sendable (borrowing WriteTransaction, Catalog) throws -> Void = { db, catalog in
            var vendor = catalog.vendor
            vendor.validationQuota = 1
            try VendorStore.update(vendor, in: db)
            try db.run("CREATE TEMP TABLE trouble (id INTEGER)")
            try db.run(
                """
                CREATE TEMP TRIGGER troubled BEFORE INSERT ON main.installs WHEN EXISTS (SELECT 1 FROM trouble)
                BEGIN SELECT RAISE(ABORT, 'trouble'); END
                """
            )
        }
        server = try LiveServer(loops: 1, settings: settings, vfs: vfs, limits: limits, setUp: setUp)
        client = try server.connect()
    }

    /// Has the writer do something before what is asked after this.
    private func write(_ job: @escaping @Sendable (borrowing WriteTransaction) throws -> Void) {
        var submissions = [
            APIWriterQueue.Submission(ticket: .sightings(Sightings()), origin: Origin.server.number) { db in
                try job(db)
                return { _ in HTTPResponse(.noContent) }
            }
        ]
        #expect(server.catalog.queue.submit(&submissions))
    }

    /// The same, and waits until it did.
    private func writeFirst(_ job: @escaping @Sendable (borrowing WriteTransaction) throws -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        write { db in
            defer { isDone.signal() }
            try job(db)
        }
        isDone.wait()
    }

    func make(_ trouble: Trouble) {
        switch trouble {
        case .fullDisk: faulty_vfs_fill(vfs, 1_000)
        // One is for a checkpoint that may come between; three in a row would end the server.
        case .unknownCommit: faulty_vfs_fail_syncs(vfs, 2)
        case .undoneJob: writeFirst { db in try db.run("INSERT INTO temp.trouble VALUES (1)") }
        }
    }

    func end(_ trouble: Trouble) {
        switch trouble {
        case .fullDisk: faulty_vfs_fill(vfs, 0)
        case .unknownCommit: faulty_vfs_fail_syncs(vfs, 0)
        case .undoneJob: writeFirst { db in try db.run("DELETE FROM temp.trouble") }
        }
    }

    func request(_ call: Call, _ install: Int) -> String {
        let key =
            [.activate, .validate, .heartbeat].contains(call) ? #","license_key":"\#(server.licenses[0].key)""# : ""
        return server.request(
            "/v1/\(call.rawValue)",
            #"{"install_id":"\#(installID(install))"\#(key)}"#,
            fields: ["X-Forwarded-For: 198.51.100.1"]
        )
    }

    func ask(_ call: Call, _ install: Int) throws -> Received {
        try client.send(request(call, install))
        return try client.receive()
    }

    /// Has the writer wait until it is told to go on; returns how many writes wait behind.
    func holdUp(until gate: DispatchSemaphore) {
        let isHeld = DispatchSemaphore(value: 0)
        write { _ in
            isHeld.signal()
            gate.wait()
            // Open for good: the job runs again where its batch is lost.
            gate.signal()
        }
        isHeld.wait()
    }

    /// Has a batch that this comes into be lost.
    func loseBatch() { write { db in try db.run("ROLLBACK") } }
}

@Suite("What a client is charged for is what happened", .timeLimit(.minutes(30))) struct ChargesTests {
    @Test(
        "trouble of ours is never charged, and when it is over the limits hold",
        arguments: TroubledServer.Trouble.allCases,
        TroubledServer.Call.allCases
    )
    fileprivate func trouble(_ trouble: TroubledServer.Trouble, _ call: TroubledServer.Call) throws {
        let troubled = try TroubledServer { limits in
            // A trial and a validation have limits of their own.
            limits.firstContactsPerMinute = call == .trial || call == .validate ? 0 : 1
            limits.trialsPerDay = 1
        }

        troubled.make(trouble)
        let failed = try troubled.ask(call, 1)
        troubled.end(trouble)
        let good = try troubled.ask(call, 1)
        let next = try troubled.ask(call, 2)

        #expect(failed.status >= 500)
        // A heartbeat without a seat is refused for what it is.
        #expect(good.status == (call == .heartbeat ? 409 : 200))
        #expect(next.status == 429)
    }

    @Test(
        "a write that is run again because its batch was lost is charged once",
        arguments: [.trial, .sync] as [TroubledServer.Call]
    )
    fileprivate func lostBatch(_ call: TroubledServer.Call) throws {
        let troubled = try TroubledServer { limits in
            limits.firstContactsPerMinute = call == .trial ? 0 : 2
            limits.trialsPerDay = 2
        }
        let gate = DispatchSemaphore(value: 0)
        // Whatever is thrown: a writer that waits could not be waited for.
        defer { gate.signal() }

        troubled.holdUp(until: gate)
        try troubled.client.send(troubled.request(call, 1))
        wait { troubled.server.catalog.queue.status().waiting == 1 }
        troubled.loseBatch()
        gate.signal()
        let first = try troubled.client.receive()
        let lost = troubled.server.catalog.queue.status().lostBatches
        let later = try (2...3).map { try troubled.ask(call, $0).status }

        #expect(first.status == 200)
        #expect(lost == 1)
        #expect(later == [200, 429])
    }

    @Test(
        "of many at once no more pass than the limit lets through",
        arguments: [.trial, .sync] as [TroubledServer.Call]
    )
    fileprivate func together(_ call: TroubledServer.Call) throws {
        let troubled = try TroubledServer { limits in
            limits.firstContactsPerMinute = call == .trial ? 0 : 3
            limits.trialsPerDay = 3
        }
        let clients = try (0..<12).map { _ in try troubled.server.connect() }

        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        troubled.holdUp(until: gate)
        for (install, client) in clients.enumerated() { try client.send(troubled.request(call, install)) }
        wait { troubled.server.catalog.queue.status().waiting == clients.count }
        gate.signal()
        let statuses = try clients.map { try $0.receive().status }

        #expect(statuses.count { $0 == 200 } == 3)
        #expect(statuses.count { $0 == 429 } == 9)
    }

    @Test("what is given back fills a bucket no further than it was, and brings no forgotten one back")
    func givenBack() throws {
        let table = RateTable()
        let rate = try #require(Rate(2, perSeconds: 60))
        let key = RateKey(kind: .trials, high: 0, low: 1)
        let start: UInt64 = 1_000_000_000_000

        _ = table.take(rate, key, at: start)
        table.giveBack(rate, key)
        table.giveBack(rate, key)
        table.giveBack(rate, RateKey(kind: .trials, high: 0, low: 2))
        let taken = (0..<3).map { _ in table.take(rate, key, at: start).isGranted }

        #expect(taken == [true, true, false])
        #expect(table.count == 1)
    }
}
