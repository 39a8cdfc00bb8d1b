internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// What a backup or restore holds.
public struct CopySummary: Sendable {
    /// The file's size in bytes.
    public let bytes: Int64
    /// The state version in it.
    public let stateVersion: Int64
    /// When something was last committed to it, in seconds since 1970.
    public let committedAt: Int64
    /// The newest migration in it.
    public let migration: String
}

extension Database {
    /// Copies the database, beside a running server or without one, to one file that is complete by itself.
    ///
    /// Every write acknowledged before the start is in it. The copy is opened and checked before it gets its name;
    /// an older backup of that name is replaced only then, and nothing else ever is. Mode 0600. Wrapped keys are in it,
    /// the master key is not.
    ///
    /// - Parameters:
    ///   - target: the file to make.
    ///   - keys: where the master key is: no target, nor are the files beside it that begin with its name.
    ///   - isKept: whether the copy gets its name; else it is made, checked and removed.
    /// - Throws: `access` for a target that cannot be written, is a file of the database's or anything but a backup;
    ///   `full`, `io`; `corrupt` when the copy, and so the database, is damaged. Then nothing is left at the target.
    public func backUp(
        to target: String,
        sparing keys: [String] = [],
        isKept: Bool = true
    ) throws(StorageError) -> CopySummary {
        guard try exists() else { throw StorageError(.access, code: ENOENT, "there is no database at \(path)") }
        try requireElsewhere(target, sparing: keys)
        try Database.requireReplaceable(target)
        let lock = try FileLock.open(backupLockPath)
        if isKept, try lock.tryAcquire() {
            // Nobody else makes a copy: what has such a name was left by one that was killed.
            for file in PartialName.all(for: target) { Database.removeWithLogs(file) }
        }
        guard try lock.acquire(waiting: options.lockWait, isShared: true) else {
            throw StorageError(.busy, "another process holds \(backupLockPath) for more than \(options.lockWait)")
        }
        defer { lock.release() }
        let connection = try Connection.open(path, .reading, waiting: .seconds(5), vfs: options.vfs)
        try Migrator(options).requireOurs(connection, path)
        let partial = PartialName.fresh(for: target)
        try Database.makeFile(partial, for: target)
        do throws(StorageError) {
            let summary = try copy(connection, to: partial)
            guard isKept else {
                Database.removeWithLogs(partial)
                return summary
            }
            try Database.sync(partial)
            guard rename(partial, target) == 0 else { throw .system("rename to \(target)") }
            try Database.syncFolder(Database.parent(of: target))
            return summary
        } catch {
            Database.removeWithLogs(partial)
            throw error
        }
    }

    private func copy(_ source: borrowing Connection, to partial: String) throws(StorageError) -> CopySummary {
        let copy = try Connection.open(partial, .writing, synchronous: .off, waiting: .zero)
        try source.copyAll(to: copy)
        // Else it would ask for a -wal beside it, also where it is only read. The server turns it on again.
        _ = try copy.text("PRAGMA journal_mode=DELETE")
        try Database.requireSound(copy, partial)
        return try summary(of: copy, partial)
    }

    func summary(of connection: borrowing Connection, _ file: String) throws(StorageError) -> CopySummary {
        CopySummary(
            bytes: try FileFacts(file)?.size ?? 0,
            stateVersion: try connection.integer("SELECT version FROM state"),
            committedAt: try connection.integer("SELECT committed_at FROM state"),
            migration: try connection.text("SELECT name FROM schema_migrations ORDER BY number DESC LIMIT 1") ?? ""
        )
    }

    // MARK: Files

    /// An empty file of mode 0600 that was not there before, named by a refusal as the file that it is to become.
    static func makeFile(_ path: String, for target: String) throws(StorageError) {
        let number = systemOpen(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw refusal(of: errno == EEXIST ? path : target, isMade: true, code: errno) }
        _ = Descriptor(taking: number)
    }

    /// What there is of a file outside the database's folder; a folder that may not be entered is told with its fix.
    static func facts(of file: String, isMade: Bool) throws(StorageError) -> FileFacts? {
        do {
            return try FileFacts(file)
        } catch  where error.code == EACCES {
            throw refusal(of: file, isMade: isMade, code: EACCES)
        }
    }

    /// Makes a file's contents durable. Never for a database that a connection of this process has open: closing the
    /// descriptor would drop SQLite's locks.
    static func sync(_ path: String) throws(StorageError) {
        let number = systemOpen(path, O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { throw .system("open \(path)") }
        let file = Descriptor(taking: number)
        guard fsync(file.number) == 0 else { throw .system("fsync \(path)") }
    }

    /// Removes a file that did not become anything, and what SQLite put beside it.
    static func removeWithLogs(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    }
}
