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

        #expect(IdempotentCall.key(in: &members, header: header) == key)
        #expect(members.invalid.map(\.pointer.description) == (isValid ? [] : ["/idempotency_key"]))
    }

    @Test(
        "a key that is no UTF-8 is invalid: repaired, it could be another one",
        arguments: [
            ("/v1/meters/consume", #"{"install_id":"\#(installID(1))","meter":"run"}"#),
            ("/v1/admin/licenses", #"{"product":"acme/editor","plan":"pro"}"#),
        ]
    )
    func unreadableKey(path: String, body: String) throws {
        var api = try TestAPI.open()
        let token = path.contains("admin") ? api.catalog.secretToken : api.catalog.appToken
        let text = request("POST", path, token: token, fields: ["Idempotency-Key: M#ller-1"], body: body)

        for byte in UInt8(0x80)...0xFF {
            let answer = api.sendBytes(text.utf8.map { $0 == UInt8(ascii: "#") ? byte : $0 })
            #expect(answer.status == 400)
            #expect(answer.pointers == ["/idempotency_key"])
        }
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
    func now() throws(ClockUnsure) -> Timestamp { throw ClockUnsure(reason: "a test says so") }
}

private struct Unexpected: Error {}
