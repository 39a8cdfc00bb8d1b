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
        } catch {
            throw Self.untilMended(error)
        }
        do throws(StorageError) {
            try files?.check()
            try holdServeLock()
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
            try files?.check()
            writeLock = try FileLock.open(database.writeLockPath)
        }
    }

    /// What the server could open at its start and cannot now comes back, or somebody has to see to it: nobody who asks has
    /// anything to mend.
    private static func untilMended(_ error: StorageError) -> StorageError {
        error.category == .access ? StorageError(.unavailable, code: error.code, error.message) : error
    }

    /// Takes serve.lock anew where its file was deleted or replaced; one who took that meanwhile is the server now.
    private mutating func holdServeLock() throws(StorageError) {
        if serveLock.isCurrent { return }
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
