/// Questions to the database, asked within a transaction: a `Snapshot` or a `WriteTransaction`.
///
/// Names of parameters are written without the colon: `["id": .text(id)]` binds `:id`. A name the statement does not
/// have, or one left out, is thrown as a `StorageError` of category `misuse`. Statements are prepared once for each
/// connection and literal.
///
///     let name = try db.first("SELECT name FROM vendors WHERE slug = :slug", ["slug": .text(slug)]) { row in
///         try row.text()
///     }
public protocol Queries: ~Copyable {
    /// Reads the first row of the result with `read`; `nil` where there is none.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    borrowing func first<R>(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> R
    ) throws -> R?

    /// Reads every row of the result with `read`, which may ask further questions meanwhile.
    ///
    /// - Throws: `StorageError`, and what `read` throws, which ends the reading.
    borrowing func each(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> Void
    ) throws

    /// As `each`, for SQL put together at run time, such as the filters of a list; prepared for this call only.
    ///
    /// Text from outside belongs in `parameters`, never in `sql`.
    ///
    /// - Throws: `StorageError`, and what `read` throws, which ends the reading.
    borrowing func each(
        built sql: String,
        _ parameters: [String: Value],
        _ read: (inout Row) throws -> Void
    ) throws

    /// The database's state version: `seq` of a bundle made from this snapshot. Equal versions mean equal rows.
    ///
    /// In a write transaction it is still that of the last commit: the new one is set just before COMMIT.
    ///
    /// - Throws: `StorageError`.
    borrowing func stateVersion() throws -> Int64

    /// When something was last committed, in seconds since 1970; 0 before the first time. What time it is, is judged by
    /// this.
    ///
    /// - Throws: `StorageError`.
    borrowing func committedAt() throws -> Int64

    /// What `read` finds. A snapshot answers from its reader's memory what was found there at the same state version;
    /// a write transaction always reads.
    ///
    /// For what depends on rows and `key` alone: what depends on the time is to be judged after this.
    /// That there is nothing (`nil`) is not remembered.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    borrowing func recall<R: Sendable>(
        _ key: RecallKey,
        keeping: Recall,
        _ read: () throws -> R?
    ) throws -> R?
}

extension Queries where Self: ~Copyable {
    /// Every row of the result, read with `read`.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public borrowing func all<R>(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> R
    ) throws -> [R] {
        var rows: [R] = []
        try each(sql, parameters) { row in rows.append(try read(&row)) }
        return rows
    }

    /// As `all`, for SQL put together at run time.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public borrowing func all<R>(
        built sql: String,
        _ parameters: [String: Value],
        _ read: (inout Row) throws -> R
    ) throws -> [R] {
        var rows: [R] = []
        try each(built: sql, parameters) { row in rows.append(try read(&row)) }
        return rows
    }

    /// The first row of a question without parameters.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public borrowing func first<R>(_ sql: StaticString, _ read: (inout Row) throws -> R) throws -> R? {
        try first(sql, [:], read)
    }

    /// Every row of a question without parameters.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public borrowing func all<R>(_ sql: StaticString, _ read: (inout Row) throws -> R) throws -> [R] {
        try all(sql, [:], read)
    }

    /// Reads every row of a question without parameters.
    ///
    /// - Throws: `StorageError`, and what `read` throws.
    public borrowing func each(_ sql: StaticString, _ read: (inout Row) throws -> Void) throws {
        try each(sql, [:], read)
    }

    /// See `Queries`.
    public borrowing func stateVersion() throws -> Int64 { try readState().version }

    /// See `Queries`.
    public borrowing func committedAt() throws -> Int64 { try readState().committedAt }

    /// See `Queries`.
    public borrowing func recall<R: Sendable>(
        _ key: RecallKey,
        keeping: Recall,
        _ read: () throws -> R?
    ) throws -> R? {
        try read()
    }

    borrowing func readState() throws -> DatabaseState {
        let state = try first("SELECT version, committed_at FROM state WHERE id = 1") { row in
            DatabaseState(version: try row.integer(), committedAt: try row.integer())
        }
        guard let state else { throw StorageError(.corrupt, "the table state has no row") }
        // Clients believe no lower one ever again: a damaged one must not be signed.
        try StateVersion.require(state.version, in: "the database")
        return state
    }
}

/// The row that every commit changes.
struct DatabaseState {
    /// `seq` of bundles.
    let version: Int64
    /// The date of the last commit, in seconds since 1970.
    let committedAt: Int64
}
