internal import CSQLite

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// Sole owner of one `sqlite3 *` and its prepared statements; the end of the value's life closes both.
///
/// Belongs to one thread at a time. Its methods borrow, so that a transaction can be lent to a closure.
struct Connection: ~Copyable {
    /// What a connection may do.
    enum Role {
        /// Reads and writes: the server's writer and the command line's only connection.
        case writing
        /// Only reads.
        case reading
        /// Only reads, from a file that is opened for writing where that is possible: of one opened for reading SQLite does
        /// not even parse the `CHECK` constraints.
        case examining
    }

    private let handle: OpaquePointer
    /// Behind a pointer, so that borrowing methods can prepare and remember statements without a class's checks.
    private let statements: UnsafeMutablePointer<StatementTable>
    /// Frames in the write-ahead log after the last commit of this connection; kept by SQLite's hook.
    private let frames: UnsafeMutablePointer<Int>
    /// What SQLite still may sleep.
    private let patience: UnsafeMutablePointer<cs_patience>

    private init(taking handle: OpaquePointer, _ patience: UnsafeMutablePointer<cs_patience>) {
        self.handle = handle
        self.patience = patience
        statements = .allocate(capacity: 1)
        statements.initialize(to: StatementTable())
        frames = .allocate(capacity: 1)
        frames.initialize(to: 0)
    }

    deinit {
        statements.deinitialize(count: 1)  // finalizes: a connection with live statements would not close
        statements.deallocate()
        sqlite3_close_v2(handle)
        cs_patience_end(patience)
        frames.deallocate()
    }

    /// SQLite is configured before its first use in this process.
    private static let configured: Void = cs_sqlite3_configure()

    /// Opens an existing file.
    ///
    /// - Parameter wait: how long it waits for locks that others hold, in all, until that is set anew.
    static func open(
        _ path: String,
        _ role: Role,
        synchronous: Database.Synchronous = .full,
        waiting wait: Duration,
        vfs: String? = nil
    ) throws(StorageError) -> Connection {
        _ = configured
        try Database.requireDatabaseOfLog(path)
        let access = role == .reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        var handle: OpaquePointer?
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE
        guard let patience = cs_patience_begin(vfs) else {
            throw StorageError(.noMemory, "no memory for a connection to \(path)")
        }
        let code = sqlite3_open_v2(path, &handle, flags, patience.pointee.vfs.zName)
        guard code == SQLITE_OK, let handle else {
            // A failed open still hands out a handle to close: https://sqlite.org/c3ref/open.html.
            sqlite3_close_v2(handle)
            cs_patience_end(patience)
            throw StorageError(sqlite: code, message: "cannot open \(path): \(String(cString: sqlite3_errstr(code)))")
        }
        let connection = Connection(taking: handle, patience)
        connection.wait(wait)
        for (option, isOn) in [
            (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),  // "x" is a name, never a string
            (SQLITE_DBCONFIG_DEFENSIVE, 1),
            // Checkpoints are made by the server's writer alone, under write.lock.
            (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
        ] as [(Int32, Int32)] {
            let code = cs_sqlite3_set(handle, option, isOn)
            guard code == SQLITE_OK else { throw StorageError(sqlite: code, message: "sqlite3_db_config \(option)") }
        }
        try connection.setPragmas(role, synchronous, path)
        // Replaces the hook of the automatic checkpoint: it only counts.
        sqlite3_wal_hook(
            handle,
            { frames, _, _, count in
                frames?.assumingMemoryBound(to: Int.self).pointee = Int(count)
                return SQLITE_OK
            },
            connection.frames
        )
        return connection
    }

    private func setPragmas(
        _ role: Role,
        _ synchronous: Database.Synchronous,
        _ path: String
    ) throws(StorageError) {
        do throws(StorageError) {
            try execute(
                """
                PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON;
                PRAGMA synchronous=\(synchronous.rawValue); PRAGMA wal_autocheckpoint=0;
                """
            )
            if role != .writing { try execute("PRAGMA query_only=ON") }
        } catch {
            // The first look into the file finds what it is.
            throw error.category == .notOurs ? Migrator.notOurs(path) : error
        }
    }

    // MARK: Statements

    /// Whether a transaction is open. SQLite ends one by itself after some errors (FULL, IOERR, NOMEM).
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Rows changed since the connection was opened, those of undone savepoints included.
    var totalChanges: Int64 { sqlite3_total_changes64(handle) }

    /// Frames in the write-ahead log, as of this connection's last commit.
    var walFrames: Int { frames.pointee }

    /// How many bytes the write-ahead log has at least, as everybody knows who has it open; `nil` where that is not known.
    /// To be asked under write.lock.
    func knownLogBytes() -> Int64? {
        let bytes = cs_sqlite3_log_bytes(handle)
        return bytes < 0 ? nil : bytes
    }

    /// Whether the file could only be opened for reading: asked for more, SQLite takes what it gets.
    var isOpenForReadingAlone: Bool { sqlite3_db_readonly(handle, "main") != 0 }

    /// Runs any number of statements without parameters; not cached.
    func execute(_ sql: String) throws(StorageError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw failure(code, sql) }
    }

    /// Runs one cached statement to its end and answers the rows it changed, 0 for one that only reads.
    @discardableResult
    func run(_ sql: StaticString, _ parameters: KeyValuePairs<StaticString, Value> = [:]) throws(StorageError) -> Int {
        let lent = try lend(sql, parameters)
        defer { giveBack(lent) }
        while try step(lent.statement) {}
        return sqlite3_stmt_readonly(lent.statement) != 0 ? 0 : Int(sqlite3_changes64(handle))
    }

    func first<R>(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> R
    ) throws -> R? {
        let lent = try lend(sql, parameters)
        defer { giveBack(lent) }
        guard try step(lent.statement) else { return nil }
        var row = Row(of: lent.statement)
        return try read(&row)
    }

    func each(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>,
        _ read: (inout Row) throws -> Void
    ) throws {
        let lent = try lend(sql, parameters)
        defer { giveBack(lent) }
        while try step(lent.statement) {
            var row = Row(of: lent.statement)
            try read(&row)
        }
    }

    /// As `each`, for SQL put together at run time: prepared for this call only.
    func each(built sql: String, _ parameters: [String: Value], _ read: (inout Row) throws -> Void) throws {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        try bind(parameters, to: statement)
        while try step(statement) {
            var row = Row(of: statement)
            try read(&row)
        }
    }

    /// The first column of the first row of a `PRAGMA` or another question of the engine's, as text.
    func text(_ sql: String) throws(StorageError) -> String? {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        guard try step(statement), let text = sqlite3_column_text(statement, 0) else { return nil }
        return String(cString: text)
    }

    /// The same as an integer; 0 where there is no row.
    func integer(_ sql: String) throws(StorageError) -> Int64 {
        let statement = try prepare(sql)
        defer { sqlite3_finalize(statement) }
        return try step(statement) ? sqlite3_column_int64(statement, 0) : 0
    }

    // MARK: The whole database

    enum Checkpoint { case passive, truncate }

    /// Moves frames of the log into the database file. Under write.lock only: see `Writer`.
    ///
    /// - Returns: frames in the log, and how many of them are in the file now.
    func checkpoint(_ kind: Checkpoint) throws(StorageError) -> (frames: Int, moved: Int) {
        var inLog: Int32 = 0
        var moved: Int32 = 0
        let mode = kind == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        let code = sqlite3_wal_checkpoint_v2(handle, "main", mode, &inLog, &moved)
        guard code == SQLITE_OK else { throw failure(code, "checkpoint") }
        frames.pointee = Int(max(0, inLog))
        return (Int(max(0, inLog)), Int(max(0, moved)))
    }

    /// How long it waits from now on for locks that others hold, in all: then what it does ends as `busy`.
    ///
    /// Whether that time is over SQLite finds out by trying once more without a pause.
    func wait(_ duration: Duration) {
        sqlite3_busy_timeout(handle, duration.milliseconds)
        patience.pointee.whole = Int64(clamping: duration.nanoseconds / 1000)
        renewWait()
    }

    /// From here on it waits as long as it was told to, whatever it has waited before.
    func renewWait() { patience.pointee.left = patience.pointee.whole }

    /// Copies this database over that of `target` in one step: a stepped copy restarts at each foreign commit and
    /// never ends under load.
    func copyAll(to target: borrowing Connection) throws(StorageError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.failure(sqlite3_extended_errcode(target.handle), "backup")
        }
        let step = sqlite3_backup_step(backup, -1)
        let end = sqlite3_backup_finish(backup)
        guard step == SQLITE_DONE else { throw target.failure(step, "backup") }
        guard end == SQLITE_OK else { throw target.failure(end, "backup") }
    }

    // MARK: Inside

    /// A statement on loan, and its place in the table; no place: it is this loan's own, to be finalized.
    private struct Loan {
        let statement: OpaquePointer
        let index: Int?
    }

    /// The statement of `sql` with these parameters bound. Whoever borrows it gives it back on every way out.
    private func lend(
        _ sql: StaticString,
        _ parameters: KeyValuePairs<StaticString, Value>
    ) throws(StorageError) -> Loan {
        let literal = UInt(bitPattern: sql.utf8Start)
        let loan: Loan
        switch statements.pointee.lend(literal) {
        case (let statement, let index?)?: loan = Loan(statement: statement, index: index)
        case (_, nil)?: loan = Loan(statement: try prepare("\(sql)"), index: nil)
        case nil:
            let statement = try prepare("\(sql)", SQLITE_PREPARE_PERSISTENT)
            loan = Loan(statement: statement, index: statements.pointee.add(statement, for: literal))
        }
        do {
            try bind(parameters, to: loan.statement)
        } catch {
            giveBack(loan)
            throw error
        }
        return loan
    }

    private func giveBack(_ loan: Loan) {
        guard let index = loan.index else {
            sqlite3_finalize(loan.statement)
            return
        }
        sqlite3_reset(loan.statement)  // repeats the code of a step that failed: nothing new
        sqlite3_clear_bindings(loan.statement)
        statements.pointee.giveBack(index)
    }

    private func prepare(_ sql: String, _ flags: Int32 = 0) throws(StorageError) -> OpaquePointer {
        var sql = sql
        var statement: OpaquePointer?
        var code = SQLITE_OK
        var isOnlyOne = true
        sql.withUTF8 { text in
            text.withMemoryRebound(to: CChar.self) { text in
                var rest: UnsafePointer<CChar>?
                code = sqlite3_prepare_v3(
                    handle,
                    text.baseAddress,
                    Int32(text.count),
                    UInt32(flags),
                    &statement,
                    &rest
                )
                guard code == SQLITE_OK, let rest, let start = text.baseAddress else { return }
                isOnlyOne = text[(rest - start)...].allSatisfy { [32, 10, 9, 13].contains($0) }
            }
        }
        guard code == SQLITE_OK else { throw failure(code, sql) }
        guard let statement, isOnlyOne else {
            sqlite3_finalize(statement)
            throw StorageError(.misuse, "expected exactly one statement", sql: sql)
        }
        return statement
    }

    /// Steps once; whether there is a row.
    private func step(_ statement: OpaquePointer) throws(StorageError) -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code, sqlite3_sql(statement).map { String(cString: $0) })
        }
    }

    private func failure(_ code: Int32, _ sql: String?) -> StorageError {
        // SQLite knows a full disk by ENOSPC alone, and not in every call. A file that may not grow (RLIMIT_FSIZE), a quota
        // and a disk that was made read-only end in the same way: the write fails as long as that lasts, and everything
        // else goes on. Of a sync that failed nobody knows what it did.
        let reasons = [ENOSPC, EFBIG, EDQUOT, EROFS]
        let isFull =
            code & 0xff == SQLITE_IOERR && code >> 8 != 4 && reasons.contains(cs_sqlite3_last_errno(handle))
        return StorageError(
            isFull ? .full : StorageError.Category(sqlite: code),
            code: code,
            String(cString: sqlite3_errmsg(handle)),
            sql: sql
        )
    }
}
