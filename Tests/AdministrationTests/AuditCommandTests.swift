import StrictJSON
import Testing

@Suite("Audit and customers") struct AuditCommandTests {
    let console = Console()

    @Test("every change has a row: who, what, when, newest first; and the chain is whole")
    func list() throws {
        _ = try console.prepared()

        let entries = try #require(try console.json("admin audit list --vendor acme")["entries"]?.elements)

        #expect(
            entries.map { $0["action"]?.string } == [
                "plan.create", "feature.create", "feature.create", "product.create", "vendor.create",
            ]
        )
        #expect(entries.allSatisfy { $0["actor"]?.string == "command-line:tester" && $0["vendor"]?.string == "acme" })
        let verified = try console.json("admin audit verify")
        #expect(verified.at("audit.rows")?.int64 == 5)
        let head = try #require(verified.at("audit.head")?.string)
        try console.json("admin vendor edit acme --name Other")
        try console.json("admin audit verify --head \(head)")
    }

    @Test(
        "a row that was changed, removed or put in is found where it is",
        arguments: [
            ("UPDATE audit SET action = 'vendor.edit' WHERE position = 3", 3),
            ("UPDATE audit SET actor = 'command-line:nobody' WHERE position = 1", 1),
            ("UPDATE audit SET at = at + 1 WHERE position = 5", 5),
            ("UPDATE audit SET detail = '{}' WHERE position = 2", 2),
            ("UPDATE audit SET reason = 'because' WHERE position = 4", 4),
            ("DELETE FROM audit WHERE position = 2", 2),
            ("UPDATE audit SET position = 17 WHERE position = 5", 5),
        ] as [(StaticString, Int64)]
    )
    func broken(sql: StaticString, position: Int64) throws {
        _ = try console.prepared()
        try console.sql(sql)

        let failure = try console.failure("admin audit verify")

        #expect(failure.exit == 1)
        #expect(failure.code == "AUDIT_BROKEN")
        #expect(failure.error["position"]?.int64 == position)
        #expect(try console.failure("doctor").code == "UNHEALTHY")
    }

    @Test("rows cut off at the end are found by a head that was kept")
    func truncated() throws {
        _ = try console.prepared()
        let head = try #require(try console.json("admin audit verify").at("audit.head")?.string)
        try console.sql("DELETE FROM audit WHERE position = 5")

        try console.json("admin audit verify")

        #expect(try console.failure("admin audit verify --head \(head)").code == "AUDIT_BROKEN")
    }

    @Test(
        "a head can be given back as it was printed, whatever its bytes are; base64url would begin with -- now and then"
    )
    func anyHead() throws {
        _ = try console.prepared()

        for row in 0..<5 {
            // Codes of rows are keyed by chance: these are not left to it.
            let code = String(repeating: ["fb", "ef", "be", "00", "ff"][row], count: 32)
            #expect(try console.failure("admin audit verify --head \(code)").code == "AUDIT_BROKEN")
        }
        let head = try #require(try console.json("admin audit verify").at("audit.head")?.string)
        #expect(head.utf8.count == 64 && head.allSatisfy { $0.isHexDigit && !$0.isUppercase })
        for other in [
            "--ebLN7805mjaPojxEUyIks3p0SSJyRaMFCqYc3fTiA", "\(head.dropLast())", "\(head)0", "\(head.dropLast())g",
        ] {
            #expect(try console.failure("admin audit verify --head=\(other)").code == "USAGE")
        }
    }

    @Test("an erased person is gone from customers, reasons and the log, and the chain is whole")
    func erase() throws {
        _ = try console.prepared()
        let issued = try console.json([
            "admin", "license", "issue", "--product", "acme/editor", "--plan", "pro", "--customer-name", "Jane Doe",
            "--customer-email", "jane@example.com",
        ])
        let license = try #require(issued.at("licenses.0.id")?.string)
        try console.json(["admin", "license", "suspend", license, "--reason", "Jane Doe asked for it"])
        try console.json(["admin", "vendor", "edit", "acme", "--name", "jane@example.com and friends"])
        let list = try console.json("admin customer list --vendor acme")
        #expect(list.at("customers.0.email")?.string == "jane@example.com")
        #expect(list.at("customers.0.licenses")?.int64 == 1)

        let dry = try console.json("admin customer erase jane@example.com --vendor acme --dry-run")
        #expect(dry.at("customer.email")?.isNull == true)
        #expect(
            try console.json("admin customer show jane@example.com --vendor acme").at("customer.name")?.string
                == "Jane Doe"
        )

        let erased = try console.json("admin customer erase jane@example.com --vendor acme")

        #expect(erased.at("customer.email")?.isNull == true)
        #expect(erased.at("customer.name")?.isNull == true)
        #expect(erased.at("customer.erased_at")?.isNull == false)
        let log = console.run("admin audit list --json").out
        #expect(!log.contains("Jane"))
        #expect(!log.contains("jane@example.com"))
        #expect(log.contains("customer.erase"))
        try console.json("admin audit verify")
        let show = console.run(["admin", "license", "show", license, "--json"])
        #expect(show.code == 0)
        #expect(!show.out.contains("Jane"))
        #expect(try console.failure("admin customer show jane@example.com --vendor acme").code == "CUSTOMER_NOT_FOUND")
    }
}
