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

    func texts(_ name: String) throws -> [String] { try list(name).compactMap(\.string) }

    private var failure: JSONValue? { try? JSONDocument(parsing: Array(error.utf8)).root["error"] }

    /// `CODE place`, the place being a member, an option or a pointer.
    var refusal: String {
        let place = ["pointer", "member", "option"].compactMap { failure?[$0]?.string }.first
        return "\(failure?["code"]?.string ?? "") \(place ?? "")"
    }
}

/// A vendor with a product, two features and a plan, under a clock of its own.
private final class GiftDesk: Sendable {
    static let mac = "the-install-named-mac"
    let folder: String
    private let document = Mutex<String>("")

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("gift-desk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try set(clock: "2027-01-15T08:00:00Z")
        run("admin vendor create --slug acme --name Acme")
        run("admin product create --vendor acme --slug editor --name Editor")
        run("admin feature create --product acme/editor --code pro --name Pro")
        run("admin feature create --product acme/editor --code export --name Export")
        run("admin plan create --product acme/editor --code pro --features pro")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func set(clock text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/clock")) }

    @discardableResult
    func run(_ line: String) -> Run {
        let output = Mutex<[UInt8]>([])
        let error = Mutex<[UInt8]>([])
        let surroundings = Surroundings(
            output: CommandOutput(
                standard: { bytes in output.withLock { $0 += bytes } },
                error: { bytes in error.withLock { $0 += bytes } }
            ),
            environment: ["COUNTERSIGN_DATA": folder + "/data"],
            readFile: { _, _ in Array(self.document.withLock { $0 }.utf8) },
            actor: "command-line:test",
            synchronous: .off
        )
        let words = line.split(separator: " ").map(String.init) + ["--json", "--test-clock", folder + "/clock"]
        let status = CommandLineTool().run(words, in: surroundings)
        return Run(
            status: status,
            output: String(decoding: output.withLock { $0 }, as: UTF8.self),
            error: String(decoding: error.withLock { $0 }, as: UTF8.self)
        )
    }

    func seed(_ tiers: String) -> Run {
        document.withLock {
            $0 = #"{"vendors":[{"slug":"acme","products":[{"slug":"editor","spend_tiers":\#(tiers)}]}]}"#
        }
        return run("seed document.json")
    }

    /// A first contact of an app's install.
    func contact(_ install: String) throws {
        let now = try Timestamp("2027-01-14T00:00:00Z", as: .instant)
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

    func audited() throws -> [String] {
        try run("admin audit list --vendor acme").list("entries").reversed()
            .compactMap { $0["action"]?.string }
            .filter { $0.hasPrefix("gift.") || $0.hasPrefix("tier.") }
    }
}

@Suite("Gift and tier commands") struct GiftCommandTests {
    private let desk: GiftDesk

    init() throws { desk = try GiftDesk() }

    @Test("a gift to an install lasts to the end of the day that was named, and shows what it is")
    func install() throws {
        try desk.contact(GiftDesk.mac)

        let run = desk.run(
            "admin gift create --product acme/editor --features pro,export --install-id \(GiftDesk.mac) "
                + "--until 2027-01-31"
        )

        #expect(run.status == 0)
        let gift = try run.object("gift")
        let id = try #require(gift["id"]?.string)
        #expect(id.hasPrefix("gft_"))
        #expect(gift["mode"]?.string == "live")
        #expect(gift["status"]?.string == "active")
        #expect(gift["install"]?.string?.hasPrefix("ins_") == true)
        #expect(gift["license"]?.isNull == true && gift["customer"]?.isNull == true)
        #expect(gift["features"]?.elements?.compactMap(\.string) == ["export", "pro"])
        #expect(gift["starts_at"]?.string == "2027-01-15T08:00:00Z")
        #expect(gift["ends_at"]?.string == "2027-02-01T00:00:00Z")
        #expect(!run.output.contains(GiftDesk.mac))
        func status(at clock: String) throws -> String? {
            try desk.set(clock: clock)
            return try desk.run("admin gift show \(id)").object("gift")["status"]?.string
        }
        #expect(try status(at: "2027-01-31T23:59:59Z") == "active")
        #expect(try status(at: "2027-02-01T00:00:00Z") == "expired")
    }

    @Test("a gift to a license takes its mode; one to a customer is named by address")
    func others() throws {
        let license = try #require(
            try desk.run(
                "admin license issue --product acme/editor --plan pro --mode test --customer-email jane@example.com"
            ).list("licenses").first
        )
        let (id, key) = (try #require(license["id"]?.string), try #require(license["key"]?.string))
        let create = "admin gift create --product acme/editor --features export"

        let byKey = try desk.run("\(create) --license \(key)").object("gift")
        let byID = try desk.run("\(create) --license \(id)").object("gift")
        let byEmail = try desk.run("\(create) --customer-email Jane@Example.com").object("gift")

        #expect([byKey, byID].allSatisfy { $0["license"]?.string == id && $0["mode"]?.string == "test" })
        #expect(byEmail["customer"]?.string?.hasPrefix("cus_") == true && byEmail["mode"]?.string == "live")
        #expect(byEmail["ends_at"]?.isNull == true)
        #expect(desk.run("\(create) --license \(id) --mode live").refusal == "VALIDATION mode")
        let list = "admin gift list --product acme/editor"
        #expect(try desk.run(list).list("gifts").count == 3)
        #expect(try desk.run("\(list) --license \(id)").list("gifts").count == 2)
        #expect(try desk.run("\(list) --mode live").list("gifts").count == 1)
        let page = desk.run("\(list) --limit 2")
        let next = try #require(try page.object("next").string)
        #expect(try page.list("gifts").count == 2)
        #expect(try desk.run("\(list) --limit 2 --cursor \(next)").list("gifts").count == 1)
    }

    @Test("end takes a gift back once, with its reason in the audit log")
    func end() throws {
        try desk.contact(GiftDesk.mac)
        let create = "admin gift create --product acme/editor --features pro --install-id \(GiftDesk.mac)"
        let id = try #require(try desk.run(create).object("gift")["id"]?.string)

        let dry = try desk.run("admin gift end \(id) --dry-run").object("gift")
        #expect(dry["status"]?.string == "withdrawn")
        #expect(try desk.run("admin gift show \(id)").object("gift")["status"]?.string == "active")
        let ended = try desk.run("admin gift end \(id) --reason mistake").object("gift")
        #expect(ended["status"]?.string == "withdrawn")
        #expect(ended["withdrawn_at"]?.string == "2027-01-15T08:00:00Z")
        #expect(desk.run("admin gift end \(id)").status == 0)

        #expect(try desk.audited() == ["gift.create", "gift.end"])
        #expect(desk.run("admin audit list --vendor acme").output.contains("mistake"))
    }

    @Test("a gift for nobody, for two, for a stranger or of nothing is refused by what is wrong")
    func refused() throws {
        let create = "admin gift create --product acme/editor --features pro"

        #expect(desk.run(create).refusal == "USAGE --install-id")
        #expect(desk.run("\(create) --license x --customer-email a@example.com").refusal == "USAGE --install-id")
        #expect(desk.run("\(create) --install-id \(GiftDesk.mac)").refusal == "INSTALL_NOT_FOUND install_id")
        #expect(desk.run("\(create) --customer-email a@example.com").refusal == "CUSTOMER_NOT_FOUND customer_email")
        #expect(desk.run("\(create) --license CS-0000").refusal == "LICENSE_NOT_FOUND ")
        #expect(desk.run("\(create) --install-id short").status == 2)
        #expect(desk.run("\(create) --install-id \(GiftDesk.mac) --until tomorrow").status == 2)
        #expect(desk.run("admin gift show gft_01K9ZQ5J6T8V0W2X4Y6Z8A0C2E").refusal == "GIFT_NOT_FOUND gift")
    }

    @Test("a tier is made, edited, listed and deleted")
    func tier() throws {
        let named = "--product acme/editor --code patron"

        let made = try desk.run(
            "admin tier create \(named) --currency USD --threshold-milliunits 50000 --features export --duration P1Y"
        ).object("tier")
        #expect(made["threshold_milliunits"]?.int64 == 50_000)
        #expect(made["duration"]?.string == "P1Y")
        #expect(made["gift"]?.string?.hasPrefix("gft_") == true)
        let edited = try desk.run("admin tier edit \(named) --threshold-milliunits 40000 --duration none")
            .object("tier")
        #expect(edited["threshold_milliunits"]?.int64 == 40_000 && edited["duration"]?.isNull == true)
        #expect(edited["currency"]?.string == "USD" && edited["gift"]?.string == made["gift"]?.string)
        #expect(try desk.run("admin tier list --product acme/editor").list("tiers").count == 1)
        #expect(desk.run("admin tier edit \(named) --currency dollar").refusal == "VALIDATION currency")
        #expect(desk.run("admin tier edit \(named) --threshold-milliunits 0").status == 2)
        #expect(desk.run("admin tier create --product acme/editor --code b --currency USD").status == 2)
        #expect(desk.run("admin tier delete \(named) --reason over").status == 0)
        #expect(try desk.run("admin tier list --product acme/editor").list("tiers").isEmpty)
        #expect(desk.run("admin tier delete \(named)").refusal == "SPEND_TIER_NOT_FOUND code")
        #expect(try desk.audited() == ["tier.create", "tier.edit", "tier.delete"])
    }

    @Test("a seed document makes tiers once, changes them, and leaves out what it does not name")
    func seed() throws {
        let patron =
            #"{"code":"patron","currency":"USD","threshold_milliunits":50000,"features":["export"],"duration":"P1Y"}"#

        #expect(try desk.seed("[\(patron)]").texts("created") == ["spend tier acme/editor patron"])
        let again = desk.seed("[\(patron)]")
        #expect(try again.texts("created").isEmpty && again.texts("changed").isEmpty)
        let lower = desk.seed(#"[{"code":"patron","threshold_milliunits":40000}]"#)
        #expect(try lower.texts("changed") == ["spend tier acme/editor patron"])
        let tier = try #require(try desk.run("admin tier list --product acme/editor").list("tiers").first)
        #expect(tier["threshold_milliunits"]?.int64 == 40_000 && tier["duration"]?.string == "P1Y")
        #expect(try desk.audited() == ["tier.create", "tier.edit"])
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
        let run = desk.seed("[\(tier)]")

        #expect(run.status == 1)
        #expect(run.refusal.hasSuffix(" /vendors/0/products/0/spend_tiers/0\(place)"))
        #expect(try desk.audited() == [])
    }
}
