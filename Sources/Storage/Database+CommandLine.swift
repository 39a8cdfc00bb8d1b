internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// How a command comes to the database.
extension Database {
    /// Opens the database for one command, beside a server or without one.
    ///
    /// A database that is older than this binary is migrated, unless a server runs. Only that waits for the lock.
    ///
    /// - Parameters:
    ///   - isMade: whether a database that is not there is made.
    ///   - judging: told what the database remembers, before anything is written; what it throws ends the opening.
    /// - Throws: `access`; `notOurs`; `schema`; `served` when a migration is due and a server runs; `busy` when the
    ///   lock is held for longer than `lockWait`; whatever SQLite reports; what `judging` throws.
    public func openForCommandLine(
        isMade: Bool = true,
        judging: Judgment = { _ in }
    ) throws -> CommandLineConnection {
        if !isMade, try !exists() { throw missing() }
        try checkFolder(isMade: isMade)
        let writeLock = try FileLock.open(writeLockPath)
        if isMade { try make() }
        let file = try FileFacts.own(path)?.identity
        let connection = try openWriting(isMade: false, waiting: options.lockWait)
        guard let file, try FileFacts.own(path)?.identity == file else { throw replaced() }
        // An import of 50,000 rows dirties more than the 2 MB that SQLite keeps in memory by default; spilling pages to
        // the log and reading them again would hold the write lock three times as long. Taken only as it is used.
        try connection.execute("PRAGMA cache_size=-131072")
        // To look needs no lock: a command that only reads waits for nobody who writes.
        try judging(Past(connection))
        let isNew =
            try Migrator(options).pending(connection, path).isEmpty
            ? false : migrateUnlessServed(connection, to: file, under: writeLock)
        return CommandLineConnection(
            self,
            WriteTransaction(connection),
            try openReader(),
            writeLock,
            file: file,
            isNew: isNew
        )
    }

    /// Runs what is pending, unless a server has its lock: that may be one that is starting, and does so itself in a moment.
    /// It is waited for a second, and of a new database, of which there can be no server of another version, as long as
    /// `lockWait` says.
    ///
    /// - Returns: whether that made the database.
    /// - Throws: `served` where a server runs and migrates nothing; `unavailable` as `require`.
    private func migrateUnlessServed(
        _ connection: borrowing Connection,
        to file: [UInt64],
        under writeLock: borrowing FileLock
    ) throws(StorageError) -> Bool {
        let serveLock = try FileLock.open(serveLockPath)
        let isNew = try Migrator(options).pending(connection, path).count == options.migrations.count
        let wait = isNew ? options.lockWait : min(options.lockWait, .seconds(1))
        let end = MonotonicClock.nanoseconds() &+ wait.nanoseconds
        while true {
            if let isNew = try migrateOnce(connection, to: file, unlessHeld: serveLock, under: writeLock) {
                return isNew
            }
            guard MonotonicClock.nanoseconds() < end, !options.isWaitGivenUp() else { throw served(by: serveLock) }
            usleep(5000)
        }
    }

    /// Runs what is pending still once the lock is here: another process may have done so meanwhile.
    ///
    /// - Returns: whether that made the database; nil where a server has its lock.
    private func migrateOnce(
        _ connection: borrowing Connection,
        to file: [UInt64],
        unlessHeld serveLock: borrowing FileLock,
        under writeLock: borrowing FileLock
    ) throws(StorageError) -> Bool? {
        try acquire(writeLock)
        defer { writeLock.release() }
        try require(file, under: writeLock)
        guard try !Migrator(options).pending(connection, path).isEmpty else { return false }
        guard try serveLock.tryAcquire() else { return nil }
        defer { serveLock.release() }
        return try Migrator(options).migrate(connection, path).first?.isFirst ?? false
    }

    private func served(by serveLock: borrowing FileLock) -> StorageError {
        StorageError(
            .served,
            "the database needs a migration, and a server (pid \(pid(of: serveLock))), of another version perhaps, serves "
                + "\(folder): stop it first"
        )
    }

    /// That a file which was opened is still the database, and the lock on which it is changed its lock: who has them open
    /// would not notice that a restore puts another one in its place, and what is written then is lost.
    ///
    /// - Throws: `unavailable`.
    func require(_ file: [UInt64], under writeLock: borrowing FileLock) throws(StorageError) {
        guard writeLock.isCurrent else {
            throw StorageError(.unavailable, "\(writeLockPath) was replaced meanwhile: try again")
        }
        guard try FileFacts.own(path)?.identity == file else { throw replaced() }
    }

    private func replaced() -> StorageError {
        StorageError(.unavailable, "\(path) was replaced meanwhile, by a restore perhaps: try again")
    }
}
