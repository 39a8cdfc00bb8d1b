internal import CSQLite

/// What the database, its files or its locks could not do.
///
/// Carries SQL text and SQLite's words, which name tables and columns; never a bound value.
public struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a caller may switch on.
    public enum Category: Hashable, Sendable {
        /// Another connection or process holds the lock for longer than the wait.
        case busy
        /// The disk, or the database's own page limit, is full.
        case full
        /// Reading, writing or syncing a file failed.
        case io
        /// The file is damaged.
        case corrupt
        /// The schema refused the row.
        case constraint(Constraint)
        /// SQLite ran out of memory.
        case noMemory
        /// A COMMIT failed: whether the changes are durable is not known until they are read back. Repeating is safe.
        case unknownOutcome
        /// Writing is not possible at present: the writer did not come to it in time, or has stopped; nothing ran.
        case unavailable
        /// The writer's queue, or the part of it that one origin may fill, is full; nothing ran.
        case queueFull
        /// SQLite rolled the whole transaction back by itself; nothing more may run in it.
        case transactionLost
        /// The clock cannot be trusted: nothing may be committed.
        case clockUnsure
        /// A file or folder may not be used by this process; the message names path, owner, own uid and the fix.
        case access
        /// The file is not a database of Countersign.
        case notOurs
        /// The database's migrations and this binary's do not agree, or a migration failed.
        case schema
        /// Another server, or a running one, stands in the way.
        case served
        /// The caller's bug: an unknown parameter, a column of another type, SQL that does not compile.
        case misuse
        /// Anything else that SQLite or the system reported.
        case other
    }

    /// Which rule of the schema a row broke.
    public enum Constraint: Hashable, Sendable {
        /// A `UNIQUE` index or a primary key; the message names the columns.
        case unique
        /// A reference to a row that is not there, or a row others refer to.
        case foreignKey
        /// `NOT NULL`.
        case notNull
        /// `CHECK`, or a value of the wrong type in a `STRICT` table.
        case check
        /// Any other.
        case other
    }

    /// What kind of failure it is.
    public let category: Category

    /// Whether it is nothing but somebody else's lock.
    public var isLockHeld: Bool { category == .busy || category == .served }

    /// SQLite's extended result code, or `errno` for a failed system call; 0 when there is none.
    public let code: Int32

    /// One line for a person.
    public let message: String

    /// The statement that failed, where there is one.
    public let sql: String?

    /// A failure of this category, in these words.
    public init(_ category: Category, code: Int32 = 0, _ message: String, sql: String? = nil) {
        self.category = category
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// Whether the same call may succeed later without anybody changing the program or the data: HTTP's 503.
    public var isTransient: Bool {
        switch category {
        case .busy, .full, .io, .noMemory, .unknownOutcome, .unavailable, .queueFull, .transactionLost, .clockUnsure:
            true
        case .corrupt, .constraint, .access, .notOurs, .schema, .served, .misuse, .other: false
        }
    }

    /// Whether SQLite found the database's file damaged, not a row in it strange: every other question may fail as well, and
    /// whoever is asked again after a restore may answer.
    public var isDamage: Bool { code != 0 && (category == .corrupt || category == .notOurs) }

    /// The message, and the statement after it.
    public var description: String {
        guard let sql else { return message }
        return "\(message) (in: \(sql))"
    }
}

extension StorageError {
    /// What SQLite's result code means: https://sqlite.org/rescode.html.
    init(sqlite code: Int32, message: String, sql: String? = nil) {
        self.init(Category(sqlite: code), code: code, message, sql: sql)
    }
}

extension StorageError.Category {
    init(sqlite code: Int32) {
        // The lower eight bits are the primary code; the macros of the extended ones are not importable.
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
        case SQLITE_FULL: self = .full
        case SQLITE_IOERR: self = .io
        case SQLITE_CORRUPT: self = .corrupt
        case SQLITE_NOTADB: self = .notOurs
        case SQLITE_NOMEM: self = .noMemory
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY: self = .io
        case SQLITE_CONSTRAINT:
            switch code >> 8 {
            case 6, 8, 10: self = .constraint(.unique)  // PRIMARYKEY, UNIQUE, ROWID
            case 3: self = .constraint(.foreignKey)
            case 5: self = .constraint(.notNull)
            case 1, 12: self = .constraint(.check)  // CHECK, DATATYPE
            default: self = .constraint(.other)
            }
        case SQLITE_MISUSE, SQLITE_RANGE, SQLITE_ERROR, SQLITE_MISMATCH: self = .misuse
        default: self = .other
        }
    }
}
