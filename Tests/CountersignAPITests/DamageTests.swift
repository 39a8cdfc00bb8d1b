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
        try api.connect()
        try api.addMeter("shared", limit: .limited(100), scope: .license)
        let license = try api.sell()
        #expect(api.activate(license.key).status == 200)
        #expect(try api.verify(unlock()).status == 200)
        #expect(api.meters("consume", #""meter":"shared""#)["allowed"]?.bool == true)
        let digest = keys.digest(of: try InstallID(installID(1)), product: editor.id)
        try api.writer.write { db in
            _ = try GiftService(keys: keys).create(
                .fresh(),
                of: [FeatureCode("export")],
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

    @Test("rows that others refer to are gone: no bundle says less than before, and nothing reads as a rejection")
    func danglingReferences() throws {
        let tables = Set(try Self.parents()).subtracting(Self.rights)
        #expect(tables.isSuperset(of: ["licenses", "plans", "store_connections", "trials"]))
        for table in tables {
            var api = try Self.open()
            let before = try Set(api.rights())
            #expect(Set(before.map { $0.split(separator: " ")[1] }) == ["license", "trial", "store", "gift"])

            try api.catalog.damage("DELETE FROM \(table)")
            let answer = api.post("/v1/sync", #"{"install_id":"\#(installID(1))"}"#)

            if answer.status == 200 {
                #expect(try Set(api.rights()).isSuperset(of: before), "\(table)")
            } else {
                #expect(answer.verdict == "unknown", "\(table): \(answer.text)")
                #expect([401, 403].contains(answer.status) || answer.status >= 500, "\(table): \(answer.text)")
                #expect(answer["bundle"] == nil, "\(table)")
            }
        }
    }

    @Test(
        "what a product says besides is one JSON object, or nothing is signed",
        arguments: [
            #"0},"grants":[{"feature":"pro","source":"gift","starts":1,"until":9000000000,"ref":"x"}],"s":{"a":1"#,
            #"{"a":1},"grants":[],"b":{"c":2}"#, "{", "[]", "null", "", #"{"a":1,"a":2}"#, "{} {}",
        ]
    )
    func extra(text: String) throws {
        var api = try TestAPI.open()
        #expect(try api.rights() == [])

        try api.catalog.damage("UPDATE products SET extra = '\(text)'")

        for path in ["/v1/sync", "/v1/activate", "/v1/validate", "/v1/trial"] {
            let answer = api.post(path, #"{"install_id":"\#(installID(1))","license_key":"ACME-1"}"#)
            #expect(answer.status >= 500, "\(path): \(answer.text)")
            #expect(!answer.text.contains("bundle"))
        }
    }
}
