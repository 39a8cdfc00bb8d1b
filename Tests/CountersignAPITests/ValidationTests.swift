import Bundles
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Validate, heartbeat, seats and sync") struct ValidationTests {
    @Test("a license in force and a seat held are valid, and a known install is answered without the writer")
    func valid() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let activation = api.activate(license.key)["activation", "id"]?.string

        let answer = api.validate(license.key, 1, more: #","nonce":"n""#)

        #expect(answer.status == 200 && !answer.wrote)
        #expect(
            answer.members == [
                "valid", "code", "verdict", "license", "activation", "seats", "entitlements", "bundle", "server_time",
            ]
        )
        #expect(answer["valid"]?.bool == true && answer.code == "VALID" && answer.verdict == "granted")
        #expect(answer["activation", "id"]?.string == activation)
        #expect(answer["seats", "used"]?.int64 == 1)
        let bundle = try api.bundle(in: answer, nonce: "n")
        #expect(bundle.isFresh && bundle.claims.grants.map(\.feature.text) == ["export", "pro"])
    }

    @Test("without an install the question is about the license alone")
    func withoutInstall() throws {
        var api = try TestAPI.open()
        let license = try api.sell()

        let answer = api.validate(license.key, nil)

        #expect(answer.members == ["valid", "code", "verdict", "license", "seats", "server_time"])
        #expect(answer.code == "VALID" && !answer.wrote)
        #expect(try api.rowCounts() == [0, 0, 0])
    }

    @Test("an install without a seat is not activated, which takes no right away")
    func notActivated() throws {
        var api = try TestAPI.open()
        let license = try api.sell()

        let answer = api.validate(license.key, 1)

        #expect(answer.status == 200 && answer.code == "NOT_ACTIVATED" && answer.verdict == "unknown")
        #expect(answer["activation"] == nil && answer["license"] != nil)
        #expect(try api.bundle(in: answer).claims.grants.isEmpty)
    }

    @Test("a key nobody has is not found: 200 to the question, 404 to an action, a bundle for the install that asked")
    func notFound() throws {
        var api = try TestAPI.open()

        let question = api.validate("NOBODY-HAS-THIS", 1, more: #","nonce":"n""#)

        #expect(question.status == 200)
        #expect(question.members == ["valid", "code", "verdict", "entitlements", "bundle", "server_time"])
        #expect(question.code == "LICENSE_NOT_FOUND" && question.verdict == "unknown")
        #expect(try api.bundle(in: question, nonce: "n").claims.licenses.isEmpty)
        for path in ["/v1/activate", "/v1/deactivate", "/v1/heartbeat", "/v1/seats"] {
            let answer = api.call(path, "NOBODY-HAS-THIS")
            #expect(answer.status == 404 && answer.code == "LICENSE_NOT_FOUND" && answer.verdict == "unknown")
            #expect(answer["bundle"] == nil)
        }
    }

    @Test("unknown, another vendor's, another product's and another mode's keys are one and the same answer")
    func enumeration() throws {
        var api = try TestAPI.open()
        let others = [
            try api.sell(api.catalog.viewer).key, try api.sell(api.catalog.foreign).key,
            try api.sell(mode: .test).key, "CS-0000-0000-0000-0000",
        ]

        for path in ["/v1/validate", "/v1/activate", "/v1/deactivate", "/v1/heartbeat", "/v1/seats"] {
            let expected = api.call(path, "NOBODY-HAS-THIS")
            for key in others {
                let answer = api.call(path, key)
                #expect(answer.status == expected.status && answer.fields == expected.fields)
                #expect(answer.members == expected.members, "\(path)")
                if path != "/v1/validate" { #expect(answer.text == expected.text, "\(path)") }
            }
        }
        let without = others.map { api.validate($0, nil).text }
        #expect(Set(without + [api.validate("NOBODY-HAS-THIS", nil).text]).count == 1)
    }

    @Test("a test credential sees test licenses alone and gets bundles that only a test build takes")
    func modes() throws {
        var api = try TestAPI.open()
        let license = try api.sell(mode: .test)
        let body = #"{"license_key":"\#(license.key)","install_id":"\#(installID(1))","nonce":"n"}"#

        let answer = api.post("/v1/activate", body, token: api.catalog.testToken)

        #expect(answer.status == 200)
        #expect(try api.bundle(in: answer, nonce: "n", mode: .test).claims.mode == .test)
        #expect(throws: (any Error).self) { try api.bundle(in: answer, nonce: "n", mode: .live) }
    }

    @Test("a lease past its half goes through the writer and is renewed, one before it does not")
    func lease() throws {
        var api = try TestAPI.open()
        let license = try api.sell { $0.leaseSeconds = 600 }
        _ = api.activate(license.key)
        api.catalog.clock.advance(by: 299)
        let early = api.validate(license.key)
        let earlyBeat = api.call("/v1/heartbeat", license.key)
        api.catalog.clock.advance(by: 1)

        let late = api.validate(license.key, 1, more: #","nonce":"n""#)

        #expect(!early.wrote && !earlyBeat.wrote && late.wrote)
        #expect(early["activation", "lease_expires_at"]?.string == "2027-01-15T08:10:00Z")
        #expect(earlyBeat["lease_expires_at"]?.string == "2027-01-15T08:10:00Z")
        #expect(late["activation", "lease_expires_at"]?.string == "2027-01-15T08:15:00Z")
        #expect(try api.bundle(in: late, nonce: "n").claims.grants.map(\.until.rfc3339).first == "2027-01-15T08:15:00Z")
        api.catalog.clock.advance(by: 400)
        let beat = api.call("/v1/heartbeat", license.key, more: #","nonce":"b""#)
        #expect(beat.status == 200 && beat.wrote && beat.members == ["lease_expires_at", "bundle", "server_time"])
        #expect(beat["lease_expires_at"]?.string == "2027-01-15T08:21:40Z")
        #expect(try api.bundle(in: beat, nonce: "b").isFresh)
        api.catalog.clock.advance(by: 600)
        let over = api.call("/v1/heartbeat", license.key, more: #","nonce":"o""#)
        #expect(over.status == 409 && over.code == "NOT_ACTIVATED" && over.verdict == "unknown")
        #expect(try api.bundle(in: over, nonce: "o").claims.grants.isEmpty)
    }

    @Test("a seat that does not float has no lease to tell of")
    func heartbeatWithoutLease() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)

        let answer = api.call("/v1/heartbeat", license.key)

        #expect(answer.status == 200 && answer["lease_expires_at"]?.isNull == true && !answer.wrote)
    }

    @Test("seats are listed last seen first, and one of them is this one's")
    func seats() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key, 1, more: #","device":{"name":"one"}"#)
        api.catalog.clock.advance(by: 5)
        _ = api.activate(license.key, 2, more: #","device":{"name":"two"}"#)

        let answer = api.call("/v1/seats", license.key, 1)
        let stranger = api.call("/v1/seats", license.key, 3)

        #expect(answer.status == 200 && answer.members == ["seats", "activations", "server_time"])
        #expect(answer["seats", "used"]?.int64 == 2 && answer["seats", "limit"]?.int64 == 2)
        let rows = Array(try #require(answer["activations"]?.elements))
        #expect(rows.map { $0["name"]?.string } == ["two", "one"] && rows.map { $0["this"]?.bool } == [false, true])
        #expect(rows[0].members.map { $0.map(\.name) } == ["activation", "name", "platform", "last_seen_at", "this"])
        #expect(stranger.status == 200 && stranger.wrote)
        #expect(stranger["activations"]?.elements?.contains { $0["this"]?.bool == true } == false)
    }

    @Test("seats are not listed where customers release none")
    func seatsForbidden() throws {
        var api = try TestAPI.open()
        let license = try api.sell { $0.selfRelease = false }

        let answer = api.call("/v1/seats", license.key)

        #expect(answer.status == 403 && answer.code == "FORBIDDEN" && answer["bundle"] == nil)
    }

    @Test("sync brings the current bundle, for an install with rights and for one without")
    func sync() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key, 1)

        let held = api.post("/v1/sync", #"{"install_id":"\#(installID(1))","nonce":"n"}"#)
        let new = api.post("/v1/sync", #"{"install_id":"\#(installID(2))","nonce":"m"}"#)

        #expect(held.status == 200 && held.members == ["bundle", "server_time"] && !held.wrote)
        #expect(try api.bundle(in: held, nonce: "n").claims.grants.count == 2)
        #expect(new.status == 200 && new.wrote)
        #expect(try api.bundle(in: new, for: 2, nonce: "m").claims.grants.isEmpty)
        #expect(try api.install(2) != nil)
    }

    @Test(
        "however a key was pasted, it is the same license",
        arguments: [
            " {}", "\\t{}\\r\\n", "{}\\u200b", "lower", "spaced", "bare", "doubled", "mixed", "wide",
        ]
    )
    func pastedKeys(form: String) throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let key = license.key
        let pasted =
            switch form {
            case "lower": key.lowercased()
            case "spaced": key.map { "\($0) " }.joined()
            case "bare": key.filter { $0 != "-" }
            case "doubled": String(key.flatMap { $0 == "-" ? "--" : "\($0)" })
            case "mixed":
                String(key.enumerated().map { $0.offset % 2 == 0 ? Character($0.element.lowercased()) : $0.element })
            case "wide":
                String(
                    String.UnicodeScalarView(
                        key.unicodeScalars.map { Unicode.Scalar($0.value + 0xFEE0) ?? $0 }
                    )
                )
            default: form.split(separator: "{}", omittingEmptySubsequences: false).joined(separator: key)
            }

        let answer = api.activate(pasted)

        #expect(answer.status == 200 && answer["license", "id"]?.string == license.id.text)
    }

    @Test("letters that look like digits are read as such, a slip of typing is told without a look-up")
    func slips() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let tail = license.key.dropFirst("ACME-".count)
        let confused = "ACME-" + tail.map { $0 == "0" ? "O" : $0 == "1" ? "l" : String($0) }.joined()
        let last = try #require(license.key.last)
        let wrong = license.key.dropLast() + (last == "Z" ? "Y" : "Z")

        #expect(api.validate(confused, nil).code == "VALID")
        for path in ["/v1/validate", "/v1/activate", "/v1/deactivate", "/v1/heartbeat", "/v1/seats"] {
            let answer = api.call(path, String(wrong))
            #expect(answer.status == 400 && answer.code == "LICENSE_KEY_MALFORMED" && answer.verdict == "unknown")
        }
    }
}
