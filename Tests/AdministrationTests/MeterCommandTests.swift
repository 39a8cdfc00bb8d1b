import Cryptography
import Foundation
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import Testing

@testable import Administration

/// A folder, and the command line upon it.
private final class MeterDesk: Sendable {
    let folder: String
    let files = Mutex<[String: String]>([:])

    struct Run {
        let status: Int32
        let output: String
        let error: String

        subscript(_ path: String...) -> JSONValue? {
            var value = try? JSONDocument(parsing: Array((output.isEmpty ? error : output).utf8)).root
            for name in path { value = value?[name] }
            return value
        }

        var code: String? { self["error", "code"]?.string }
    }

    static let seed = """
        {"vendors":[{"slug":"acme","name":"Acme","products":[{"slug":"editor","name":"Editor",
        "features":[{"code":"pro","name":"Pro"}],
        "plans":[{"code":"pro","features":["pro"],"seat_limit":3,"meters":{"runs":100,"free":"unlimited"}}],
        "meters":[{"name":"runs","limit":3,"period":"month","scope":"license"},{"name":"free"}],
        "credentials":[{"name":"app","kind":"pk","mode":"live"}],
        "licenses":[{"order_id":"o-1","plan":"pro","customer":{"email":"jo@example.com"}}]}]}]}
        """

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("meters-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func run(_ line: String) -> Run {
        let output = Mutex<[UInt8]>([])
        let error = Mutex<[UInt8]>([])
        let surroundings = Surroundings(
            output: CommandOutput(
                standard: { bytes in output.withLock { $0 += bytes } },
                error: { bytes in error.withLock { $0 += bytes } }
            ),
            environment: ["COUNTERSIGN_DATA": folder],
            readFile: { path, _ in Array((self.files.withLock { $0[path] } ?? "").utf8) },
            actor: "command-line:test",
            synchronous: .off
        )
        let words = line.split(separator: " ").map(String.init) + ["--json"]
        let status = CommandLineTool().run(words, in: surroundings)
        return Run(
            status: status,
            output: String(decoding: output.withLock { $0 }, as: UTF8.self),
            error: String(decoding: error.withLock { $0 }, as: UTF8.self)
        )
    }

    /// Applies a seed document.
    func seed(_ document: String = MeterDesk.seed) -> Run {
        files.withLock { $0["seed.json"] = document }
        return run("seed seed.json")
    }
}

@Suite("Meter commands") struct MeterCommandTests {
    private let desk: MeterDesk

    init() throws { desk = try MeterDesk() }

    @Test("a seed document makes meters and what plans raise; a second run changes nothing")
    func seed() throws {
        let first = desk.seed()
        let second = desk.seed()
        let shown = desk.run("admin meter show --product acme/editor --meter runs --license \(try license(first))")

        #expect(first.status == 0, "\(first.error)")
        #expect(second["created"]?.count == 0 && second["changed"]?.count == 0)
        #expect(shown["meter", "scope"]?.string == "license")
        #expect(shown["meter", "period"]?.string == "month")
        #expect(shown["meter", "limit"]?.int64 == 3)
        #expect(shown["meter", "usage", "limit"]?.int64 == 100)
        #expect(shown["meter", "usage", "used"]?.int64 == 0)
    }

    private func license(_ seeded: MeterDesk.Run) throws -> String {
        let licenses = try #require(seeded["licenses"]?.elements).map { $0 }
        return try #require(licenses.first?["id"]?.string)
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
    func wrong(right: String, wrong: String, pointer: String) {
        let run = desk.seed(MeterDesk.seed.replacingOccurrences(of: right, with: wrong))

        #expect(run.status == 1)
        #expect(run.error.contains(pointer), "\(run.error)")
        #expect(
            desk.run("admin vendor list").code == "NO_DATABASE" || desk.run("admin vendor list")["vendors"]?.count == 0
        )
    }

    @Test("a seed document lowers what licenses have only when it says so")
    func affectsExisting() throws {
        _ = desk.seed()
        let lower = MeterDesk.seed.replacingOccurrences(of: #""runs":100"#, with: #""runs":50"#)

        let refused = desk.seed(lower)
        let meant = desk.seed(
            lower.replacingOccurrences(of: #"{"vendors""#, with: #"{"affects_existing":true,"vendors""#)
        )

        #expect(refused.status == 1 && refused.code == "AFFECTS_EXISTING")
        #expect(refused["error", "licenses"]?.int64 == 1)
        #expect(meant.status == 0)
    }

    @Test("create, edit and list tell the meter; plans raise it from the command line too")
    func definitions() throws {
        _ = desk.seed()
        let created = desk.run(
            "admin meter create --product acme/editor --name flow_run --limit 3 --period lifetime --scope install"
        )
        let edited = desk.run("admin meter edit --product acme/editor --meter flow_run --limit unlimited --period P30D")
        let lowered = desk.run("admin meter edit --product acme/editor --meter flow_run --limit 5")
        let forced = desk.run("admin meter edit --product acme/editor --meter flow_run --limit 5 --affects-existing")
        let plan = desk.run(
            "admin plan edit --product acme/editor --code pro --meters runs=100,free=unlimited,flow_run=9"
        )
        let list = desk.run("admin meter list --product acme/editor")

        #expect(created["meter", "id"]?.string?.hasPrefix("mtr_") == true)
        #expect(created["meter", "name"]?.string == "flow_run")
        #expect(created["meter", "limit"]?.int64 == 3)
        #expect(edited["meter", "limit"]?.isNull == true)
        #expect(edited["meter", "period"]?.string == "P30D")
        #expect(lowered.status == 1 && lowered.code == "AFFECTS_EXISTING")
        #expect(forced["meter", "limit"]?.int64 == 5)
        #expect(plan["plan", "meters", "flow_run"]?.int64 == 9)
        #expect(plan["plan", "meters", "free"]?.string == "unlimited")
        #expect(try #require(list["meters"]?.elements).map { $0["name"]?.string } == ["flow_run", "free", "runs"])
        #expect(list["next"]?.isNull == true)
    }

    @Test("refund and reset tell what is counted after them")
    func counts() throws {
        let id = try license(desk.seed())
        let (license, product) = ("--license \(id)", "--product acme/editor --meter runs")

        let refund = desk.run("admin meter refund \(product) \(license) --amount 5 --reason sorry")
        let reset = desk.run("admin meter reset \(product) \(license)")

        #expect(refund["meter", "usage", "used"]?.int64 == 0)
        #expect(reset["meter", "usage", "left"]?.int64 == 100)
        #expect(reset["meter", "usage", "subject"]?.string == id)
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
    func refusals(line: String, status: Int32, code: String) {
        _ = desk.seed()

        let run = desk.run("admin meter \(line)")

        #expect(run.status == status && run.code == code, "\(run.error)")
    }
}
