import Storage
import Testing

@testable import LicensingServices

@Suite("Schema") struct SchemaTests {
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
