/// A connection that only reads: one for each event loop.
///
/// Who is kept out of the database by others' locks waits so long as it was opened for, in all. Where that was in vain, the
/// next one does not wait again, until one of them was let in.
public struct Reader: ~Copyable {
    /// Owns the connection and is only lent, so that nobody keeps a way to read outside a transaction.
    private let lent: Snapshot

    init(_ connection: consuming Connection) {
        lent = Snapshot(connection)
    }

    /// Runs `body` on the database as it is now: whatever commits meanwhile, all its questions see one state.
    ///
    /// The read transaction ends before this returns; nothing may be sent or waited for inside. It is a bug to open
    /// one within another on the same reader, and thrown as such.
    ///
    /// - Throws: `StorageError`, and what `body` throws.
    public borrowing func snapshot<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
        try lent.connection.run("BEGIN")
        lent.memory.begin()
        do {
            let result = try body(lent)
            try lent.connection.run("COMMIT")
            lent.connection.renewWait()
            return result
        } catch {
            if (error as? StorageError)?.category != .busy { lent.connection.renewWait() }
            if lent.connection.isInTransaction { _ = try? lent.connection.run("ROLLBACK") }
            throw error
        }
    }
}

/// The database at one moment: a read transaction, lent to a closure.
public struct Snapshot: ~Copyable, Queries {
    let connection: Connection
    let memory = SnapshotMemory()

    init(_ connection: consuming Connection) {
        self.connection = connection
    }

    /// See `Queries`.
    public borrowing func first<R>(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> R
    ) throws -> R? {
        try connection.first(sql, parameters, read)
    }

    /// See `Queries`.
    public borrowing func each(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> Void
    ) throws {
        try connection.each(sql, parameters, read)
    }

    /// See `Queries`.
    public borrowing func each(
        built sql: String,
        _ parameters: [String: Value],
        _ read: (inout Row) throws -> Void
    ) throws {
        try connection.each(built: sql, parameters, read)
    }

    /// See `Queries`.
    public borrowing func stateVersion() throws -> Int64 {
        try memory.state { try readState() }.version
    }

    /// See `Queries`.
    public borrowing func committedAt() throws -> Int64 {
        try memory.state { try readState() }.committedAt
    }

    /// See `Queries`.
    public borrowing func recall<R: Sendable>(
        _ key: RecallKey,
        keeping: Recall,
        _ read: () throws -> R?
    ) throws -> R? {
        _ = try stateVersion()
        if let known: R = memory.answer(to: key, keeping: keeping) { return known }
        guard let found = try read() else { return nil }
        memory.keep(found, as: key, keeping: keeping)
        return found
    }
}
