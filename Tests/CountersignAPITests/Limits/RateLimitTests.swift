import HTTPServer
import Licensing
import LicensingServices
import Testing

@testable import CountersignAPI

@Suite("Rate limits") struct RateLimitTests {
    private static let wrongKey = "WRONG-KEYS-OF-NOBODY-AT-ALL"

    @Test("requests of one address are limited, with exact fields, and come back")
    func address() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 3 }

        let answers = try (0..<4).map { _ in try limited.sync(1) }
        let other = try limited.sync(1, from: "203.0.113.6")
        limited.clock.advance(seconds: 20)
        let later = try limited.sync(1)

        #expect(answers.map(\.status) == [200, 200, 200, 429])
        let refused = answers[3]
        #expect(refused.code == "RATE_LIMITED")
        #expect(refused.verdict == "unknown")
        #expect(refused.field("Retry-After") == "20")
        #expect(refused.field("RateLimit-Limit") == "3")
        #expect(refused.field("RateLimit-Remaining") == "0")
        #expect(refused.field("RateLimit-Reset") == "20")
        #expect(answers[0].field("RateLimit-Limit") == nil)
        #expect(other.status == 200)
        #expect(later.status == 200)
    }

    @Test("an IPv6 site is one address, its neighbor another")
    func site() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 1 }

        #expect(try limited.sync(1, from: "2001:db8:0:1::1").status == 200)
        #expect(try limited.sync(1, from: "2001:db8:0:1:ffff::2").status == 429)
        #expect(try limited.sync(1, from: "2001:db8:0:2::1").status == 200)
    }

    @Test("what an address is told comes before who it is")
    func beforeCredentials() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 1 }

        let answers = try (0..<2).map { _ in try limited.post("/v1/sync", "{}", token: "pk_live_wrong") }

        #expect(answers.map(\.status) == [401, 429])
    }

    @Test("health is exempt", arguments: ["/health", "/ready", "/v1/health", "/v1/ready"])
    func health(path: String) throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 1 }

        let text = request("GET", path, token: nil)
        let answers = try (0..<5).map { _ in try limited.send(text, from: "203.0.113.5") }

        #expect(answers.allSatisfy { $0.status == 200 })
    }

    @Test("a client behind a trusted proxy is limited by the address that the proxy names")
    func forwarded() throws {
        let proxies = [try #require(NetworkPrefix(parsing: "127.0.0.1"))]
        var limited = try LimitedAPI {
            $0.addressPerMinute = 1
            $0.trustedProxies = proxies
        }

        func fields(_ hops: String) -> [String] { ["X-Forwarded-For: \(hops)"] }
        #expect(try limited.sync(1, from: "127.0.0.1", fields: fields("198.51.100.1")).status == 200)
        #expect(try limited.sync(1, from: "127.0.0.1", fields: fields("198.51.100.2")).status == 200)
        #expect(try limited.sync(1, from: "127.0.0.1", fields: fields("9.9.9.9, 198.51.100.1")).status == 429)
    }

    @Test(
        "a private or loopback peer without trusted proxies is not limited",
        arguments: ["127.0.0.1", "10.0.0.3", "::1"]
    )
    func local(address: String) throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 1 }

        let answers = try (0..<5).map { _ in try limited.sync(1, from: address) }

        #expect(answers.allSatisfy { $0.status == 200 })
    }

    @Test("0 is off, and a changed limit holds at once")
    func reload() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 0 }
        let free = try (0..<50).map { _ in try limited.sync(1).status }

        limited.limiter.current.addressPerMinute = 1
        let bound = try (0..<2).map { _ in try limited.sync(1).status }

        #expect(free.allSatisfy { $0 == 200 })
        #expect(bound == [200, 429])
    }

    @Test("first contacts have a small bucket; installs that are known do not need it, whatever they call")
    func firstContacts() throws {
        var limited = try LimitedAPI { $0.firstContactsPerMinute = 2 }
        let license = try limited.api.sell { $0.seatLimit = .unlimited }

        let first = try limited.sync(1)
        let second = try limited.validate(license.key, 2)
        let third = try limited.sync(3)
        let activation = try limited.post(
            "/v1/activate",
            #"{"license_key":"\#(license.key)","install_id":"\#(installID(3))"}"#
        )
        let known = try limited.sync(1)
        limited.clock.advance(seconds: 30)
        let later = try limited.sync(3)

        #expect(first.status == 200 && second.status == 200)
        #expect(third.status == 429 && third.field("Retry-After") == "30")
        #expect(activation.status == 429)
        #expect(known.status == 200)
        #expect(later.status == 200)
        #expect(try limited.api.install(3) != nil)
    }

    @Test("an office of 300 starts at nine behind one address with the defaults")
    func office() throws {
        var limited = try LimitedAPI()
        let license = try limited.api.sell { $0.seatLimit = .unlimited }

        // Each starts the app: its bundle, its seat, then a look.
        var statuses: Set<Int> = []
        for install in 1...300 {
            statuses.insert(try limited.sync(install).status)
            let body = #"{"license_key":"\#(license.key)","install_id":"\#(installID(install))"}"#
            statuses.insert(try limited.post("/v1/activate", body).status)
            statuses.insert(try limited.post("/v1/validate", body).status)
        }

        #expect(statuses == [200])
    }

    @Test("after too many unknown keys an address hears nothing about another one, right or wrong")
    func wrongKeys() throws {
        var limited = try LimitedAPI { $0.wrongKeysPerMinute = 2 }
        let license = try limited.api.sell()

        let asked = try limited.validate(Self.wrongKey, 1)
        let tried = try limited.post(
            "/v1/activate",
            #"{"license_key":"\#(Self.wrongKey)","install_id":"\#(installID(1))"}"#
        )
        let wrong = try limited.validate(Self.wrongKey, 1)
        let right = try limited.validate(license.key, 1)
        let elsewhere = try limited.validate(license.key, 1, from: "203.0.113.6")
        let keyless = try limited.sync(1)
        limited.clock.advance(seconds: 30)
        let later = try limited.validate(license.key, 1)

        #expect(asked.code == "LICENSE_NOT_FOUND" && asked.status == 200)
        #expect(tried.code == "LICENSE_NOT_FOUND" && tried.status == 404)
        #expect(wrong.code == "RATE_LIMITED" && wrong.field("RateLimit-Limit") == "2")
        #expect(right.code == "RATE_LIMITED")
        #expect(elsewhere.code == "NOT_ACTIVATED")
        #expect(keyless.status == 200)
        #expect(later.code == "NOT_ACTIVATED")
    }

    @Test("an install that holds a seat is answered although its neighbor tries keys")
    func seatedNeighbor() throws {
        var limited = try LimitedAPI { $0.wrongKeysPerMinute = 1 }
        let license = try limited.api.sell()
        let seat = try limited.post(
            "/v1/activate",
            #"{"license_key":"\#(license.key)","install_id":"\#(installID(1))"}"#
        )
        _ = try limited.validate(Self.wrongKey, 2)

        let neighbor = try limited.validate(license.key, 2)
        let seated = try limited.validate(license.key, 1)

        #expect(seat.status == 200)
        #expect(neighbor.status == 429)
        #expect(seated.code == "VALID")
    }

    @Test("new trials of an address have a limit a day; who has one already is told of it")
    func trials() throws {
        let settings = ProductSettings(
            trialDuration: try CalendarDuration("P14D"),
            trialStart: .explicit
        )
        var limited = try LimitedAPI(settings: settings) { $0.trialsPerDay = 2 }
        func trial(_ install: Int, _ limited: inout LimitedAPI, more: String = "") throws -> Received {
            try limited.post("/v1/trial", #"{"install_id":"\#(installID(install))"\#(more)}"#)
        }

        let first = try trial(1, &limited)
        let second = try trial(2, &limited)
        let third = try trial(3, &limited)
        let question = try trial(3, &limited, more: #","start":false"#)
        let again = try trial(1, &limited)
        limited.clock.advance(seconds: 43_200)
        let later = try trial(3, &limited)

        #expect(first.code == "TRIAL_ACTIVE" && second.code == "TRIAL_ACTIVE")
        #expect(third.code == "RATE_LIMITED" && third.field("RateLimit-Limit") == "2")
        #expect(third.field("Retry-After") == "43200")
        #expect(try limited.api.install(3) != nil, "it was in contact all the same")
        #expect(question.code == "TRIAL_AVAILABLE")
        #expect(again.code == "TRIAL_ACTIVE")
        #expect(later.code == "TRIAL_ACTIVE")
    }

    @Test("new trials of an address have their limit whichever way they start", arguments: TrialStart.allCases)
    func trialsOfEitherStart(start: TrialStart) throws {
        let settings = ProductSettings(trialDuration: try CalendarDuration("P14D"), trialStart: start)
        var limited = try LimitedAPI(settings: settings) { $0.trialsPerDay = 2 }

        let answers = try (1...3).map { try limited.post("/v1/trial", #"{"install_id":"\#(installID($0))"}"#) }

        #expect(answers.map(\.code) == ["TRIAL_ACTIVE", "TRIAL_ACTIVE", "RATE_LIMITED"])
    }

    @Test("a trial that its machine had before is no new one, and of calls in flight for one trial, one is counted")
    func trialsOfOneMachine() throws {
        let settings = ProductSettings(trialDuration: try CalendarDuration("P14D"), trialStart: .explicit)
        var limited = try LimitedAPI(settings: settings) { $0.trialsPerDay = 2 }
        func body(_ install: Int, _ machine: String) -> String {
            #"{"install_id":"\#(installID(install))","fingerprint":"\#(machine)"}"#
        }
        let token = limited.api.catalog.appToken
        let address = try #require(PeerAddress(parsing: "203.0.113.5"))

        let one = try limited.api.together(
            (1...5).map { request("POST", "/v1/trial", token: token, body: body($0, "laptop-4711")) },
            from: address
        )
        let reinstalls = try (6...9).map { try limited.post("/v1/trial", body($0, "laptop-4711")) }
        let second = try limited.post("/v1/trial", body(10, "desktop-0815"))
        let third = try limited.post("/v1/trial", body(11, "tablet-1234"))

        #expect(one.map(\.code) == Array(repeating: "TRIAL_ACTIVE", count: 5))
        #expect(reinstalls.allSatisfy { $0.code == "TRIAL_ACTIVE" })
        #expect(second.code == "TRIAL_ACTIVE")
        #expect(third.code == "RATE_LIMITED")
    }

    @Test("of calls in flight by one new install, one is a first contact", arguments: ["/v1/sync", "/v1/activate"])
    func firstContactOnce(path: String) throws {
        var limited = try LimitedAPI { $0.firstContactsPerMinute = 2 }
        let license = try limited.api.sell { $0.seatLimit = .unlimited }
        let body = #"{"install_id":"\#(installID(1))","license_key":"\#(license.key)"}"#
        let text = request("POST", path, token: limited.api.catalog.appToken, body: body)

        let answers = try limited.api.together(
            Array(repeating: text, count: 5),
            from: try #require(PeerAddress(parsing: "203.0.113.5"))
        )

        #expect(answers.map(\.status) == Array(repeating: 200, count: 5))
        #expect(try limited.sync(2).status == 200)
        #expect(try limited.sync(3).status == 429)
    }

    @Test("a credential of administration has a bucket of its own, from wherever it calls")
    func administration() throws {
        var limited = try LimitedAPI { $0.administrationPerMinute = 2 }
        let token = limited.api.catalog.secretToken

        let text = request("GET", "/v1/admin/licenses?product=acme/editor", token: token)
        let answers = try ["127.0.0.1", "203.0.113.5", "203.0.113.6"].map { try limited.send(text, from: $0) }
        let other = try limited.send(
            request("GET", "/v1/admin/licenses", token: limited.api.catalog.productSecretToken),
            from: "127.0.0.1"
        )

        #expect(answers.map(\.status) == [200, 200, 429])
        #expect(answers[2].field("Retry-After") == "30")
        #expect(other.status == 200)
    }

    @Test("keys of apps have no bucket: one address cannot shut out another")
    func publishable() throws {
        var limited = try LimitedAPI { $0.addressPerMinute = 10 }

        for _ in 0..<20 { _ = try limited.sync(1, from: "203.0.113.5") }

        #expect(try limited.sync(2, from: "203.0.113.6").status == 200)
    }
}
