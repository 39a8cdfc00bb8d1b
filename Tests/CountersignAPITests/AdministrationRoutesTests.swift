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

    @Test("another's license, product or mode is not there, and nothing tells it from one that never was")
    func enumeration() throws {
        var api = try TestAPI.open()
        let foreign = try api.sell(api.catalog.foreign)
        let test = try api.sell(mode: .test)
        let viewer = try api.sell(api.catalog.viewer)
        let body = #"{"reason":"x"}"#

        for id in [foreign.id.text, test.id.text, "lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E"] {
            let shown = api.admin("GET", "\(path)/\(id)")
            let revoked = api.admin("POST", "\(path)/\(id)/revoke", body)
            for answer in [shown, revoked] {
                #expect(answer.status == 404 && answer.code == "LICENSE_NOT_FOUND")
                #expect(answer["detail"]?.string == "there is no such license")
            }
        }
        let ofProduct = api.admin("GET", "\(path)/\(viewer.id)", token: api.catalog.productSecretToken)
        #expect(ofProduct.status == 404)
        let listed = api.admin("GET", path)
        #expect(listed["licenses"]?.elements?.compactMap { $0["id"]?.string } == [viewer.id.text])
        let other = api.admin("POST", path, #"{"product":"globex/editor","plan":"p"}"#)
        #expect(other.status == 404 && other.code == "PRODUCT_NOT_FOUND")
        let noPlan = api.admin("POST", path, #"{"product":"acme/editor","plan":"p"}"#)
        #expect(noPlan.status == 404 && noPlan.code == "PLAN_NOT_FOUND")
    }

    @Test("a product's credential implies the product, and may name no other; nor may any name another mode")
    func productCredential() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        let token = api.catalog.productSecretToken

        #expect(api.admin("POST", path, #"{"plan":"\#(plan)"}"#, token: token).status == 200)
        let other = api.admin("POST", path, #"{"product":"acme/viewer","plan":"p"}"#, token: token)
        #expect(other.status == 403 && other.code == "FORBIDDEN")
        let mode = api.admin("POST", path, #"{"plan":"\#(plan)","mode":"test"}"#, token: token)
        #expect(mode.status == 403 && mode.code == "FORBIDDEN")
    }

    @Test("an app's credential, or none, opens nothing")
    func credentials() throws {
        var api = try TestAPI.open()

        let app = api.admin("GET", path, token: api.catalog.appToken)
        let none = api.send(request("GET", path, token: nil))
        let wrong = api.admin("GET", path, token: "sk_live_wrong")

        #expect(app.status == 403 && app.code == "FORBIDDEN")
        #expect(none.status == 401 && wrong.status == 401)
    }

    @Test("an order that two products have needs the product")
    func ambiguous() throws {
        var api = try TestAPI.open()
        for product in ["editor", "viewer"] {
            let plan = try api.plan(product == "editor" ? nil : api.catalog.viewer)
            let body = #"{"product":"acme/\#(product)","plan":"\#(plan)","order_id":"o-1"}"#
            #expect(api.admin("POST", path, body).status == 200)
        }

        let both = api.admin("GET", "\(path)/o-1")
        let one = api.admin("GET", "\(path)/o-1?product=acme/viewer")

        #expect(both.status == 409 && both.code == "AMBIGUOUS")
        #expect(one["license", "product"]?.string == "acme/viewer")
    }

    @Test("one request issues as many licenses as one command line does")
    func many() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()

        let issued = api.admin(
            "POST",
            path,
            #"{"product":"acme/editor","plan":"\#(plan)","count":\#(LicenseForms.mostIssued),"seats":2147483647}"#,
            key: "k-1"
        )

        #expect(issued.status == 200)
        let keys = issued["licenses"]?.elements?.compactMap { $0["key"]?.string } ?? []
        #expect(Set(keys).count == LicenseForms.mostIssued)
    }

    @Test(
        "what issuing tells of licenses is what a look at them tells, however many there are",
        arguments: [
            (1, ""), (10, #","customer_email":"dee@example.com","customer_name":"Dee""#),
            (11, #","customer_name":"Dee""#),
            (
                40,
                #","seats":"unlimited","expires_at":"2030-06-26","maintenance_until":"2029-01-01","offline_life":"P3D""#
            ),
            (12, #","duration":"P1M","starts_at":"2027-02-01T00:00:00Z","customer_email":"dee@example.com""#),
        ]
    )
    func toldOfIssued(count: Int, members: String) throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        let body = #"{"product":"acme/editor","plan":"\#(plan)","count":\#(count)\#(members)}"#

        let issued = api.admin("POST", path, body, key: "k")
        let repeated = api.admin("POST", path, body, key: "k")

        let licenses = issued["licenses"]?.elements.map(Array.init) ?? []
        #expect(issued.status == 200 && licenses.count == count)
        #expect(Set(licenses.compactMap { $0["key"]?.string }).count == count)
        #expect(repeated.text == issued.text)
        for license in licenses {
            let id = try #require(license["id"]?.string)
            let shown = api.admin("GET", "\(path)/\(id)")["license"]
            #expect(shown?.source == license.source)
        }
    }

    @Test("the key is told where the command line tells it: by show, issue and reissue, and by nothing else")
    func keys() throws {
        var api = try TestAPI.open()
        let license = try api.sell(end: .at(Catalog.start.adding(seconds: 60)))
        let seat = try #require(api.activate(license.key)["activation", "id"]?.string)
        #expect(api.admin("GET", "\(path)/\(license.id)")["license", "key"]?.string == license.key)
        let reissued = api.admin("POST", "\(path)/\(license.id)/reissue", #"{"reason":"x"}"#)
        #expect(reissued["license", "key"]?.string != nil)

        for (word, body) in [
            ("suspend", #"{"reason":"x"}"#), ("reinstate", #"{"reason":"x"}"#), ("renew", #"{"duration":"P1M"}"#),
            ("release-seat", #"{"activation":"\#(seat)"}"#), ("revoke", #"{"reason":"x"}"#),
        ] {
            // Done, and told again.
            for _ in 1...2 {
                let answer = api.admin("POST", "\(path)/\(license.id)/\(word)", body, key: word)
                #expect(answer.status == 200 && answer["license", "key_last4"] != nil, "\(word)")
                #expect(answer["license", "key"] == nil, "\(word)")
            }
        }
    }

    @Test("a dry run tells what would be, and leaves no row and no idempotency key")
    func dryRun() throws {
        var api = try TestAPI.open()
        let license = try api.sell(end: .at(Catalog.start.adding(seconds: 60)))
        let seat = try #require(api.activate(license.key)["activation", "id"]?.string)
        func state(_ api: borrowing TestAPI) throws -> [Int64] {
            try api.writer.write { db in
                [
                    try db.stateVersion(), try db.first("SELECT count(*) FROM audit", { try $0.integer() }) ?? 0,
                    try db.first("SELECT count(*) FROM idempotency", { try $0.integer() }) ?? 0,
                    try db.first("SELECT count(*) FROM licenses", { try $0.integer() }) ?? 0,
                ]
            }
        }
        let before = try state(api)
        let verbs = [
            ("suspend", #""reason":"x""#, "status", "suspended"), ("revoke", #""reason":"x""#, "status", "revoked"),
            ("renew", #""duration":"P1M""#, "expires_at", "2027-02-15T08:01:00Z"),
            ("reissue", #""reason":"x""#, "status", "active"),
            ("release-seat", #""activation":"\#(seat)""#, "status", "active"),
        ]

        for (word, members, name, value) in verbs {
            let answer = api.admin(
                "POST",
                "\(path)/\(license.id)/\(word)",
                #"{\#(members),"dry_run":true}"#,
                key: "k-\(word)"
            )
            #expect(answer.status == 200 && answer["dry_run"]?.bool == true, "\(word)")
            #expect(answer["license", name]?.string == value, "\(word)")
            #expect(answer["license", "key"] == nil, "a key of a dry run opens nothing")
        }
        let issue = #"{"product":"acme/editor","plan":"\#(license.plan.code.text)","order_id":"o-1""#
        let issued = api.admin("POST", path, issue + #","dry_run":true}"#, key: "k-issue")

        #expect(issued.status == 200 && issued["licenses"]?.count == 1 && issued["dry_run"]?.bool == true)
        #expect(try state(api) == before)
        #expect(api.validate(license.key).code == "VALID")
        let done = api.admin("POST", path, issue + #","dry_run":false}"#, key: "k-issue")
        #expect(done.status == 200 && done["dry_run"] == nil)
        #expect(try state(api) != before)
        #expect(api.admin("POST", path, issue + #","dry_run":"yes"}"#).pointers == ["/dry_run"])
    }

    @Test("what a dry run would be refused is refused")
    func refusedDryRun() throws {
        var api = try TestAPI.open()
        let license = try api.sell()

        let answer = api.admin("POST", "\(path)/\(license.id)/renew", #"{"duration":"P1M","dry_run":true}"#)

        #expect(answer.status == 409 && answer.code == "NOT_RENEWABLE")
    }

    @Test("a list takes every filter of the command line's, and refuses a value that is none")
    func filters() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        for order in ["o/1", "o 2"] {
            let body =
                #"{"product":"acme/editor","plan":"\#(plan)","order_id":"\#(order)","customer_email":"a@example.com"}"#
            #expect(api.admin("POST", path, body).status == 200)
        }
        let listed = try #require(api.admin("GET", "\(path)?order_id=o%2F1")["licenses"]?.elements.map(Array.init))
        let id = try #require(listed.first?["id"]?.string)
        #expect(api.admin("POST", "\(path)/\(id)/suspend", #"{"reason":"x"}"#).status == 200)

        for (query, count) in [
            ("status=suspended", 1), ("status=active", 2), ("status=expired", 0), ("order_id=o%202", 1),
            ("plan=\(plan)", 3), ("plan=none", 0), ("customer_email=A%40example.com", 2), ("mode=live", 3),
            ("product=acme%2Feditor", 3), ("status=active&order_id=o%2F1", 0),
        ] {
            let answer = api.admin("GET", "\(path)?\(query)")
            #expect(answer.status == 200 && answer["licenses"]?.count == count, "\(query)")
        }
        for query in [
            "status=Suspended", "plan=A%20B", "customer_email=x", "order_id=", "mode=Live", "limit=x", "cursor=x",
        ] {
            let answer = api.admin("GET", "\(path)?\(query)")
            #expect(answer.status == 400 && answer.pointers == ["/\(query.prefix { $0 != "=" })"], "\(query)")
        }
        #expect(api.admin("GET", "\(path)?mode=test").status == 403)
    }

    @Test("a list filters by the customer's address and goes on by its cursor")
    func list() throws {
        var api = try TestAPI.open()
        let plan = try api.plan()
        for number in 0..<5 {
            let body =
                #"{"product":"acme/editor","plan":"\#(plan)","customer_email":"c\#(number % 2)@example.com"}"#
            #expect(api.admin("POST", path, body).status == 200)
        }

        let first = api.admin("GET", "\(path)?customer_email=C0%40example.com&limit=2")
        let cursor = try #require(first["next"]?.string)
        let second = api.admin("GET", "\(path)?customer_email=c0%40example.com&limit=2&cursor=\(cursor)")

        #expect(first["licenses"]?.count == 2)
        #expect(second["licenses"]?.count == 1)
        #expect(second["next"]?.isNull == true)
        #expect(api.admin("GET", "\(path)?limit=0").pointers == ["/limit"])
        #expect(api.admin("GET", "\(path)?cursor=x").pointers == ["/cursor"])
        #expect(first["licenses"]?.elements?.first { _ in true }?["key"] == nil)
    }
}

extension TestAPI {
    /// Calls administration, by default with the vendor's secret credential.
    fileprivate mutating func admin(
        _ method: String,
        _ path: String,
        _ body: String? = nil,
        token: String? = nil,
        key: String? = nil
    ) -> Received {
        let fields = key.map { ["Idempotency-Key: \($0)"] } ?? []
        return send(request(method, path, token: token ?? catalog.secretToken, fields: fields, body: body))
    }

    /// A plan's code, of two seats and without an end.
    fileprivate func plan(_ product: Product? = nil) throws -> String {
        try sell(product).plan.code.text
    }
}
