import CSQLite
import Foundation
import Migrations
import Storage
import Testing

/// What a look at the whole database finds of the rules that the schema has for single rows.
@Suite("Integrity of rows", .timeLimit(.minutes(30))) struct IntegrityTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path + "/data", options: .test(migrations: Migration.all))
        _ = try database.openForCommandLine()
    }

    /// The tables of the shipped schema that have a `CHECK`.
    private func tables() throws -> [String] {
        try database.openReader().snapshot { db in
            try db.all("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%CHECK (%' ORDER BY name") {
                try $0.text()
            }
        }
    }

    /// What puts a row into a table that keeps the types of its columns and breaks what they may hold: no word, no length,
    /// no count and no flag is like it.
    private func breaking(_ table: String) throws -> String {
        let columns = try database.openReader().snapshot { db in
            var columns: [(name: String, value: String)] = []
            let values = ["TEXT": "''", "INTEGER": "-7", "BLOB": "x'00'"]
            try db.each(built: "SELECT name, type FROM pragma_table_info('\(table)')", [:]) { row in
                let name = try row.text()
                columns.append((name, try #require(values[try row.text()], "\(table).\(name)")))
            }
            return columns
        }
        return """
            PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
            DELETE FROM \(table);
            INSERT INTO \(table) (\(columns.map(\.name).joined(separator: ", ")))
            VALUES (\(columns.map(\.value).joined(separator: ", ")));
            """
    }

    @Test("a row that breaks a CHECK is found in each table that has one, also while a server holds the database")
    func everyTable() throws {
        let tables = try tables()
        #expect(tables.count > 10)
        let writer = try database.openForServing(.still())
        #expect(try database.integrity().findings == [])

        for statement in try tables.map(breaking) { try database.damage(statement) }
        let integrity = try database.integrity()

        #expect(integrity.areConstraintsChecked)
        for table in tables {
            #expect(integrity.findings.contains { $0.contains("CHECK") && $0.hasSuffix(" \(table)") }, "\(table)")
        }
        let isNew = writer.isNewDatabase
        #expect(!isNew)
    }

    @Test("a look changes no byte, whether a log is left or not")
    func changesNothing() throws {
        func contents() throws -> [String: Data] {
            let paths = [database.path, database.path + "-wal"]
            return try Dictionary(
                uniqueKeysWithValues: paths.filter { FileManager.default.fileExists(atPath: $0) }
                    .map { ($0, try Data(contentsOf: URL(filePath: $0))) }
            )
        }
        try database.openForCommandLine().write { db in try db.probe() }
        let before = try contents()
        #expect(before[database.path + "-wal"]?.isEmpty == false)

        _ = try database.integrity()

        #expect(try contents() == before)
    }
}
