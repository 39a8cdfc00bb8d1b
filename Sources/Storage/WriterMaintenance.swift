internal import SystemPrimitives

/// The write-ahead log as the writer knows it.
struct LogState {
    /// Frames in the log, as of the writer's last commit or checkpoint.
    var frames = 0
    /// How many of them are in the database file already.
    var moved = 0
    /// When cutting it back may next be tried.
    var nextTruncation: UInt64 = 0
    /// When moving frames may next be tried, after it failed or in a quiet moment.
    var nextTry: UInt64 = 0

    var unmoved: Int { frames - moved }

    mutating func update(frames now: Int) {
        if now < frames { moved = 0 }  // it began anew from its start
        frames = now
    }
}

/// What the writer does between batches.
extension Writer {
    private static var retry: UInt64 { 1_000_000_000 }
    /// How long work of the writer's own waits for a stranger's lock on the database.
    private static var maintenanceWait: Duration { .milliseconds(50) }

    /// When to wake up although nobody asks; `nil`: there is nothing to wait for.
    func nextMoment() -> UInt64? {
        let now = MonotonicClock.nanoseconds()
        var moment: UInt64?
        func consider(_ other: UInt64) { moment = min(moment ?? other, other) }
        if settings.idle != nil, !hasFailed { consider(nextIdleWork) }
        if log.unmoved > 0, !isBroken { consider(max(log.nextTry, now &+ settings.quiet.nanoseconds)) }
        if isBroken, !hasFailed { consider(max(nextProbe, now)) }
        return moment
    }

    /// Nothing waits: proves that writing works where somebody asks or it did not, tidies up, moves the log.
    mutating func beIdle() {
        if hasFailed {
            _ = queue.takeProbe()
            _ = queue.takeLook()
            return
        }
        if queue.takeLook() { look() }
        let now = MonotonicClock.nanoseconds()
        if queue.takeProbe() || isBroken, now >= nextProbe { probe() }
        if settings.idle != nil, now >= nextIdleWork { doIdleWork() }
        guard log.unmoved > 0, !isBroken, now >= log.nextTry else { return }
        log.nextTry = now &+ Self.retry
        guard (try? lock(until: nil)) == true else { return }
        checkpoint(.passive)
        writeLock.release()
    }

    /// Looks after the files without writing. Where something was wrong, also with writing, and they are as they should
    /// be, writing is tried again.
    private mutating func look() {
        do {
            guard try lockInPassing() else { return }
            writeLock.release()
        } catch {
            report(0, error)
            return
        }
        if queue.status().trouble != nil { probe() }
    }

    /// Takes the lock, on which nobody waits at this moment.
    ///
    /// - Returns: false where somebody else has it.
    /// - Throws: `busy` where somebody has had it for longer than a write may wait: whoever came to write would be refused.
    private mutating func lockInPassing() throws(StorageError) -> Bool {
        if try lock(until: nil) { return true }
        let now = MonotonicClock.nanoseconds()
        guard let since = lockWantedSince else {
            lockWantedSince = now
            return false
        }
        // From one look to the next it may have been free often, as between the portions of an import. So the last part of
        // the time is waited for it, like a write would; jobs that come meanwhile need the same lock. Once that was told,
        // each look tries but once.
        let wait = database.options.batchWait.nanoseconds
        if queue.status().trouble == nil, try lock(until: max(since &+ wait, now &+ wait / 4)) { return true }
        throw StorageError(.busy, "another process holds \(database.writeLockPath)")
    }

    /// Proves that writing works, and, where the file was found damaged, that it can be read by somebody who remembers
    /// nothing of it.
    private mutating func probe() {
        nextProbe = MonotonicClock.nanoseconds() &+ Self.retry
        do {
            guard try maintain({ db in try db.probe() }) != nil else { return }
            let status = queue.status()
            if status.damage != nil {
                _ = try database.openLoopReader().snapshot { db in try db.stateVersion() }
                queue.clearDamage(of: status)
            }
            report(0, nil)
        } catch {
            report(0, (error as? StorageError) ?? StorageError(.other, "\(error)"))
        }
    }

    /// Whether even a busy server has to find a moment for it: where there is more to do, a portion a second.
    var isIdleWorkOverdue: Bool {
        let patience = hasMoreIdleWork ? Self.retry : 10 &* settings.idleInterval.nanoseconds
        return settings.idle != nil && MonotonicClock.nanoseconds() > nextIdleWork &+ patience
    }

    /// One portion of idle work in a transaction of its own.
    mutating func doIdleWork() {
        guard let idle = settings.idle, !hasFailed else { return }
        hasMoreIdleWork = false
        do {
            hasMoreIdleWork = try maintain { db in try idle(db) } ?? false
        } catch {
            settings.idleFailed(error)
        }
        let pause = hasMoreIdleWork ? 0 : settings.idleInterval.nanoseconds
        nextIdleWork = MonotonicClock.nanoseconds() &+ pause
    }

    /// A transaction of the writer's own, when write.lock is free at this moment; `nil` when it is not.
    private mutating func maintain<R>(_ body: (borrowing WriteTransaction) throws -> R) throws(StorageError) -> R? {
        guard try lock(until: nil) else { return nil }
        defer { writeLock.release() }
        // Nobody waits for this: jobs that come meanwhile are not to wait for a stranger's lock because of it.
        try begin(waiting: Self.maintenanceWait)
        let result: R
        let hasChanges: Bool
        do {
            let before = db.connection.totalChanges
            result = try body(db)
            guard db.connection.isInTransaction else { throw WriteTransaction.lost }
            hasChanges = db.connection.totalChanges != before
            if hasChanges { try db.touch(database.options) }
        } catch {
            db.rollBack()
            throw (error as? StorageError) ?? StorageError(.other, "\(error)")
        }
        var none: [Answer] = []
        switch commitTransaction(hasChanges, &none) {
        case .committed:
            log.update(frames: db.connection.walFrames)
            return result
        case .lost(let error), .unknown(let error): throw error
        }
    }

    /// After a batch, under write.lock: a log that grew is moved into the file, a very long one is cut back.
    mutating func checkpointIfDue() {
        guard !isBroken else { return }
        log.update(frames: db.connection.walFrames)
        let now = MonotonicClock.nanoseconds()
        if now >= log.nextTruncation, logBytes() > settings.truncateBytes {
            log.nextTruncation = now &+ Self.retry
            checkpoint(.truncate)
        } else if log.unmoved >= settings.checkpointFrames, now >= log.nextTry {
            checkpoint(.passive)
        }
    }

    /// Under write.lock. A checkpoint that fails loses nothing: the log keeps what it could not move.
    private mutating func checkpoint(_ kind: Connection.Checkpoint) {
        // Cutting back waits for readers to leave the log; a backup may stay for long, so the wait is short.
        // Every transaction sets its own.
        db.connection.wait(.milliseconds(50))
        do {
            let (frames, moved) = try db.connection.checkpoint(kind)
            log.frames = frames
            log.moved = moved
            // After a quiet moment comes a burst: what it writes is to be moved as it comes.
            if log.unmoved == 0 { log.nextTry = 0 }
            files?.allowShrinking()
            queue.report { $0.checkpoints += 1 }
        } catch {
            log.nextTry = MonotonicClock.nanoseconds() &+ Self.retry
        }
        let bytes = logBytes()
        queue.report { $0.walBytes = bytes }
    }

    /// The size of the log's file.
    func logBytes() -> Int64 {
        guard let facts = try? FileFacts(database.path + "-wal") else { return 0 }
        return facts.size
    }

    /// The end: everything is moved into the database file, so that it is complete by itself.
    mutating func close() {
        // Also where the log has lost its name: what was acknowledged comes into the database file that way.
        if !isBroken, (try? writeLock.acquire(waiting: database.options.batchWait)) == true {
            checkpoint(.truncate)
            writeLock.release()
        }
        queue.report { $0.hasStopped = true }
    }
}
