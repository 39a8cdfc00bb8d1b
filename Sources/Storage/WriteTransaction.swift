/// An open write transaction, lent to a job: it owns the write connection, so no job can keep it.
///
/// After a failure that made SQLite roll the whole transaction back, every further call throws `transactionLost`:
/// nothing is ever written outside a transaction.
public struct WriteTransaction: ~Copyable, Queries {
    let connection: Connection

    init(_ connection: consuming Connection) {
        self.connection = connection
    }

    /// Runs a statement to its end.
    ///
    /// - Returns: the rows it inserted, updated or deleted; 0 for one that only reads.
    /// - Throws: `StorageError`.
    @discardableResult
    public borrowing func run(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value> = [:]
    ) throws(StorageError) -> Int {
        try requireTransaction()
        return try connection.run(sql, parameters)
    }

    /// See `Queries`. Also for `INSERT … RETURNING` and the like: all changes are made before the first row is read.
    public borrowing func first<R>(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> R
    ) throws -> R? {
        try requireTransaction()
        return try connection.first(sql, parameters, read)
    }

    /// See `Queries`.
    public borrowing func each(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> Void
    ) throws {
        try requireTransaction()
        try connection.each(sql, parameters, read)
    }

    /// See `Queries`.
    public borrowing func each(
        built sql: String,
        _ parameters: [String: Value],
        _ read: (inout Row) throws -> Void
    ) throws {
        try requireTransaction()
        try connection.each(built: sql, parameters, read)
    }

    /// Writes without changing anything, so that the COMMIT goes all the way to the disk: the proof that writing works.
    ///
    /// - Throws: `StorageError`.
    public borrowing func probe() throws(StorageError) {
        try run("UPDATE state SET version = version WHERE id = 1")
    }

    private borrowing func requireTransaction() throws(StorageError) {
        guard connection.isInTransaction else {
            throw StorageError(.transactionLost, "the transaction was rolled back by the database")
        }
    }
}

extension WriteTransaction {
    /// Starts the transaction with the write lock of the database, so that nothing read in it can be outdated.
    borrowing func begin() throws(StorageError) {
        try connection.run("BEGIN IMMEDIATE")
    }

    /// Sets the state version and the time of the commit; once for each transaction that changed something.
    ///
    /// - Parameter now: microseconds since 1970; `nil` while the clock is not trusted, then the version only grows by
    ///   one and the time of the last commit stays.
    /// - Parameter isCommitTime: false leaves `committed_at` alone also when the clock is known.
    borrowing func touch(now: Int64?, isCommitTime: Bool = true) throws(StorageError) {
        let time = isCommitTime ? now.map { $0 / 1_000_000 } : nil
        try connection.run(
            """
            UPDATE state SET version = max(version + 1, :now), committed_at = coalesce(:seconds, committed_at)
            WHERE id = 1
            """,
            ["now": .integer(max(0, now ?? 0)), "seconds": .integerOrNull(time.map { max(0, $0) })]
        )
    }

    borrowing func commit() throws(StorageError) {
        try connection.run("COMMIT")
    }

    /// Ends the transaction without its changes, where one is still open.
    borrowing func rollBack() {
        if connection.isInTransaction { _ = try? connection.run("ROLLBACK") }
    }
}
