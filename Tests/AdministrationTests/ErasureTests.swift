import StrictJSON
import Testing

@Suite("Erasing") struct ErasureTests {
    let console = Console()

    @Test(
        "a person is gone from the log in whatever case the name or address was written",
        arguments: [
            ("Ulla Roth", "ULLA ROTH"), ("Ulla Roth", "ulla roth"), ("Ülkü Öz", "ÜLKÜ ÖZ"), ("ÜLKÜ ÖZ", "ülkü öz"),
            ("Jörg Strauß", "JÖRG STRAUSS"), ("Jo\u{308}rg Weiß", "jörg weiß"), ("100%_Fun!", "100%_fun!"),
            ("Дмитрий", "ДМИТРИЙ"), ("O'Neil \"Shaq\"", "o'neil \"SHAQ\""),
        ]
    )
    func anyCase(name: String, written: String) throws {
        _ = try console.prepared()
        let other = try console.json("admin license issue --product acme/editor --plan pro")
        let license = try #require(other.at("licenses.0.id")?.string)
        try console.json([
            "admin", "license", "issue", "--product", "acme/editor", "--plan", "pro", "--customer-name", name,
            "--customer-email", "erica@example.com",
        ])
        for reason in ["shared with \(written)!", "asked by ERICA@Example.COM", "no word of anybody"] {
            try console.json(["admin", "license", "suspend", license, "--reason", reason])
            try console.json(["admin", "license", "reinstate", license, "--reason", "again"])
        }
        try console.json(["admin", "vendor", "edit", "acme", "--name", "\(written) and friends"])

        try console.json("admin customer erase erica@example.com --vendor acme")

        let entries = try console.json("admin audit list")["entries"]?.elements.map(Array.init) ?? []
        let reasons = entries.compactMap { $0["reason"]?.string }
        #expect(reasons.filter { $0 != "again" } == ["no word of anybody"])
        let renamed = try #require(entries.first { $0["action"]?.string == "vendor.edit" })
        #expect(renamed["detail"]?.isNull == true)
        try console.json("admin audit verify")
    }

    @Test("order ids stay, and the answer says when they hold the address")
    func orders() throws {
        _ = try console.prepared()
        let words = ["admin", "license", "issue", "--product", "acme/editor", "--plan", "pro", "--order-id"]
        let license = try console.json(words + ["web ERICA@example.com", "--customer-email", "erica@example.com"])
        try console.json(words + ["web-2", "--customer-email", "erica@example.com"])

        let erased = try console.json("admin customer erase erica@example.com --vendor acme")

        let notes = try #require(erased["notes"]?.texts)
        #expect(notes.contains { $0.hasPrefix("1 of its order ids") })
        let id = try #require(license.at("licenses.0.id")?.string)
        #expect(
            try console.json("admin license show \(id)").at("license.order_id")?.string == "web ERICA@example.com"
        )
    }
}
