import StrictJSON
import Testing

@Suite("Gift and tier commands") struct GiftCommandTests {
    let console: Console
    private let mac = "the-install-named-mac"

    init() throws {
        console = try .at("2027-01-15T08:00:00Z")
        try console.json("admin vendor create --slug acme --name Acme")
        try console.json("admin product create --vendor acme --slug editor --name Editor")
        try console.json("admin feature create --product acme/editor --code pro --name Pro")
        try console.json("admin feature create --product acme/editor --code export --name Export")
        try console.json("admin plan create --product acme/editor --code pro --features pro")
    }

    /// The install called mac talks to the server.
    private func contact() throws { try console.contact(mac, at: "2027-01-14T00:00:00Z") }

    /// `CODE place` of a refusal, the place being a member, an option or a pointer.
    private func refusal(_ line: String) throws -> String {
        let failure = try console.failure(line)
        let place = ["pointer", "member", "option"].compactMap { failure.error[$0]?.string }.first
        return "\(failure.code) \(place ?? "")"
    }

    /// The command line that applies a seed document whose one product has these tiers.
    private func seeding(_ tiers: String) throws -> String {
        let document = #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","spend_tiers":\#(tiers)}]}]}"#
        return "seed \(try console.file("document.json", document))"
    }

    private func audited() throws -> [String] {
        let entries = try console.json("admin audit list --vendor acme")["entries"]?.elements.map(Array.init)
        return try #require(entries).reversed()
            .compactMap { $0["action"]?.string }
            .filter { $0.hasPrefix("gift.") || $0.hasPrefix("tier.") }
    }

    @Test("a gift to an install lasts to the end of the day that was named, and shows what it is")
    func install() throws {
        try contact()

        let made = try console.json(
            "admin gift create --product acme/editor --features pro,export --install-id \(mac) --until 2027-01-31"
        )

        let gift = try #require(made["gift"])
        let id = try #require(gift["id"]?.string)
        #expect(id.hasPrefix("gft_"))
        #expect(gift["mode"]?.string == "live")
        #expect(gift["status"]?.string == "active")
        #expect(gift["install"]?.string?.hasPrefix("ins_") == true)
        #expect(gift["license"]?.isNull == true && gift["customer"]?.isNull == true)
        #expect(gift["features"]?.texts == ["export", "pro"])
        #expect(gift["starts_at"]?.string == "2027-01-15T08:00:00Z")
        #expect(gift["ends_at"]?.string == "2027-02-01T00:00:00Z")
        #expect(!String(decoding: made.source, as: UTF8.self).contains(mac))
        func status(at clock: String) throws -> String? {
            try console.set(clock: clock)
            return try console.json("admin gift show \(id)").at("gift.status")?.string
        }
        #expect(try status(at: "2027-01-31T23:59:59Z") == "active")
        #expect(try status(at: "2027-02-01T00:00:00Z") == "expired")
    }

    @Test("a gift to a license takes its mode; one to a customer is named by address")
    func others() throws {
        let license = try #require(
            try console.json(
                "admin license issue --product acme/editor --plan pro --mode test --customer-email jane@example.com"
            ).at("licenses.0")
        )
        let (id, key) = (try #require(license["id"]?.string), try #require(license["key"]?.string))
        let create = "admin gift create --product acme/editor --features export"

        let byKey = try #require(try console.json("\(create) --license \(key)")["gift"])
        let byID = try #require(try console.json("\(create) --license \(id)")["gift"])
        let byEmail = try #require(try console.json("\(create) --customer-email Jane@Example.com")["gift"])

        #expect([byKey, byID].allSatisfy { $0["license"]?.string == id && $0["mode"]?.string == "test" })
        #expect(byEmail["customer"]?.string?.hasPrefix("cus_") == true && byEmail["mode"]?.string == "live")
        #expect(byEmail["ends_at"]?.isNull == true)
        #expect(try refusal("\(create) --license \(id) --mode live") == "VALIDATION mode")
        let list = "admin gift list --product acme/editor"
        #expect(try console.json(list)["gifts"]?.count == 3)
        #expect(try console.json("\(list) --license \(id)")["gifts"]?.count == 2)
        #expect(try console.json("\(list) --mode live")["gifts"]?.count == 1)
        let page = try console.json("\(list) --limit 2")
        let next = try #require(page["next"]?.string)
        #expect(page["gifts"]?.count == 2)
        #expect(try console.json("\(list) --limit 2 --cursor \(next)")["gifts"]?.count == 1)
    }

    @Test("end takes a gift back once, with its reason in the audit log")
    func end() throws {
        try contact()
        let create = "admin gift create --product acme/editor --features pro --install-id \(mac)"
        let id = try #require(try console.json(create).at("gift.id")?.string)

        let dry = try #require(try console.json("admin gift end \(id) --dry-run")["gift"])
        #expect(dry["status"]?.string == "withdrawn")
        #expect(try console.json("admin gift show \(id)").at("gift.status")?.string == "active")
        let ended = try #require(try console.json("admin gift end \(id) --reason mistake")["gift"])
        #expect(ended["status"]?.string == "withdrawn")
        #expect(ended["withdrawn_at"]?.string == "2027-01-15T08:00:00Z")
        try console.json("admin gift end \(id)")

        #expect(try audited() == ["gift.create", "gift.end"])
        #expect(console.run("admin audit list --vendor acme --json").out.contains("mistake"))
    }

    @Test("a gift for nobody, for two, for a stranger or of nothing is refused by what is wrong")
    func refused() throws {
        let create = "admin gift create --product acme/editor --features pro"

        #expect(try refusal(create) == "USAGE --install-id")
        #expect(try refusal("\(create) --license x --customer-email a@example.com") == "USAGE --install-id")
        #expect(try refusal("\(create) --install-id \(mac)") == "INSTALL_NOT_FOUND install_id")
        #expect(try refusal("\(create) --customer-email a@example.com") == "CUSTOMER_NOT_FOUND customer_email")
        #expect(try refusal("\(create) --license CS-0000") == "LICENSE_NOT_FOUND ")
        #expect(try console.failure("\(create) --install-id short").exit == 2)
        #expect(try console.failure("\(create) --install-id \(mac) --until tomorrow").exit == 2)
        #expect(try refusal("admin gift show gft_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E") == "GIFT_NOT_FOUND gift")
    }

    @Test("a tier is made, edited, listed and deleted")
    func tier() throws {
        let named = "--product acme/editor --code patron"

        let made = try console.json(
            "admin tier create \(named) --currency USD --threshold-milliunits 50000 --features export --duration P1Y"
        )
        #expect(made.at("tier.threshold_milliunits")?.int64 == 50_000)
        #expect(made.at("tier.duration")?.string == "P1Y")
        #expect(made.at("tier.gift")?.string?.hasPrefix("gft_") == true)
        let edited = try console.json("admin tier edit \(named) --threshold-milliunits 40000 --duration none")
        #expect(edited.at("tier.threshold_milliunits")?.int64 == 40_000 && edited.at("tier.duration")?.isNull == true)
        #expect(edited.at("tier.currency")?.string == "USD")
        #expect(edited.at("tier.gift")?.string == made.at("tier.gift")?.string)
        #expect(try console.json("admin tier list --product acme/editor")["tiers"]?.count == 1)
        #expect(try refusal("admin tier edit \(named) --currency dollar") == "VALIDATION currency")
        #expect(try console.failure("admin tier edit \(named) --threshold-milliunits 0").exit == 2)
        #expect(try console.failure("admin tier create --product acme/editor --code b --currency USD").exit == 2)
        try console.json("admin tier delete \(named) --reason over")
        #expect(try console.json("admin tier list --product acme/editor")["tiers"]?.count == 0)
        #expect(try refusal("admin tier delete \(named)") == "SPEND_TIER_NOT_FOUND code")
        #expect(try audited() == ["tier.create", "tier.edit", "tier.delete"])
    }

    @Test("a seed document makes tiers once, changes them, and leaves out what it does not name")
    func seed() throws {
        let patron =
            #"{"code":"patron","currency":"USD","threshold_milliunits":50000,"features":["export"],"duration":"P1Y"}"#

        #expect(try console.json(seeding("[\(patron)]"))["created"]?.texts == ["spend tier acme/editor patron"])
        let again = try console.json(seeding("[\(patron)]"))
        #expect(again["created"]?.count == 0 && again["changed"]?.count == 0)
        let lower = try console.json(seeding(#"[{"code":"patron","threshold_milliunits":40000}]"#))
        #expect(lower["changed"]?.texts == ["spend tier acme/editor patron"])
        let tier = try #require(try console.json("admin tier list --product acme/editor").at("tiers.0"))
        #expect(tier["threshold_milliunits"]?.int64 == 40_000 && tier["duration"]?.string == "P1Y")
        #expect(try audited() == ["tier.create", "tier.edit"])
    }

    @Test(
        "a tier of a seed document that cannot be is refused by its place",
        arguments: [
            (#"{"code":"b","currency":"USD","threshold_milliunits":1}"#, "/features"),
            (#"{"code":"b","currency":"usd","threshold_milliunits":1,"features":["pro"]}"#, "/currency"),
            (#"{"code":"b","currency":"USD","threshold_milliunits":1,"features":["none"]}"#, "/features"),
        ]
    )
    func seedRefused(tier: String, place: String) throws {
        let failure = try console.failure(seeding("[\(tier)]"))

        #expect(failure.exit == 1)
        #expect(failure.error["pointer"]?.string == "/vendors/0/products/0/spend_tiers/0\(place)")
        #expect(try audited() == [])
    }
}
