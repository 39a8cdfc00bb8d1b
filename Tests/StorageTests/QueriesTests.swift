import Storage
import Testing

@Suite("Queries") struct QueriesTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
    }

    @Test(
        "values come back as they went in",
        arguments: [
            .null, .integer(.max), .integer(.min), .text(""), .text("a\0b"), .text("éx"), .blob([]), .blob([0, 255]),
        ] as [Value]
    )
    func roundTrip(value: Value) throws {
        let connection = try database.openForCommandLine()

        let read = try connection.snapshot { db in
            try db.first("SELECT :value", ["value": value]) { row -> Value in
                switch value {
                case .null: .textOrNull(try row.textOrNil())
                case .integer: .integer(try row.integer())
                case .text: .text(try row.text())
                case .blob: .blob(try row.blob())
                }
            }
        }

        #expect(read == value)
    }

    @Test("parameters may come in any order, each once")
    func order() throws {
        let connection = try database.openForCommandLine()

        let read = try connection.snapshot { db in
            try db.first("SELECT :a, :b, :a", ["b": .integer(2), "a": .integer(1)]) { row in
                [try row.integer(), try row.integer(), try row.integer()]
            }
        }

        #expect(read == [1, 2, 1])
    }

    @Test("a name that is unknown, missing or given twice is refused", arguments: [0, 1, 2, 3])
    func wrongNames(which: Int) throws {
        let connection = try database.openForCommandLine()
        let parameters: KeyValuePairs<StaticString, Value> =
            switch which {
            case 0: ["a": .null]
            case 1: ["a": .null, "b": .null, "c": .null]
            case 2: ["a": .null, "a": .null]
            default: ["a": .null, "bb": .null]
            }

        #expect(throws: StorageError.self) {
            try connection.snapshot { db in _ = try db.first("SELECT :a, :b", parameters) { _ in } }
        }
    }

    @Test("a column of another type, NULL, or one too many is thrown, naming it")
    func mismatches() throws {
        let connection = try database.openForCommandLine()
        func message(_ sql: StaticString, _ read: (inout Row) throws -> Void) throws -> String? {
            do {
                _ = try connection.snapshot { db in try db.first(sql, read) }
            } catch let error as StorageError {
                #expect(error.category == .misuse)
                return error.message
            }
            return nil
        }

        #expect(try message("SELECT 1 AS size") { _ = try $0.text() }?.contains("size") == true)
        #expect(try message("SELECT NULL AS size") { _ = try $0.integer() }?.contains("size") == true)
        #expect(try message("SELECT 2 AS size") { _ = try $0.bool() }?.contains("size") == true)
        #expect(try message("SELECT 1") { row in _ = (try row.integer(), try row.integer()) } != nil)
        #expect(try message("SELECT 'x' AS size") { _ = try $0.blobOrNil() }?.contains("size") == true)
    }

    @Test("a closure may ask the same question again while it reads")
    func nested() throws {
        let connection = try database.openForCommandLine()
        func count(_ db: borrowing Snapshot, from start: Int64) throws -> [Int64] {
            var seen: [Int64] = []
            try db.each("SELECT value FROM json_each('[1,2]') WHERE value > :s", ["s": .integer(start)]) { row in
                let value = try row.integer()
                seen.append(value)
                if value == 1 { seen += try count(db, from: value) }
            }
            return seen
        }

        let seen = try connection.snapshot { db in try count(db, from: 0) }

        #expect(seen == [1, 2, 2])
    }

    @Test("a statement can be used again after it failed, and after its reader threw")
    func afterFailure() throws {
        struct Stop: Error {}
        let connection = try database.openForCommandLine()
        try connection.write { db in
            try insertItem("a", in: db)
            #expect(throws: StorageError.self) { try insertItem("a", in: db) }
            #expect(throws: Stop.self) { try db.each("SELECT name FROM items") { _ in throw Stop() } }
            try insertItem("b", in: db)
        }

        #expect(try connection.snapshot { db in try itemNames(db) } == ["a", "b"])
    }

    @Test("SQL made at run time binds by name, and is one statement")
    func built() throws {
        let connection = try database.openForCommandLine()

        let rows = try connection.snapshot { db in
            try db.all(built: "SELECT :x + 1", ["x": .integer(1)]) { row in try row.integer() }
        }

        #expect(rows == [2])
        #expect(throws: StorageError.self) {
            try connection.snapshot { db in _ = try db.all(built: "SELECT 1; SELECT 2", [:]) { _ in } }
        }
    }

    @Test("a double-quoted string is no string")
    func quotes() throws {
        let connection = try database.openForCommandLine()

        #expect(throws: StorageError.self) {
            try connection.snapshot { db in _ = try db.first(#"SELECT "nothing""#) { _ in } }
        }
    }

    @Test("a reader cannot write, and cannot open a snapshot within a snapshot")
    func readOnly() throws {
        _ = try database.openForCommandLine()
        let reader = try database.openReader()

        #expect(throws: StorageError.self) {
            try reader.snapshot { db in try db.each("DELETE FROM items") { _ in } }
        }
        #expect(throws: StorageError.self) {
            try reader.snapshot { _ in try reader.snapshot { _ in } }
        }
        #expect(try reader.snapshot { db in try itemNames(db) } == [])
    }

    @Test("a snapshot sees one state; the next sees what was committed meanwhile")
    func isolation() throws {
        let connection = try database.openForCommandLine()
        let reader = try database.openReader()

        let (before, during) = try reader.snapshot { db in
            let before = try itemNames(db)
            try connection.write { db in _ = try insertItem("a", in: db) }
            return (before, try itemNames(db))
        }

        #expect(before == [] && during == [])
        #expect(try reader.snapshot { db in try itemNames(db) } == ["a"])
    }

    @Test(
        "an error names the broken rule",
        arguments: [
            ("INSERT INTO items (id, name) VALUES (1, 'x'), (1, 'y')", .unique),
            ("INSERT INTO items (name) VALUES ('x'), ('x')", .unique),
            ("INSERT INTO items (name) VALUES (NULL)", .notNull),
            ("INSERT INTO items (name, flag) VALUES ('x', 2)", .check),
            ("INSERT INTO items (name, flag) VALUES ('x', 'text')", .check),
        ] as [(String, StorageError.Constraint)]
    )
    func constraints(sql: String, rule: StorageError.Constraint) throws {
        let connection = try database.openForCommandLine()

        do {
            try connection.write { db in try db.each(built: sql, [:]) { _ in } }
            Issue.record("the schema took it")
        } catch let error as StorageError {
            #expect(error.category == .constraint(rule))
            #expect(!error.isTransient)
        }
    }
}
