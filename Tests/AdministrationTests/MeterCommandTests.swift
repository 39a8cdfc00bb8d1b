import StrictJSON
import Testing

@Suite("Meter commands") struct MeterCommandTests {
    let console = Console()

    private static let document = """
        {"vendors":[{"slug":"acme","name":"Acme","products":[{"slug":"editor","name":"Editor",
        "features":[{"code":"pro","name":"Pro"}],
        "plans":[{"code":"pro","features":["pro"],"seat_limit":3,"meters":{"runs":100,"free":"unlimited"}}],
        "meters":[{"name":"runs","limit":3,"period":"month","scope":"license"},{"name":"free"}],
        "credentials":[{"name":"app","kind":"pk","mode":"live"}],
        "licenses":[{"order_id":"o-1","plan":"pro","customer":{"email":"jo@example.com"}}]}]}]}
        """

    /// The command line that applies a seed document.
    private func seeding(_ document: String = Self.document) throws -> String {
        "seed \(try console.file("seed.json", document))"
    }

    @Test("a seed document makes meters and what plans raise; a second run changes nothing")
    func seed() throws {
        let first = try console.json(seeding())
        let second = try console.json(seeding())
        let shown = try console.json(
            "admin meter show --product acme/editor --meter runs --license \(try license(first))"
        )

        #expect(second["created"]?.count == 0 && second["changed"]?.count == 0)
        #expect(shown.at("meter.scope")?.string == "license")
        #expect(shown.at("meter.period")?.string == "month")
        #expect(shown.at("meter.limit")?.int64 == 3)
        #expect(shown.at("meter.usage.limit")?.int64 == 100)
        #expect(shown.at("meter.usage.used")?.int64 == 0)
    }

    private func license(_ seeded: JSONValue) throws -> String {
        try #require(seeded.at("licenses.0.id")?.string)
    }

    @Test(
        "what a seed document says wrongly of meters is named by its pointer, and nothing is done",
        arguments: [
            (#""limit":3"#, #""limit":-3"#, "/vendors/0/products/0/meters/0/limit"),
            (#""limit":3"#, #""limit":1.0"#, "/vendors/0/products/0/meters/0/limit"),
            (#""period":"month""#, #""period":"week""#, "/vendors/0/products/0/meters/0/period"),
            (#""scope":"license""#, #""scope":"seat""#, "/vendors/0/products/0/meters/0/scope"),
            (#""limit":3"#, #""limt":3"#, "/vendors/0/products/0/meters/0/limt"),
            (#""name":"free"}"#, #""name":"runs"}"#, "/vendors/0/products/0/meters/1/name"),
            (#""runs":100"#, #""runs":"many""#, "/vendors/0/products/0/plans/0/meters/runs"),
            (#""runs":100"#, #""Runs":100"#, "/vendors/0/products/0/plans/0/meters/Runs"),
        ]
    )
    func wrong(right: String, wrong: String, pointer: String) throws {
        let failure = try console.failure(seeding(Self.document.replacing(right, with: wrong)))

        #expect(failure.exit == 1)
        #expect(failure.error.at("errors.0.pointer")?.string == pointer)
        let vendors = console.run("admin vendor list --json")
        #expect(
            try vendors.code == 0 ? vendors.json()["vendors"]?.count == 0 : vendors.failureCode() == "NO_DATABASE"
        )
    }

    @Test("a seed document lowers what licenses have only when it says so")
    func affectsExisting() throws {
        try console.json(seeding())
        let lower = Self.document.replacing(#""runs":100"#, with: #""runs":50"#)

        let refused = try console.failure(seeding(lower))
        let meant = lower.replacing(#"{"vendors""#, with: #"{"affects_existing":true,"vendors""#)
        try console.json(seeding(meant))

        #expect(refused.exit == 1 && refused.code == "AFFECTS_EXISTING")
        #expect(refused.error["licenses"]?.int64 == 1)
    }

    @Test("create, edit and list tell the meter; plans raise it from the command line too")
    func definitions() throws {
        try console.json(seeding())
        let created = try console.json(
            "admin meter create --product acme/editor --name flow_run --limit 3 --period lifetime --scope install"
        )
        let edit = "admin meter edit --product acme/editor --meter flow_run"
        let edited = try console.json("\(edit) --limit unlimited --period P30D")
        let lowered = try console.failure("\(edit) --limit 5")
        let forced = try console.json("\(edit) --limit 5 --affects-existing")
        let plan = try console.json(
            "admin plan edit --product acme/editor --code pro --meters runs=100,free=unlimited,flow_run=9"
        )
        let list = try console.json("admin meter list --product acme/editor")

        #expect(created.at("meter.id")?.string?.hasPrefix("mtr_") == true)
        #expect(created.at("meter.name")?.string == "flow_run")
        #expect(created.at("meter.limit")?.int64 == 3)
        #expect(edited.at("meter.limit")?.isNull == true)
        #expect(edited.at("meter.period")?.string == "P30D")
        #expect(lowered.exit == 1 && lowered.code == "AFFECTS_EXISTING")
        #expect(forced.at("meter.limit")?.int64 == 5)
        #expect(plan.at("plan.meters.flow_run")?.int64 == 9)
        #expect(plan.at("plan.meters.free")?.string == "unlimited")
        #expect(try #require(list["meters"]?.elements).map { $0["name"]?.string } == ["flow_run", "free", "runs"])
        #expect(list["next"]?.isNull == true)
    }

    @Test("refund and reset tell what is counted after them")
    func counts() throws {
        let id = try license(try console.json(seeding()))
        let (license, product) = ("--license \(id)", "--product acme/editor --meter runs")

        let refund = try console.json("admin meter refund \(product) \(license) --amount 5 --reason sorry")
        let reset = try console.json("admin meter reset \(product) \(license)")

        #expect(refund.at("meter.usage.used")?.int64 == 0)
        #expect(reset.at("meter.usage.left")?.int64 == 100)
        #expect(reset.at("meter.usage.subject")?.string == id)
    }

    @Test(
        "a line that cannot be understood ends with 2, one that is refused with 1",
        arguments: [
            ("create --product acme/editor --name Run", 2, "USAGE"),
            ("create --product acme/editor --name a --limit -1", 2, "USAGE"),
            ("create --product acme/editor --name a --limit 9223372036854775808", 2, "USAGE"),
            ("create --product acme/editor --name a --period P0D", 2, "USAGE"),
            ("create --product acme/editor --name a --scope seat", 2, "USAGE"),
            ("create --product acme/editor --name runs", 1, "ALREADY_EXISTS"),
            ("create --product acme/viewer --name a", 1, "PRODUCT_NOT_FOUND"),
            ("edit --product acme/editor --meter none --limit 1", 1, "METER_NOT_FOUND"),
            ("show --product acme/editor --meter none", 1, "METER_NOT_FOUND"),
            ("reset --product acme/editor --meter runs", 2, "USAGE"),
            ("reset --product acme/editor --meter runs --license a --customer-email b@c.de", 2, "USAGE"),
            ("refund --product acme/editor --meter runs --license a --amount 0", 2, "USAGE"),
            ("refund --product acme/editor --meter runs --license a --amount 1000000001", 2, "USAGE"),
            ("show --product acme/editor --meter runs --customer-email jo@example.com", 1, "VALIDATION"),
            ("show --product acme/editor --meter free --install-id install-never-seen-before", 1, "INSTALL_NOT_FOUND"),
        ]
    )
    func refusals(line: String, exit: Int32, code: String) throws {
        try console.json(seeding())

        let failure = try console.failure("admin meter \(line)")

        #expect(failure.exit == exit && failure.code == code, "\(failure.error)")
    }
}
