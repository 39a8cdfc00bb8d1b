import StrictJSON
import Testing

@Suite("Trial and offer commands") struct TrialCommandTests {
    let console: Console

    init() throws {
        console = try .at("2027-01-15T08:00:00Z")
        try console.json("admin vendor create --slug acme --name Acme")
        try console.json("admin product create --vendor acme --slug editor --name Editor")
        try console.json("admin feature create --product acme/editor --code pro --name Pro")
        try console.json("admin plan create --product acme/editor --code pro --features pro")
    }

    private static let install = "the-install-number-one"

    @Test("issue shows the token once, and the trial has the product's length")
    func issue() throws {
        try console.json("admin product set acme/editor trial_duration=P14D trial_plan=pro")

        let trial = try #require(try console.json("admin trial issue --product acme/editor --mode test")["trial"])

        #expect(trial["trial_token"]?.string?.hasPrefix("tt_") == true)
        #expect(trial["state"]?.string == "active" && trial["code"]?.string == "TRIAL_ACTIVE")
        #expect(trial["mode"]?.string == "test")
        #expect(trial["ends_at"]?.string == "2027-01-29T08:00:00Z")
        #expect(trial["remaining_seconds"]?.int64 == 1_209_600)
        let id = try #require(trial["id"]?.string)
        let shown = try #require(try console.json("admin trial show --product acme/editor --trial \(id)")["trial"])
        #expect(shown["id"]?.string == id && shown["trial_token"] == nil)
        #expect(try console.json("admin trial list --product acme/editor")["trials"]?.count == 0)
        #expect(try console.json("admin trial list --product acme/editor --mode test")["trials"]?.count == 1)
    }

    @Test("issue needs a length: the product's or an end of its own, in the future")
    func issueWithoutLength() throws {
        let none = try console.failure("admin trial issue --product acme/editor")
        let own = try #require(try console.json("admin trial issue --product acme/editor --until 2027-01-20")["trial"])
        let over = try console.failure("admin trial issue --product acme/editor --until 2027-01-15T08:00:00Z")

        #expect(none.exit == 1 && none.code == "VALIDATION" && none.error["member"]?.string == "until")
        #expect(own["ends_at"]?.string == "2027-01-21T00:00:00Z")
        #expect(over.exit == 1 && over.code == "VALIDATION")
    }

    @Test("a dry run issues nothing")
    func dryRun() throws {
        try console.json("admin product set acme/editor trial_duration=P14D")

        try console.json("admin trial issue --product acme/editor --dry-run")

        #expect(try console.json("admin trial list --product acme/editor")["trials"]?.count == 0)
    }

    @Test("extend moves an install's trial to the end, also once it was over; the same again is no mistake")
    func extend() throws {
        try console.json("admin product set acme/editor trial_duration=P1D")
        try console.contact(Self.install, at: "2027-01-10T00:00:00Z")
        let named = "--product acme/editor --install-id \(Self.install)"

        #expect(try console.json("admin trial show \(named)").at("trial.state")?.string == "expired")
        let extended = try #require(try console.json("admin trial extend \(named) --until 2027-01-31")["trial"])
        #expect(extended["state"]?.string == "active" && extended["ends_at"]?.string == "2027-02-01T00:00:00Z")
        try console.json("admin trial extend \(named) --until 2027-01-31")
        #expect(try console.failure("admin trial extend \(named) --until 2027-01-30").code == "VALIDATION")
        try console.set(clock: "2027-02-01T00:00:00Z")
        #expect(try console.json("admin trial show \(named)").at("trial.state")?.string == "expired")
    }

    @Test("an install that is not known, or has no trial, is told so")
    func unknown() throws {
        let named = "--product acme/editor --install-id \(Self.install)"

        #expect(try console.failure("admin trial show \(named)").code == "INSTALL_NOT_FOUND")
        try console.json("admin product set acme/editor trial_start=explicit")
        try console.contact(Self.install, at: "2027-01-10T00:00:00Z")
        #expect(try console.failure("admin trial show \(named)").code == "TRIAL_NOT_FOUND")
        #expect(try console.failure("admin trial show \(named) --mode test").code == "INSTALL_NOT_FOUND")
        #expect(try console.failure("admin trial show --product acme/editor").exit == 2)
        #expect(try console.failure("admin trial show --product acme/editor --install-id short").exit == 2)
    }

    @Test("product set moves the trials that run, and those that are over with --revive alone")
    func revive() throws {
        try console.json("admin product set acme/editor trial_duration=P1D")
        try console.contact(Self.install, at: "2027-01-10T00:00:00Z")
        let named = "--product acme/editor --install-id \(Self.install)"
        func state() throws -> String? { try console.json("admin trial show \(named)").at("trial.state")?.string }

        try console.json("admin product set acme/editor trial_duration=P30D")
        #expect(try state() == "expired")
        try console.json("admin product set acme/editor trial_duration=P30D --revive")
        #expect(try state() == "active")
        #expect(try console.failure("admin product set acme/editor free_tier=true --revive").exit == 2)
    }

    // MARK: Offers

    @Test("an offer is made, edited, listed, shown and deleted")
    func offers() throws {
        let named = "--product acme/editor --id yearly"
        let made = try #require(
            try console.json(
                "admin offer create \(named) --plan pro --kind subscription --price-milliunits 49990 --currency USD "
                    + "--url https://acme.example/buy --trial-duration P14D --until 2027-01-31"
            )["offer"]
        )
        #expect(
            made.members.map { $0.map(\.name) } == [
                "id", "plan", "kind", "price_milliunits", "currency", "store_product_id", "trial_duration", "url",
                "from", "until",
            ]
        )
        #expect(made["price_milliunits"]?.int64 == 49_990 && made["until"]?.string == "2027-02-01T00:00:00Z")

        let edited = try #require(try console.json("admin offer edit \(named) --url none --currency EUR")["offer"])
        #expect(edited["url"]?.isNull == true && edited["currency"]?.string == "EUR")
        #expect(edited["plan"]?.string == "pro")
        #expect(try console.failure("admin offer create \(named) --kind trial").code == "ALREADY_EXISTS")
        try console.json("admin offer create --product acme/editor --kind trial")
        #expect(try console.json("admin offer list --product acme/editor")["offers"]?.count == 2)
        let page = try console.json("admin offer list --product acme/editor --limit 1 --cursor yearly")
        #expect(page["offers"]?.count == 0)

        try console.json("admin offer delete \(named)")
        #expect(try console.failure("admin offer show \(named)").code == "OFFER_NOT_FOUND")
        #expect(try console.failure("admin offer delete \(named)").code == "OFFER_NOT_FOUND")
    }

    @Test(
        "an offer whose members do not fit is refused, naming the member",
        arguments: [
            ("--kind purchase", "VALIDATION", "price_milliunits"),
            ("--kind purchase --price-milliunits 1", "VALIDATION", "currency"),
            ("--kind purchase --currency USD", "VALIDATION", "price_milliunits"),
            ("--kind purchase --price-milliunits 1 --currency usd", "VALIDATION", "currency"),
            ("--kind trial --trial-duration PT0S", "VALIDATION", "trial_duration"),
            ("--kind trial --url javascript:alert(1)", "VALIDATION", "url"),
            ("--kind trial --from 2027-01-02 --until 2027-01-01", "VALIDATION", "until"),
            ("--kind trial --plan team", "PLAN_NOT_FOUND", "plan"),
        ]
    )
    func refusedOffers(options: String, code: String, member: String) throws {
        let failure = try console.failure("admin offer create --product acme/editor --id x \(options)")

        #expect(failure.exit == 1 && failure.code == code && failure.error["member"]?.string == member)
    }

    @Test("a seed document makes and changes offers, and a second run changes nothing")
    func seed() throws {
        func seeding(_ offer: String) throws -> String {
            let document = #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","offers":[\#(offer)]}]}]}"#
            return "seed \(try console.file("seed.json", document))"
        }
        let yearly = #""id":"yearly","plan":"pro","kind":"subscription","price_milliunits":49990,"currency":"USD""#

        #expect(try console.json(seeding("{\(yearly)}"))["created"]?.count == 1)
        let again = try console.json(seeding("{\(yearly)}"))
        let edited = try console.json(seeding(#"{\#(yearly),"url":"https://acme.example/buy"}"#))
        let typo = try console.failure(seeding(#"{\#(yearly),"ulr":"https://acme.example/buy"}"#))
        let unfit = try console.failure(seeding(#"{"id":"new","kind":"trial","currency":"USD"}"#))

        #expect(again["created"]?.count == 0 && again["changed"]?.count == 0)
        #expect(edited["changed"]?.count == 1)
        let place = "/vendors/0/products/0/offers/0"
        #expect(typo.exit == 1 && typo.error.at("errors.0.pointer")?.string == "\(place)/ulr")
        #expect(unfit.exit == 1 && unfit.error["pointer"]?.string == "\(place)/price_milliunits")
        #expect(try console.json("admin offer list --product acme/editor")["offers"]?.count == 1)
    }
}
