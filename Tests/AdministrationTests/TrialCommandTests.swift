import Cryptography
import Foundation
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import Testing

@testable import Administration

/// What one command line did.
private struct Run {
    let status: Int32
    let output: String
    let error: String

    /// The object that the command prints under this name.
    func object(_ name: String) throws -> JSONValue {
        try #require(try JSONDocument(parsing: Array(output.utf8)).root[name])
    }

    func list(_ name: String) throws -> [JSONValue] { Array(try #require(try object(name).elements)) }

    var code: String? {
        let root = try? JSONDocument(parsing: Array(error.utf8)).root
        return root?["error"]?["code"]?.string
    }

    var member: String? {
        let root = try? JSONDocument(parsing: Array(error.utf8)).root
        return root?["error"]?["member"]?.string
    }
}

/// A vendor with a product and a plan, made by the command line that is then tried on it, under a clock of its own.
private final class TrialDesk: Sendable {
    let folder: String
    /// What `--test-clock` reads.
    let clock: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("trial-desk-\(UUID().uuidString)").path
        clock = folder + "/clock"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try set(clock: "2027-01-15T08:00:00Z")
        run("admin vendor create --slug acme --name Acme")
        run("admin product create --vendor acme --slug editor --name Editor")
        run("admin feature create --product acme/editor --code pro --name Pro")
        run("admin plan create --product acme/editor --code pro --features pro")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func set(clock text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: clock)) }

    @discardableResult
    func run(_ line: String, file: String = "") -> Run {
        let output = Mutex<[UInt8]>([])
        let error = Mutex<[UInt8]>([])
        let surroundings = Surroundings(
            output: CommandOutput(
                standard: { bytes in output.withLock { $0 += bytes } },
                error: { bytes in error.withLock { $0 += bytes } }
            ),
            environment: ["COUNTERSIGN_DATA": folder + "/data"],
            readFile: { _, _ in Array(file.utf8) },
            actor: "command-line:test",
            synchronous: .off
        )
        let words = line.split(separator: " ").map(String.init) + ["--json", "--test-clock", clock]
        let status = CommandLineTool().run(words, in: surroundings)
        return Run(
            status: status,
            output: String(decoding: output.withLock { $0 }, as: UTF8.self),
            error: String(decoding: error.withLock { $0 }, as: UTF8.self)
        )
    }

    /// A first contact of an app's install.
    func contact(_ install: String, at instant: String) throws {
        let now = try Timestamp(instant, as: .instant)
        let database = Database(folder: folder + "/data", options: Database.Options(now: { SystemTime.microseconds() }))
        let connection = try database.openForCommandLine(isMade: false)
        let file = KeyFile(configured: nil, folder: folder + "/data")
        let keys = try Vault.open(connection, of: database, file: file, clock: GuardedClock()).keys
        let (vendor, product) = try connection.snapshot { db in
            try CatalogFinder.product(try Slug("editor"), of: try Slug("acme"), in: db)
        }
        let claim = InstallClaim(
            digest: keys.digest(of: try InstallID(install), product: product.id),
            fingerprint: nil,
            device: .none,
            subject: ""
        )
        let caller = Caller(vendor: vendor, product: product, mode: .live)
        _ = try connection.write { db in
            try InstallDirectory(entropy: SystemEntropy()).record(claim, of: caller, at: now, in: db)
        }
    }
}

@Suite("Trial and offer commands") struct TrialCommandTests {
    private let desk: TrialDesk

    init() throws { desk = try TrialDesk() }

    private static let install = "the-install-number-one"

    @Test("issue shows the token once, and the trial has the product's length")
    func issue() throws {
        desk.run("admin product set acme/editor trial_duration=P14D trial_plan=pro")

        let trial = try desk.run("admin trial issue --product acme/editor --mode test").object("trial")

        #expect(trial["trial_token"]?.string?.hasPrefix("tt_") == true)
        #expect(trial["state"]?.string == "active" && trial["code"]?.string == "TRIAL_ACTIVE")
        #expect(trial["mode"]?.string == "test")
        #expect(trial["ends_at"]?.string == "2027-01-29T08:00:00Z")
        #expect(trial["remaining_seconds"]?.int64 == 1_209_600)
        let id = try #require(trial["id"]?.string)
        let shown = try desk.run("admin trial show --product acme/editor --trial \(id)").object("trial")
        #expect(shown["id"]?.string == id && shown["trial_token"] == nil)
        #expect(try desk.run("admin trial list --product acme/editor").list("trials").isEmpty)
        #expect(try desk.run("admin trial list --product acme/editor --mode test").list("trials").count == 1)
    }

    @Test("issue needs a length: the product's or an end of its own, in the future")
    func issueWithoutLength() throws {
        let none = desk.run("admin trial issue --product acme/editor")
        let own = try desk.run("admin trial issue --product acme/editor --until 2027-01-20").object("trial")
        let over = desk.run("admin trial issue --product acme/editor --until 2027-01-15T08:00:00Z")

        #expect(none.status == 1 && none.code == "VALIDATION" && none.member == "until")
        #expect(own["ends_at"]?.string == "2027-01-21T00:00:00Z")
        #expect(over.status == 1 && over.code == "VALIDATION")
    }

    @Test("a dry run issues nothing")
    func dryRun() throws {
        desk.run("admin product set acme/editor trial_duration=P14D")

        let run = desk.run("admin trial issue --product acme/editor --dry-run")

        #expect(run.status == 0)
        #expect(try desk.run("admin trial list --product acme/editor").list("trials").isEmpty)
    }

    @Test("extend moves an install's trial to the end, also once it was over; the same again is no mistake")
    func extend() throws {
        desk.run("admin product set acme/editor trial_duration=P1D")
        try desk.contact(Self.install, at: "2027-01-10T00:00:00Z")
        let named = "--product acme/editor --install-id \(Self.install)"

        #expect(try desk.run("admin trial show \(named)").object("trial")["state"]?.string == "expired")
        let extended = try desk.run("admin trial extend \(named) --until 2027-01-31").object("trial")
        #expect(extended["state"]?.string == "active" && extended["ends_at"]?.string == "2027-02-01T00:00:00Z")
        #expect(desk.run("admin trial extend \(named) --until 2027-01-31").status == 0)
        #expect(desk.run("admin trial extend \(named) --until 2027-01-30").code == "VALIDATION")
        try desk.set(clock: "2027-02-01T00:00:00Z")
        #expect(try desk.run("admin trial show \(named)").object("trial")["state"]?.string == "expired")
    }

    @Test("an install that is not known, or has no trial, is told so")
    func unknown() throws {
        let named = "--product acme/editor --install-id \(Self.install)"

        #expect(desk.run("admin trial show \(named)").code == "INSTALL_NOT_FOUND")
        desk.run("admin product set acme/editor trial_start=explicit")
        try desk.contact(Self.install, at: "2027-01-10T00:00:00Z")
        #expect(desk.run("admin trial show \(named)").code == "TRIAL_NOT_FOUND")
        #expect(desk.run("admin trial show \(named) --mode test").code == "INSTALL_NOT_FOUND")
        #expect(desk.run("admin trial show --product acme/editor").status == 2)
        #expect(desk.run("admin trial show --product acme/editor --install-id short").status == 2)
    }

    @Test("product set moves the trials that run, and those that are over with --revive alone")
    func revive() throws {
        desk.run("admin product set acme/editor trial_duration=P1D")
        try desk.contact(Self.install, at: "2027-01-10T00:00:00Z")
        let named = "--product acme/editor --install-id \(Self.install)"
        func state() throws -> String? { try desk.run("admin trial show \(named)").object("trial")["state"]?.string }

        desk.run("admin product set acme/editor trial_duration=P30D")
        #expect(try state() == "expired")
        desk.run("admin product set acme/editor trial_duration=P30D --revive")
        #expect(try state() == "active")
        #expect(desk.run("admin product set acme/editor free_tier=true --revive").status == 2)
    }

    // MARK: Offers

    @Test("an offer is made, edited, listed, shown and deleted")
    func offers() throws {
        let named = "--product acme/editor --id yearly"
        let made = try desk.run(
            "admin offer create \(named) --plan pro --kind subscription --price-milliunits 49990 --currency USD "
                + "--url https://acme.example/buy --trial-duration P14D --until 2027-01-31"
        ).object("offer")
        #expect(
            made.members.map { $0.map(\.name) } == [
                "id", "plan", "kind", "price_milliunits", "currency", "store_product_id", "trial_duration", "url",
                "from", "until",
            ]
        )
        #expect(made["price_milliunits"]?.int64 == 49_990 && made["until"]?.string == "2027-02-01T00:00:00Z")

        let edited = try desk.run("admin offer edit \(named) --url none --currency EUR").object("offer")
        #expect(edited["url"]?.isNull == true && edited["currency"]?.string == "EUR")
        #expect(edited["plan"]?.string == "pro")
        #expect(desk.run("admin offer create \(named) --kind trial").code == "ALREADY_EXISTS")
        desk.run("admin offer create --product acme/editor --kind trial")
        #expect(try desk.run("admin offer list --product acme/editor").list("offers").count == 2)
        let page = try desk.run("admin offer list --product acme/editor --limit 1 --cursor yearly").list("offers")
        #expect(page.isEmpty)

        #expect(desk.run("admin offer delete \(named)").status == 0)
        #expect(desk.run("admin offer show \(named)").code == "OFFER_NOT_FOUND")
        #expect(desk.run("admin offer delete \(named)").code == "OFFER_NOT_FOUND")
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
    func refusedOffers(options: String, code: String, member: String) {
        let run = desk.run("admin offer create --product acme/editor --id x \(options)")

        #expect(run.status == 1 && run.code == code && run.member == member)
    }

    @Test("a seed document makes and changes offers, and a second run changes nothing")
    func seed() throws {
        func document(_ offer: String) -> String {
            #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","offers":[\#(offer)]}]}]}"#
        }
        let yearly = #""id":"yearly","plan":"pro","kind":"subscription","price_milliunits":49990,"currency":"USD""#

        #expect(try desk.run("seed x", file: document("{\(yearly)}")).list("created").count == 1)
        let again = desk.run("seed x", file: document("{\(yearly)}"))
        let edited = desk.run("seed x", file: document(#"{\#(yearly),"url":"https://acme.example/buy"}"#))
        let typo = desk.run("seed x", file: document(#"{\#(yearly),"ulr":"https://acme.example/buy"}"#))
        let unfit = desk.run("seed x", file: document(#"{"id":"new","kind":"trial","currency":"USD"}"#))

        #expect(try again.list("created").isEmpty && again.list("changed").isEmpty)
        #expect(try edited.list("changed").count == 1)
        #expect(typo.status == 1 && typo.error.contains("/vendors/0/products/0/offers/0/ulr"))
        #expect(unfit.status == 1 && unfit.error.contains("/vendors/0/products/0/offers/0/price_milliunits"))
        #expect(try desk.run("admin offer list --product acme/editor").list("offers").count == 1)
    }
}
