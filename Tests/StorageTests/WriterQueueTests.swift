import SystemPrimitives
import Testing

@testable import Storage

@Suite("Writer's queue") struct WriterQueueTests {
    func submissions(_ count: Int, origin: (Int) -> UInt64) -> [Queue.Submission] {
        (0..<count).map { Queue.Submission(ticket: $0, origin: origin($0)) { _ in 0 } }
    }

    @Test("what is found damaged while somebody looks stays so when the look is over")
    func damage() {
        let queue = Queue.still()
        queue.noteDamage(StorageError(.corrupt, code: 11, "malformed"))
        let former = queue.status()

        queue.noteDamage(StorageError(.notOurs, code: 26, "file is not a database"))
        queue.clearDamage(of: former)
        #expect(queue.status().damage?.code == 26)

        queue.clearDamage(of: queue.status())
        #expect(queue.status().damage == nil)
    }

    @Test("a full queue hands back what it has no room for, in order")
    func bounded() {
        let queue = Queue.still(capacity: 8)
        var batch = submissions(11) { UInt64($0) }

        let areAllIn = queue.submit(&batch)

        #expect(!areAllIn)
        #expect(batch.map(\.ticket) == [8, 9, 10])
        #expect(queue.status().waiting == 8)
        #expect(queue.status().refused == 3)
    }

    @Test("one origin fills a quarter, and leaves the rest to others")
    func quarter() {
        let queue = Queue.still(capacity: 16)
        var greedy = submissions(10) { _ in 1 }
        var other = submissions(1) { _ in 2 }

        queue.submit(&greedy)
        let isOtherIn = queue.submit(&other)

        #expect(greedy.count == 6)
        #expect(isOtherIn)
    }

    @Test("what was taken makes room again, for its origin too")
    func roomAgain() throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path, options: .test())
        let queue = Queue.still(capacity: 4)
        var writer = try database.openForServing(queue)
        var first = submissions(1) { _ in 1 }
        queue.submit(&first)
        var rounds = 0

        writer.run(
            deliver: { _ in
                rounds += 1
                var next = submissions(1) { _ in 1 }
                if rounds < 10 { #expect(queue.submit(&next)) } else { queue.stop() }
            },
            abort: { _ in }
        )

        #expect(rounds == 10)
    }

    @Test("a stopped queue takes nothing, and what waited is still answered")
    func stopped() throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path, options: .test())
        let queue = Queue.still()

        let answers = try workOff([.insert("a", ticket: 7)], in: database, queue: queue)
        var late = submissions(1) { _ in 1 }

        #expect(answers.succeeded == [7])
        #expect(!queue.submit(&late))
        #expect(late.count == 1)
    }

    @Test("from many threads, every job is answered exactly once")
    func threads() throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path, options: .test())
        let queue = Queue.still()
        let answered = Guarded([Int](repeating: 0, count: 2000))
        let writing = try Thread.start("writer", with: try database.openForServing(queue)) { writer in
            writer.run(
                deliver: { batch in
                    answered.withLock { counts in
                        for answer in batch { if case .success = answer.result { counts[answer.ticket] += 1 } }
                    }
                },
                abort: { _ in }
            )
        }

        let threads = try (0..<4).map { number in
            try Thread.start("submitter", with: number) { number in
                for index in 0..<500 {
                    let ticket = number * 500 + index
                    var waiting: [Queue.Submission] = [.insert("n\(ticket)", ticket: ticket)]
                    wait { queue.submit(&waiting) }
                }
            }
        }
        for thread in threads { thread.join() }
        queue.stop()
        writing.join()

        #expect(answered.withLock { counts in counts.allSatisfy { $0 == 1 } })
        let names = try database.committedNames()
        #expect(Set(names).count == 2000)
    }

    @Test("an old status asks the writer for a probe, and its outcome is in a later one")
    func probe() throws {
        let folder = try TemporaryFolder()
        let database = Database(folder: folder.path, options: .test())
        let queue = Queue.still()
        let writer = try database.openForServing(queue)
        let before = queue.status(probingAfter: .seconds(3600))
        let writing = try Thread.start("writer", with: writer) { writer in
            writer.run(deliver: { _ in }, abort: { _ in })
        }

        wait { queue.status(probingAfter: .zero).commits > 0 }
        queue.stop()
        writing.join()

        #expect(before.isReady && before.commits == 0)
    }
}
