import Storage
import SystemPrimitives
import Testing

@Suite("Jobs that wait") struct WaitingJobTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
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
        #expect(try database.committedNames() == [])
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
        #expect(try database.committedNames() == ["late"])
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
        #expect(try Set(database.committedNames()) == ["n0", "n1", "n2", "young"])
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
}
