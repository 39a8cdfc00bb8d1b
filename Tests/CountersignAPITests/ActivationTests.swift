import Bundles
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Activate and deactivate") struct ActivationTests {
    @Test("a seat is claimed, and the answer has the members of the contract")
    func claims() throws {
        var api = try TestAPI.open()
        let license = try api.sell(end: .at(Timestamp(secondsSinceEpoch: 1_900_000_000)))

        let answer = api.activate(license.key, more: #","nonce":"n-1""#)

        #expect(answer.status == 200 && answer.contentType == "application/json")
        #expect(
            answer.members == ["verdict", "activation", "license", "seats", "entitlements", "bundle", "server_time"]
        )
        #expect(answer.verdict == "granted")
        #expect(answer["server_time"]?.string == "2027-01-15T08:00:00Z")
        #expect(answer["activation"]?.members.map { $0.map(\.name) } == ["id", "activated_at"])
        #expect(
            answer["license"]?.members.map { $0.map(\.name) } == [
                "id", "plan", "status", "starts_at", "expires_at", "maintenance_until", "key_last4",
            ]
        )
        #expect(answer["license", "id"]?.string == license.id.text)
        #expect(answer["license", "status"]?.string == "active")
        #expect(answer["license", "starts_at"]?.isNull == true)
        #expect(answer["license", "expires_at"]?.string == "2030-03-17T17:46:40Z")
        #expect(answer["license", "key_last4"]?.string == String(license.key.suffix(4)))
        #expect(answer["seats", "used"]?.int64 == 1 && answer["seats", "limit"]?.int64 == 2)
        #expect(answer["entitlements"]?.elements?.compactMap { $0["feature"]?.string } == ["export", "pro"])
        let bundle = try api.bundle(in: answer, nonce: "n-1")
        #expect(bundle.isFresh && bundle.claims.nonce == "n-1")
        #expect(bundle.claims.grants.map(\.feature.text) == ["export", "pro"])
        #expect(bundle.claims.licenses.map(\.activation.text) == [answer["activation", "id"]?.string])
    }

    @Test("an unlimited license says so, a floating seat says until when")
    func unlimitedAndFloating() throws {
        var api = try TestAPI.open()
        let license = try api.sell {
            $0.seatLimit = .unlimited
            $0.leaseSeconds = 600
        }

        let answer = api.activate(license.key)

        #expect(answer["seats", "limit"]?.isNull == true)
        #expect(answer["activation", "lease_expires_at"]?.string == "2027-01-15T08:10:00Z")
    }

    @Test("a device that is bound already goes on, at a full license too, under the same activation")
    func alreadyBound() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let first = api.activate(license.key, 1)["activation", "id"]?.string
        _ = api.activate(license.key, 2)

        for _ in 0..<10 {
            let answer = api.activate(license.key, 1, more: #","nonce":"again""#)
            #expect(answer.status == 200 && answer["activation", "id"]?.string == first)
            #expect(answer["seats", "used"]?.int64 == 2)
            #expect(try api.bundle(in: answer, nonce: "again").isFresh)
        }
        #expect(api.activate(license.key, 3).code == "NO_SEATS_AVAILABLE")
    }

    @Test("a full license refuses with the seats in use, the list to choose from, and a bundle")
    func full() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let first = api.activate(license.key, 1, more: #","device":{"name":"Ada's Mac","platform":"macos"}"#)
        api.catalog.clock.advance(by: 10)
        _ = api.activate(license.key, 2)

        let answer = api.activate(license.key, 3, more: #","nonce":"n""#)

        #expect(answer.status == 409 && answer.contentType == "application/problem+json")
        #expect(answer.code == "NO_SEATS_AVAILABLE" && answer.verdict == "unknown")
        #expect(answer["detail"]?.string == "All 2 seats of this license are in use.")
        #expect(answer["seats", "used"]?.int64 == 2 && answer["seats", "limit"]?.int64 == 2)
        let rows = Array(try #require(answer["activations"]?.elements))
        #expect(rows.count == 2)
        #expect(rows[1]["activation"]?.string == first["activation", "id"]?.string)
        #expect(rows[1]["name"]?.string == "Ada's Mac" && rows[1]["platform"]?.string == "macos")
        #expect(rows[1]["last_seen_at"]?.string == "2027-01-15T08:00:00Z" && rows[1]["this"]?.bool == false)
        #expect(rows[0]["name"]?.isNull == true)
        let bundle = try api.bundle(in: answer, for: 3, nonce: "n")
        #expect(bundle.claims.grants.isEmpty && bundle.claims.licenses.isEmpty)
    }

    @Test("where customers do not release seats, a full license lists none")
    func fullWithoutList() throws {
        var api = try TestAPI.open()
        let license = try api.sell {
            $0.seatLimit = .limited(1)
            $0.selfRelease = false
        }
        _ = api.activate(license.key, 1)

        let answer = api.activate(license.key, 2)

        #expect(answer.code == "NO_SEATS_AVAILABLE" && answer["activations"] == nil)
        #expect(answer["detail"]?.string == "The one seat of this license is in use.")
    }

    @Test("replace releases one seat and claims it in one step")
    func replace() throws {
        var api = try TestAPI.open()
        let license = try api.sell { $0.seatLimit = .limited(1) }
        let lost = try #require(api.activate(license.key, 1)["activation", "id"]?.string)

        let answer = api.activate(license.key, 2, more: #","replace":"\#(lost)""#)

        #expect(answer.status == 200 && answer["activation", "id"]?.string != lost)
        #expect(answer["seats", "used"]?.int64 == 1)
        #expect(api.validate(license.key, 1).code == "NOT_ACTIVATED")
    }

    @Test("replace of what is no seat of the license is invalid, and forbidden where customers release none")
    func replaceRefused() throws {
        var api = try TestAPI.open()
        let license = try api.sell { $0.seatLimit = .limited(1) }
        let other = try api.sell()
        let fixed = try api.sell { $0.selfRelease = false }
        let foreign = try #require(api.activate(other.key, 1)["activation", "id"]?.string)

        let ofOther = api.activate(license.key, 2, more: #","replace":"\#(foreign)""#)
        let garbage = api.activate(license.key, 2, more: #","replace":"seat one""#)
        let off = api.activate(fixed.key, 2, more: #","replace":"\#(foreign)""#)

        #expect(ofOther.status == 400 && ofOther.code == "VALIDATION" && ofOther.pointers == ["/replace"])
        #expect(garbage.code == "VALIDATION" && garbage.pointers == ["/replace"])
        #expect(off.status == 403 && off.code == "FORBIDDEN" && off["bundle"] == nil)
        #expect(api.validate(other.key, 1).code == "VALID")
    }

    @Test(
        "a license that is not in force refuses, with a bundle that says so and the verdict it deserves",
        arguments: [
            (Standing.revoked, 410, "LICENSE_REVOKED", "rejected"),
            (Standing.suspended, 410, "LICENSE_SUSPENDED", "rejected"),
        ]
    )
    func standing(standing: Standing, status: Int, code: String, verdict: String) throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        try api.edit(license) { $0.standing = standing }

        for path in ["/v1/activate", "/v1/heartbeat", "/v1/seats"] {
            let answer = api.call(path, license.key, more: #","nonce":"n""#)
            #expect(answer.status == status && answer.code == code && answer.verdict == verdict, "\(path)")
            #expect(try api.bundle(in: answer, nonce: "n").claims.grants.isEmpty, "\(path)")
            #expect(answer["server_time"]?.string == "2027-01-15T08:00:00Z")
        }
        let question = api.validate(license.key, 1, more: #","nonce":"n""#)
        #expect(question.status == 200 && question.code == code && question.verdict == verdict)
        #expect(question["valid"]?.bool == false && question["activation", "id"]?.string != nil)
        #expect(try api.bundle(in: question, nonce: "n").claims.grants.isEmpty)
    }

    @Test("a license that has ended is gone, one that has not started is not: the end itself has ended")
    func times() throws {
        var api = try TestAPI.open()
        let end = Catalog.start.adding(seconds: 60)
        let license = try api.sell(end: .at(end))
        let later = try api.sell(startsAt: end)
        api.catalog.clock.advance(by: 59)
        #expect(api.activate(license.key).status == 200)
        let early = api.activate(later.key)
        api.catalog.clock.advance(by: 1)

        let expired = api.activate(license.key)

        #expect(early.status == 409 && early.code == "LICENSE_NOT_STARTED" && early.verdict == "unknown")
        #expect(try api.bundle(in: early).claims.grants.count == 2)
        #expect(expired.status == 410 && expired.code == "LICENSE_EXPIRED" && expired.verdict == "rejected")
        #expect(try api.bundle(in: expired).claims.grants.isEmpty)
        #expect(api.activate(later.key).status == 200)
    }

    @Test("an old key seats nobody new, and serves who holds a seat")
    func reissued() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key, 1)
        let newKey = try api.reissue(license)

        let refused = api.activate(license.key, 2)
        let served = api.activate(license.key, 1)

        #expect(refused.status == 409 && refused.code == "LICENSE_REISSUED" && refused.verdict == "unknown")
        #expect(try api.bundle(in: refused, for: 2).claims.grants.isEmpty)
        #expect(served.status == 200)
        let question = api.validate(license.key, 1)
        #expect(question.code == "VALID" && question["key_replaced"]?.bool == true)
        #expect(api.validate(newKey, 1)["key_replaced"] == nil)
    }

    @Test("too many new seats in the period are refused")
    func transferLimit() throws {
        var api = try TestAPI.open()
        let license = try api.sell {
            $0.seatLimit = .limited(1)
            $0.transferLimit = 0
        }
        _ = api.activate(license.key, 1)
        _ = api.call("/v1/deactivate", license.key, 1)

        let answer = api.activate(license.key, 2)

        #expect(answer.status == 409 && answer.code == "TRANSFER_LIMIT" && answer["seats", "used"]?.int64 == 0)
        #expect(try api.bundle(in: answer, for: 2).claims.licenses.isEmpty)
    }

    @Test("a floating seat that ended by itself does not count toward the cap on new seats")
    func endedLeaseIsNoTransfer() throws {
        var api = try TestAPI.open()
        let license = try api.sell {
            $0.seatLimit = .limited(1)
            $0.leaseSeconds = 60
            $0.transferLimit = 0
        }
        _ = api.activate(license.key, 1)
        api.catalog.clock.advance(by: 60)

        let answer = api.activate(license.key, 2)

        #expect(answer.status == 200 && answer["seats", "used"]?.int64 == 1)
    }

    @Test("deactivating releases once, and is never an error for a known key")
    func deactivates() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        _ = api.activate(license.key)
        try api.edit(license) { $0.standing = .revoked }

        let first = api.call("/v1/deactivate", license.key, more: #","nonce":"n""#)
        let second = api.call("/v1/deactivate", license.key)
        let unknown = api.call("/v1/deactivate", "NOBODY-HAS-THIS")

        #expect(first.status == 200 && first.members == ["released", "seats", "bundle", "server_time"])
        #expect(first["released"]?.bool == true && first["seats", "used"]?.int64 == 0)
        #expect(try api.bundle(in: first, nonce: "n").claims.licenses.isEmpty)
        #expect(second.status == 200 && second["released"]?.bool == false)
        #expect(unknown.status == 404 && unknown.code == "LICENSE_NOT_FOUND")
    }

    @Test("a reinstall on a known machine takes its seat over")
    func takeover() throws {
        var api = try TestAPI.open()
        let license = try api.sell { $0.seatLimit = .limited(1) }
        let machine = #","fingerprint":"machine-0001""#
        let seat = api.activate(license.key, 1, more: machine)["activation", "id"]?.string

        let answer = api.activate(license.key, 2, more: machine)

        #expect(answer.status == 200 && answer["activation", "id"]?.string == seat)
        #expect(api.validate(license.key, 1).code == "NOT_ACTIVATED")
    }
}
