import Licensing
import Storage
import Synchronization
import SystemPrimitives
import Testing

@Suite("Writer") struct WriterTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
    }

    func names() throws -> [String] {
        try database.openReader().snapshot { db in try itemNames(db) }
    }

    @Test("all that waits is committed at once, at most 256 jobs a transaction, each answered once, in order")
    func groupCommit() throws {
        let queue = Queue.still(capacity: 2048)

        let answers = try workOff((0..<600).map { .insert("n\($0)", ticket: $0) }, in: database, queue: queue)

        #expect(answers.batches == [256, 256, 88])
        #expect(answers.succeeded == Array(0..<600))
        let status = queue.status()
        #expect(status.commits == 3 && status.jobs == 600 && status.waiting == 0 && status.hasStopped)
        #expect(status.batchSizes == [0, 0, 0, 0, 0, 0, 0, 1, 2])
        #expect(try names().count == 600)
    }

    @Test("a job that fails is undone alone")
    func failingJob() throws {
        struct Refused: Error {}
        let thrower = Queue.Submission(ticket: 1, origin: 1) { db in
            try insertItem("half", in: db)
            throw Refused()
        }

        let answers = try workOff(
            [.insert("a", ticket: 0), thrower, .insert("a", ticket: 2), .insert("b", ticket: 3)],
            in: database
        )

        #expect(answers.batches == [4])
        #expect(answers.succeeded == [0, 3])
        #expect(answers.error(of: 2)?.category == .constraint(.unique))
        #expect(try names() == ["a", "b"])
    }

    @Test("a job that swallows an error keeps what it did before")
    func swallowing() throws {
        let job = Queue.Submission(ticket: 0, origin: 0) { db in
            try insertItem("a", in: db)
            _ = try? insertItem("a", in: db)
            return try insertItem("b", in: db)
        }

        let answers = try workOff([job], in: database)

        #expect(answers.succeeded == [0])
        #expect(try names() == ["a", "b"])
    }

    @Test("when SQLite rolls the whole batch back, its jobs run again one by one: none lost, faked or answered twice")
    func fullDatabase() throws {
        let limiting = Queue.Submission(ticket: 0, origin: 0) { db in
            try limitSize(toMore: 20, in: db)
            return 0
        }
        let large = Queue.Submission(ticket: 2, origin: 2) { db in
            try insertHeap(400_000, in: db)
            return 0
        }
        let queue = Queue.still()

        let answers = try workOff(
            [
                limiting, .insert("a", ticket: 1), large, .insert("b", ticket: 3), .insert("a", ticket: 4),
                .insert("c", ticket: 5),
            ],
            in: database,
            queue: queue
        )

        #expect(answers.tickets == [0, 1, 2, 3, 4, 5])
        #expect(answers.succeeded == [0, 1, 3, 5])
        #expect(answers.error(of: 2)?.category == .full)
        #expect(answers.error(of: 2)?.isTransient == true)
        #expect(answers.error(of: 4)?.category == .constraint(.unique))
        #expect(try names() == ["a", "b", "c"])
        #expect(queue.status().lostBatches == 1)
    }

    @Test("when SQLite rolls back only the statement that filled the database, only its job fails")
    func fullStatement() throws {
        let large = Queue.Submission(ticket: 1, origin: 1) { db in
            try limitSize(toMore: 20, in: db)
            return try insertItem("large", note: 400_000, in: db)
        }
        let queue = Queue.still()

        let answers = try workOff(
            [.insert("a", ticket: 0), large, .insert("b", ticket: 2)],
            in: database,
            queue: queue
        )

        #expect(answers.succeeded == [0, 2])
        #expect(answers.error(of: 1)?.category == .full)
        #expect(queue.status().lostBatches == 0)
    }

    @Test("a job that hides that the transaction is gone writes nothing outside of one")
    func hiddenLoss() throws {
        let hiding = Queue.Submission(ticket: 1, origin: 1) { db in
            try limitSize(toMore: 20, in: db)
            _ = try? insertHeap(400_000, in: db)
            do {
                return try insertItem("after", in: db)
            } catch let error as StorageError {
                #expect(error.category == .transactionLost)
                return 0
            }
        }

        let answers = try workOff([.insert("a", ticket: 0), hiding, .insert("b", ticket: 2)], in: database)

        #expect(answers.tickets == [0, 1, 2])
        #expect(answers.succeeded == [0, 2])
        #expect(answers.error(of: 1)?.isTransient == true)
        #expect(try names() == ["a", "b"])
    }

    @Test("a reference that is missing at COMMIT fails its own job only, and nothing is called unknown")
    func deferredForeignKey() throws {
        let answers = try workOff(
            [.insert("a", ticket: 0), .insert("b", ticket: 1, parent: 99), .insert("c", ticket: 2)],
            in: database
        )

        #expect(answers.succeeded == [0, 2])
        #expect(answers.error(of: 1)?.category == .constraint(.foreignKey))
        #expect(try names() == ["a", "c"])
    }

    @Test("the state version is at least the clock, and always grows; a batch that changes nothing leaves it")
    func stateVersion() throws {
        let reader = { try database.openReader() }
        _ = try workOff([], in: database)
        let atStart = try reader().snapshot { db in try db.stateVersion() }
        let question = Queue.Submission(ticket: 0, origin: 0) { db in try db.stateVersion() }

        _ = try workOff([question], in: database)
        let afterQuestion = try reader().snapshot { db in try db.stateVersion() }
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        let (afterChange, time) = try reader().snapshot { db in (try db.stateVersion(), try db.committedAt()) }

        #expect(atStart >= 1_800_000_000_000_000)
        #expect(afterQuestion == atStart + 1)  // a start of the server raises it
        #expect(afterChange == afterQuestion + 2)
        #expect(time == 1_800_000_000)
    }

    @Test("while the clock is in doubt nothing is committed, and every job hears why; a start still raises the version")
    func unsureClock() throws {
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        let before = try database.openReader().snapshot { db in try db.stateVersion() }
        var unsure = database
        unsure.options.date = { (_) throws(StorageError) in throw StorageError(.clockUnsure, "a test says so") }
        let queue = Queue.still()

        let answers = try workOff(
            [.insert("b", ticket: 0), .insert("c", ticket: 1)] + [Queue.Submission(ticket: 2, origin: 2) { _ in 7 }],
            in: unsure,
            queue: queue
        )

        #expect(answers.succeeded == [])
        #expect((0...2).allSatisfy { answers.error(of: $0)?.category == .clockUnsure })
        #expect(try names() == ["a"])
        let (after, time) = try database.openReader().snapshot { db in (try db.stateVersion(), try db.committedAt()) }
        #expect(after == before + 1)
        #expect(time == 1_800_000_000)
        #expect(queue.status().lastError == nil && queue.status().lostBatches == 0)
    }

    @Test("the time of the last commit never falls, in a server's commits as in a command's", arguments: [false, true])
    func neverFalls(isCommand: Bool) throws {
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        let earlier = Database(folder: folder.path, options: .test(now: { 1_700_000_000_000_000 }))

        if isCommand {
            _ = try earlier.openForCommandLine().write { db in try insertItem("b", in: db) }
        } else {
            _ = try workOff([.insert("b", ticket: 0)], in: earlier)
        }

        #expect(try names() == ["a", "b"])
        #expect(try database.openReader().snapshot { db in try db.committedAt() } == 1_800_000_000)
    }

    @Test("a start whose clock the operator accepted dates anew, before anything else is written")
    func acceptedStart() throws {
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        var accepting = database
        accepting.options.date = { (last) throws(StorageError) in
            CommitDate(microseconds: 1_700_000_000_000_000, after: nil, replacesLast: last == 1_800_000_000)
        }

        _ = try workOff([], in: accepting)

        #expect(try database.openReader().snapshot { db in try db.committedAt() } == 1_700_000_000)
    }

    @Test("a start is judged before anything is written, and what judges it may end it")
    func judged() throws {
        struct Refused: Error {}
        let asked = Mutex<[Past?]>([])
        func open(_ database: Database, refusing: Bool) throws {
            _ = try database.openForServing(
                Queue(),
                judging: { past in
                    asked.withLock { $0.append(past) }
                    if refusing { throw Refused() }
                },
                starting: { db in try db.run("UPDATE state SET clock = 'wall' WHERE clock IS NULL") }
            )
        }
        try open(database, refusing: false)
        let before = try database.openReader().snapshot { db in try db.stateVersion() }

        #expect(throws: Refused.self) { try open(database, refusing: true) }

        #expect(try database.openReader().snapshot { db in try db.stateVersion() } == before)
        #expect(asked.withLock { $0.first } == .some(nil))
        #expect(asked.withLock { $0.last??.clock } == "wall")
    }

    @Test("a start leaves the time of the last commit as it was")
    func startKeepsTime() throws {
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        let later = Database(folder: folder.path, options: .test(now: { 1_900_000_000_000_000 }))

        _ = try workOff([], in: later)

        let (version, time) = try database.openReader().snapshot { db in (try db.stateVersion(), try db.committedAt()) }
        #expect(version == 1_900_000_000_000_000)
        #expect(time == 1_800_000_000)
    }

    @Test("a batch that cannot have the write lock is refused, and the next one works")
    func lockHeld() throws {
        let queue = Queue.still()
        var writer = try database.openForServing(queue)
        let command = try database.openForCommandLine()
        var answers: [Result<Int64, any Error>] = []
        var first: [Queue.Submission] = [.insert("a", ticket: 0)]
        queue.submit(&first)

        try command.write { _ in
            // The command's transaction is open: this run answers one batch, then waits for the second to stop.
            writer.run(
                deliver: { batch in
                    answers += batch.map(\.result)
                    queue.stop()
                },
                abort: { _ in }
            )
        }

        #expect(answers.count == 1)
        #expect(throws: StorageError.self) { try answers[0].get() }
        #expect(queue.status().refusedBatches == 1)
        #expect(try names() == [])
    }

    @Test(
        "a job waits for a lock from its arrival on: not once more behind others, and not shorter because of them",
        arguments: ["write.lock", "countersign.db"]
    )
    func lockWait(file: String) throws {
        var options = Database.Options.test()
        options.batchWait = .seconds(60)
        let offset = Guarded<UInt64>(0)
        let queue = Queue(clock: { MonotonicClock.nanoseconds() - offset.withLock { $0 } })
        var writer = try Database(folder: folder.path, options: options).openForServing(queue)
        offset.withLock { $0 = 59_500_000_000 }
        var early: [Queue.Submission] = (0..<3).map { .insert("n\($0)", ticket: $0) }
        queue.submit(&early)
        // Half a second of their minute is left when another comes, which has more time than any machine needs.
        offset.withLock { $0 = 0 }
        var late: [Queue.Submission] = [.insert("late", ticket: 3)]
        queue.submit(&late)
        let stranger = try Stranger(folder.path + "/" + file)
        var batches: [Set<Int>] = []
        var succeeded: [Int] = []

        writer.run(
            deliver: { batch in
                batches.append(Set(batch.map(\.ticket)))
                succeeded += batch.compactMap { if case .success = $0.result { $0.ticket } else { nil } }
                if batches.count == 1 {
                    stranger.release()
                    queue.stop()
                }
            },
            abort: { _ in }
        )

        #expect(batches == [[0, 1, 2], [3]])
        #expect(succeeded == [3])
        #expect(try names() == ["late"])
    }

    /// A job that takes `duration` by the clock of a test.
    private func slow(_ ticket: Int, origin: UInt64, _ duration: Duration, _ clock: HandClock) -> Queue.Submission {
        Queue.Submission(ticket: ticket, origin: origin) { db in
            clock.advance(by: duration)
            return try insertItem("n\(ticket)", in: db)
        }
    }

    @Test("a transaction takes no more jobs when it has taken its time, or the next is likely to; all are answered")
    func batchTime() throws {
        let clock = HandClock()
        var settings = Writer<Int, Int64>.Settings()
        settings.batchTime = .milliseconds(20)

        let answers = try workOff(
            [(0, 30), (1, 5), (2, 14), (3, 2), (4, 19), (5, 0), (6, 0)].map { ticket, milliseconds in
                slow(ticket, origin: 1, .milliseconds(milliseconds), clock)
            },
            in: withWait(.seconds(2)),
            queue: Queue(clock: clock.now),
            settings: settings
        )

        #expect(answers.batches == [1, 2, 2, 2])
        #expect(answers.succeeded == Array(0..<7))
    }

    @Test("a job that waited too long for its turn is not run, and is told to come back; later ones go on waiting")
    func late() throws {
        let clock = HandClock()
        let queue = Queue(clock: clock.now)
        var writer = try withWait(.seconds(2)).openForServing(queue)
        // Each takes 0.9 s: the third begins at 1.8 s, and the fourth would at 2.7 s.
        var jobs = (0..<5).map { slow($0, origin: 1, .milliseconds(900), clock) }
        queue.submit(&jobs)
        var answers: [Int: Result<Int64, any Error>] = [:]

        writer.run(
            deliver: { batch in
                for answer in batch {
                    #expect(answers.updateValue(answer.result, forKey: answer.ticket) == nil, "answered once")
                }
                guard answers.count == 1 else { return }
                var young: [Queue.Submission] = [.insert("young", ticket: 9)]
                queue.submit(&young)
                queue.stop()
            },
            abort: { _ in }
        )

        func isRun(_ ticket: Int) -> Bool? { answers[ticket].map { if case .success = $0 { true } else { false } } }
        #expect([0, 1, 2, 3, 4, 9].map(isRun) == [true, true, true, false, false, true])
        for ticket in [3, 4] {
            guard case .failure(let error as StorageError) = answers[ticket] else { continue }
            #expect(error.category == .unavailable && error.isTransient)
        }
        #expect(try Set(names()) == ["n0", "n1", "n2", "young"])
        let status = queue.status()
        #expect(status.late == 2 && status.jobs == 6 && status.waiting == 0)
        #expect(status.lastError == nil, "a writer that has much to do is in order")
    }

    @Test("whoever has many jobs, or long ones, delays another by one of them", arguments: [1, 37, 240])
    func turns(milliseconds: Int) throws {
        let clock = HandClock()
        let queue = Queue(clock: clock.now)
        var writer = try withWait(.seconds(2)).openForServing(queue)
        var greedy = (0..<500).map { slow($0, origin: 1, .milliseconds(milliseconds), clock) }
        queue.submit(&greedy)
        let waited = Guarded<[Duration]>([])
        func other(_ ticket: Int) -> Queue.Submission {
            let arrived = clock.now()
            return Queue.Submission(ticket: ticket, origin: 2) { db in
                waited.withLock { $0.append(.nanoseconds(Int64(clock.now() - arrived))) }
                clock.advance(by: .microseconds(10))
                return try insertItem("n\(ticket)", in: db)
            }
        }
        var others = [other(1000)]
        queue.submit(&others)

        writer.run(
            deliver: { batch in
                guard batch.contains(where: { $0.ticket >= 1000 }) else { return }
                let answered = waited.withLock { $0.count }
                if answered == 20 { return queue.stop() }
                var next = [other(1000 + answered)]
                queue.submit(&next)
            },
            abort: { _ in }
        )

        // The job that is run when it comes, and at worst those that the same transaction has run before.
        let longest = Duration.milliseconds(milliseconds) + Writer<Int, Int64>.Settings().batchTime
        #expect(waited.withLock { $0.count } == 20)
        #expect(waited.withLock { $0.allSatisfy { $0 <= longest } })
    }

    private func withWait(_ wait: Duration) -> Database {
        var options = Database.Options.test()
        options.batchWait = wait
        return Database(folder: folder.path, options: options)
    }

    @Test("whose job was run does not wait for one that takes long, before it is answered")
    func longJobs() throws {
        let clock = HandClock()
        let long = (0..<3).map { slow($0, origin: 1, .milliseconds(240), clock) }
        let short = (3..<9).map { slow($0, origin: 2, .microseconds(10), clock) }

        let answers = try workOff(long + short, in: withWait(.seconds(2)), queue: Queue(clock: clock.now))

        #expect(answers.batches == [1, 6, 1, 1])
        #expect(Array(answers.tickets.prefix(7)) == [0, 3, 4, 5, 6, 7, 8])
    }

    @Test("what a job holds is let go of before anybody hears that it came to nothing", arguments: [true, false])
    func released(isLocked: Bool) throws {
        final class Held: Sendable {}
        struct Refused: Error {}
        let queue = Queue.still()
        var writer = try database.openForServing(queue)
        let stranger = isLocked ? try Stranger(folder.path + "/write.lock") : nil
        weak var held: Held?
        do {
            let fresh = Held()
            held = fresh
            var jobs = [
                Queue.Submission(ticket: 0, origin: 0) { _ in
                    _ = fresh
                    throw Refused()
                }
            ]
            queue.submit(&jobs)
        }
        var isHeld: Bool?

        writer.run(
            deliver: { _ in
                isHeld = held != nil
                queue.stop()
            },
            abort: { _ in }
        )

        #expect(isHeld == false)
        stranger?.release()
    }

    @Test("a reader sees a commit before its answer is delivered")
    func visibility() throws {
        let queue = Queue.still()
        var writer = try database.openForServing(queue)
        let reader = try database.openReader()
        var submissions: [Queue.Submission] = [.insert("a", ticket: 0)]
        queue.submit(&submissions)
        queue.stop()
        var seen: [String]?

        writer.run(
            deliver: { _ in seen = try? reader.snapshot { db in try itemNames(db) } },
            abort: { _ in }
        )

        #expect(seen == ["a"])
    }

    @Test("idle work runs when nothing waits, portion after portion, each committed")
    func idleWork() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.idleInterval = .zero
        let queue = Queue.still()
        let left = Guarded(3)
        settings.idle = { db in
            try insertItem("idle\(left.withLock { $0 })", in: db)
            let hasMore = left.withLock { left -> Bool in
                left -= 1
                return left > 0
            }
            if !hasMore { queue.stop() }
            return hasMore
        }

        _ = try workOffIdle(queue, settings)

        #expect(try names() == ["idle3", "idle2", "idle1"])
    }

    private func workOffIdle(_ queue: Queue, _ settings: Writer<Int, Int64>.Settings) throws {
        var writer = try database.openForServing(queue, settings: settings)
        writer.run(deliver: { _ in }, abort: { _ in })
    }

    @Test("a long log is moved into the file, a very long one is cut back, and the end leaves none")
    func checkpoints() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        settings.checkpointFrames = 50
        settings.truncateBytes = 2 << 20
        let queue = Queue.still()

        _ = try workOff(
            (0..<30).map { .insert("n\($0)", ticket: $0, note: 100_000) },
            in: database,
            queue: queue,
            settings: settings
        )

        let status = queue.status()
        #expect(status.checkpoints > 10)
        #expect(status.walBytes == 0)
        #expect(try names().count == 30)
        let log = try database.examine().files.first { $0.path.hasSuffix("-wal") }
        #expect(log?.size == 0)
    }
}
