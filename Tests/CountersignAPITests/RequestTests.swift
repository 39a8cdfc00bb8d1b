import Bundles
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

private let postRoutes = [
    "/v1/activate", "/v1/validate", "/v1/deactivate", "/v1/heartbeat", "/v1/seats", "/v1/sync",
]

@Suite("What a request must be") struct RequestTests {
    // MARK: Media types

    @Test(
        "application/json in UTF-8 is taken, however it is spelled",
        arguments: [
            "application/json", "application/json; charset=utf-8", "APPLICATION/JSON;charset=\"UTF-8\"",
            "application/json ; charset=UTF-8", "application/json;", "application/json; ;charset=utf-8",
            "application/json; profile=x", "application/json;charset=\"u\\tf-8\"",
            "application/json;" + String(repeating: "a", count: 236) + "=b",
        ]
    )
    func goodTypes(type: String) { #expect(MediaType.isJSON(Array(type.utf8))) }

    @Test(
        "another type or charset is not",
        arguments: [
            "", "json", "text/json", "application/json; charset=latin1", "application/json; charset=utf8",
            "application/json; charset", "application/json charset=utf-8", "application/json; charset=utf-8 x",
            "application/json, application/json", "application/jsonx", "application/merge-patch+json",
            "application/json; charset=utf-8; charset=latin1", "application/json; charset=\"utf-8",
            "application / json", "application/json; charset = utf-8",
            "application/json;" + String(repeating: "a", count: 300) + "=b",
            "application/json" + String(repeating: ";", count: 300),
            "application/json;a=\"" + String(repeating: "\\a", count: 200) + "\"",
        ]
    )
    func otherTypes(type: String) { #expect(!MediaType.isJSON(Array(type.utf8))) }

    @Test("no type, two types and a content coding are refused", arguments: postRoutes)
    func mediaTypes(path: String) throws {
        var api = try TestAPI.open()
        let token = api.catalog.appToken
        let fields = ["Content-Type: application/json", "Content-Encoding: identity"]

        let answers = [
            api.send(request("POST", path, token: token, contentType: nil, body: "{}")),
            api.send(request("POST", path, token: token, contentType: "text/plain", body: "{}")),
            api.send(request("POST", path, token: token, fields: ["Content-Type: application/json"], body: "{}")),
            api.send(request("POST", path, token: token, contentType: nil, fields: fields, body: "{}")),
            api.send(request("POST", path, token: token)),
        ]

        for answer in answers { #expect(answer.status == 415 && answer.code == "UNSUPPORTED_MEDIA_TYPE") }
    }

    // MARK: JSON

    @Test(
        "what is not JSON is told apart from JSON that is not right",
        arguments: [
            "", " ", "{", "{\"a\":1,}", "{\"a\":1,\"\\u0061\":2}", "\u{FEFF}{}", "{\"a\":\"\\ud800\"}", "{'a':1}",
            "{\"a\":01}", "{}{}", String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
        ]
    )
    func malformed(body: String) throws {
        var api = try TestAPI.open()

        for path in postRoutes {
            let answer = api.post(path, body)
            #expect(answer.status == 400 && answer.code == "MALFORMED_JSON", "\(path)")
        }
    }

    @Test("bytes that are no UTF-8 are no JSON")
    func invalidUTF8() throws {
        var api = try TestAPI.open()
        let head = request("POST", "/v1/sync", token: api.catalog.appToken, body: "12345678").dropLast(8)

        let answer = api.sendBytes(Array(head.utf8) + Array("{\"a\":\"".utf8) + [0xFF] + Array("\"".utf8))

        #expect(answer.code == "MALFORMED_JSON")
    }

    @Test("JSON that is no object is invalid as a whole", arguments: ["[]", "1", "null", "\"x\"", "true", "1e999"])
    func noObject(body: String) throws {
        var api = try TestAPI.open()

        for path in postRoutes {
            let answer = api.post(path, body)
            #expect(answer.status == 400 && answer.code == "VALIDATION" && answer.pointers == [""], "\(path)")
        }
    }

    @Test("all that is missing is told at once")
    func missing() throws {
        var api = try TestAPI.open()

        #expect(api.post("/v1/activate", "{}").pointers == ["/install_id", "/license_key"])
        #expect(api.post("/v1/deactivate", "{}").pointers == ["/install_id", "/license_key"])
        #expect(api.post("/v1/heartbeat", "{}").pointers == ["/install_id", "/license_key"])
        #expect(api.post("/v1/seats", "{}").pointers == ["/install_id", "/license_key"])
        #expect(api.post("/v1/validate", "{}").pointers == ["/license_key"])
        #expect(api.post("/v1/sync", "{}").pointers == ["/install_id"])
        #expect(api.post("/v1/activate", #"{"install_id":null,"license_key":null}"#).pointers.count == 2)
    }

    static let badMembers: [(String, String, String)] = {
        let values = [
            "1e999", "-1e999", "9223372036854775808", "9007199254740993", "1.5", "1.0", "-0", "true", "[]", "{}",
            String(repeating: "9", count: 10_000),
        ]
        var cases = ["install_id", "license_key", "fingerprint", "nonce", "replace"].flatMap { name in
            values.map { (name, $0, "/\(name)") }
        }
        for name in ["name", "platform", "app_version", "os_version", "model", "arch"] {
            cases += values.map { ("device", #"{"\#(name)":\#($0)}"#, "/device/\(name)") }
        }
        cases += values.filter { $0 != "{}" }.map { ("device", $0, "/device") } + [("device", "\"mac\"", "/device")]
        for text in [
            "", "short", String(repeating: "x", count: 201), "unknown", "00000000-0000-0000-0000-000000000000",
            "aaaaaaaaaaaaaaaaaaaaa", "control\\u0001character", "{00000000-0000-0000-0000-000000000000}",
            "                  ",
        ] { cases.append(("install_id", "\"\(text)\"", "/install_id")) }
        for text in ["", "short", "02:00:00:00:00:00", "undefined", String(repeating: "f", count: 300)] {
            cases.append(("fingerprint", "\"\(text)\"", "/fingerprint"))
        }
        for text in ["", " - ", "\\u200b", String(repeating: "K", count: 129), String(repeating: "K", count: 9000)] {
            cases.append(("license_key", "\"\(text)\"", "/license_key"))
        }
        cases.append(("nonce", "\"\(String(repeating: "n", count: 65))\"", "/nonce"))
        cases += ["\"\"", "\"act_1\"", "\"lic_01J9Z3ABCDEFGHJKMNPQRSTVWX\""].map { ("replace", $0, "/replace") }
        return cases
    }()

    @Test("every bad value of every member is told by its pointer, and nothing else happens")
    func badValues() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        let before = try api.rowCounts()

        for (name, value, pointer) in Self.badMembers {
            var members = ["license_key": "\"\(license.key)\"", "install_id": "\"\(installID(1))\""]
            members[name] = value
            let body = "{" + members.map { "\"\($0.key)\":\($0.value)" }.sorted().joined(separator: ",") + "}"
            let answer = api.post("/v1/activate", body)
            #expect(answer.status == 400 && answer.code == "VALIDATION", "\(name): \(value.prefix(40))")
            #expect(answer.pointers == [pointer], "\(name): \(value.prefix(40))")
            #expect(answer.verdict == "unknown" && answer.contentType == "application/problem+json")
        }

        #expect(try api.rowCounts() == before)
        #expect(api.activate(license.key).status == 200)
    }

    @Test("all invalid members are told in one answer, an unreadable key among them is not a slip of typing")
    func severalAtOnce() throws {
        var api = try TestAPI.open()

        let answer = api.post(
            "/v1/activate",
            #"{"license_key":"ACME-0000-0000-0000-0001","install_id":"x","nonce":5,"device":{"arch":1},"fingerprint":""}"#
        )

        #expect(answer.code == "VALIDATION")
        #expect(Set(answer.pointers) == ["/install_id", "/nonce", "/device/arch", "/fingerprint"])
    }

    @Test("values at their limits are taken, device texts of any length are cut, unknown members ignored")
    func limits() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let nonce = String(repeating: "ü", count: 64)
        let long = String(repeating: "x", count: 20_000)
        let more = """
            ,"nonce":"\(nonce)","fingerprint":"\(String(repeating: "fg", count: 100))","surprise":{"a":[1e999]},\
            "device":{"name":"\(long)","platform":null,"other":1}
            """

        let answer = api.activate(license.key, more: more)

        #expect(answer.status == 200)
        #expect(try api.bundle(in: answer, nonce: nonce).isFresh)
        #expect(try api.install(1)?.device == DeviceInfo(name: String(long.prefix(128))))
    }

    @Test("one spelling of an install id is as good as another, where it is a UUID")
    func foldedIDs() throws {
        var api = try TestAPI.open()
        let license = try api.sell { $0.seatLimit = .limited(1) }
        let id = "9f1b7c1e-3a4d-4c5e-8f60-7182930a4b5c"

        for spelling in [id, id.uppercased(), "{\(id)}", " \(id) "] {
            let body = #"{"license_key":"\#(license.key)","install_id":"\#(spelling)"}"#
            #expect(api.post("/v1/activate", body).status == 200)
        }
        #expect(try api.rowCounts() == [1, 1, 1])
    }

    // MARK: The order of checks

    @Test("who may not ask is told so first, then the media type, then JSON, then the members")
    func order() throws {
        var api = try TestAPI.open()
        let token = api.catalog.appToken

        #expect(api.send(request("POST", "/v1/nowhere", token: nil, contentType: "x/y", body: "{")).status == 404)
        #expect(api.send(request("GET", "/v1/activate", token: nil)).status == 405)
        #expect(api.send(request("POST", "/v1/activate", token: nil, contentType: "x/y", body: "{")).status == 401)
        #expect(
            api.send(request("POST", "/v1/activate", token: api.catalog.secretToken, contentType: "x/y", body: "{"))
                .status == 403
        )
        #expect(api.send(request("POST", "/v1/activate", token: token, contentType: "x/y", body: "{")).status == 415)
        #expect(api.send(request("POST", "/v1/activate", token: token, body: "{")).code == "MALFORMED_JSON")
        #expect(api.send(request("POST", "/v1/activate", token: token, body: "{}")).code == "VALIDATION")
    }

    @Test("while the clock cannot be trusted nothing is decided, and no time is told")
    func clockUnsure() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        api.catalog.clock.distrust()

        for path in postRoutes {
            let answer = api.call(path, license.key)
            #expect(answer.status == 503 && answer.code == "CLOCK_UNSURE" && answer.verdict == "unknown", "\(path)")
            #expect(answer["server_time"] == nil && answer["bundle"] == nil)
            #expect(answer.field("Retry-After") == "30")
        }
        #expect(api.send(request("GET", "/ready", token: nil)).code == "CLOCK_UNSURE")
        #expect(api.send(request("GET", "/health", token: nil)).status == 200)
    }
}

@Suite("First contact") struct FirstContactTests {
    @Test("the first call of an install is recorded whatever it answers, and the next ones need no writer")
    func recorded() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let last = try #require(license.key.last)
        let slip = String(license.key.dropLast() + (last == "Z" ? "Y" : "Z"))
        let calls: [(path: String, key: String, more: String, status: Int)] = [
            ("/v1/validate", license.key, "", 200), ("/v1/validate", "NOBODY-HAS-THIS", "", 200),
            ("/v1/validate", slip, "", 400), ("/v1/heartbeat", license.key, "", 409),
            ("/v1/heartbeat", "NOBODY-HAS-THIS", "", 404), ("/v1/seats", slip, "", 400),
            ("/v1/seats", "NOBODY-HAS-THIS", "", 404), ("/v1/sync", slip, "", 200),
            ("/v1/sync", slip, #","nonce":5"#, 400), ("/v1/validate", license.key, #","fingerprint":"x""#, 400),
        ]

        for (number, call) in calls.enumerated() {
            let first = api.call(call.path, call.key, number, more: call.more)
            #expect(first.status == call.status && first.wrote, "\(number)")
            #expect(try api.install(number)?.firstContactAt == Catalog.start)
            let second = api.call(call.path, call.key, number, more: call.more)
            #expect(second.status == call.status && !second.wrote, "\(number)")
            #expect(first.code == second.code && first.pointers == second.pointers)
        }
        for (number, call) in [("/v1/activate", slip), ("/v1/deactivate", slip)].enumerated() {
            #expect(api.call(call.0, call.1, 100 + number).wrote)
            #expect(try api.install(100 + number) != nil)
            #expect(!api.call(call.0, call.1, 100 + number).wrote)
        }
        for (number, path) in ["/v1/activate", "/v1/deactivate"].enumerated() {
            #expect(api.call(path, "NOBODY-HAS-THIS", 200 + number).status == 404)
            #expect(try api.install(200 + number) != nil)
        }
    }

    @Test("nobody is recorded by a call that names no good install, or by one that may not ask")
    func notRecorded() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let body = #"{"license_key":"\#(license.key)","install_id":"\#(installID(1))"}"#

        _ = api.validate(license.key, nil)
        _ = api.post("/v1/activate", #"{"license_key":"\#(license.key)","install_id":"short"}"#)
        _ = api.post("/v1/activate", body, token: "pk_live_nobody")
        _ = api.post("/v1/activate", body, token: api.catalog.secretToken)
        _ = api.send(request("POST", "/v1/activate", token: api.catalog.appToken, contentType: "x/y", body: body))

        #expect(try api.rowCounts() == [0, 0, 0])
    }

    @Test("what a read learns of an install is gathered, and written by the next flush")
    func sightings() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key, 1, more: #","device":{"name":"old"}"#)
        api.catalog.clock.advance(by: 100)
        _ = api.validate(license.key, 1, more: #","device":{"name":"new","app_version":"2"}"#)
        let before = try #require(try api.install(1))
        let seen = api.context.sightings

        try api.writer.write { db in try seen.write(in: db) }

        let after = try #require(try api.install(1))
        #expect(before.lastSeenAt == Catalog.start && before.device.name == "old")
        #expect(after.lastSeenAt == Catalog.start.adding(seconds: 100))
        #expect(after.device == DeviceInfo(name: "new", appVersion: "2"))
        #expect(after.firstContactAt == Catalog.start)
        let seat = try api.writer.write { db in
            try ActivationStore.unreleased(of: license.id, heldBy: after.id, in: db)
        }
        #expect(seat?.lastSeenAt == Catalog.start.adding(seconds: 100))
    }
}
