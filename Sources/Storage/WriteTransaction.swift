internal import Licensing

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
    ///
    /// - Parameter wait: how long it waits for locks of others, from here to the end of its COMMIT in all.
    borrowing func begin(waiting wait: Duration) throws(StorageError) {
        connection.wait(wait)
        try connection.run("BEGIN IMMEDIATE")
    }

    /// Dates the transaction, right before its COMMIT: sets the state version and the time of the commit. Once for each
    /// transaction that changed something.
    ///
    /// - Throws: `clockUnsure` where the clock is in doubt at this moment: then it must not be committed.
    borrowing func touch(_ options: Database.Options) throws(StorageError) {
        let date = try options.date(try lastDate())
        try setState(version: date.microseconds, committedAt: date.seconds)
    }

    /// The same for the transaction of a start, which is made also while the clock is in doubt and leaves the time of the
    /// last commit as it is: the clock is still to be compared with it. Only where the operator accepts another it counts
    /// from here on.
    borrowing func touchAtStart(_ options: Database.Options) throws(StorageError) {
        let last = try lastDate()
        let date = try? options.date(last)
        try setState(
            version: date?.microseconds ?? 0,
            committedAt: date.flatMap { $0.replacesLast ? $0.seconds : nil } ?? last
        )
    }

    private borrowing func setState(version: Int64, committedAt: Int64) throws(StorageError) {
        try connection.run(
            "UPDATE state SET version = max(version + 1, :version), committed_at = :committed WHERE id = 1",
            ["version": .integer(version), "committed": .integer(committedAt)]
        )
    }

    private borrowing func lastDate() throws(StorageError) -> Int64 {
        do {
            return try committedAt()
        } catch {
            throw (error as? StorageError) ?? StorageError(.other, "\(error)")
        }
    }

    borrowing func commit() throws(StorageError) {
        try connection.run("COMMIT")
    }

    /// Ends the transaction without its changes, where one is still open.
    borrowing func rollBack() {
        if connection.isInTransaction { _ = try? connection.run("ROLLBACK") }
    }
}
