internal import CSQLite

/// Values to the parameters of one statement, each exactly once: a name that the statement does not have, or one of
/// its names left out, is a bug that would otherwise bind NULL.
extension Connection {
    func bind(
        _ parameters: KeyValuePairs<StaticString, Value>,
        to statement: OpaquePointer
    ) throws(StorageError) {
        let count = sqlite3_bind_parameter_count(statement)
        var bound: UInt128 = 0
        var guess: Int32 = 1  // most calls give their values in the order of the statement
        for (name, value) in parameters {
            let bytes = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
            let index = try place(of: bytes, guess, count, in: statement)
            try bind(value, at: index, to: statement, &bound)
            guess = index + 1
        }
        try check(bound, count, statement)
    }

    func bind(_ parameters: [String: Value], to statement: OpaquePointer) throws(StorageError) {
        let count = sqlite3_bind_parameter_count(statement)
        var bound: UInt128 = 0
        for (name, value) in parameters {
            let index = try place(of: Array(name.utf8), 1, count, in: statement)
            try bind(value, at: index, to: statement, &bound)
        }
        try check(bound, count, statement)
    }

    private func place(
        of name: some Collection<UInt8>,
        _ guess: Int32,
        _ count: Int32,
        in statement: OpaquePointer
    ) throws(StorageError) -> Int32 {
        if guess <= count, isNamed(name, guess, statement) { return guess }
        for index in 1..<max(1, count + 1) where isNamed(name, index, statement) { return index }
        throw misuse("no parameter :\(String(decoding: name, as: UTF8.self))", statement)
    }

    private func isNamed(_ name: some Collection<UInt8>, _ index: Int32, _ statement: OpaquePointer) -> Bool {
        guard var cursor = sqlite3_bind_parameter_name(statement, index), cursor.pointee == 58 else { return false }
        for byte in name {
            cursor += 1
            guard UInt8(bitPattern: cursor.pointee) == byte else { return false }
        }
        return cursor[1] == 0
    }

    private func bind(
        _ value: Value,
        at index: Int32,
        to statement: OpaquePointer,
        _ bound: inout UInt128
    ) throws(StorageError) {
        guard index <= 128, bound & (1 << UInt128(index - 1)) == 0 else {
            throw misuse(index > 128 ? "more than 128 parameters" : "parameter \(index) is given twice", statement)
        }
        bound |= 1 << UInt128(index - 1)
        let code: Int32
        switch value {
        case .null: code = sqlite3_bind_null(statement, index)
        case .integer(let integer): code = sqlite3_bind_int64(statement, index, integer)
        case .blob(let bytes):
            code = bytes.withUnsafeBytes { cs_sqlite3_bind_blob(statement, index, $0.baseAddress, UInt64($0.count)) }
        case .text(var text):
            code = text.withUTF8 { cs_sqlite3_bind_text(statement, index, $0.baseAddress, UInt64($0.count)) }
        }
        guard code == SQLITE_OK else {
            throw StorageError(sqlite: code, message: "parameter \(index) cannot be bound", sql: sql(of: statement))
        }
    }

    private func check(_ bound: UInt128, _ count: Int32, _ statement: OpaquePointer) throws(StorageError) {
        guard bound.nonzeroBitCount != Int(count) else { return }
        let missing = (1...count).filter { bound & (1 << UInt128($0 - 1)) == 0 }
        let names = missing.map { sqlite3_bind_parameter_name(statement, $0).map { String(cString: $0) } ?? "?" }
        throw misuse("no value for \(names.joined(separator: ", "))", statement)
    }

    private func misuse(_ message: String, _ statement: OpaquePointer) -> StorageError {
        StorageError(.misuse, message, sql: sql(of: statement))
    }

    private func sql(of statement: OpaquePointer) -> String? { sqlite3_sql(statement).map { String(cString: $0) } }
}
