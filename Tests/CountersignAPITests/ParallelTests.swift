import Bundles
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

/// What many say at the same moment, each by a connection of its own, while the clock goes on.
@Suite("First calls at the same moment") struct ParallelTests {
    enum Shared: CaseIterable, Sendable {
        case install, fingerprint
    }

    @Test(
        "20 first starts of a trial by one install, or on one machine, make one start, and all are told the same",
        arguments: Shared.allCases,
        TrialStart.allCases
    )
    func trials(shared: Shared, start: TrialStart) throws {
        let live = try LiveServer(setUp: { db, catalog in
            var product = catalog.editor
            product.settings.trialDuration = CalendarDuration(days: 14)
            product.settings.trialStart = start
            try ProductStore.update(product, in: db)
        })
        let clients = try (0..<20).map { _ in try live.connect() }

        for (number, client) in clients.enumerated() {
            let install = shared == .install ? 1 : number
            let body = #"{"install_id":"\#(installID(install))","fingerprint":"one-machine-for-all"}"#
            try client.send(live.request("/v1/trial", body))
            live.catalog.clock.advance(by: 60)
        }
        let answers = try clients.map { try $0.receive() }

        #expect(answers.allSatisfy { $0.status == 200 && $0.code == "TRIAL_ACTIVE" })
        let started = Set(answers.compactMap { $0["started_at"]?.string })
        #expect(started.count == 1)
        #expect(Set(answers.compactMap { $0["ends_at"]?.string }).count == 1)
        let tokens = answers.compactMap { $0["trial_token"]?.string }
        #expect(Set(tokens).count == 1)
        // Only the install that started it is told.
        #expect(tokens.count == (shared == .install ? 20 : 1))
        live.server.stop()
        let kept = try live.catalog.database.openReader().snapshot { db in
            try db.all("SELECT started_at FROM trials") { row in
                Timestamp(secondsSinceEpoch: try row.integer()).rfc3339
            }
        }
        #expect(kept == Array(started))
    }

    @Test("50 first contacts of one install, by all kinds of calls, make one install and one first contact")
    func contacts() throws {
        let live = try LiveServer(setUp: { db, catalog in try catalog.addMeter(in: db) })
        let clients = try (0..<50).map { _ in try live.connect() }
        let key = #","license_key":"\#(live.licenses[0].key)""#
        let calls = [
            ("/v1/sync", ""), ("/v1/validate", key), ("/v1/trial", ""), ("/v1/activate", key), ("/v1/heartbeat", key),
            ("/v1/meters/peek", #","meter":"run""#), ("/v1/meters/consume", #","meter":"run""#), ("/v1/seats", key),
            ("/v1/deactivate", key), ("/v1/trial", #","start":7"#),
        ]

        for (number, client) in clients.enumerated() {
            let (path, more) = calls[number % calls.count]
            try client.send(live.request(path, #"{"install_id":"\#(installID(1))"\#(more)}"#))
            live.catalog.clock.advance(by: 1)
        }
        let answers = try clients.map { try $0.receive() }

        #expect(answers.allSatisfy { $0.status < 500 })
        for answer in answers where answer["bundle"] != nil {
            _ = try live.catalog.verify(try #require(answer["bundle"]?.string), for: 1, nonce: nil)
        }
        live.server.stop()
        let (installs, trials) = try live.catalog.database.openReader().snapshot { db in
            (
                try db.all("SELECT first_seen_at FROM installs") { try $0.integer() },
                try db.all("SELECT started_at FROM trials") { try $0.integer() }
            )
        }
        #expect(installs.count == 1)
        #expect(installs == trials)
    }
}
