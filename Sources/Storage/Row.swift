internal import CSQLite

/// One row of a result, read column after column in the order of the SELECT; every call takes the next one.
///
/// Bytes are copied out. A row is lent to the closure that reads it and cannot be kept.
/// A column of another type than asked for, NULL where a value is due, or a column too many is thrown as a
/// `StorageError` that names the column.
public struct Row: ~Copyable {
    private let statement: OpaquePointer
    private let count: Int32
    private var column: Int32 = 0

    init(of statement: OpaquePointer) {
        self.statement = statement
        self.count = sqlite3_data_count(statement)
    }

    /// The next column's text.
    public mutating func text() throws(StorageError) -> String {
        guard let text = try textOrNil() else { throw mismatch("text", found: "NULL") }
        return text
    }

    /// The next column's text, or `nil` for NULL.
    public mutating func textOrNil() throws(StorageError) -> String? {
        guard try take(SQLITE_TEXT, "text") else { return nil }
        let bytes = textBytes
        // Nearly all text is ASCII, which is found out much faster than whether other text is UTF-8.
        if isASCII(bytes) { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw StorageError(.corrupt, "column \(name) is not UTF-8", sql: sql)
        }
        return text
    }

    /// What `read` makes of the next column's text, or `nil` for NULL: spares the making of a `String`.
    ///
    /// The bytes may be no UTF-8.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public mutating func textOrNil<R>(_ read: (Span<UInt8>) throws -> R) throws -> R? {
        guard try take(SQLITE_TEXT, "text") else { return nil }
        return try read(textBytes.span)
    }

    /// What `read` makes of the next column's text.
    ///
    /// The bytes may be no UTF-8.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public mutating func text<R>(_ read: (Span<UInt8>) throws -> R) throws -> R {
        guard let result = try textOrNil(read) else { throw mismatch("text", found: "NULL") }
        return result
    }

    /// The text of the column that was taken.
    private var textBytes: UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(statement, column - 1)
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column - 1)))
    }

    /// The next column's integer.
    public mutating func integer() throws(StorageError) -> Int64 {
        guard let integer = try integerOrNil() else { throw mismatch("an integer", found: "NULL") }
        return integer
    }

    /// The next column's integer, or `nil` for NULL.
    public mutating func integerOrNil() throws(StorageError) -> Int64? {
        guard try take(SQLITE_INTEGER, "an integer") else { return nil }
        return sqlite3_column_int64(statement, column - 1)
    }

    /// The next column's integer, which the rules let be no other than these: what lies elsewhere is damage.
    ///
    /// - Throws: `StorageError`; `corrupt` outside the range.
    public mutating func integer(in range: ClosedRange<Int64>) throws(StorageError) -> Int64 {
        let integer = try integer()
        guard range.contains(integer) else { throw outside(range) }
        return integer
    }

    /// The same, or `nil` for NULL.
    public mutating func integerOrNil(in range: ClosedRange<Int64>) throws(StorageError) -> Int64? {
        guard let integer = try integerOrNil() else { return nil }
        guard range.contains(integer) else { throw outside(range) }
        return integer
    }

    private func outside(_ range: ClosedRange<Int64>) -> StorageError {
        StorageError(
            .corrupt,
            "column \(name) should be \(range.lowerBound) to \(range.upperBound) and is not: the database is damaged",
            sql: sql
        )
    }

    /// The next column's integer as an `Int`.
    public mutating func int() throws(StorageError) -> Int { Int(try integer()) }

    /// The next column as a boolean: 0 is false, 1 is true, anything else is thrown.
    public mutating func bool() throws(StorageError) -> Bool {
        switch try integer() {
        case 0: return false
        case 1: return true
        default: throw mismatch("0 or 1", found: "another integer")
        }
    }

    /// The next column's bytes.
    public mutating func blob() throws(StorageError) -> [UInt8] {
        guard let bytes = try blobOrNil() else { throw mismatch("a blob", found: "NULL") }
        return bytes
    }

    /// The next column's bytes, or `nil` for NULL.
    public mutating func blobOrNil() throws(StorageError) -> [UInt8]? {
        guard try take(SQLITE_BLOB, "a blob") else { return nil }
        let start = sqlite3_column_blob(statement, column - 1)
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column - 1))))
    }

    /// What `read` makes of the next column's bytes: spares the making of an array.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public mutating func blob<R>(_ read: (Span<UInt8>) throws -> R) throws -> R {
        guard let result = try blobOrNil(read) else { throw mismatch("a blob", found: "NULL") }
        return result
    }

    /// What `read` makes of the next column's bytes, or `nil` for NULL.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public mutating func blobOrNil<R>(_ read: (Span<UInt8>) throws -> R) throws -> R? {
        guard try take(SQLITE_BLOB, "a blob") else { return nil }
        let start = sqlite3_column_blob(statement, column - 1)
        let bytes = UnsafeBufferPointer(
            start: start?.assumingMemoryBound(to: UInt8.self),
            count: Int(sqlite3_column_bytes(statement, column - 1))
        )
        return try read(bytes.span)
    }

    /// Passes over one column, whatever is in it.
    public mutating func skip() { column += 1 }

    /// Steps to the next column; whether it holds a value of this type (`false`: NULL).
    private mutating func take(_ type: Int32, _ expected: StaticString) throws(StorageError) -> Bool {
        guard column < count else {
            throw StorageError(.misuse, "the row has \(count) columns, one more was read", sql: sql)
        }
        let found = sqlite3_column_type(statement, column)
        column += 1
        if found == type { return true }
        if found == SQLITE_NULL { return false }
        throw mismatch(expected, found: "another type (\(found))")
    }

    private func mismatch(_ expected: StaticString, found: String) -> StorageError {
        StorageError(.misuse, "column \(name) should be \(expected) and is \(found)", sql: sql)
    }

    private var name: String { sqlite3_column_name(statement, column - 1).map { String(cString: $0) } ?? "\(column)" }

    private var sql: String? { sqlite3_sql(statement).map { String(cString: $0) } }
}

/// Whether no byte is above 127; eight at a time.
private func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let raw = UnsafeRawBufferPointer(bytes)
    var index = 0
    while index + 8 <= raw.count {
        guard raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else {
            return false
        }
        index += 8
    }
    return raw[index...].allSatisfy { $0 < 0x80 }
}
