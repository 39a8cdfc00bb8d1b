import CFaultyVFS
import Dispatch
import Storage
import SystemPrimitives
import Testing

/// A disk that takes its time to sync: the writer hangs in COMMIT, and somebody else looks after those that wait.
@Suite("A disk that does not answer", .timeLimit(.minutes(30))) struct StalledDiskTests {
    let folder: TemporaryFolder
    let vfs: String
    let database: Database
    let clock = HandClock()
    let queue: Queue

    init() throws {
        folder = try TemporaryFolder()
        vfs = folder.path
        faulty_vfs_register(vfs)
        var options = Database.Options.test(synchronous: .full)
        options.vfs = vfs
        options.batchWait = .seconds(2)
        database = Database(folder: folder.path, options: options)
        queue = Queue(clock: clock.now)
    }

    /// What the writer's thread delivered: every outcome of each ticket.
    final class Delivered: Sendable {
        let outcomes = Guarded<[Int: [Bool]]>([:])
        private let bell = DispatchSemaphore(value: 0)

        func deliver(_ answers: inout [Queue.Answer]) {
            for answer in answers {
                let isDone = if case .success = answer.result { true } else { false }
                outcomes.withLock { $0[answer.ticket, default: []].append(isDone) }
                bell.signal()
            }
        }

        func await(_ count: Int) { for _ in 0..<count { bell.wait() } }
    }

    private func write() throws -> (Thread, Delivered) {
        let delivered = Delivered()
        let thread = try Thread.start("writer", with: try database.openForServing(queue)) { writer in
            writer.run(deliver: delivered.deliver, abort: { Issue.record("nothing to end for: \($0)") })
        }
        return (thread, delivered)
    }

    private func submit(_ tickets: Range<Int>) throws {
        var jobs = tickets.map { Queue.Submission.insert("n\($0)", ticket: $0) }
        try #require(queue.submit(&jobs))
    }

    @Test("who waits is refused by whoever looks, what is under way has its own outcome; it is told, and ends")
    func stalled() throws {
        let (writing, delivered) = try write()
        faulty_vfs_hold_syncs(vfs, 1)
        try submit(0..<1)
        faulty_vfs_await_sync(vfs)
        try submit(1..<4)

        clock.advance(by: .milliseconds(1999))
        #expect(queue.refuseLate().isEmpty && queue.status().isReady)
        try submit(4..<6)
        clock.advance(by: .milliseconds(2))
        let refused = queue.refuseLate()
        let stalled = queue.status()
        let again = queue.refuseLate()
        faulty_vfs_hold_syncs(vfs, 0)
        delivered.await(3)
        let after = queue.status()
        queue.stop()
        writing.join()

        #expect(refused.map(\.ticket).sorted() == [1, 2, 3] && again.isEmpty)
        for answer in refused {
            guard case .failure(let error as StorageError) = answer.result else {
                Issue.record("\(answer.ticket) cannot have been done")
                continue
            }
            #expect(error.category == .unavailable && error.isTransient)
        }
        #expect(!stalled.isReady && stalled.trouble?.isTransient == true && stalled.waiting == 2 && stalled.late == 3)
        #expect(after.isReady && after.trouble == nil)
        #expect(delivered.outcomes.withLock { $0 } == [0: [true], 4: [true], 5: [true]])
        #expect(queue.status().jobs == 6)
        #expect(try database.committedNames() == ["n0", "n4", "n5"])
    }

    @Test("whoever hears of the end of a step that lasted finds the writer well")
    func heard() throws {
        let delivered = Delivered()
        let ready = Guarded<[Bool]>([])
        let queue = queue
        let writing = try Thread.start("writer", with: try database.openForServing(queue)) { writer in
            writer.run(
                deliver: { answers in
                    ready.withLock { $0.append(queue.status().isReady) }
                    delivered.deliver(&answers)
                },
                abort: { Issue.record("nothing to end for: \($0)") }
            )
        }
        faulty_vfs_hold_syncs(vfs, 1)
        try submit(0..<1)
        faulty_vfs_await_sync(vfs)
        clock.advance(by: .seconds(61))
        let stalled = queue.status()

        faulty_vfs_hold_syncs(vfs, 0)
        delivered.await(1)
        queue.stop()
        writing.join()

        #expect(!stalled.isReady && ready.withLock { $0 } == [true])
    }

    @Test("many steps that do not last are no stall, however much there is to do")
    func busy() throws {
        var writer = try database.openForServing(queue)
        let clock = clock
        // Each in a transaction of its own, since it takes longer than one may.
        var jobs = (0..<4).map { number in
            Queue.Submission(ticket: number, origin: 1) { db in
                clock.advance(by: .milliseconds(600))
                return try insertItem("n\(number)", in: db)
            }
        }
        queue.submit(&jobs)
        var ready: [Bool] = []

        writer.run(
            deliver: { answers in
                ready += answers.map { _ in queue.status().isReady }
                if ready.count == 4 { queue.stop() }
            },
            abort: { _ in }
        )

        #expect(ready == [true, true, true, true])
    }

    @Test("refused by whoever looks and by the writer at once, each job is answered once")
    func together() throws {
        let (writing, delivered) = try write()
        for round in 0..<100 {
            try submit(round * 8..<round * 8 + 8)
            clock.advance(by: .milliseconds(2100))
            var refused = queue.refuseLate()
            delivered.deliver(&refused)
            delivered.await(8)
        }
        queue.stop()
        writing.join()

        let outcomes = delivered.outcomes.withLock { $0 }
        #expect(outcomes.count == 800 && outcomes.values.allSatisfy { $0.count == 1 })
        let done = outcomes.filter { $0.value == [true] }.keys.map { "n\($0)" }
        #expect(try Set(database.committedNames()) == Set(done))
    }
}
