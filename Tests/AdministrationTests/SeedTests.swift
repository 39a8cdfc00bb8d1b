import Foundation
import StrictJSON
import Testing

@Suite("Seed") struct SeedTests {
    let console = Console()

    /// The document of the operator's handbook, as far as this version knows its members.
    private static let document = """
        {"vendors":[{"slug":"acme","name":"Acme Software","issuer":"https://licenses.acme.example","validation_quota":100000,
          "credentials":[{"name":"unified","kind":"ul","mode":"live"},{"name":"ci","kind":"sk"}],
          "products":[{"slug":"editor","name":"Acme Editor","key_prefix":"ACME",
            "settings":{"trial_duration":"P14D","trial_plan":"pro","offline_life":"P7D","refresh_after":"P1D",
              "free_tier":false,"extra":{"theme":"dark"}},
            "features":[{"code":"pro_unlock","name":"Pro"},{"code":"export","name":"Export"}],
            "plans":[{"code":"pro","features":["pro_unlock","export"],"type":"subscription","seat_limit":3,"duration":"P1Y",
              "self_release":false,"environment":{"hosts":["*.example.com"]}},
              {"code":"site","features":["export"],"seat_limit":"unlimited"}],
            "credentials":[{"name":"app","kind":"pk","mode":"live"}],
            "licenses":[{"order_id":"demo-1","plan":"pro","customer":{"email":"demo@example.com","name":"Demo"}},
              {"order_id":"demo-1","plan":"pro","mode":"test","expires_at":"2030-06-26"},
              {"order_id":"demo-2","plan":"site","seat_limit":5,"starts_at":"2027-01-01","maintenance_until":"2028-01-01"},
              {"key":"LEGACY-0001-XYZ","plan":"pro"}]}]}]}
        """

    private func seed(_ text: String, _ more: String...) throws -> Ending {
        let path = try console.file("seed.json", text)
        return console.run(["seed", path, "--json"] + more)
    }

    private func applied(_ text: String, _ more: String...) throws -> JSONValue {
        let path = try console.file("seed.json", text)
        return try console.json(["seed", path] + more)
    }

    @Test("a first run makes everything, shows secrets once, and lists the licenses with their keys")
    func firstRun() throws {
        let result = try applied(Self.document)

        #expect(
            result["created"]?.texts == [
                "vendor acme", "credential acme unified", "credential acme ci", "feature acme/editor pro_unlock",
                "feature acme/editor export", "plan acme/editor pro", "plan acme/editor site", "product acme/editor",
                "credential acme/editor app", "license acme/editor demo-1", "license acme/editor demo-1",
                "license acme/editor demo-2",
                "license acme/editor \(result.at("licenses.3.id")?.string ?? "")",
            ]
        )
        #expect(result["changed"]?.count == 0)
        #expect(result["unchanged"]?.int64 == 0)
        #expect(result["secrets"]?.elements?.compactMap { $0["name"]?.string } == ["unified", "ci", "app"])
        #expect(result.at("secrets.2.token")?.string?.hasPrefix("pk_live_") == true)
        #expect(result.at("licenses.0.order_id")?.string == "demo-1")
        #expect(result.at("licenses.0.key")?.string?.hasPrefix("ACME-") == true)
        #expect(result.at("licenses.1.key")?.string?.hasPrefix("ACME-TEST-") == true)
        #expect(result.at("licenses.3.key")?.string?.filter { $0 != "-" } == "LEGACY0001XYZ")
        #expect(result["connections"]?.count == 0)

        let product = try console.json("admin product show acme/editor")
        #expect(product.at("product.settings.trial_plan")?.string == "pro")
        #expect(product.at("product.settings.extra.theme")?.string == "dark")
        let vendor = try console.json("admin vendor show acme")
        #expect(vendor.at("vendor.issuer")?.string == "https://licenses.acme.example")
        #expect(vendor.at("vendor.validation_quota")?.int64 == 100_000)
        let plan = try console.json("admin plan show --product acme/editor --code pro")
        #expect(plan.at("plan.self_release")?.bool == false)
        #expect(plan.at("plan.environment.hosts")?.texts == ["*.example.com"])
        #expect(plan["licenses"]?.int64 == 3)
        #expect(console.run("doctor").code == 0)
    }

    @Test("a second run changes nothing, shows no secret, and lists every license again")
    func secondRun() throws {
        let first = try applied(Self.document)
        let rows = try console.json("admin audit verify").at("audit.rows")?.int64

        let second = try applied(Self.document)

        #expect(second["created"]?.count == 0)
        #expect(second["changed"]?.count == 0)
        #expect(second["unchanged"]?.int64 == Int64(try #require(first["created"]?.count)))
        #expect(second["secrets"]?.count == 0)
        #expect(
            second["licenses"]?.elements?.map { $0["id"]?.string }
                == first["licenses"]?.elements?.map { $0["id"]?.string }
        )
        #expect(
            second["licenses"]?.elements?.map { $0["key"]?.string }
                == first["licenses"]?.elements?.map { $0["key"]?.string }
        )
        #expect(try console.json("admin audit verify").at("audit.rows")?.int64 == rows)
    }

    @Test("names that look alike and are of other bytes are two, in a document and beside what is there")
    func alikeNames() throws {
        func document(_ names: String...) -> String {
            let credentials = names.map { #"{"name":"\#($0)","kind":"sk"}"# }.joined(separator: ",")
            return #"{"vendors":[{"slug":"acme","name":"Acme","credentials":[\#(credentials)]}]}"#
        }

        let first = try applied(document("caf\u{E9}"))
        let both = try applied(document("caf\u{E9}", "cafe\u{301}"))
        let again = try applied(document("caf\u{E9}", "cafe\u{301}"))

        #expect(first["secrets"]?.count == 1 && both["secrets"]?.count == 1 && again["secrets"]?.count == 0)
        #expect(both["created"]?.texts.first?.utf8.elementsEqual("credential acme cafe\u{301}".utf8) == true)
    }

    @Test("what the document says differently is changed, what it leaves out is left alone")
    func change() throws {
        _ = try applied(Self.document)

        let result = try applied(
            """
            {"vendors":[{"slug":"acme","products":[{"slug":"editor","settings":{"free_tier":true},
              "features":[{"code":"export","name":"Exports"}],"plans":[{"code":"pro","seat_limit":5}]}]}]}
            """
        )

        #expect(
            result["changed"]?.texts == ["feature acme/editor export", "plan acme/editor pro", "product acme/editor"]
        )
        #expect(result["unchanged"]?.int64 == 1)
        let product = try console.json("admin product show acme/editor")
        #expect(product.at("product.settings.free_tier")?.bool == true)
        #expect(product.at("product.settings.trial_duration")?.string == "P14D")
        #expect(product.at("product.name")?.string == "Acme Editor")
    }

    @Test("a dry run says what it would do and does nothing, also where there is no database")
    func dryRun() throws {
        let would = try applied(Self.document, "--dry-run")

        #expect(would["created"]?.count == 13)
        #expect(would["dry_run"]?.bool == true)
        #expect(would.at("secrets.0.token")?.isNull == true)
        #expect(would.at("licenses.0.key")?.isNull == true)
        #expect(!FileManager.default.fileExists(atPath: console.data))

        _ = try applied(Self.document)
        let changed = Self.document.replacingOccurrences(of: "Acme Software", with: "Acme")
        #expect(try applied(changed, "--dry-run")["changed"]?.texts == ["vendor acme"])
        #expect(try console.json("admin vendor show acme").at("vendor.name")?.string == "Acme Software")
    }

    @Test("a key of a product that keeps none is shown by the run that made it, and by no other")
    func keysShownOnce() throws {
        let document =
            #"{"vendors":[{"slug":"a","products":[{"slug":"p","settings":{"keep_license_keys":false},"#
            + #""features":[{"code":"pro"}],"plans":[{"code":"pro","features":["pro"]}],"#
            + #""licenses":[{"order_id":"1","plan":"pro"}]}]}]}"#

        let would = try applied(document, "--dry-run")
        let first = try applied(document)
        let second = try applied(document)
        let wouldAgain = try applied(document, "--dry-run")

        let key = try #require(first.at("licenses.0.key")?.string)
        let id = first.at("licenses.0.id")?.string
        #expect(first["notes"]?.texts.contains { $0.contains("this once") } == true)
        #expect(try console.json("admin license show \(key)").at("license.id")?.string == id)
        #expect(would.at("licenses.0.key")?.isNull == true)
        for later in [second, wouldAgain] {
            #expect(later.at("licenses.0.id")?.string == id && later.at("licenses.0.key")?.isNull == true)
        }
    }

    @Test("another key prefix is refused once licenses were issued: keys that were sold are read by it")
    func keyPrefixStays() throws {
        let sold =
            #"{"vendors":[{"slug":"a","products":[{"slug":"p","key_prefix":"OLD","plans":[{"code":"pro"}],"#
            + #""licenses":[{"order_id":"1","plan":"pro"}]}]}]}"#
        #expect(try seed(sold).code == 0)

        let ending = try seed(#"{"vendors":[{"slug":"a","products":[{"slug":"p","key_prefix":"NEW"}]}]}"#)

        #expect(ending.code == 1)
        #expect(try ending.failure()["pointer"]?.string == "/vendors/0/products/0/key_prefix")
    }

    @Test(
        "a mistake is named by its place, and nothing is applied",
        arguments: [
            (#"{"vendorz":[]}"#, "/vendorz"),
            (#"{"vendors":{}}"#, "/vendors"),
            (#"{"vendors":[1]}"#, "/vendors/0"),
            (#"{"vendors":[{"name":"x"}]}"#, "/vendors/0/slug"),
            (#"{"vendors":[{"slug":"Acme"}]}"#, "/vendors/0/slug"),
            (#"{"vendors":[{"slug":"a"},{"slug":"a"}]}"#, "/vendors/1/slug"),
            (#"{"vendors":[{"slug":"a","validation_quota":-1}]}"#, "/vendors/0/validation_quota"),
            (#"{"vendors":[{"slug":"a","validation_quota":1.0}]}"#, "/vendors/0/validation_quota"),
            (#"{"vendors":[{"slug":"a","validation_quota":"10"}]}"#, "/vendors/0/validation_quota"),
            (#"{"vendors":[{"slug":"a","issuer":"acme"}]}"#, "/vendors/0/issuer"),
            (#"{"vendors":[{"slug":"a","credentials":[{"name":"x","kind":"pk"}]}]}"#, "/vendors/0/credentials/0/kind"),
            (#"{"vendors":[{"slug":"a","credentials":[{"kind":"sk"}]}]}"#, "/vendors/0/credentials/0/name"),
            (#"{"vendors":[{"slug":"a","credentials":[{"name":"x","kind":"zz"}]}]}"#, "/vendors/0/credentials/0/kind"),
        ] + product
    )
    func mistakes(text: String, pointer: String) throws {
        let ending = try seed(text)

        #expect(ending.code == 1)
        #expect(ending.out.isEmpty)
        let error = try ending.failure()
        #expect(error["code"]?.string == "VALIDATION")
        #expect(error.at("errors.0.pointer")?.string == pointer, "\(ending.error)")
        #expect(!FileManager.default.fileExists(atPath: console.data))
    }

    private static let product = [
        (#""key_prefix":"acme""#, "/key_prefix"),
        (#""setings":{}"#, "/setings"),
        (#""settings":{"trial_days":14}"#, "/settings/trial_days"),
        (#""settings":{"trial_duration":14}"#, "/settings/trial_duration"),
        (#""settings":{"offline_life":"P2Y"}"#, "/settings/offline_life"),
        (#""settings":{"free_tier":"true"}"#, "/settings/free_tier"),
        (#""settings":{"extra":"{}"}"#, "/settings/extra"),
        (#""settings":{"trial_start":"later"}"#, "/settings/trial_start"),
        (#""features":[{"code":"Pro"}]"#, "/features/0/code"),
        (#""features":[{"code":"p"},{"code":"p"}]"#, "/features/1/code"),
        (#""features":[{"code":"p","title":"P"}]"#, "/features/0/title"),
        (#""plans":[{"code":"pro","seat_limits":3}]"#, "/plans/0/seat_limits"),
        (#""plans":[{"code":"pro","seat_limit":-1}]"#, "/plans/0/seat_limit"),
        (#""plans":[{"code":"pro","seat_limit":"3"}]"#, "/plans/0/seat_limit"),
        (#""plans":[{"code":"pro","duration":"1Y"}]"#, "/plans/0/duration"),
        (#""plans":[{"code":"pro","type":"gift"}]"#, "/plans/0/type"),
        (#""plans":[{"code":"pro","features":["A"]}]"#, "/plans/0/features/0"),
        (#""plans":[{"code":"pro","features":["a","a"]}]"#, "/plans/0/features/1"),
        (#""plans":[{"code":"pro","lease_seconds":0}]"#, "/plans/0/lease_seconds"),
        (#""plans":[{"code":"pro","environment":{}}]"#, "/plans/0/environment"),
        (#""plans":[{"code":"pro","meters":{"runs":-3}}]"#, "/plans/0/meters/runs"),
        (#""credentials":[{"name":"x","kind":"ul"}]"#, "/credentials/0/kind"),
        (#""licenses":[{"plan":"pro"}]"#, "/licenses/0/order_id"),
        (#""licenses":[{"order_id":"1"}]"#, "/licenses/0/plan"),
        (#""licenses":[{"order_id":"1","plan":"pro","email":"a@example.com"}]"#, "/licenses/0/email"),
        (#""licenses":[{"order_id":"1","plan":"pro","customer":{"mail":"a"}}]"#, "/licenses/0/customer/mail"),
        (#""licenses":[{"order_id":"1","plan":"pro","customer":{"email":"a"}}]"#, "/licenses/0/customer/email"),
        (#""licenses":[{"order_id":"1","plan":"pro","expires_at":"soon"}]"#, "/licenses/0/expires_at"),
        (
            #""licenses":[{"order_id":"1","plan":"pro","expires_at":"2030-01-01","duration":"P1Y"}]"#,
            "/licenses/0/duration"
        ),
        (#""licenses":[{"order_id":"1","plan":"pro"},{"order_id":"1","plan":"pro"}]"#, "/licenses/1/order_id"),
        (#""meters":[{"name":"runs","limit":"3"}]"#, "/meters/0/limit"),
        (#""spend_tiers":[{"code":"b","treshold":1}]"#, "/spend_tiers/0/treshold"),
        (#""spend_tiers":[{"code":"b","threshold_milliunits":0}]"#, "/spend_tiers/0/threshold_milliunits"),
        (#""spend_tiers":[{"code":"b"},{"code":"b"}]"#, "/spend_tiers/1/code"),
        (#""gifts":[]"#, "/gifts"),
    ].map { (#"{"vendors":[{"slug":"a","products":[{"slug":"p",\#($0.0)}]}]}"#, "/vendors/0/products/0\($0.1)") }

    @Test("every mistake of a document is told at once")
    func allAtOnce() throws {
        let ending = try seed(#"{"vendors":[{"slug":"A","nam":"x","validation_quota":-1}],"more":1}"#)

        #expect(try ending.failure()["errors"]?.count == 4)
    }

    @Test("a document that is no JSON is told with its line")
    func noJSON() throws {
        let ending = try seed("{\"vendors\":[\n{\"slug\":\"a\",}]}")

        #expect(try ending.failureCode() == "MALFORMED_JSON")
        #expect(ending.error.contains("line 2"))
        #expect(try console.failure("seed /nowhere.json").code == "IO")
    }

    @Test(
        "what only the database can tell is refused with its place, and nothing of the document is kept",
        arguments: [
            (#""plans":[{"code":"x","features":["nothing"]}]"#, "FEATURE_NOT_FOUND", "/plans/0/features"),
            (#""plans":[{"code":"x","meters":{"nothing":3}}]"#, "METER_NOT_FOUND", "/plans/0/meters"),
            (#""settings":{"trial_plan":"nothing"}"#, "PLAN_NOT_FOUND", "/settings/trial_plan"),
            (#""licenses":[{"order_id":"n","plan":"nothing"}]"#, "PLAN_NOT_FOUND", "/licenses/0/plan"),
            (#""plans":[{"code":"pro","seat_limit":1}]"#, "AFFECTS_EXISTING", "/plans/0"),
            (#""spend_tiers":[{"code":"t","currency":"USD"}]"#, "VALIDATION", "/spend_tiers/0/threshold_milliunits"),
            (
                #""spend_tiers":[{"code":"t","currency":"USD","threshold_milliunits":1,"features":["nothing"]}]"#,
                "FEATURE_NOT_FOUND", "/spend_tiers/0/features"
            ),
            (#""offers":[{"id":"o","kind":"trial","plan":"nothing"}]"#, "PLAN_NOT_FOUND", "/offers/0/plan"),
            (
                #""store_connections":[{"store":"apple","environment":"Sandbox","bundle_id":"b","#
                    + #""products":[{"id":"x","features":[]},{"id":"y","features":["nothing"]}]}]"#,
                "FEATURE_NOT_FOUND", "/store_connections/0/products/1/features"
            ),
            (
                #""store_connections":[{"store":"apple","environment":"Sandbox","bundle_id":"b","#
                    + #""grandfather":{"version_below":"2","features":["nothing"]}}]"#,
                "FEATURE_NOT_FOUND", "/store_connections/0/grandfather/features"
            ),
            (
                #""licenses":[{"key":"OLD-77","plan":"pro"},{"key":"old 77","plan":"pro"}]"#,
                "VALIDATION", "/licenses/1/key"
            ),
            (
                #""licenses":[{"order_id":"demo-1","plan":"site"}]"#, "ORDER_ID_CONFLICT", "/licenses/0/order_id"
            ),
        ]
    )
    func refusals(members: String, code: String, pointer: String) throws {
        _ = try applied(Self.document)

        let ending = try seed(
            #"{"vendors":[{"slug":"new"},{"slug":"acme","name":"Changed","products":[{"slug":"editor",\#(members)}]}]}"#
        )

        #expect(ending.code == 1)
        #expect(try ending.failureCode() == code)
        #expect(try ending.failure()["pointer"]?.string == "/vendors/1/products/0\(pointer)", "\(ending.error)")
        #expect(try console.failure("admin vendor show new").code == "VENDOR_NOT_FOUND")
        #expect(try console.json("admin vendor show acme").at("vendor.name")?.string == "Acme Software")
    }

    @Test("affects_existing lets a document take rights")
    func affectsExisting() throws {
        _ = try applied(Self.document)
        let body =
            #""vendors":[{"slug":"acme","products":[{"slug":"editor","plans":[{"code":"pro","seat_limit":1}]}]}]"#

        #expect(try seed("{\(body)}").failure()["licenses"]?.int64 == 3)
        #expect(try applied(#"{"affects_existing":true,\#(body)}"#)["changed"]?.texts == ["plan acme/editor pro"])
    }

    @Test("a document may come by standard input")
    func standardInput() throws {
        var console = console
        console.input = Array(#"{"vendors":[{"slug":"acme"}]}"#.utf8)

        #expect(try console.json("seed -")["created"]?.texts == ["vendor acme"])
    }
}
