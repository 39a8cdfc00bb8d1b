import Bundles
import CountersignWire
import Cryptography
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

extension TestAPI {
    /// Makes a meter of the editor.
    func addMeter(
        _ name: String = "run",
        limit: MeterLimit = .limited(10),
        period: MeterPeriod = .lifetime,
        scope: MeterScope = .install
    ) throws {
        try writer.write { db in
            try catalog.addMeter(name, limit: limit, period: period, scope: scope, in: db)
        }
    }

    mutating func meters(
        _ call: String,
        _ members: String,
        by install: Int = 1,
        fields: [String] = []
    ) -> Received {
        post("/v1/meters/\(call)", #"{"install_id":"\#(installID(install))",\#(members)}"#, fields: fields)
    }
}

extension Catalog {
    func addMeter(
        _ name: String = "run",
        limit: MeterLimit = .limited(10),
        period: MeterPeriod = .lifetime,
        scope: MeterScope = .install,
        in db: borrowing WriteTransaction
    ) throws {
        let service = CatalogService(keys: services.keys, entropy: SystemEntropy())
        let changes = MeterChanges(limit: limit, period: period, scope: scope)
        let meter = try service.draft(meter: MeterName(name), of: editor.id, changes, at: Self.start)
        try service.create(meter, of: editor, by: Actor(name: "test", now: Self.start), in: db)
    }
}

@Suite("Meters over /v1") struct MeterTests {
    @Test("peek and consume tell the same members; null is none")
    func members() throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(3), period: .day)
        try api.addMeter("free", limit: .unlimited)

        let peeked = api.meters("peek", #""meter":"run""#)
        let counted = api.meters("consume", #""meter":"run","amount":2"#)
        let free = api.meters("consume", #""meter":"free""#)

        let members = ["meter", "allowed", "used", "limit", "left", "resets_at", "server_time"]
        for answer in [peeked, counted, free] {
            #expect(answer.status == 200)
            #expect(answer.members == members)
            #expect(answer["allowed"]?.bool == true)
        }
        #expect(peeked["used"]?.int64 == 0 && peeked["left"]?.int64 == 3)
        #expect(counted["used"]?.int64 == 2 && counted["left"]?.int64 == 1)
        #expect(counted["resets_at"]?.string == "2027-01-16T00:00:00Z")
        #expect(free["used"]?.int64 == 1)
        for name in ["limit", "left", "resets_at"] { #expect(free[name]?.isNull == true) }
    }

    @Test("out of allowance is an answer, and nothing is counted")
    func exhausted() throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(3))
        _ = api.meters("consume", #""meter":"run","amount":2"#)

        let refused = api.meters("consume", #""meter":"run","amount":2"#)
        let last = api.meters("consume", #""meter":"run","amount":null"#)

        #expect(refused.status == 200 && refused["allowed"]?.bool == false && refused["used"]?.int64 == 2)
        #expect(last["allowed"]?.bool == true && last["left"]?.int64 == 0)
    }

    @Test("several meters are answered in their order, all counted or none; names and objects mix")
    func several() throws {
        var api = try TestAPI.open()
        try api.addMeter("a", limit: .limited(5))
        try api.addMeter("b", limit: .limited(1))

        let counted = api.meters("consume", #""meters":["b",{"meter":"a","amount":4}]"#)
        let refused = api.meters("consume", #""meters":[{"meter":"a"},{"meter":"b"}]"#)
        let peeked = api.meters("peek", #""meters":["a"]"#)

        #expect(counted.members == ["allowed", "meters", "server_time"])
        let rows = try #require(counted["meters"]?.elements).map { $0 }
        #expect(rows.map { $0["meter"]?.string } == ["b", "a"])
        #expect(rows.map { $0["used"]?.int64 } == [1, 4])
        #expect(refused["allowed"]?.bool == false)
        #expect(try #require(refused["meters"]?.elements).map { $0["allowed"]?.bool } == [true, false])
        #expect(try #require(peeked["meters"]?.elements).map { $0["used"]?.int64 } == [4])
    }

    @Test("a bundle comes only where it is asked for, and tells what was counted")
    func bundle() throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(3), period: .day)

        let plain = api.meters("consume", #""meter":"run""#)
        let signed = api.meters("consume", #""meter":"run","bundle":true,"nonce":"n""#)
        let peeked = api.meters("peek", #""meter":"run","bundle":true"#)

        #expect(plain["bundle"] == nil)
        #expect(peeked["bundle"] == nil)
        let meters = try api.bundle(in: signed, nonce: "n").claims.meters
        #expect(meters.map(\.meter.text) == ["run"])
        #expect(meters.map(\.used) == [2])
        #expect(meters.map(\.limit) == [3])
        #expect(meters.map(\.resets?.rfc3339) == ["2027-01-16T00:00:00Z"])
    }

    @Test("the first call of an install is recorded, whatever it hears")
    func firstContact() throws {
        var api = try TestAPI.open()
        try api.addMeter()

        _ = api.meters("peek", #""meter":"run""#, by: 1)
        _ = api.meters("consume", #""meter":"none""#, by: 2)
        _ = api.meters("consume", #""meter":"run","amount":0"#, by: 3)

        for number in 1...3 { #expect(try api.install(number) != nil) }
    }

    // MARK: Refusals

    @Test("an unknown meter is 404, whatever else the product has", arguments: ["peek", "consume"])
    func unknown(call: String) throws {
        var api = try TestAPI.open()
        try api.addMeter()

        let answer = api.meters(call, #""meters":["run","none"]"#)

        #expect(answer.status == 404 && answer.code == "METER_NOT_FOUND" && answer.verdict == "unknown")
        #expect(answer["bundle"] == nil)
        #expect(api.meters("peek", #""meter":"run""#)["used"]?.int64 == 0)
    }

    @Test(
        "a license that counts must be in force and seated; 409 and 410 carry a bundle",
        arguments: ["peek", "consume"]
    )
    func licenses(call: String) throws {
        var api = try TestAPI.open()
        try api.addMeter(scope: .license)
        let first = try api.sell()
        let second = try api.sell()

        let none = api.meters(call, #""meter":"run""#)
        let unseated = api.meters(call, #""meter":"run","license_key":"\#(first.key)""#)
        _ = api.activate(first.key)
        let one = api.meters(call, #""meter":"run""#)
        _ = api.activate(second.key)
        let several = api.meters(call, #""meter":"run""#)
        let named = api.meters(call, #""meter":"run","license_key":"\#(second.key)""#)
        try api.edit(first) { $0.standing = .revoked }
        let revoked = api.meters(call, #""meter":"run","license_key":"\#(first.key)""#)
        let unknown = api.meters(call, #""meter":"run","license_key":"SOME-OTHER-KEY""#)

        for answer in [none, unseated] {
            #expect(answer.status == 409 && answer.code == "NOT_ACTIVATED" && answer.verdict == "unknown")
            _ = try api.bundle(in: answer)
        }
        #expect(one.status == 200 && named.status == 200)
        #expect(several.status == 400 && several.code == "VALIDATION" && several.pointers == ["/license_key"])
        #expect(revoked.status == 410 && revoked.code == "LICENSE_REVOKED" && revoked.verdict == "rejected")
        _ = try api.bundle(in: revoked)
        #expect(unknown.status == 404 && unknown.code == "LICENSE_NOT_FOUND")
    }

    @Test(
        "what is wrong is named by its pointer, all of it at once",
        arguments: [
            (#""amount":1"#, ["/meter"]), (#""meter":null"#, ["/meter"]), (#""meter":3"#, ["/meter"]),
            (#""meter":"Run it""#, ["/meter"]), (#""meter":"""#, ["/meter"]),
            (#""meter":"run","meters":["a"]"#, ["/meter"]),
            (#""meters":["a"],"amount":2"#, ["/amount"]), (#""meters":[]"#, ["/meters"]),
            (#""meters":"run""#, ["/meters"]), (#""meters":["a","a"]"#, ["/meters/1"]),
            (#""meters":["a",{"meter":"a"}]"#, ["/meters/1/meter"]), (#""meters":[{"amount":1}]"#, ["/meters/0/meter"]),
            (
                #""meters":[{"meter":"a","amount":0},3,null,"B"]"#,
                ["/meters/0/amount", "/meters/1", "/meters/2", "/meters/3"]
            ),
            (#""meter":"run","bundle":1"#, ["/bundle"]), (#""meter":"run","idempotency_key":"""#, ["/idempotency_key"]),
            (#""meter":"run","license_key":"""#, ["/license_key"]),
            (#""meter":"Run","amount":0"#, ["/amount", "/meter"]),
        ] as [(String, [String])]
    )
    func pointers(members: String, pointers: [String]) throws {
        var api = try TestAPI.open()
        try api.addMeter()

        let answer = api.meters("consume", members)

        #expect(answer.status == 400 && answer.code == "VALIDATION")
        #expect(answer.pointers == pointers)
    }

    @Test(
        "an amount is an integer of 1 to 1,000,000,000, and nothing else",
        arguments: [
            "0", "-0", "-1", "1000000001", "9007199254740993", "9223372036854775807", "9223372036854775808", "1e999",
            "-1e999", "1.5", "1.0", "1e2", #""1""#, "true", "[]", "{}", String(repeating: "9", count: 10_000),
        ]
    )
    func amounts(amount: String) throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .unlimited)

        let single = api.meters("consume", #""meter":"run","amount":\#(amount)"#)
        let listed = api.meters("consume", #""meters":[{"meter":"run","amount":\#(amount)}]"#)
        let most = api.meters("consume", #""meter":"run","amount":1000000000"#)

        #expect(single.status == 400 && single.code == "VALIDATION" && single.pointers == ["/amount"])
        #expect(listed.status == 400 && listed.pointers == ["/meters/0/amount"])
        #expect(most["used"]?.int64 == 1_000_000_000)
    }

    @Test("a test credential counts apart from a live one")
    func modes() throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(1))
        let body = #"{"install_id":"\#(installID(1))","meter":"run"}"#

        let live = api.post("/v1/meters/consume", body)
        let test = api.post("/v1/meters/consume", body, token: api.catalog.testToken)
        let other = api.post("/v1/meters/consume", body, token: api.catalog.viewerToken)

        #expect(live["allowed"]?.bool == true)
        #expect(test["allowed"]?.bool == true)
        #expect(other.status == 404 && other.code == "METER_NOT_FOUND")
    }

    // MARK: Repeats

    @Test("a repeat counts nothing and tells the same facts, with a bundle of now")
    func repeats() throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(10), period: .day)
        let body = #""meter":"run","amount":2,"bundle":true"#

        let first = api.meters("consume", body + #","nonce":"a""#, fields: ["Idempotency-Key: k1"])
        _ = api.meters("consume", #""meter":"run""#)
        let again = api.meters(
            "consume",
            body + #","nonce":"b","device":{"name":"Mac"},"idempotency_key":"k1""#
        )

        #expect(first["used"]?.int64 == 2)
        #expect(again["used"]?.int64 == 2 && again["left"]?.int64 == 8 && again["allowed"]?.bool == true)
        #expect(again["resets_at"]?.string == first["resets_at"]?.string)
        #expect(try api.bundle(in: again, nonce: "b").claims.meters.map(\.used) == [3])
        #expect(api.meters("peek", #""meter":"run""#)["used"]?.int64 == 3)
    }

    @Test("another body under the same key is 409 with a bundle; another install's key is another")
    func conflict() throws {
        var api = try TestAPI.open()
        try api.addMeter()
        let key = ["Idempotency-Key: k1"]
        _ = api.meters("consume", #""meter":"run""#, fields: key)

        let conflict = api.meters("consume", #""meter":"run","amount":2"#, fields: key)
        let stranger = api.meters("consume", #""meter":"run","amount":2"#, by: 2, fields: key)

        #expect(conflict.status == 409 && conflict.code == "IDEMPOTENCY_CONFLICT" && conflict.verdict == "unknown")
        #expect(try api.bundle(in: conflict).claims.meters.map(\.used) == [1])
        #expect(stranger["used"]?.int64 == 2)
    }

    @Test("a refusal is decided again, and what was counted is told for 24 hours whatever became of the license")
    func refusals() throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(1), period: .day, scope: .license)
        let license = try api.sell()
        let key = ["Idempotency-Key: k1"]
        let body = #""meter":"run","license_key":"\#(license.key)""#

        let refused = api.meters("consume", body, fields: key)
        _ = api.activate(license.key)
        let counted = api.meters("consume", body, fields: key)
        let exhausted = api.meters("consume", body, fields: ["Idempotency-Key: k2"])
        try api.edit(license) { $0.standing = .revoked }
        api.catalog.clock.advance(by: 86_399)
        let again = api.meters("consume", body, fields: key)
        try api.edit(license) { $0.standing = .active }
        let anew = api.meters("consume", body, fields: ["Idempotency-Key: k2"])
        api.catalog.clock.advance(by: 1)
        let forgotten = api.meters("consume", body, fields: key)

        #expect(refused.code == "NOT_ACTIVATED")
        #expect(counted["used"]?.int64 == 1 && counted["allowed"]?.bool == true)
        #expect(exhausted["allowed"]?.bool == false)
        #expect(again["used"]?.int64 == 1 && again["allowed"]?.bool == true)
        #expect(anew["allowed"]?.bool == true)
        #expect(forgotten["allowed"]?.bool == false)
    }

    @Test("a hundred consumes at once on a limit of ten count ten; one key twenty times at once counts once")
    func parallel() throws {
        let live = try LiveServer(setUp: { db, catalog in
            for meter in ["run", "once"] { try catalog.addMeter(meter, in: db) }
        })
        let clients = try (0..<50).map { _ in try live.connect() }
        func body(_ meter: String) -> String { #"{"install_id":"\#(installID(1))","meter":"\#(meter)"}"# }

        var allowed = 0
        for _ in 0..<2 {
            for client in clients { try client.send(live.request("/v1/meters/consume", body("run"))) }
            allowed += try clients.map { try $0.receive() }.count { $0["allowed"]?.bool == true }
        }
        for client in clients.prefix(20) {
            try client.send(live.request("/v1/meters/consume", body("once"), fields: ["Idempotency-Key: k"]))
        }
        let repeats = try clients.prefix(20).map { try $0.receive() }

        #expect(allowed == 10)
        #expect(repeats.allSatisfy { $0.status == 200 && $0["used"]?.int64 == 1 })
        live.server.stop()
        let kept = try live.catalog.database.openReader().snapshot { db in
            try db.all("SELECT used FROM meter_usage ORDER BY used") { try $0.integer() }
        }
        #expect(kept == [1, 10])
    }

    @Test("a call names at most 256 meters, and what is wrong with it is told in an answer of bounded length")
    func manyMeters() throws {
        var api = try TestAPI.open()
        try api.addMeter()

        let many = api.meters("peek", "\"meters\":[\(Array(repeating: "5", count: 257).joined(separator: ","))]")
        let wrong = api.meters("consume", "\"meters\":[\(Array(repeating: "5", count: 256).joined(separator: ","))]")

        #expect(many.status == 400 && many.pointers == ["/meters"])
        #expect(wrong.status == 400 && wrong.pointers == (0..<32).map { "/meters/\($0)" })
    }
}
