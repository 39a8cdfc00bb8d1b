internal import Licensing
internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension Database {
    /// Puts a backup in the place of the database, or into a folder that has none: how a machine is rebuilt.
    ///
    /// What happened after the backup is undone: released seats, consumed meters, refunds. The state version becomes
    /// higher than that of either, so that clients accept what the restored database says.
    ///
    /// - Parameter file: a file made by `backUp`.
    /// - Parameter check: a last look at the copy before anything is replaced, such as whether the master key opens
    ///   its keys; what it throws ends the restore.
    /// - Throws: `served` while a server runs; `busy` while somebody else reads the database; `notOurs`, `corrupt`, or
    ///   `schema` when the file is from a newer version; `access`, `full`, `io`; what `check` throws. Then nothing was replaced.
    public func restore(from file: String, check: (borrowing Snapshot) throws -> Void) throws -> CopySummary {
        guard let facts = try Database.facts(of: file, isMade: false) else {
            throw StorageError(.access, code: ENOENT, "there is no \(file)")
        }
        guard facts.isFile else { throw StorageError(.access, "\(file) is not a file") }
        guard try FileFacts.own(path)?.identity != facts.identity else {
            throw StorageError(.access, "\(file) is the database itself")
        }
        if let log = try FileFacts(file + "-wal"), log.size > 0 {
            throw StorageError(
                .notOurs,
                "\(file)-wal lies beside it: this is a copied database, not a file made by countersign backup"
            )
        }
        try checkFolder(isMade: true)
        let serveLock = try FileLock.open(serveLockPath)
        guard try serveLock.tryAcquire() else {
            throw StorageError(.served, "a server (pid \(pid(of: serveLock))) serves \(folder): stop it first")
        }
        let writeLock = try FileLock.open(writeLockPath)
        try acquire(writeLock)
        // The key is tried below, and must be the same when the database is in its place.
        let keysLock = try FileLock.open(keysLockPath)
        guard try keysLock.acquire(waiting: options.lockWait) else { throw keysAreHeld() }
        defer { keysLock.release() }
        try removeStaleRestores(sparing: facts)
        let incoming = PartialName.fresh(for: path, ending: Self.restoringEnding)
        try Database.makeFile(incoming, for: incoming)
        do {
            try Database.copyBytes(from: file, to: incoming)
            let summary = try prepare(incoming, named: file, above: try lastVersion(), check)
            try Database.sync(incoming)
            // The old log first: beside the new file it would be taken for its own. It was moved into the old file before,
            // which is complete by itself, as far as it could still be read.
            for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
            try Database.syncFolder(folder)
            guard rename(incoming, path) == 0 else { throw StorageError.system("rename to \(path)") }
            try Database.syncFolder(folder)
            return summary
        } catch {
            Database.removeWithLogs(incoming)
            throw error
        }
    }

    /// Checks the copy, and raises its state version.
    private func prepare(
        _ incoming: String,
        named file: String,
        above version: Int64,
        _ check: (borrowing Snapshot) throws -> Void
    ) throws -> CopySummary {
        do {
            let connection = try Connection.open(incoming, .writing, synchronous: .off, waiting: .zero)
            guard try connection.integer("PRAGMA application_id") == Database.applicationID else {
                throw Migrator.notOurs(file)
            }
            _ = try connection.text("PRAGMA journal_mode=DELETE")
            try Database.requireSound(connection, file)
            _ = try Migrator(options).pending(connection, file)
        } catch let error as StorageError where error.category == .notOurs {
            throw Migrator.notOurs(file)
        }
        try Reader(Connection.open(incoming, .reading, waiting: .zero)).snapshot(check)
        let connection = try Connection.open(incoming, .writing, synchronous: .off, waiting: .zero)
        try StateVersion.require(try connection.integer("SELECT version FROM state"), in: file)
        let least = max(version + 1, (try? options.date(0))?.microseconds ?? 0)
        try connection.run(
            "UPDATE state SET version = max(version + 1, :least) WHERE id = 1",
            ["least": .integer(least)]
        )
        return try summary(of: connection, incoming)
    }

    /// The state version of the database that is to be replaced, 0 where there is none or it cannot be read; moves its
    /// log into it on the way, so that it is complete by itself until the backup takes its name.
    ///
    /// - Throws: `busy` where a reader keeps the log from being moved.
    private func lastVersion() throws(StorageError) -> Int64 {
        guard (try? exists()) == true else { return 0 }
        var version: Int64 = 0
        do throws(StorageError) {
            let connection = try Connection.open(path, .writing, waiting: .seconds(1), vfs: options.vfs)
            // No bundle ever carried a version that no clock can have made.
            let found = try connection.integer("SELECT version FROM state")
            if StateVersion.range.contains(found) { version = found }
            let (frames, moved) = try connection.checkpoint(.truncate)
            guard moved == frames else { throw StorageError(.busy, "frames are left") }
        } catch  where error.category == .busy {
            throw StorageError(
                .busy,
                code: error.code,
                "another program reads \(path), so that its log cannot be moved into it; nothing was done: try again when "
                    + "that is over"
            )
        } catch {
            return version
        }
        return version
    }

    private static func copyBytes(from source: String, to target: String) throws(StorageError) {
        let from = systemOpen(source, O_RDONLY | O_CLOEXEC, 0)
        guard from >= 0 else { throw refusal(of: source, isMade: false, code: errno) }
        let input = Descriptor(taking: from)
        let to = systemOpen(target, O_WRONLY | O_CLOEXEC, 0)
        guard to >= 0 else { throw .system("open \(target)") }
        let output = Descriptor(taking: to)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input.number, &buffer, buffer.count)
            if count == 0 { return }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw .system("read \(source)")
            }
            var written = 0
            while written < count {
                let step = buffer[written..<count].withUnsafeBytes { write(output.number, $0.baseAddress, $0.count) }
                guard step > 0 else {
                    if step < 0, errno == EINTR { continue }
                    throw .system("write \(target)")
                }
                written += step
            }
        }
    }
}
