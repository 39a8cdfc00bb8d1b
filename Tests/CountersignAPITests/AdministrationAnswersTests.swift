import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("What administration over HTTP tells") struct AdministrationAnswersTests {
    private let path = "/v1/admin/licenses"

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
