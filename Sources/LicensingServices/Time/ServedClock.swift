public import Storage

/// Which clock a database was first served with: a mark set at the first start, so that nobody takes the times of a
/// trial run for real ones.
public enum ServedClock: String, Hashable, Sendable {
    /// The system's.
    case wall
    /// That of `--test-clock`.
    case test

    /// A database and the clock that was asked for do not go together.
    public struct Mismatch: Error, Hashable, Sendable {
        /// One line with the fix.
        public let message: String
    }

    /// The mark; `nil` before the first start.
    ///
    /// - Throws: `StorageError`.
    public static func mark<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> ServedClock? {
        try db.first("SELECT clock FROM state WHERE id = 1", { row in try row.wordOrNil() }).flatMap { $0 }
    }

    /// Sets the mark, once.
    ///
    /// - Throws: `StorageError`.
    public static func record(_ clock: ServedClock, in db: borrowing WriteTransaction) throws {
        try db.run("UPDATE state SET clock = :clock WHERE id = 1 AND clock IS NULL", ["clock": .word(clock)])
    }

    /// Refuses a clock that does not go with the mark; before the first start either does.
    ///
    /// - Throws: `Mismatch`, and `StorageError` for a mark that is none.
    public static func check(_ clock: ServedClock, against past: Past?) throws {
        let mark = try past?.clock.map { word in
            guard let mark = ServedClock(rawValue: word) else {
                throw StorageError(.corrupt, "the database is marked with a clock that does not exist")
            }
            return mark
        }
        try check(clock, against: mark)
    }

    private static func check(_ clock: ServedClock, against mark: ServedClock?) throws(Mismatch) {
        switch (mark, clock) {
        case (nil, _), (.wall?, .wall), (.test?, .test): return
        case (.wall?, .test):
            throw Mismatch(
                message: "this database was served by the real clock, so --test-clock is refused; use an empty folder"
            )
        case (.test?, .wall):
            throw Mismatch(
                message: "this database was served with --test-clock and is for trials alone: give --test-clock FILE"
            )
        }
    }
}
