internal import SystemPrimitives

/// How one transaction takes its jobs, and what becomes of each.
extension Writer {
    /// Commits a batch under the lock, delivers its answers, and looks after the log.
    mutating func commit(
        _ batch: inout [Submission],
        into answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) {
        guard begin(&batch, &answers, deliver) else { return }
        queue.beginStep()
        let start = MonotonicClock.nanoseconds()
        var outcome = run(&batch, into: &answers)
        if case .lost(let error) = outcome {
            answers.removeAll(keepingCapacity: true)
            if error.category == .clockUnsure {
                answers = batch.map { Answer(ticket: $0.ticket, result: .failure(error)) }
            } else {
                queue.report { $0.lostBatches += 1 }
                for submission in batch { outcome = runAlone(submission, into: &answers) }
            }
        }
        let microseconds = Int64((MonotonicClock.nanoseconds() - start) / 1000)
        let count = batch.count
        queue.report { status in
            status.batchMicroseconds += microseconds
            status.batchSizes[min(8, count <= 1 ? 0 : Int.bitWidth - (count - 1).leadingZeroBitCount)] += 1
        }
        if case .committed = outcome {
            do {
                // An answer is a promise that what was written is in the file that has the database's name.
                try checkFiles()
            } catch {
                let unknown = StorageError(.unknownOutcome, code: error.code, error.message)
                answers = batch.map { Answer(ticket: $0.ticket, result: .failure(unknown)) }
                outcome = .unknown(error)
            }
        }
        noteDamage(answers)
        switch outcome {
        case .committed: report(count, nil)
        case .unknown(let error), .lost(let error): report(count, error)
        }
        // Jobs that came to nothing let go of what they hold before anybody is told.
        batch.removeAll(keepingCapacity: true)
        // Over before anybody hears of its end: whoever does may look.
        queue.beginStep()
        deliver(&answers)
        queue.beginStep()
        checkpointIfDue()
        writeLock.release()
    }

    /// What came of a transaction.
    enum Outcome {
        case committed
        /// SQLite rolled it back by itself: nothing of it is there.
        case lost(StorageError)
        /// COMMIT failed: perhaps it is there, perhaps not.
        case unknown(StorageError)
    }

    /// Begins for a batch. A job waits no longer than `batchWait` in all, counted from its arrival, for its turn and for
    /// locks: whose time is over is refused, and those that came later go on waiting.
    ///
    /// - Parameter batch: gets its first job.
    /// - Returns: whether write.lock is held and a transaction open; false when all jobs were refused.
    private mutating func begin(
        _ batch: inout [Submission],
        _ answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) -> Bool {
        let wait = database.options.batchWait.nanoseconds
        while true {
            queue.beginStep()
            refuseLate(&answers, deliver)
            if let first = queue.take(charging: takeSpent()) { batch.append(first) }
            guard let deadline = batch.first.map({ $0.arrivedAt &+ wait }) else { return false }
            do throws(StorageError) {
                if hasFailed { throw StorageError(.unavailable, "the writer has given up") }
                try begin(until: deadline)
                return true
            } catch {
                if error.category == .busy {
                    // Those whose time is over within one more try go with it.
                    batch += jobsLate(in: Self.tryNanoseconds)
                } else {
                    while batch.count < settings.batchLimit, let next = queue.take(charging: 0) { batch.append(next) }
                }
                queue.report { $0.refusedBatches += 1 }
                report(batch.count, error)
                refuse(&batch, error, &answers, deliver)
            }
        }
    }

    /// Answers jobs that waited too long for their turn: nobody waits for a writer that is busy longer than for one that
    /// is locked out.
    private mutating func refuseLate(_ answers: inout [Answer], _ deliver: (inout [Answer]) -> Void) {
        answers = queue.refuseLate()
        if answers.isEmpty { return }
        deliver(&answers)
        answers.removeAll(keepingCapacity: true)
    }

    /// The jobs whose time is over in so many nanoseconds.
    private func jobsLate(in nanoseconds: UInt64) -> [Submission] {
        let (now, wait) = (queue.clock() &+ nanoseconds, database.options.batchWait.nanoseconds)
        return now > wait ? queue.takeAll(arrivedBy: now - wait) : []
    }

    /// Answers jobs with an error, once they have let go of what they hold.
    private func refuse(
        _ submissions: inout [Submission],
        _ error: StorageError,
        _ answers: inout [Answer],
        _ deliver: (inout [Answer]) -> Void
    ) {
        answers = submissions.map { Answer(ticket: $0.ticket, result: .failure(error)) }
        submissions.removeAll(keepingCapacity: true)
        queue.beginStep()
        deliver(&answers)
        answers.removeAll(keepingCapacity: true)
    }

    private mutating func takeSpent() -> UInt64 {
        defer { spent = 0 }
        return spent
    }

    /// Runs the first job of the transaction and those that wait, each in its own savepoint, until there is none, or enough
    /// was done for one transaction; commits all of them.
    private mutating func run(_ batch: inout [Submission], into answers: inout [Answer]) -> Outcome {
        var hasChanges = false
        var started = queue.clock()
        let end = started &+ settings.batchTime.nanoseconds
        do {
            while let submission = batch.last, answers.count < batch.count {
                let result = try runInSavepoint(submission.job, &hasChanges)
                answers.append(Answer(ticket: submission.ticket, result: result))
                let now = queue.clock()
                spent = now &- started
                started = now
                guard batch.count < settings.batchLimit, now < end else { break }
                // What takes long begins a transaction of its own: those that were run are not to wait for it.
                if let next = queue.take(charging: takeSpent(), within: end - now) { batch.append(next) }
            }
            if hasChanges { try db.touch(database.options) }
        } catch {
            db.rollBack()
            return .lost(error)
        }
        return commitTransaction(hasChanges, &answers)
    }

    mutating func commitTransaction(_ hasChanges: Bool, _ answers: inout [Answer]) -> Outcome {
        do {
            try db.commit()
        } catch {
            if case .constraint = error.category, db.connection.isInTransaction {
                // A deferred foreign key: SQLite has decided, and the transaction is still open. Nothing is unknown.
                db.rollBack()
                return .lost(error)
            }
            db.rollBack()
            isBroken = true
            // A full disk is refused before the last frame is written, and a stranger who leaves no place in the log before
            // the first; both end by themselves: no reason to end.
            isDiskFull = error.category == .full
            if !isDiskFull && error.category != .busy { failedCommitsInARow += 1 }
            queue.report { $0.failedCommits += 1 }
            let unknown = StorageError(.unknownOutcome, code: error.code, "COMMIT failed: \(error.message)")
            answers = answers.map { Answer(ticket: $0.ticket, result: .failure(unknown)) }
            return .unknown(unknown)
        }
        owed = nil
        if hasChanges {
            failedCommitsInARow = 0
            queue.report { $0.commits += 1 }
        }
        return .committed
    }

    /// One job, undone alone when it throws.
    ///
    /// - Throws: when the whole transaction is gone, or can no longer be told to be sound.
    private borrowing func runInSavepoint(
        _ job: WriterQueue<Ticket, Reply>.Job,
        _ hasChanges: inout Bool
    ) throws(StorageError) -> Result<Reply, any Error> {
        let connection = db.connection.totalChanges
        try db.connection.run("SAVEPOINT job")
        let failure: any Error
        do {
            let reply = try job(db)
            guard db.connection.isInTransaction else { throw WriteTransaction.lost }
            try db.connection.run("RELEASE job")
            if db.connection.totalChanges != connection { hasChanges = true }
            return .success(reply)
        } catch {
            failure = error
        }
        guard db.connection.isInTransaction else {
            throw (failure as? StorageError) ?? WriteTransaction.lost
        }
        try db.connection.run("ROLLBACK TO job")
        try db.connection.run("RELEASE job")
        return .failure(failure)
    }

    /// One job in a transaction of its own, after its batch was lost; what fails now is its answer.
    private mutating func runAlone(_ submission: Submission, into answers: inout [Answer]) -> Outcome {
        queue.beginStep()
        var hasChanges = false
        var own: [Answer] = []
        var outcome: Outcome
        do throws(StorageError) {
            if hasFailed || failedCommitsInARow >= 3 { throw StorageError(.unavailable, "the writer has given up") }
            try begin(waiting: timeLeft(until: submission.arrivedAt &+ database.options.batchWait.nanoseconds))
            let result = try runInSavepoint(submission.job, &hasChanges)
            own.append(Answer(ticket: submission.ticket, result: result))
            if hasChanges { try db.touch(database.options) }
            outcome = commitTransaction(hasChanges, &own)
        } catch {
            db.rollBack()
            outcome = .lost(error)
        }
        if case .lost(let error) = outcome { own = [Answer(ticket: submission.ticket, result: .failure(error))] }
        answers += own
        return outcome
    }
}

extension WriteTransaction {
    static var lost: StorageError {
        StorageError(.transactionLost, "the transaction was rolled back by the database")
    }
}
