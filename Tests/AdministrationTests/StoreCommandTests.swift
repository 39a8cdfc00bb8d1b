import StrictJSON
import Testing

@Suite("Store commands") struct StoreCommandTests {
    let console = Console()

    init() throws { try console.json("seed \(document())") }

    /// A seed document whose one product has these connections.
    private func document(_ connections: String = "") throws -> String {
        try console.file(
            "shop.json",
            """
            {"vendors":[{"slug":"acme","name":"Acme","products":[{"slug":"editor","name":"Editor",
            "features":[{"code":"pro_unlock"},{"code":"export"}],"store_connections":[\(connections)]}]}]}
            """
        )
    }

    /// The command line that connects an app, with what is `more`.
    private func connecting(_ more: String = "--map com.acme.pro=pro_unlock") -> String {
        "admin store connect --product acme/editor --store apple --environment Production "
            + "--bundle-id com.acme.editor \(more)"
    }

    private func connected() throws -> String {
        try #require(try console.json(connecting()).at("connection.id")?.string)
    }

    private func connections() throws -> [JSONValue] {
        let listed = try console.json("admin store list --product acme/editor")
        return Array(try #require(listed["connections"]?.elements))
    }

    @Test("connect tells the id and the path for notifications")
    func connect() throws {
        let root = String(repeating: "aB", count: 32)
        let made = try console.json(
            connecting("--app-apple-id 7 --root-sha256 \(root) --map com.acme.pro=pro_unlock,export")
        )

        let connection = try #require(made["connection"])
        let id = try #require(connection["id"]?.string)
        #expect(id.hasPrefix("con_"))
        #expect(connection["notification_path"]?.string == "/v1/store/apple/notifications/\(id)")
        #expect(connection["app_apple_id"]?.int64 == 7)
        #expect(connection.at("root_sha256.0")?.string == root.lowercased())
        #expect(connection["review_access"]?.bool == true)
        #expect(connection["renewal_leeway"]?.string == "PT2H")
        #expect(try connections().count == 1)
        #expect(try console.json("admin store show \(id)").at("connection.bundle_id")?.string == "com.acme.editor")
        #expect(try console.json("admin store purchases --product acme/editor")["purchases"]?.count == 0)
    }

    @Test("a connection names its product wherever it is shown")
    func product() throws {
        let id = try connected()

        let shown = [
            try console.json("admin store show \(id)"), try console.json("admin store edit \(id) --enabled false"),
        ].map { $0.at("connection.product")?.string }
        let listed = try connections().map { $0["product"]?.string }

        #expect(shown + listed == ["acme/editor", "acme/editor", "acme/editor"])
    }

    @Test("an edit changes what it says and leaves the rest")
    func edit() throws {
        let id = try connected()

        let edited = try console.json(
            "admin store edit \(id) --map com.acme.season=export --duration com.acme.season=P3M --enabled false "
                + "--grandfather-version-below 2.0 --grandfather-features export"
        )
        let again = try console.json("admin store edit \(id) --unmap com.acme.pro --no-grandfather --enabled true")

        #expect(edited.at("connection.products")?.count == 2)
        #expect(edited.at("connection.enabled")?.bool == false)
        #expect(edited.at("connection.grandfather.version_below")?.string == "2.0")
        #expect(again.at("connection.products.0.duration")?.string == "P3M")
        #expect(again.at("connection.products")?.count == 1)
        #expect(again.at("connection.grandfather")?.isNull == true)
        #expect(try console.json("admin store show \(id)").at("connection.enabled")?.bool == true)
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
    func refused(more: String, exit: Int32, code: String) throws {
        let failure = try console.failure(connecting(more))

        #expect(failure.exit == exit)
        #expect(failure.code == code)
        #expect(try connections().isEmpty)
    }

    @Test("the same app in the same environment is connected once")
    func twice() throws {
        _ = try connected()

        #expect(try console.failure(connecting()).code == "ALREADY_EXISTS")
        #expect(
            try console.failure("admin store show con_00000000000000000000000000").code == "CONNECTION_NOT_FOUND"
        )
        #expect(try console.failure("admin store show 2000000001").code == "PURCHASE_NOT_FOUND")
    }

    @Test("a seed document connects once; a second run changes nothing, an edited one what it says")
    func seed() throws {
        let connection = """
            {"store":"apple","environment":"Sandbox","bundle_id":"com.acme.editor","review_access":false,
            "grandfather":{"before":"2024-01-01","features":["export"]},
            "products":[{"id":"com.acme.pro","features":["pro_unlock"]}]}
            """
        let first = try console.json("seed \(document(connection))")
        let second = try console.json("seed \(document(connection))")
        let third = try console.json("seed \(document(connection.replacing("false", with: "true")))")

        #expect(first["created"]?.texts == ["connection acme/editor Sandbox com.acme.editor"])
        #expect(second["created"]?.count == 0)
        #expect(second["changed"]?.count == 0)
        #expect(third["changed"]?.texts == ["connection acme/editor Sandbox com.acme.editor"])
        let ids = [first, second, third].map { $0.at("connections.0.id")?.string }
        #expect(Set(ids).count == 1)
        #expect(ids.first??.hasPrefix("con_") == true)
        #expect(first.at("connections.0.notification_path")?.string != nil)
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
    func seedMistakes(connection: String, place: String) throws {
        let failure = try console.failure("seed \(document(connection))")

        #expect(failure.exit == 1 || failure.exit == 2)
        #expect(failure.error.at("errors.0.pointer")?.string == "/vendors/0/products/0/store_connections/0/\(place)")
        #expect(try connections().isEmpty)
    }
}
