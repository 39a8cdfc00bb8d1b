import Foundation
import StrictJSON
import Testing

/// Every member that a seed document may have, one by one.
@Suite("Members of the seed document") struct SeedMembersTests {
    let console = Console()

    /// Has every member that there is, each with another value than the one it has where it is left out.
    private static let text = """
        {"affects_existing":true,"vendors":[{"slug":"acme","name":"Acme Software","issuer":"https://licenses.acme.example",
          "validation_quota":100000,"credentials":[{"name":"unified","kind":"ul","mode":"live"}],
          "products":[{"slug":"editor","name":"Acme Editor","key_prefix":"ACME",
            "settings":{"trial_duration":"P14D","trial_plan":"pro","trial_start":"explicit","offline_life":"P9D",
              "refresh_after":"P2D","free_tier":true,"keep_license_keys":true,"minimum_version":"1.2",
              "extra":{"theme":"dark"}},
            "features":[{"code":"export","name":"Export"},{"code":"pro_unlock","name":"Pro"}],
            "meters":[{"name":"flow_run","limit":3,"period":"lifetime","scope":"license"}],
            "plans":[{"code":"pro","name":"Pro","features":["export","pro_unlock"],"type":"subscription","duration":"P1Y",
                "seat_limit":3,"seat_policy":"allow_overage","overage_percent":50,"idle_before_release":"P60D",
                "lease_seconds":7200,"expiry_grace":"P3D","expiry_basis":"first_activation","offline_life":"P30D",
                "transfer_limit":5,"transfer_period":"P90D","self_release":false,
                "environment":{"hosts":["*.example.com"],"attributes":{"site":"a"}},"meters":{"flow_run":100}},
              {"code":"site","name":"Site","features":["export"],"type":"purchase","seat_limit":"unlimited"}],
            "store_connections":[{"store":"apple","environment":"Sandbox","bundle_id":"com.acme.editor","app_apple_id":7,
                "root_sha256":["63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9170"],"enabled":true,
                "review_access":false,"renewal_leeway":"PT1H",
                "grandfather":{"before":"2026-01-01T00:00:00Z","features":["export"]},
                "products":[{"id":"com.acme.season","features":["export"],"duration":"P3M"}]},
              {"store":"apple","environment":"Xcode","bundle_id":"com.acme.editor","allow_xcode":true,
                "grandfather":{"version_below":"2.0","features":["export"]}}],
            "spend_tiers":[{"code":"patron","currency":"USD","threshold_milliunits":50000,"features":["export"],
                "duration":"P1Y"}],
            "offers":[{"id":"pro-yearly","plan":"pro","kind":"subscription","price_milliunits":29000,"currency":"USD",
                "store_product_id":"com.acme.pro","trial_duration":"P7D","url":"https://acme.example/buy",
                "from":"2026-01-01T00:00:00Z","until":"2036-01-01T00:00:00Z"}],
            "credentials":[{"name":"app","kind":"pk","mode":"test"}],
            "licenses":[{"order_id":"o-1","plan":"pro","mode":"test","customer":{"name":"Ada","email":"ada@example.com"},
                "seat_limit":5,"seat_policy":"deny","expires_at":"2036-01-01T00:00:00Z",
                "starts_at":"2026-01-01T00:00:00Z","maintenance_until":"2035-01-01T00:00:00Z","offline_life":"P60D",
                "environment":{"hosts":["a.example.com"]}},
              {"order_id":"o-2","plan":"pro","duration":"P2Y","key":"LEGACY0001"}]}]}]}
        """

    private static let product = ["vendors", "0", "products", "0"]
    private static var document: SeedTree { get throws { try SeedTree(parsing: text) } }

    /// Applies a document; it must succeed.
    private func applied(_ tree: SeedTree) throws -> JSONValue {
        try console.json(["seed", console.file("seed.json", tree.text)])
    }

    /// Applies a document that is not accepted: the places that are blamed.
    private func blamed(_ tree: SeedTree) throws -> [String] {
        let failure = try console.failure(["seed", console.file("seed.json", tree.text)])
        #expect(failure.exit == 1 && failure.code == "VALIDATION")
        #expect(!FileManager.default.fileExists(atPath: console.data), "nothing is applied")
        return failure.error["errors"]?.elements?.compactMap { $0["pointer"]?.string } ?? []
    }

    /// Within a rule of where grants count the rule as a whole is blamed.
    private static func pointer(_ path: [String]) -> String {
        let isRule = !path.contains("store_connections")
        let end = isRule ? path.firstIndex(of: "environment").map { $0 + 1 } : nil
        return path.prefix(end ?? path.count).map { "/\($0)" }.joined()
    }

    /// Whether names at this place are the vendor's own, so that none is unknown.
    private static func isFree(_ path: [String]) -> Bool {
        path.contains("extra") || path.last == "attributes"
            || (path.last == "meters" && path.dropLast(2).last == "plans")
    }

    @Test("every member is applied, a second run changes nothing, and licenses and connections are listed each time")
    func everyMember() throws {
        let document = try Self.document

        let first = try applied(document)
        let second = try applied(document)

        #expect(first["changed"]?.count == 0 && first["unchanged"]?.int64 == 0)
        #expect(second["created"]?.count == 0 && second["changed"]?.count == 0)
        #expect(second["unchanged"]?.int64 == Int64(try #require(first["created"]?.count)))
        #expect(first["secrets"]?.count == 2 && second["secrets"]?.count == 0)
        for name in ["licenses", "connections"] {
            #expect(try SeedTree(#require(first[name])) == SeedTree(#require(second[name])))
        }
        #expect(second["licenses"]?.count == 2 && second["connections"]?.count == 2)

        let product = Self.product
        let ids = ["licenses.0", "licenses.1", "connections.0", "connections.1"].map {
            first.at("\($0).id")?.string ?? ""
        }
        for (line, name, path) in [
            ("vendor show acme", "vendor", ["vendors", "0"]),
            ("product show acme/editor", "product", product),
            ("meter show --product acme/editor --meter flow_run", "meter", product + ["meters", "0"]),
            ("plan show --product acme/editor --code pro", "plan", product + ["plans", "0"]),
            ("plan show --product acme/editor --code site", "plan", product + ["plans", "1"]),
            ("offer show --product acme/editor --id pro-yearly", "offer", product + ["offers", "0"]),
            ("license show \(ids[0])", "license", product + ["licenses", "0"]),
            ("license show \(ids[1])", "license", product + ["licenses", "1"]),
            ("store show \(ids[2])", "connection", product + ["store_connections", "0"]),
            ("store show \(ids[3])", "connection", product + ["store_connections", "1"]),
        ] {
            let shown = SeedTree(try #require(try console.json("admin \(line)")[name]))
            guard case .object(let members) = try #require(document[path]) else { continue }
            for member in members where !Self.children.contains(member.name) || path.count > product.count {
                #expect(shown[[member.name]]?.says(member.value) == true, "\(line): \(member.name) in \(shown.text)")
            }
        }
        for (line, name, path) in [
            ("feature list --product acme/editor", "features", product + ["features"]),
            ("tier list --product acme/editor", "tiers", product + ["spend_tiers"]),
            ("credential list --product acme/editor", "credentials", product + ["credentials"]),
        ] {
            let shown = SeedTree(try #require(try console.json("admin \(line)")[name]))
            #expect(try shown.says(#require(document[path])), "\(line): \(shown.text)")
        }
    }

    /// Lists that are shown by commands of their own.
    private static let children: Set<String> = [
        "products", "credentials", "features", "meters", "plans", "store_connections", "spend_tiers", "offers",
        "licenses",
    ]

    /// What a document may say differently later: where, how the result calls it, and other values.
    private static let changes: [(path: [String], shown: String, values: [String: String], fixed: Set<String>)] = [
        (
            ["vendors", "0"], "vendor acme",
            ["name": #""A""#, "issuer": #""https://a.example""#, "validation_quota": "5"],
            ["slug", "credentials", "products"]
        ),
        (
            product, "product acme/editor", ["name": #""E""#],
            children.subtracting(["products"]).union(["slug", "key_prefix", "settings"])
        ),
        (
            product + ["settings"], "product acme/editor",
            [
                "trial_duration": "0", "trial_plan": #""site""#, "trial_start": #""first_contact""#,
                "offline_life": #""P1D""#, "refresh_after": #""PT1H""#, "free_tier": "false",
                "keep_license_keys": "false", "minimum_version": #""2""#, "extra": #"{"theme":[1]}"#,
            ], []
        ),
        (product + ["features", "0"], "feature acme/editor export", ["name": #""X""#], ["code"]),
        (
            product + ["meters", "0"], "meter acme/editor flow_run",
            ["limit": #""unlimited""#, "period": #""P7D""#, "scope": #""install""#], ["name"]
        ),
        (
            product + ["plans", "0"], "plan acme/editor pro",
            [
                "name": #""P""#, "features": #"["export"]"#, "type": #""purchase""#, "duration": #""P2Y""#,
                "seat_limit": #""unlimited""#, "seat_policy": #""deny""#, "overage_percent": "0",
                "idle_before_release": #""P90D""#, "lease_seconds": "60", "expiry_grace": #""P1D""#,
                "expiry_basis": #""issue""#, "offline_life": #""P10D""#, "transfer_limit": "1",
                "transfer_period": #""P1M""#, "self_release": "true", "environment": #"{"hosts":["b.example.com"]}"#,
                "meters": #"{"flow_run":"unlimited"}"#,
            ], ["code"]
        ),
        (
            product + ["store_connections", "0"], "connection acme/editor Sandbox com.acme.editor",
            [
                "app_apple_id": "8", "root_sha256": "[]", "review_access": "true", "renewal_leeway": #""PT0S""#,
                "grandfather": #"{"version_below":"2.0","features":["pro_unlock"]}"#, "enabled": "false",
                "products": #"[{"id":"com.acme.more","features":["pro_unlock"]}]"#,
            ], ["store", "environment", "bundle_id"]
        ),
        (
            product + ["store_connections", "0", "products", "0"], "connection acme/editor Sandbox com.acme.editor",
            ["features": #"["pro_unlock"]"#, "duration": #""P1M""#], ["id"]
        ),
        (
            product + ["store_connections", "1"], "connection acme/editor Xcode com.acme.editor",
            ["allow_xcode": "false", "grandfather": #"{"version_below":"3","features":["export"]}"#],
            ["store", "environment", "bundle_id"]
        ),
        (
            product + ["spend_tiers", "0"], "spend tier acme/editor patron",
            [
                "currency": #""EUR""#, "threshold_milliunits": "1", "features": #"["pro_unlock"]"#,
                "duration": #""P2Y""#,
            ], ["code"]
        ),
        (
            product + ["offers", "0"], "offer acme/editor pro-yearly",
            [
                "plan": #""site""#, "kind": #""purchase""#, "price_milliunits": "1", "currency": #""EUR""#,
                "store_product_id": #""x""#, "trial_duration": #""P1D""#, "url": #""https://b.example""#,
                "from": #""2026-02-01""#, "until": #""2035-01-01""#,
            ], ["id"]
        ),
    ]

    @Test("every member that may change is changed by a later run, it alone, and back", arguments: changes.indices)
    func laterChange(index: Int) throws {
        let change = Self.changes[index]
        let document = try Self.document
        let names = try #require(document[change.path]).names
        #expect(Set(names) == Set(change.values.keys).union(change.fixed), "no member is forgotten here")
        _ = try applied(document)

        for (name, value) in change.values.sorted(by: { $0.key < $1.key }) {
            let other = document.replacing(change.path + [name], by: try SeedTree(parsing: value))
            let there = try applied(other)
            #expect(there["changed"]?.texts == [change.shown] && there["created"]?.count == 0, "\(name)")
            #expect(try applied(other)["changed"]?.count == 0, "\(name)")
            let back = try applied(document)
            // What a connection maps stays until it is taken out: a document that leaves it out says nothing of it.
            #expect(back["changed"]?.texts == (name == "products" ? [] : [change.shown]), "\(name)")
        }
    }

    @Test("a member of another type is refused by its place")
    func otherType() throws {
        let document = try Self.document
        for (path, value) in document.parts where !Self.isFree(Array(path.dropLast())) || path.last == "flow_run" {
            // A text where none may stand, and a truth value where a text does.
            let other =
                if case .leaf(let text) = value, text.hasPrefix("\"") { "true" } else { #""other""# }

            let places = try blamed(document.replacing(path, by: .leaf(other)))

            #expect(places.contains(Self.pointer(path)), "\(path): \(places)")
        }
    }

    @Test("a member that nobody knows is refused by its place, wherever it stands")
    func unknownMember() throws {
        let document = try Self.document
        let objects = [(path: [], value: document)] + document.parts
        for (path, value) in objects where !value.names.isEmpty && !Self.isFree(path) {
            let places = try blamed(document.replacing(path + ["tpyo"], by: .leaf("1")))

            #expect(places == [Self.pointer(path + ["tpyo"])], "\(path)")
        }
    }

    @Test("two of one name in a list are refused by the second one's place")
    func duplicates() throws {
        let document = try Self.document
        let names = [
            "vendors": "slug", "products": "slug", "credentials": "name", "features": "code", "meters": "name",
            "plans": "code", "store_connections": "bundle_id", "spend_tiers": "code", "offers": "id",
            "licenses": "order_id",
        ]
        for (path, value) in document.parts {
            guard case .array(let elements) = value, let first = elements.first, !first.names.isEmpty else { continue }
            let list = try #require(path.last)
            let name = path.contains("store_connections") && list == "products" ? "id" : try #require(names[list])

            let places = try blamed(document.replacing(path + ["\(elements.count)"], by: first))

            #expect(places == [Self.pointer(path + ["\(elements.count)", name])], "\(path)")
        }
    }

    @Test("adapters, of which there are none yet, are refused in so many words")
    func adapters() throws {
        let tree = try Self.document.replacing(["vendors", "0", "adapters"], by: .array([.leaf(#""keylight""#)]))
        let failure = try console.failure(["seed", console.file("seed.json", tree.text)])

        #expect(failure.error.at("errors.0.pointer")?.string == "/vendors/0/adapters")
        #expect(failure.error.at("errors.0.detail")?.string?.contains("has no adapters") == true)
        #expect(failure.error["errors"]?.count == 1)
    }
}
