import CountersignWire
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Idempotency") struct IdempotencyTests {
    private func value(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

    private func call(
        _ api: borrowing TestAPI,
        key: String = "k",
        _ body: String = #"{"meter":"m"}"#,
        route: String = "consume",
        caller: String = "install",
        mode: Mode = .live
    ) throws -> IdempotentCall {
        IdempotentCall(
            key: key,
            body: try value(body),
            route: route,
            caller: caller,
            product: api.catalog.editor.id,
            mode: mode,
            keys: api.catalog.services.keys
        )
    }

    /// Decides `fact` unless it was decided before.
    private func perform(
        _ call: IdempotentCall,
        _ fact: Int64,
        in api: borrowing TestAPI,
        at now: Timestamp = Catalog.start,
        isKept: Bool = true
    ) throws -> IdempotentOutcome<Int64> {
        try api.writer.write { db in
            try call.perform(at: now, in: db) { value in
                try #require(value["fact"]?.int64)
            } decide: { _ in
                (fact, isKept ? Array(#"{"fact":\#(fact)}"#.utf8) : nil)
            }
        }
    }

    @Test("a repeat gets the facts of the first, for a day, whose end is exclusive")
    func repeats() throws {
        let api = try TestAPI.open()
        let call = try call(api)

        guard case .decided(1) = try perform(call, 1, in: api) else { throw Unexpected() }
        guard case .repeated(1) = try perform(call, 2, in: api) else { throw Unexpected() }
        let last = Catalog.start.adding(seconds: 86_399)
        guard case .repeated(1) = try perform(call, 3, in: api, at: last) else { throw Unexpected() }
        guard case .decided(4) = try perform(call, 4, in: api, at: last.adding(seconds: 1)) else { throw Unexpected() }
        guard case .repeated(4) = try perform(call, 5, in: api, at: last.adding(seconds: 2)) else { throw Unexpected() }
    }

    @Test("another body under the same key is a conflict")
    func conflict() throws {
        let api = try TestAPI.open()
        _ = try perform(try call(api), 1, in: api)

        guard case .conflict = try perform(try call(api, #"{"meter":"n"}"#), 2, in: api) else { throw Unexpected() }
        guard case .repeated(1) = try perform(try call(api), 3, in: api) else { throw Unexpected() }
    }

    @Test("what counted nothing is decided again")
    func notKept() throws {
        let api = try TestAPI.open()
        let call = try call(api)

        guard case .decided(1) = try perform(call, 1, in: api, isKept: false) else { throw Unexpected() }
        guard case .decided(2) = try perform(call, 2, in: api) else { throw Unexpected() }
    }

    @Test("what was thrown left no record")
    func thrown() throws {
        let api = try TestAPI.open()
        let call = try call(api)

        #expect(throws: Unexpected.self) {
            try api.writer.write { db in
                _ = try call.perform(at: Catalog.start, in: db) { _ in
                    0
                } decide: { _ -> (Int64, [UInt8]?) in
                    throw Unexpected()
                }
            }
        }

        guard case .decided(2) = try perform(call, 2, in: api) else { throw Unexpected() }
    }

    @Test("nobody meets another's record")
    func parted() throws {
        let api = try TestAPI.open()
        let calls = [
            try call(api), try call(api, key: "l"), try call(api, route: "issue"), try call(api, caller: "other"),
            try call(api, mode: .test),
        ]

        #expect(Set(calls.map(\.digest)).count == calls.count)
    }

    @Test(
        "blanks, order, escapes, nulls, nonce and device do not make another body",
        arguments: [
            #"{ "b" : [1, {"x": "é"}] , "a":1 }"#, #"{"b":[1,{"x":"\u00e9"}],"a":1,"c":null}"#,
            #"{"a":1,"b":[1,{"x":"é","y":null}],"nonce":"n1"}"#, #"{"a":1,"b":[1,{"x":"é"}],"device":{"name":"x"}}"#,
            #"{"a":1,"b":[1,{"x":"é"}],"idempotency_key":"k"}"#,
        ]
    )
    func sameBody(text: String) throws {
        let api = try TestAPI.open()

        #expect(try call(api, text) == call(api, #"{"a":1,"b":[1,{"x":"é"}]}"#))
    }

    @Test(
        "anything else does",
        arguments: [
            #"{"a":2,"b":[1,{"x":"é"}]}"#, #"{"a":1.0,"b":[1,{"x":"é"}]}"#, #"{"a":"1","b":[1,{"x":"é"}]}"#,
            #"{"a":1,"b":[{"x":"é"},1]}"#, #"{"a":1,"b":[1,{"x":"é","nonce":1}]}"#,
            #"{"a":1,"b":[1,{"x":"é"}],"c":false}"#,
            #"{"a":1,"b":[1,{"x":"e\u0301"}]}"#, #"{"a":1,"b":[1,null,{"x":"é"}]}"#,
        ]
    )
    func otherBody(text: String) throws {
        let api = try TestAPI.open()

        #expect(try call(api, text).bodyDigest != call(api, #"{"a":1,"b":[1,{"x":"é"}]}"#).bodyDigest)
    }

    @Test(
        "a key comes in the field or in the body; two that differ, an empty and a long one are invalid",
        arguments: [
            ([], "{}", nil, true), (["k"], "{}", "k", true), ([], #"{"idempotency_key":"k"}"#, "k", true),
            (["k"], #"{"idempotency_key":"k"}"#, "k", true), (["k"], #"{"idempotency_key":"l"}"#, nil, false),
            (["k", "l"], "{}", nil, false), ([""], "{}", nil, false), ([], #"{"idempotency_key":""}"#, nil, false),
            ([], #"{"idempotency_key":5}"#, nil, false), ([], #"{"idempotency_key":null}"#, nil, true),
            ([String(repeating: "ü", count: 128)], "{}", String(repeating: "ü", count: 128), true),
            ([String(repeating: "k", count: 129)], "{}", nil, false),
        ] as [([String], String, String?, Bool)]
    )
    func keys(header: [String], body: String, key: String?, isValid: Bool) throws {
        var members = try MemberReader(try value(body))

        let read = IdempotentCall.key(in: &members, header: header.map { Array($0.utf8) })

        #expect(read == key)
        #expect(members.invalid.map(\.pointer.description) == (isValid ? [] : ["/idempotency_key"]))
    }

    @Test(
        "a key that is no UTF-8, or has control characters, is invalid, in the field and in the body",
        arguments: [
            ([0x4D, 0xFC, 0x6C], "{}"), ([0xFF], "{}"), ([0xC3], "{}"), ([0xED, 0xA0, 0x80], "{}"),
            ([0x61, 0x09, 0x62], "{}"),
            ([0xC2, 0x85], "{}"), ([0x4D, 0xFC], #"{"idempotency_key":"M\ufffd"}"#),
            (nil, #"{"idempotency_key":"a\u0000"}"#),
            (nil, #"{"idempotency_key":"\n"}"#), (nil, #"{"idempotency_key":"a\u007f"}"#),
            (nil, #"{"idempotency_key":"\u009f"}"#),
        ] as [([UInt8]?, String)]
    )
    func unreadable(header: [UInt8]?, body: String) throws {
        var members = try MemberReader(try value(body))

        let read = IdempotentCall.key(in: &members, header: header.map { [$0] } ?? [])

        #expect(read == nil)
        #expect(members.invalid.map(\.pointer.description) == ["/idempotency_key"])
    }

    /// Keys of a few bytes, of which many are no UTF-8, and many are alike once they are repaired or composed.
    private func randomKeys(_ count: Int, seed: UInt64) -> [[UInt8]] {
        let pieces: [[UInt8]] = [
            [0x4D], [0xFC], [0xF6], [0xC3, 0xBC], [0xC3], [0xBC], [0xEF, 0xBF, 0xBD], [0x75, 0xCC, 0x88], [0x75],
            [0x2D],
            [0x20], [0x09], [0xC2, 0x85],
        ]
        var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        return (0..<count).map { _ in
            // What surrounds a field's value is no part of it.
            [0x6B] + (0...next(3)).flatMap { _ in pieces[next(pieces.count)] } + [0x2E]
        }
    }

    private func isKey(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// One request with these bytes as its key.
    private func bytes(_ path: String, _ token: String, _ body: String, key: [UInt8]) -> [UInt8] {
        let text = request("POST", path, token: token, fields: ["Idempotency-Key: <key>"], body: body)
        let parts = text.split(separator: "<key>", maxSplits: 1)
        return Array(parts[0].utf8) + key + Array(parts[1].utf8)
    }

    @Test("calls of apps with a key are one call if and only if their keys are the same bytes", arguments: 1...4)
    func bytesOfApps(seed: UInt64) throws {
        var api = try TestAPI.open()
        try api.addMeter(limit: .limited(1000))
        var known: [[UInt8]: Int64] = [:]

        for key in randomKeys(120, seed: seed) {
            let body = #"{"install_id":"\#(installID(1))","meter":"run"}"#
            let answer = api.sendBytes(bytes("/v1/meters/consume", api.catalog.appToken, body, key: key))
            guard isKey(key) else {
                #expect(answer.status == 400 && answer.pointers == ["/idempotency_key"], "\(key)")
                continue
            }
            let used = try #require(answer["used"]?.int64)
            #expect(used == known[key] ?? Int64(known.count + 1), "\(key)")
            known[key] = used
        }

        #expect(known.count > 10)
    }

    @Test(
        "calls of administration with a key are one call if and only if their keys are the same bytes",
        arguments: 1...2
    )
    func bytesOfAdministration(seed: UInt64) throws {
        var api = try TestAPI.open()
        let plan = try api.sell().plan.code.text
        var known: [[UInt8]: String] = [:]

        for key in randomKeys(80, seed: seed) {
            let body = #"{"product":"acme/editor","plan":"\#(plan)"}"#
            let answer = api.sendBytes(bytes("/v1/admin/licenses", api.catalog.secretToken, body, key: key))
            guard isKey(key) else {
                #expect(answer.status == 400 && answer.pointers == ["/idempotency_key"], "\(key)")
                continue
            }
            let license = try #require(answer["licenses"]?.elements?.first { _ in true }?["id"]?.string)
            if let before = known[key] {
                #expect(license == before, "\(key)")
            } else {
                #expect(!known.values.contains(license), "\(key)")
            }
            known[key] = license
        }

        #expect(known.count > 10)
    }

    @Test("old records are removed, young ones stay")
    func removal() throws {
        let api = try TestAPI.open()
        _ = try perform(try call(api, key: "old"), 1, in: api)
        _ = try perform(try call(api, key: "young"), 1, in: api, at: Catalog.start.adding(seconds: 1))
        api.catalog.clock.advance(by: 86_400)
        let idle = APIServer.idleWork(clock: api.catalog.clock)

        let hasMore = try api.writer.write { db in try idle(db) }

        let left = try api.writer.write { db in try db.first("SELECT count(*) FROM idempotency", { try $0.int() }) }
        #expect(!hasMore && left == 1)
    }

    @Test("nothing is removed while the clock is in doubt")
    func removalInDoubt() throws {
        let api = try TestAPI.open()
        _ = try perform(try call(api, key: "old"), 1, in: api)
        let idle = APIServer.idleWork(clock: DoubtfulClock())

        let hasMore = try api.writer.write { db in try idle(db) }

        let left = try api.writer.write { db in try db.first("SELECT count(*) FROM idempotency", { try $0.int() }) }
        #expect(!hasMore && left == 1)
    }

    @Test("the conflict on a route for apps is a 409 with a bundle")
    func problem() {
        let problem = Problem.idempotencyConflict(bundle: Array("a.b.c".utf8), at: Catalog.start)

        #expect(problem.body.status == 409 && problem.body.bundle != nil && problem.body.verdict == .unknown)
    }
}

/// A clock that nobody may trust.
private struct DoubtfulClock: WallClock {
    func now(after lastCommit: Int64) throws(ClockUnsure) -> Timestamp { throw ClockUnsure(reason: "a test says so") }
}

private struct Unexpected: Error {}
