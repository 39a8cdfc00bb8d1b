import AppStore
import Bundles
import CSQLite
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI

extension Catalog {
    /// Does to the database what no schema would allow.
    func damage(_ statement: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        let path = folder.path + "/countersign.db"
        try #require(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
        // As another writer would, so that nothing is answered from memory.
        let text = """
            PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
            \(statement); UPDATE state SET version = version + 1
            """
        try #require(sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK, "\(statement)")
    }
}

@Suite("A damaged database") struct DamageTests {
    /// An editor, and an install that has rights of every source, each by rows that refer to others.
    private static func open() throws -> TestAPI {
        let start = Catalog.start
        let tryout = try PlanCode("tryout")
        var api = try TestAPI.open(
            settings: ProductSettings(trialDuration: CalendarDuration(days: 14), trialPlan: tryout)
        )
        let editor = api.catalog.editor
        let keys = api.catalog.services.keys
        let plan = Plan(
            id: try .fresh(),
            product: editor.id,
            code: tryout,
            name: "Try-out",
            features: [try FeatureCode("pro")]
        )
        try api.writer.write { db in try PlanStore.insert(plan, at: start, in: db) }
        let export = try FeatureCode("export")
        try api.connect { changes in
            changes.grandfather = .set(GrandfatherRule(condition: .versionBelow("2"), features: [export]))
        }
        try api.addMeter("shared", limit: .limited(100), scope: .license)
        let license = try api.sell { plan in plan.meters = [try MeterName("shared"): .limited(200)] }
        #expect(api.activate(license.key).status == 200)
        #expect(try api.verify(unlock()).status == 200)
        #expect(api.meters("consume", #""meter":"shared""#)["allowed"]?.bool == true)
        let digest = keys.digest(of: try InstallID(installID(1)), product: editor.id)
        let tier = SpendTier(
            id: try .fresh(),
            product: editor.id,
            code: try PlanCode("patron"),
            currency: "USD",
            thresholdMilliunits: 1_000_000,
            features: [export]
        )
        try api.writer.write { db in
            try SpendTierStore.insert(tier, at: start, in: db)
            _ = try GiftService(keys: keys).create(
                .fresh(),
                of: [export],
                to: .install(digest),
                mode: nil,
                until: nil,
                of: editor,
                by: Actor(name: "test", now: start),
                in: db
            )
        }
        return api
    }

    /// Tables whose rows others refer to by a foreign key, and those that a link names without one.
    private static func parents() throws -> [String] {
        let api = try open()
        let tables = try api.writer.write { db in
            try db.all(
                """
                SELECT DISTINCT list."table" FROM sqlite_master AS tables, pragma_foreign_key_list(tables.name) AS list
                WHERE tables.type = 'table'
                """
            ) { row in try row.text() }
        }
        return tables + ["purchases"]
    }

    /// What is a right itself, whose it is, or what it gives: nothing is left behind that could tell that it was there.
    private static let rights: Set = ["activations", "gifts", "installs", "spend_tiers", "store_products"]

    /// Tables whose loss leaves nobody who might ask.
    private static let askers: Set = ["credentials", "products", "vendors"]

    @Test("rows that others refer to are gone: no bundle says less than before, and nothing reads as a rejection")
    func danglingReferences() throws {
        let tables = Set(try Self.parents()).subtracting(Self.rights)
        var failing: Set<String> = []
        for table in tables {
            var api = try Self.open()
            let before = try Set(api.rights())
            #expect(Set(before.map { $0.split(separator: " ")[1] }) == ["license", "trial", "store", "gift"])

            try api.catalog.damage("DELETE FROM \(table)")
            let answer = api.post("/v1/sync", #"{"install_id":"\#(installID(1))"}"#)

            if answer.status == 200 {
                #expect(try Set(api.rights()).isSuperset(of: before), "\(table)")
            } else {
                let isRefused = Self.askers.contains(table) && [401, 403].contains(answer.status)
                #expect(isRefused || answer.status == 500, "\(table): \(answer.text)")
                #expect(answer.verdict == "unknown" && answer["bundle"] == nil, "\(table): \(answer.text)")
                failing.insert(table)
            }
        }
        // What the rights above come from.
        #expect(failing.isSuperset(of: ["features", "licenses", "plans", "purchases", "store_connections"]))
    }

    /// Columns that name a feature or a meter of the product, and the table and column that has it.
    private static func names() throws -> [(table: String, column: String, parent: String, name: String)] {
        let api = try open()
        return try api.writer.write { db in
            try db.all(
                """
                SELECT tables.name, list."from", list."table", list."to"
                FROM sqlite_master AS tables, pragma_foreign_key_list(tables.name) AS list
                WHERE tables.type = 'table' AND list."from" IN ('feature_code', 'meter_name')
                """
            ) { row in (try row.text(), try row.text(), try row.text(), try row.text()) }
        }
    }

    @Test(
        "a code that is none, would be two, or is no feature or meter of the product makes no bundle that says less or more",
        arguments: ["", " ", "pro export", " pro", "shared=5 pro", "unknown", "Pro"]
    )
    func codes(code: String) throws {
        let names = try Self.names()
        #expect(
            Set(names.map(\.table)) == [
                "plan_features", "plan_meters", "gift_features", "grandfathered_features", "spend_tier_features",
                "store_product_features",
            ]
        )
        // One that the product has by its row as well is damage where it is no code; else it would only be renamed.
        for isKnown in code == "unknown" ? [false] : [false, true] {
            for (table, column, parent, name) in names {
                var api = try Self.open()
                #expect(try api.rights().count >= 4)

                try api.catalog.damage("UPDATE OR IGNORE \(table) SET \(column) = '\(code)'")
                if isKnown { try api.catalog.damage("UPDATE OR IGNORE \(parent) SET \(name) = '\(code)'") }

                for path in ["/v1/sync", "/v1/trial"] {
                    let answer = api.post(path, #"{"install_id":"\#(installID(1))"}"#)
                    #expect(answer.status == 500 && answer.verdict == "unknown", "\(table) \(path): \(answer.text)")
                    #expect(answer["bundle"] == nil)
                }
            }
        }
    }

    @Test(
        "what a product says besides is one JSON object, or nothing is signed",
        arguments: [
            #"0},"grants":[{"feature":"pro","source":"gift","starts":1,"until":9000000000,"ref":"x"}],"s":{"a":1"#,
            #"{"a":1},"grants":[],"b":{"c":2}"#, "{", "[]", "null", "", "1",
            #"{"a":1,"a":2}"#, "{} {}", "{}{}",
        ]
    )
    func extra(text: String) throws {
        var api = try TestAPI.open()
        #expect(try api.rights() == [])

        try api.catalog.damage("UPDATE products SET extra = '\(text)'")

        for path in ["/v1/sync", "/v1/activate", "/v1/validate", "/v1/trial"] {
            let answer = api.post(path, #"{"install_id":"\#(installID(1))","license_key":"ACME-1"}"#)
            #expect(answer.status == 500 && answer.verdict == "unknown", "\(path): \(answer.text)")
            #expect(!answer.text.contains("bundle"))
        }
    }
}
