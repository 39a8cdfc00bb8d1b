import Storage
import Testing

@testable import LicensingServices

@Suite("Schema") struct SchemaTests {
    @Test("tables without rowid begin with the columns of their key, or SQLite 3.40 reports NULL values that are none")
    func keysComeFirst() throws {
        let office = try LicenseOffice()
        let reader = try office.database.openReader()

        let wrong = try reader.snapshot { db in
            try db.all(
                built: """
                    SELECT tables.name || '.' || columns.name
                    FROM pragma_table_list AS tables JOIN pragma_table_info(tables.name) AS columns
                    WHERE tables.schema = 'main' AND tables.wr = 1 AND columns.pk > 0 AND columns.cid <> columns.pk - 1
                    """,
                [:]
            ) { row in try row.text() }
        }
        let count = try reader.snapshot { db in
            try db.first("SELECT count(*) FROM pragma_table_list WHERE wr = 1") { row in try row.int() }
        }

        #expect(wrong == [])
        #expect(try #require(count) > 0)
    }

    @Test("every table is strict, so that a column holds what it says")
    func tablesAreStrict() throws {
        let office = try LicenseOffice()
        let reader = try office.database.openReader()

        let loose = try reader.snapshot { db in
            try db.all(
                """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'
                """
            ) { row in try row.text() }
        }

        #expect(loose == [])
    }
}
