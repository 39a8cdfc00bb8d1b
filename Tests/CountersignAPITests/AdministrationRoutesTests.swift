import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Administration over HTTP") struct AdministrationRoutesTests {
    private let path = "/v1/admin/licenses"

    @Test("a license is issued with its key, and found by id and by order id")
    func issue() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()

        let issued = api.admin(
            "POST",
            path,
            #"{"product":"acme/editor","plan":"\#(plan)","seats":5,"expires_at":"2030-06-26","order_id":"o-1","#
                + #""customer_email":"Dee@Example.com"}"#
        )

        #expect(issued.status == 200 && issued.wrote)
        let license = try #require(issued["licenses"]?.elements?.first { _ in true })
        let id = try #require(license["id"]?.string)
        let key = try #require(license["key"]?.string)
        #expect(license["seat_limit"]?.int64 == 5)
        #expect(license["expires_at"]?.string == "2030-06-27T00:00:00Z")
        #expect(license["mode"]?.string == "live")
        for name in [id, "o-1"] {
            let shown = api.admin("GET", "\(path)/\(name)")
            #expect(shown.status == 200)
            #expect(shown["license", "id"]?.string == id)
            #expect(shown["license", "key"]?.string == key)
            #expect(shown["license", "customer", "email"]?.string == "dee@example.com")
        }
        #expect(api.activate(key).status == 200)
        #expect(api.admin("GET", "\(path)/\(id)")["license", "seats", "used"]?.int64 == 1)
    }

    @Test("an order id gives the same license; with other members it is a conflict")
    func order() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        let body = #"{"product":"acme/editor","plan":"\#(plan)","order_id":"o-1"}"#

        let first = api.admin("POST", path, body)
        let again = api.admin("POST", path, body)
        let other = api.admin("POST", path, #"{"product":"acme/editor","plan":"\#(plan)","order_id":"o-1","seats":9}"#)

        #expect(first.text == again.text)
        #expect(other.status == 409 && other.code == "ORDER_ID_CONFLICT" && other.verdict == "unknown")
    }

    @Test("an idempotency key makes one request of two, and is refused for another")
    func idempotency() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        let body = #"{"product":"acme/editor","plan":"\#(plan)","duration":"P1M"}"#

        let first = api.admin("POST", path, body, key: "k-1")
        let again = api.admin("POST", path, body, key: "k-1")
        let other = api.admin("POST", path, #"{"product":"acme/editor","plan":"\#(plan)"}"#, key: "k-1")

        #expect(first.status == 200 && first.text == again.text)
        #expect(other.status == 409 && other.code == "IDEMPOTENCY_CONFLICT")
        let id = try #require(first["licenses"]?.elements?.first { _ in true }?["id"]?.string)
        let renewed = api.admin("POST", "\(path)/\(id)/renew", #"{"duration":"P1M"}"#, key: "k-2")
        let repeated = api.admin("POST", "\(path)/\(id)/renew", #"{"duration":"P1M"}"#, key: "k-2")
        #expect(renewed["license", "expires_at"]?.string == "2027-03-15T08:00:00Z")
        #expect(repeated["license", "expires_at"]?.string == "2027-03-15T08:00:00Z")
        let reissued = api.admin("POST", "\(path)/\(id)/reissue", #"{"reason":"lost"}"#, key: "k-2")
        let reissuedAgain = api.admin("POST", "\(path)/\(id)/reissue", #"{"reason":"lost"}"#, key: "k-2")
        #expect(reissued["license", "key"]?.string != renewed["license", "key"]?.string)
        #expect(reissued["license", "key"]?.string == reissuedAgain["license", "key"]?.string)
    }

    @Test("a refusal is not kept: the same request is decided again")
    func refusalIsNotKept() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let renew = "\(path)/\(license.id)/renew"

        let refused = api.admin("POST", renew, #"{"duration":"P1M"}"#, key: "k-1")
        try api.edit(license) { $0.term = .explicit(Catalog.start.adding(seconds: 60)) }
        let renewed = api.admin("POST", renew, #"{"duration":"P1M"}"#, key: "k-1")

        #expect(refused.status == 409 && refused.code == "NOT_RENEWABLE")
        #expect(renewed.status == 200)
    }

    @Test("the standing changes with a reason, and a revoked license needs the word")
    func standing() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        func status(_ word: String, _ body: String, _ api: inout TestAPI) -> String? {
            api.admin("POST", "\(path)/\(license.id)/\(word)", body)["license", "status"]?.string
        }

        #expect(status("suspend", #"{"reason":"unpaid"}"#, &api) == "suspended")
        #expect(api.validate(license.key, nil).code == "LICENSE_SUSPENDED")
        #expect(status("reinstate", #"{"reason":"paid"}"#, &api) == "active")
        #expect(status("revoke", #"{"reason":"fraud"}"#, &api) == "revoked")
        let refused = api.admin("POST", "\(path)/\(license.id)/reinstate", #"{"reason":"x"}"#)
        #expect(refused.status == 409 && refused.code == "LICENSE_REVOKED" && refused.verdict == "unknown")
        #expect(status("reinstate", #"{"reason":"x","revoked":true}"#, &api) == "active")
        let audited = try api.writer.write { db in
            try AuditTrail.list(of: api.catalog.vendor.id, before: nil, limit: 10, in: db).map(\.action)
        }
        #expect(Array(audited.prefix(2)) == ["license.reinstate", "license.revoke"])
    }

    @Test("a seat is released, and said to be")
    func releaseSeat() throws {
        var api = try TestAPI.open()
        let license = try api.sell()
        let seat = try #require(api.activate(license.key)["activation", "id"]?.string)
        let release = "\(path)/\(license.id)/release-seat"

        let first = api.admin("POST", release, #"{"activation":"\#(seat)"}"#)
        let second = api.admin("POST", release, #"{"activation":"\#(seat)"}"#)
        let stranger = api.admin("POST", release, #"{"activation":"act_01K9ZR0000000000000000000A"}"#)

        #expect(first["released"]?.bool == true && first["license", "seats", "used"]?.int64 == 0)
        #expect(second["released"]?.bool == false)
        #expect(stranger.status == 404 && stranger.code == "ACTIVATION_NOT_FOUND")
    }

    @Test(
        "what is missing or not allowed is named by its pointer",
        arguments: [
            (#"{"plan":"p"}"#, ["/product"]),
            (#"{"product":"acme/editor"}"#, ["/plan"]),
            (#"{"product":"acme/editor","plan":"p","seats":"3"}"#, ["/seats"]),
            (#"{"product":"acme/editor","plan":"p","seats":1.0}"#, ["/seats"]),
            (#"{"product":"acme/editor","plan":"p","seats":-1}"#, ["/seats"]),
            (#"{"product":"acme/editor","plan":"p","seats":2147483648}"#, ["/seats"]),
            (#"{"product":"acme/editor","plan":"p","count":0}"#, ["/count"]),
            (#"{"product":"acme/editor","plan":"p","count":1001}"#, ["/count"]),
            (#"{"product":"acme/editor","plan":"p","expires_at":"tomorrow"}"#, ["/expires_at"]),
            (#"{"product":"acme/editor","plan":"p","expires_at":"never","duration":"P1Y"}"#, ["/duration"]),
            (#"{"product":"acme/editor","plan":"p","count":2,"order_id":"o"}"#, ["/count"]),
            (#"{"product":"acme/editor","plan":"p","customer_email":"x"}"#, ["/customer_email"]),
            (#"{"product":"acme","plan":"p"}"#, ["/product"]),
            (#"[]"#, [""]),
        ]
    )
    func invalid(body: String, pointers: [String]) throws {
        var api = try TestAPI.open()

        let answer = api.admin("POST", path, body)

        #expect(answer.status == 400 && answer.code == "VALIDATION")
        #expect(answer.pointers == pointers)
    }

    @Test("a reason must be given where the command line asks for one", arguments: ["suspend", "revoke", "reissue"])
    func reason(word: String) throws {
        var api = try TestAPI.open()
        let license = try api.sell()

        let answer = api.admin("POST", "\(path)/\(license.id)/\(word)", "{}")

        #expect(answer.status == 400 && answer.pointers == ["/reason"])
    }
}
