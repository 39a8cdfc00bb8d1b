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

    var json: JSONValue {
        get throws { try JSONDocument(parsing: Array(output.utf8)).root }
    }

    var license: JSONValue {
        get throws {
            let root = try json
            return try #require(root["license"] ?? root["licenses"]?.elements?.first { _ in true })
        }
    }

    var code: String? {
        let root = try? JSONDocument(parsing: Array(error.utf8)).root
        return root?["error"]?["code"]?.string
    }
}

/// A folder with a vendor, a product and two plans, and the command line upon it.
private final class Desk: Sendable {
    let folder: String
    let files = Mutex<[String: String]>([:])

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("desk-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        var options = Database.Options(now: { SystemTime.microseconds() })
        options.synchronous = .off
        let database = Database(folder: folder, options: options)
        let now = SystemTime.timestamp()
        let entropy = SystemEntropy()
        let connection = try database.openForCommandLine(isMade: true)
        _ = try Vault.open(
            connection,
            of: database,
            file: KeyFile(configured: nil, folder: folder),
            clock: GuardedClock()
        )
        let vendor = Vendor(id: try Identifier(at: now, entropy: entropy), slug: try Slug("acme"), name: "Acme")
        let product = Product(
            id: try Identifier(at: now, entropy: entropy),
            vendor: vendor.id,
            slug: try Slug("editor"),
            name: "Editor"
        )
        let pro = Plan(
            id: try Identifier(at: now, entropy: entropy),
            product: product.id,
            code: try PlanCode("pro"),
            name: "Pro",
            duration: try CalendarDuration("P1Y"),
            seatLimit: .limited(3)
        )
        let team = Plan(
            id: try Identifier(at: now, entropy: entropy),
            product: product.id,
            code: try PlanCode("team"),
            name: "Team"
        )
        try connection.write { db in
            try VendorStore.insert(vendor, at: now, in: db)
            try ProductStore.insert(product, at: now, in: db)
            try PlanStore.insert(pro, at: now, in: db)
            try PlanStore.insert(team, at: now, in: db)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Runs one command line with `--json`.
    @discardableResult
    func run(_ line: String, json: Bool = true) -> Run {
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
        var words = line.split(separator: " ").map(String.init)
        if json { words.append("--json") }
        let status = CommandLineTool().run(words, in: surroundings)
        return Run(
            status: status,
            output: String(decoding: output.withLock { $0 }, as: UTF8.self),
            error: String(decoding: error.withLock { $0 }, as: UTF8.self)
        )
    }

    func issue(_ more: String = "") throws -> (id: String, key: String) {
        let license = try run("admin license issue --product acme/editor --plan pro \(more)").license
        return (try #require(license["id"]?.string), try #require(license["key"]?.string))
    }
}

@Suite("License commands") struct LicenseCommandTests {
    private let desk: Desk

    init() throws { desk = try Desk() }

    @Test("issue tells id, key, plan, mode, status, seats and end")
    func issue() throws {
        let run = desk.run(
            "admin license issue --product acme/editor --plan pro --seats 5 --expires-at 2099-06-26 "
                + "--customer-name Dee --customer-email Dee@Example.com --order-id o-1 --mode test"
        )

        #expect(run.status == 0)
        #expect(run.error.isEmpty)
        let license = try run.license
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
        let run = desk.run("admin license issue --product acme/editor --plan team --count 3 --customer-name Dee")

        let licenses = try #require(try run.json["licenses"]?.elements?.map { $0 })
        #expect(Set(licenses.compactMap { $0["key"]?.string }).count == 3)
        #expect(licenses.allSatisfy { $0["seat_limit"]?.isNull == true && $0["expires_at"]?.isNull == true })
        let both = desk.run("admin license issue --product acme/editor --plan pro --count 2 --order-id o-1")
        #expect(both.status == 2 && both.code == "USAGE")
    }

    @Test("the same order shows the same license and key; another one with its id is refused")
    func order() throws {
        let first = try desk.issue("--order-id o-1")
        let again = try desk.issue("--order-id o-1")
        let other = desk.run("admin license issue --product acme/editor --plan pro --order-id o-1 --seats 9")

        #expect(first == again)
        #expect(other.status == 1 && other.code == "ORDER_ID_CONFLICT" && other.output.isEmpty)
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
    func refused(line: String, status: Int32, code: String) {
        let run = desk.run("admin license \(line)")

        #expect(run.status == status)
        #expect(run.code == code)
        #expect(run.output.isEmpty)
    }

    @Test("show tells customer, seats, activations and the key, by id or by key")
    func show() throws {
        let issued = try desk.issue("--customer-name Dee")

        let byID = try desk.run("admin license show \(issued.id)").license
        let byKey = try desk.run("admin license show \(issued.key.lowercased()) --product acme/editor").license

        #expect(byID["id"]?.string == byKey["id"]?.string)
        #expect(byID["key"]?.string == issued.key)
        #expect(byID["customer"]?["name"]?.string == "Dee")
        #expect(byID["customer"]?["email"]?.isNull == true)
        #expect(byID["seats"]?["used"]?.int64 == 0)
        #expect(byID["seats"]?["limit"]?.int64 == 3)
        #expect(byID["activations"]?.count == 0)
    }

    @Test("the standing goes through suspend, reinstate, revoke and back, with codes for what is refused")
    func standing() throws {
        let id = try desk.issue().id
        func status(_ line: String) throws -> String? {
            try desk.run("admin license \(line)").license["status"]?.string
        }

        #expect(try status("suspend \(id) --reason unpaid") == "suspended")
        #expect(try status("reinstate \(id) --reason paid") == "active")
        #expect(try status("revoke \(id) --reason fraud") == "revoked")
        #expect(desk.run("admin license reinstate \(id) --reason x").code == "LICENSE_REVOKED")
        #expect(desk.run("admin license suspend \(id) --reason x").code == "LICENSE_REVOKED")
        #expect(try status("reinstate \(id) --reason mistake --revoked") == "active")
    }

    @Test("renew, edit and reissue show what came of them")
    func changes() throws {
        let issued = try desk.issue("--expires-at 2099-01-31T00:00:00Z")
        func license(_ line: String) throws -> JSONValue { try desk.run("admin license \(line)").license }

        let renewed = try license("renew \(issued.id) --duration P1M")
        #expect(renewed["expires_at"]?.string == "2099-02-28T00:00:00Z")
        let edited = try license("edit \(issued.id) --seats unlimited --expires-at never --offline-life P30D")
        #expect(edited["seat_limit"]?.isNull == true)
        #expect(edited["expires_at"]?.isNull == true)
        #expect(edited["offline_life"]?.string == "P30D")
        #expect(desk.run("admin license renew \(issued.id)").code == "NOT_RENEWABLE")
        let reissued = try license("reissue \(issued.id) --reason lost")
        let key = try #require(reissued["key"]?.string)
        #expect(key != issued.key)
        #expect(try license("show \(issued.id)")["key"]?.string == key)
        let seat = desk.run(
            "admin license release-seat \(issued.id) --activation act_01K9ZR0000000000000000000A --reason x"
        )
        #expect(seat.status == 1 && seat.code == "ACTIVATION_NOT_FOUND")
    }

    @Test("a dry run changes nothing and shows no key", arguments: ["issue", "revoke", "reissue", "edit"])
    func dryRun(word: String) throws {
        let issued = try desk.issue()
        let lines = [
            "issue": "issue --product acme/editor --plan pro", "revoke": "revoke \(issued.id) --reason x",
            "reissue": "reissue \(issued.id) --reason x", "edit": "edit \(issued.id) --seats 9",
        ]

        let run = desk.run("admin license \(try #require(lines[word])) --dry-run")

        #expect(run.status == 0)
        #expect(try run.json["dry_run"]?.bool == true)
        #expect(try run.license["key"] == nil)
        #expect(try desk.run("admin license list").json["licenses"]?.count == 1)
        let there = try desk.run("admin license show \(issued.id)").license
        #expect(there["key"]?.string == issued.key)
        #expect(there["status"]?.string == "active")
        #expect(there["seat_limit"]?.int64 == 3)
    }

    @Test("list pages by cursor and filters")
    func list() throws {
        for number in 0..<5 { _ = try desk.issue("--order-id o-\(number) --customer-email c\(number % 2)@example.com") }

        let first = try desk.run("admin license list --product acme/editor --limit 3").json
        let cursor = try #require(first["next"]?.string)
        let second = try desk.run("admin license list --product acme/editor --limit 3 --cursor \(cursor)").json

        #expect(first["licenses"]?.count == 3)
        #expect(second["licenses"]?.count == 2)
        #expect(second["next"]?.isNull == true)
        #expect(try desk.run("admin license list --customer-email C1@example.com").json["licenses"]?.count == 2)
        #expect(try desk.run("admin license list --order-id o-4").json["licenses"]?.count == 1)
        #expect(try desk.run("admin license list --status expired").json["licenses"]?.count == 0)
    }

    @Test("explain tells the checks in order and the code of a validation")
    func explain() throws {
        let id = try desk.issue().id
        desk.run("admin license suspend \(id) --reason unpaid")

        let json = try desk.run("admin license explain \(id) --install-id 0d9f6a52-8c1e-4b7a-9a53-3c8f2f1e7b10").json

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
        desk.files.withLock {
            $0["bad.csv"] = header + "gold,o-1,\npro,o-1,A1\npro,o-1,A1\n"
            $0["good.csv"] = header + "pro,o-1,A1\nteam,o-2,\n"
        }

        let bad = desk.run("admin license import bad.csv --product acme/editor")
        #expect(bad.status == 1 && bad.code == "VALIDATION" && bad.output.isEmpty)
        let root = try JSONDocument(parsing: Array(bad.error.utf8)).root
        let lines = root["error"]?["errors"]?.elements?.compactMap { $0["line"]?.int64 }
        #expect(lines == [2, 4, 4])
        let dry = try desk.run("admin license import good.csv --product acme/editor --dry-run").json
        #expect(dry["import"]?["imported"]?.int64 == 2)
        #expect(try desk.run("admin license list").json["licenses"]?.count == 0)
        let good = try desk.run("admin license import good.csv --product acme/editor").json
        #expect(good["import"]?["imported"]?.int64 == 2)
        let again = try desk.run("admin license import good.csv --product acme/editor").json
        #expect(again["import"]?["unchanged"]?.int64 == 2)

        let export = desk.run("admin license export --product acme/editor --with-keys", json: false)
        #expect(export.status == 0)
        #expect(export.output.hasPrefix("order_id,key,plan,"))
        #expect(export.output.contains("o-1,A1,pro,live,"))
        let plain = desk.run("admin license export --product acme/editor", json: false)
        #expect(!plain.output.contains("A1"))
        desk.files.withLock { $0["export.csv"] = export.output }
        let back = desk.run("admin license import export.csv --product acme/editor")
        #expect(back.status == 1 && back.code == "VALIDATION", "the orders are there, without an end of their own")
    }
}
