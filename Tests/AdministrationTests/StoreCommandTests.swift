import Foundation
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Synchronization
import Testing

@testable import Administration

/// A folder and the command line upon it, with a seed document as its only file.
private final class Shop: Sendable {
    let folder: String
    private let document = Mutex<String>("")

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("shop-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    struct Run {
        let status: Int32
        let output: String
        let error: String

        subscript(_ names: String...) -> JSONValue? {
            var value = try? JSONDocument(parsing: Array((status == 0 ? output : error).utf8)).root
            for name in names { value = value?[name] }
            return value
        }

        var code: String? { self["error", "code"]?.string }

        func list(_ names: String...) -> [JSONValue] {
            var value = try? JSONDocument(parsing: Array(output.utf8)).root
            for name in names { value = value?[name] }
            return value?.elements.map(Array.init) ?? []
        }
    }

    func run(_ line: String) -> Run {
        let output = Mutex<[UInt8]>([])
        let error = Mutex<[UInt8]>([])
        let surroundings = Surroundings(
            output: CommandOutput(
                standard: { bytes in output.withLock { $0 += bytes } },
                error: { bytes in error.withLock { $0 += bytes } }
            ),
            environment: ["COUNTERSIGN_DATA": folder],
            readFile: { _, _ in Array(self.document.withLock { $0 }.utf8) },
            actor: "command-line:test",
            synchronous: .off
        )
        let status = CommandLineTool().run(line.split(separator: " ").map(String.init) + ["--json"], in: surroundings)
        return Run(
            status: status,
            output: String(decoding: output.withLock { $0 }, as: UTF8.self),
            error: String(decoding: error.withLock { $0 }, as: UTF8.self)
        )
    }

    /// Applies a document whose one product has these connections.
    @discardableResult
    func seed(_ connections: String = "") -> Run {
        document.withLock {
            $0 = """
                {"vendors":[{"slug":"acme","name":"Acme","products":[{"slug":"editor","name":"Editor",
                "features":[{"code":"pro_unlock"},{"code":"export"}],"store_connections":[\(connections)]}]}]}
                """
        }
        return run("seed shop.json")
    }

    func connect(_ more: String = "--map com.acme.pro=pro_unlock") -> Run {
        run(
            "admin store connect --product acme/editor --store apple --environment Production "
                + "--bundle-id com.acme.editor \(more)"
        )
    }
}

@Suite("Store commands") struct StoreCommandTests {
    private let shop: Shop

    init() throws {
        shop = try Shop()
        #expect(shop.seed().status == 0)
    }

    @Test("connect tells the id and the path for notifications")
    func connect() throws {
        let root = String(repeating: "aB", count: 32)
        let run = shop.connect("--app-apple-id 7 --root-sha256 \(root) --map com.acme.pro=pro_unlock,export")

        #expect(run.status == 0, "\(run.error)")
        let id = try #require(run["connection", "id"]?.string)
        #expect(id.hasPrefix("con_"))
        #expect(run["connection", "notification_path"]?.string == "/v1/store/apple/notifications/\(id)")
        #expect(run["connection", "app_apple_id"]?.int64 == 7)
        #expect(run.list("connection", "root_sha256").first?.string == root.lowercased())
        #expect(run["connection", "review_access"]?.bool == true)
        #expect(run["connection", "renewal_leeway"]?.string == "PT2H")
        #expect(shop.run("admin store list --product acme/editor").list("connections").count == 1)
        #expect(shop.run("admin store show \(id)")["connection", "bundle_id"]?.string == "com.acme.editor")
        #expect(shop.run("admin store purchases --product acme/editor").list("purchases").isEmpty)
    }

    @Test("a connection names its product wherever it is shown")
    func product() throws {
        let id = try #require(shop.connect()["connection", "id"]?.string)

        let shown = [
            shop.run("admin store show \(id)"), shop.run("admin store edit \(id) --enabled false"),
        ].map { $0["connection", "product"]?.string }
        let listed = shop.run("admin store list --product acme/editor").list("connections").map {
            $0["product"]?.string
        }

        #expect(shown + listed == ["acme/editor", "acme/editor", "acme/editor"])
    }

    @Test("an edit changes what it says and leaves the rest")
    func edit() throws {
        let id = try #require(shop.connect()["connection", "id"]?.string)

        let edited = shop.run(
            "admin store edit \(id) --map com.acme.season=export --duration com.acme.season=P3M --enabled false "
                + "--grandfather-version-below 2.0 --grandfather-features export"
        )
        let again = shop.run("admin store edit \(id) --unmap com.acme.pro --no-grandfather --enabled true")

        #expect(edited["connection", "products"]?.count == 2)
        #expect(edited["connection", "enabled"]?.bool == false)
        #expect(edited["connection", "grandfather", "version_below"]?.string == "2.0")
        #expect(again.list("connection", "products").first?["duration"]?.string == "P3M")
        #expect(again["connection", "products"]?.count == 1)
        #expect(again["connection", "grandfather"]?.isNull == true)
        #expect(shop.run("admin store show \(id)")["connection", "enabled"]?.bool == true)
    }

    @Test(
        "what cannot be is refused with its code",
        arguments: [
            ("--map com.acme.pro=no_such", 1, "FEATURE_NOT_FOUND"),
            ("--allow-xcode true", 1, "VALIDATION"),
            ("--root-sha256 abc", 2, "USAGE"),
            ("--map pro_unlock", 2, "USAGE"),
            ("--grandfather-before 2020-01-01", 2, "USAGE"),
        ] as [(String, Int32, String)]
    )
    func refused(more: String, status: Int32, code: String) {
        let run = shop.connect(more)

        #expect(run.status == status)
        #expect(run.code == code)
        #expect(shop.run("admin store list --product acme/editor").list("connections").isEmpty)
    }

    @Test("the same app in the same environment is connected once")
    func twice() {
        #expect(shop.connect().status == 0)

        #expect(shop.connect().code == "ALREADY_EXISTS")
        #expect(shop.run("admin store show con_00000000000000000000000000").code == "CONNECTION_NOT_FOUND")
        #expect(shop.run("admin store show 2000000001").code == "PURCHASE_NOT_FOUND")
    }

    @Test("a seed document connects once; a second run changes nothing, an edited one what it says")
    func seed() throws {
        let connection = """
            {"store":"apple","environment":"Sandbox","bundle_id":"com.acme.editor","review_access":false,
            "grandfather":{"before":"2024-01-01","features":["export"]},
            "products":[{"id":"com.acme.pro","features":["pro_unlock"]}]}
            """
        let first = shop.seed(connection)
        let second = shop.seed(connection)
        let third = shop.seed(connection.replacingOccurrences(of: "false", with: "true"))

        #expect(first.status == 0, "\(first.error)")
        #expect(first.list("created").compactMap(\.string) == ["connection acme/editor Sandbox com.acme.editor"])
        #expect(second.list("created").isEmpty)
        #expect(second.list("changed").isEmpty)
        #expect(third.list("changed").compactMap(\.string) == ["connection acme/editor Sandbox com.acme.editor"])
        let ids = [first, second, third].map { $0.list("connections").first?["id"]?.string }
        #expect(Set(ids).count == 1)
        #expect(ids.first??.hasPrefix("con_") == true)
        #expect(first.list("connections").first?["notification_path"]?.string != nil)
    }

    @Test(
        "a mistake in a seed document is told with its place",
        arguments: [
            (#"{"store":"apple","environment":"Sandbox"}"#, "bundle_id"),
            (#"{"store":"google","environment":"Sandbox","bundle_id":"a"}"#, "store"),
            (#"{"store":"apple","environment":"Moon","bundle_id":"a"}"#, "environment"),
            (#"{"store":"apple","environment":"Sandbox","bundle_id":"a","root_sha256":["x"]}"#, "root_sha256/0"),
            (
                #"{"store":"apple","environment":"Sandbox","bundle_id":"a","products":[{"id":"p"}]}"#,
                "products/0/features"
            ),
            (#"{"store":"apple","environment":"Sandbox","bundle_id":"a","bundel":1}"#, "bundel"),
        ]
    )
    func seedMistakes(connection: String, place: String) {
        let run = shop.seed(connection)

        #expect(run.status == 1 || run.status == 2)
        #expect(run.error.contains("/vendors/0/products/0/store_connections/0/\(place)"), "\(run.error)")
        #expect(shop.run("admin store list --product acme/editor").list("connections").isEmpty)
    }
}
