internal import SystemPrimitives

/// What the writer holds while it writes: the locks, the files, a connection that is sound.
extension Writer {
    /// How long one try to take a lock lasts at least, where the time for it is over or nearly so.
    static var tryNanoseconds: UInt64 { 5_000_000 }

    func timeLeft(until deadline: UInt64) -> Duration {
        let now = MonotonicClock.nanoseconds()
        return .nanoseconds(Int64(clamping: max(deadline > now ? deadline - now : 0, Self.tryNanoseconds)))
    }

    /// Takes write.lock and begins. After this succeeded, write.lock is held.
    ///
    /// - Throws: `busy` where somebody else holds write.lock or the database at `deadline`; `unavailable` where the files
    ///   are not as they were.
    mutating func begin(until deadline: UInt64) throws(StorageError) {
        guard try lock(until: deadline) else {
            throw StorageError(.busy, "another process holds \(database.writeLockPath)")
        }
        do {
            try begin(waiting: timeLeft(until: deadline))
        } catch {
            writeLock.release()
            throw error
        }
    }

    /// Begins, under write.lock, on a connection that is sound.
    mutating func begin(waiting wait: Duration) throws(StorageError) {
        try replaceIfBroken(waiting: wait)
        try db.begin(waiting: wait)
        do throws(StorageError) {
            try payDebt()
        } catch {
            db.rollBack()
            throw error
        }
    }

    /// Takes write.lock, on the file that has its name now, and looks whether all that this server holds is still what
    /// others find under its name.
    ///
    /// - Parameter deadline: until when to wait; `nil`: not at all.
    /// - Returns: false where somebody else has it.
    /// - Throws: `unavailable` where the database, its log or serve.lock is not this server's any more; then write.lock is
    ///   not held.
    mutating func lock(until deadline: UInt64?) throws(StorageError) -> Bool {
        do throws(StorageError) {
            guard try takeWriteLock(until: deadline) else { return false }
            lockWantedSince = nil
        } catch {
            throw Self.untilMended(error)
        }
        do throws(StorageError) {
            // First: what another server does to the files is no mishap.
            try holdServeLock()
            try checkFiles()
        } catch {
            writeLock.release()
            throw Self.untilMended(error)
        }
        return true
    }

    private mutating func takeWriteLock(until deadline: UInt64?) throws(StorageError) -> Bool {
        while true {
            if let deadline {
                guard try writeLock.acquire(until: deadline) else { return false }
            } else {
                guard try writeLock.tryAcquire() else { return false }
            }
            if writeLock.isCurrent { return true }
            writeLock.release()
            // Where the folder itself has gone, that is what there is to tell.
            try checkFiles()
            writeLock = try FileLock.open(database.writeLockPath)
        }
    }

    /// What the server could open at its start and cannot now comes back, or somebody has to see to it: nobody who asks has
    /// anything to mend.
    private static func untilMended(_ error: StorageError) -> StorageError {
        error.category == .access ? StorageError(.unavailable, code: error.code, error.message) : error
    }

    /// Looks whether the database and its log are still what others find under their names.
    mutating func checkFiles() throws(StorageError) {
        guard var held = files else { return }
        defer { files = held }
        try held.check { db.connection.knownLogBytes() }
    }

    /// Takes serve.lock anew where its file was deleted or replaced; one who took that meanwhile is the server now.
    ///
    /// When that one has ended, this one goes on: what another server has committed is to it what a command has, as long as
    /// the files are the same and no migration changed what is in them.
    private mutating func holdServeLock() throws(StorageError) {
        if !serveLock.isCurrent {
            isDisplaced = true
            // Where the folder or the database has gone too, that is what there is to tell.
            guard try FileFacts(database.path) != nil else { return }
            let other = try FileLock.open(database.serveLockPath)
            guard try other.tryAcquire() else {
                throw StorageError(
                    .unavailable,
                    "\(database.serveLockPath) was replaced, and another server (pid \(database.pid(of: other))) holds it: "
                        + "nothing is written beside it; fix: stop one of the two"
                )
            }
            other.writeOwner()
            serveLock = other
        }
        guard isDisplaced else { return }
        try requireSameMigrations()
        isDisplaced = false
    }

    private func requireSameMigrations() throws(StorageError) {
        let options = database.options
        // Not the writer's: it may have to be replaced.
        let connection = try Connection.open(database.path, .reading, waiting: options.readWait, vfs: options.vfs)
        do throws(StorageError) {
            _ = try Migrator(options).pending(connection, database.path)
        } catch  where error.category == .schema {
            throw StorageError(
                .unavailable,
                "another server has served \(database.folder) meanwhile: \(error.message); nothing is written until this one "
                    + "is restarted"
            )
        }
    }

    /// Closes the connection whose COMMIT failed, and opens another in its place.
    mutating func replaceIfBroken(waiting wait: Duration) throws(StorageError) {
        guard isBroken else { return }
        db = WriteTransaction(try database.openWriting(isMade: false, waiting: wait))
        log.frames = 0
        log.moved = 0
        isBroken = false
        // A full disk may still take what is in the log into pages that the file has already, and the log, moved to
        // its end, begins anew in the space it has: often writing goes on without anybody making room.
        if isDiskFull { _ = try? db.connection.checkpoint(.passive) }
    }
}
