import Storage
import SystemPrimitives
import Testing

@Suite("Writer") struct WriterTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
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
        #expect(try database.committedNames().count == 600)
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

        #expect(try database.committedNames() == ["idle3", "idle2", "idle1"])
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
        #expect(try database.committedNames().count == 30)
        let log = try database.examine().files.first { $0.path.hasSuffix("-wal") }
        #expect(log?.size == 0)
    }

    @Test("a log that a burst after a quiet moment makes long is moved as it grows, too")
    func burst() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        settings.checkpointFrames = 50
        settings.quiet = .zero
        let queue = Queue.still()
        let writing = try Thread.start("writer", with: try database.openForServing(queue, settings: settings)) {
            writer in
            writer.run(deliver: { _ in }, abort: { _ in })
        }
        var first: [Queue.Submission] = [.insert("first", ticket: 0)]
        try #require(queue.submit(&first))
        wait { queue.status().checkpoints > 0 }
        let before = queue.status().checkpoints

        var burst = (1...30).map { Queue.Submission.insert("n\($0)", ticket: $0, note: 100_000) }
        try #require(queue.submit(&burst))
        queue.stop()
        writing.join()

        #expect(queue.status().checkpoints > before + 10)
    }
}
