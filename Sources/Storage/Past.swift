/// What a database remembers of its past, for who judges whether it may be opened and whether the clock is right.
public struct Past: Hashable, Sendable {
    /// The date of the last commit, in seconds since 1970; 0 before the first.
    public let committedAt: Int64
    /// The clock that it was first served with, as it is marked; `nil` before its first start.
    public let clock: String?

    /// Reads it; `nil` where the database has no tables yet, and so no past.
    ///
    /// - Throws: `StorageError`, also where the answer is not to be had for the moment: that is never *no past*.
    init?(_ connection: borrowing Connection) throws {
        guard try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'state'") > 0 else { return nil }
        let row = try connection.first("SELECT committed_at, clock FROM state WHERE id = 1", [:]) { row in
            (try row.integer(), try row.textOrNil())
        }
        guard let row else { throw StorageError(.corrupt, "the table state has no row") }
        (committedAt, clock) = row
    }
}

extension Database {
    /// Looks at what a database remembers before it is written to; `nil`: it has no past. What it throws ends the opening.
    public typealias Judgment = @Sendable (Past?) throws -> Void
}
