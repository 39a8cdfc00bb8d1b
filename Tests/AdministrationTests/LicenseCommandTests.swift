import StrictJSON
import Testing

@Suite("License commands") struct LicenseCommandTests {
    let console = Console()

    init() throws {
        try console.json("admin vendor create --slug acme --name Acme")
        try console.json("admin product create --vendor acme --slug editor --name Editor")
        try console.json("admin plan create --product acme/editor --code pro --name Pro --duration P1Y --seats 3")
        try console.json("admin plan create --product acme/editor --code team --name Team")
    }

    /// The license that a command told of; the first, where there may be several.
    private func license(in told: JSONValue) throws -> JSONValue {
        try #require(told["license"] ?? told.at("licenses.0"))
    }

    private func license(_ line: String) throws -> JSONValue {
        try license(in: try console.json("admin license \(line)"))
    }

    private func issued(_ more: String = "") throws -> (id: String, key: String) {
        let license = try license("issue --product acme/editor --plan pro \(more)")
        return (try #require(license["id"]?.string), try #require(license["key"]?.string))
    }

    @Test("issue tells id, key, plan, mode, status, seats and end")
    func issue() throws {
        let license = try license(
            "issue --product acme/editor --plan pro --seats 5 --expires-at 2099-06-26 "
                + "--customer-name Dee --customer-email Dee@Example.com --order-id o-1 --mode test"
        )

        #expect(license["id"]?.string?.hasPrefix("lic_") == true)
        #expect(license["key"]?.string?.hasPrefix("CS-TEST-") == true)
        #expect(license["plan"]?.string == "pro")
        #expect(license["mode"]?.string == "test")
        #expect(license["status"]?.string == "active")
        #expect(license["seat_limit"]?.int64 == 5)
        #expect(license["expires_at"]?.string == "2099-06-27T00:00:00Z")
        #expect(license["order_id"]?.string == "o-1")
        #expect(license["customer"]?["email"]?.string == "dee@example.com")
    }

    @Test("--count issues so many, each with its own key; an order id names one")
    func count() throws {
        let issued = try console.json(
            "admin license issue --product acme/editor --plan team --count 3 --customer-name Dee"
        )

        let licenses = try #require(issued["licenses"]?.elements.map(Array.init))
        #expect(Set(licenses.compactMap { $0["key"]?.string }).count == 3)
        #expect(licenses.allSatisfy { $0["seat_limit"]?.isNull == true && $0["expires_at"]?.isNull == true })
        let both = try console.failure(
            "admin license issue --product acme/editor --plan pro --count 2 --order-id o-1"
        )
        #expect(both.exit == 2 && both.code == "USAGE")
    }

    @Test("the same order shows the same license and key; another one with its id is refused")
    func order() throws {
        let first = try issued("--order-id o-1")
        let again = try issued("--order-id o-1")
        let other = try console.failure(
            "admin license issue --product acme/editor --plan pro --order-id o-1 --seats 9"
        )

        #expect(first == again)
        #expect(other.exit == 1 && other.code == "ORDER_ID_CONFLICT")
    }

    @Test(
        "a line that cannot be understood ends with 2, one that is refused with 1, each with its code",
        arguments: [
            ("issue --product acme/editor", 2, "USAGE"),
            ("issue --product acme/editor --plan pro --expires-at 26.6.2030", 2, "USAGE"),
            ("issue --product acme/editor --plan pro --seats -1", 2, "USAGE"),
            ("issue --product acme/editor --plan pro --count 0", 2, "USAGE"),
            ("issue --product acme/editor --plan pro --expires-at never --duration P1Y", 2, "USAGE"),
            ("issue --product acme/editor --plan pro --customer-email nobody", 2, "USAGE"),
            ("issue --product acme/viewer --plan pro", 1, "PRODUCT_NOT_FOUND"),
            ("issue --product acme/editor --plan gold", 1, "PLAN_NOT_FOUND"),
            ("show lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E", 1, "LICENSE_NOT_FOUND"),
            ("show CS-0000-0000-0000-0001", 1, "LICENSE_KEY_MALFORMED"),
            ("show", 2, "USAGE"),
            ("suspend lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E", 2, "USAGE"),
            ("edit lic_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E", 2, "USAGE"),
            ("list --limit 0", 2, "USAGE"),
            ("list --status gone", 2, "USAGE"),
            ("list --cursor x", 2, "USAGE"),
        ] as [(String, Int32, String)]
    )
    func refused(line: String, exit: Int32, code: String) throws {
        let failure = try console.failure("admin license \(line)")

        #expect(failure.exit == exit)
        #expect(failure.code == code)
    }

    @Test("show tells customer, seats, activations and the key, by id or by key")
    func show() throws {
        let issued = try issued("--customer-name Dee")

        let byID = try license("show \(issued.id)")
        let byKey = try license("show \(issued.key.lowercased()) --product acme/editor")

        #expect(byID["id"]?.string == byKey["id"]?.string)
        #expect(byID["key"]?.string == issued.key)
        #expect(byID["customer"]?["name"]?.string == "Dee")
        #expect(byID["customer"]?["email"]?.isNull == true)
        #expect(byID["seats"]?["used"]?.int64 == 0)
        #expect(byID["seats"]?["limit"]?.int64 == 3)
        #expect(byID["activations"]?.count == 0)
    }

    @Test("show tells every seat there is; where writes wait for the answer, those that were seen last are told")
    func manySeats() throws {
        let id = try license("issue --product acme/editor --plan team")["id"]?.string ?? ""
        try console.sql(
            """
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1010)
            INSERT INTO installs (id, product_id, mode, digest, first_seen_at, last_seen_at)
            SELECT printf('ins_%026d', n), (SELECT id FROM products), 'live', CAST(printf('%032d', n) AS BLOB), n, n
            FROM numbers
            """
        )
        try console.sql(
            """
            INSERT INTO activations (id, license_id, install_id, activated_at, last_seen_at)
            SELECT 'act_' || substr(installs.id, 5), licenses.id, installs.id, last_seen_at, last_seen_at
            FROM installs, licenses
            """
        )
        func seats(_ license: JSONValue) -> [String] {
            license["activations"]?.elements?.compactMap { $0["id"]?.string } ?? []
        }

        let shown = try license("show \(id)")
        let held = try license("suspend \(id) --reason unpaid")

        let all = (1...1010).reversed().map { number in
            let digits = String(number)
            return "act_" + String(repeating: "0", count: 26 - digits.count) + digits
        }
        #expect(seats(shown) == all && shown["activations_omitted"] == nil)
        #expect(seats(held) == Array(all.prefix(1000)) && held["activations_omitted"]?.int64 == 10)
        #expect(held["seats"]?["used"]?.int64 == 1010)
    }

    @Test("the standing goes through suspend, reinstate, revoke and back, with codes for what is refused")
    func standing() throws {
        let id = try issued().id
        func status(_ line: String) throws -> String? {
            try license(line)["status"]?.string
        }

        #expect(try status("suspend \(id) --reason unpaid") == "suspended")
        #expect(try status("reinstate \(id) --reason paid") == "active")
        #expect(try status("revoke \(id) --reason fraud") == "revoked")
        #expect(try console.failure("admin license reinstate \(id) --reason x").code == "LICENSE_REVOKED")
        #expect(try console.failure("admin license suspend \(id) --reason x").code == "LICENSE_REVOKED")
        #expect(try status("reinstate \(id) --reason mistake --revoked") == "active")
    }

    @Test("renew, edit and reissue show what came of them")
    func changes() throws {
        let issued = try issued("--expires-at 2099-01-31T00:00:00Z")

        let renewed = try license("renew \(issued.id) --duration P1M")
        #expect(renewed["expires_at"]?.string == "2099-02-28T00:00:00Z")
        let edited = try license("edit \(issued.id) --seats unlimited --expires-at never --offline-life P30D")
        #expect(edited["seat_limit"]?.isNull == true)
        #expect(edited["expires_at"]?.isNull == true)
        #expect(edited["offline_life"]?.string == "P30D")
        #expect(try console.failure("admin license renew \(issued.id)").code == "NOT_RENEWABLE")
        let reissued = try license("reissue \(issued.id) --reason lost")
        let key = try #require(reissued["key"]?.string)
        #expect(key != issued.key)
        #expect(try license("show \(issued.id)")["key"]?.string == key)
        let seat = try console.failure(
            "admin license release-seat \(issued.id) --activation act_01K9ZR0000000000000000000A --reason x"
        )
        #expect(seat.exit == 1 && seat.code == "ACTIVATION_NOT_FOUND")
    }

    @Test("a dry run changes nothing and shows no key", arguments: ["issue", "revoke", "reissue", "edit"])
    func dryRun(word: String) throws {
        let issued = try issued()
        let lines = [
            "issue": "issue --product acme/editor --plan pro", "revoke": "revoke \(issued.id) --reason x",
            "reissue": "reissue \(issued.id) --reason x", "edit": "edit \(issued.id) --seats 9",
        ]

        let told = try console.json("admin license \(try #require(lines[word])) --dry-run")

        #expect(told["dry_run"]?.bool == true)
        #expect(try license(in: told)["key"] == nil)
        #expect(try console.json("admin license list")["licenses"]?.count == 1)
        let there = try license("show \(issued.id)")
        #expect(there["key"]?.string == issued.key)
        #expect(there["status"]?.string == "active")
        #expect(there["seat_limit"]?.int64 == 3)
    }

    @Test("list pages by cursor and filters")
    func list() throws {
        for number in 0..<5 { _ = try issued("--order-id o-\(number) --customer-email c\(number % 2)@example.com") }

        let first = try console.json("admin license list --product acme/editor --limit 3")
        let cursor = try #require(first["next"]?.string)
        let second = try console.json("admin license list --product acme/editor --limit 3 --cursor \(cursor)")

        #expect(first["licenses"]?.count == 3)
        #expect(second["licenses"]?.count == 2)
        #expect(second["next"]?.isNull == true)
        #expect(try console.json("admin license list --customer-email C1@example.com")["licenses"]?.count == 2)
        #expect(try console.json("admin license list --order-id o-4")["licenses"]?.count == 1)
        #expect(try console.json("admin license list --status expired")["licenses"]?.count == 0)
    }

    @Test("explain tells the checks in order and the code of a validation")
    func explain() throws {
        let id = try issued().id
        try console.json("admin license suspend \(id) --reason unpaid")

        let json = try console.json("admin license explain \(id) --install-id 0d9f6a52-8c1e-4b7a-9a53-3c8f2f1e7b10")

        #expect(json["code"]?.string == "LICENSE_SUSPENDED")
        #expect(json["verdict"]?.string == "rejected")
        let checks = try #require(json["checks"]?.elements?.compactMap { $0["check"]?.string })
        #expect(
            checks == ["revoked", "suspended", "not_started", "expired", "reissued", "not_activated", "no_seats"]
        )
    }

    @Test("import reports every fault by line and writes nothing; a good file is written, and export gives it back")
    func files() throws {
        let header = "plan,order_id,key\n"
        let bad = try console.file("bad.csv", header + "gold,o-1,\npro,o-1,A1\npro,o-1,A1\n")
        let good = try console.file("good.csv", header + "pro,o-1,A1\nteam,o-2,\n")
        func importing(_ file: String) -> String { "admin license import \(file) --product acme/editor" }

        let refused = try console.failure(importing(bad))
        #expect(refused.exit == 1 && refused.code == "VALIDATION")
        #expect(refused.error["errors"]?.elements?.compactMap { $0["line"]?.int64 } == [2, 4, 4])
        let dry = try console.json("\(importing(good)) --dry-run")
        #expect(dry.at("import.imported")?.int64 == 2)
        #expect(try console.json("admin license list")["licenses"]?.count == 0)
        #expect(try console.json(importing(good)).at("import.imported")?.int64 == 2)
        #expect(try console.json(importing(good)).at("import.unchanged")?.int64 == 2)

        let export = console.run("admin license export --product acme/editor --with-keys")
        #expect(export.code == 0)
        #expect(export.out.hasPrefix("order_id,key,plan,"))
        #expect(export.out.contains("o-1,A1,pro,live,"))
        let plain = console.run("admin license export --product acme/editor")
        #expect(!plain.out.contains("A1"))
        let back = try console.failure(importing(try console.file("export.csv", export.out)))
        #expect(back.exit == 1 && back.code == "VALIDATION", "the orders are there, without an end of their own")
    }
}
