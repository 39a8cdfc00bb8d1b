import Dispatch
import Foundation
import Migrations
import Storage
import Synchronization
import SystemPrimitives
import Testing

@Suite("A second server in one folder", .timeLimit(.minutes(30))) struct SecondServerTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        var options = Database.Options.test()
        // Nobody is to wait in vain here for another's moment, however slow the machine is.
        options.lockWait = .seconds(30)
        options.batchWait = .seconds(30)
        database = Database(folder: folder.path, options: options)
    }

    /// A server on a thread of its own, given one job after the other.
    private final class Served: Sendable {
        private let queue = Queue()
        private let thread: SystemPrimitives.Thread
        private let tell: Teller

        /// Where the thread puts its answers.
        private final class Teller: Sendable {
            let answer = Mutex<Result<Int64, any Error>?>(nil)
            let bell = DispatchSemaphore(value: 0)
        }

        init(_ database: Database) throws {
            let tell = Teller()
            self.tell = tell
            // It does nothing unless it is asked: at a moment of its own it, too, may take the lock that is free.
            var settings = Writer<Int, Int64>.Settings()
            settings.quiet = .seconds(86_400)
            thread = try Thread.start("writer", with: try database.openForServing(queue, settings: settings)) {
                writer in
                writer.run(
                    deliver: { answers in
                        for answer in answers {
                            tell.answer.withLock { $0 = answer.result }
                            tell.bell.signal()
                        }
                    },
                    abort: { _ in Issue.record("it gave up") }
                )
            }
        }

        /// Writes an item; why not, where it was refused.
        func write(_ name: String) throws -> StorageError? {
            var submissions = [Queue.Submission.insert(name, ticket: 0)]
            try #require(queue.submit(&submissions))
            tell.bell.wait()
            guard case .failure(let error) = tell.answer.withLock({ $0 }) else { return nil }
            return try #require(error as? StorageError)
        }

        var isReady: Bool { queue.status().isReady }

        func end() {
            queue.stop()
            thread.join()
        }
    }

    /// What makes room for the second one.
    enum Way: CaseIterable { case lockDeleted, lockReplaced, lockMovedAndPutBack }

    private var lock: String { folder.path + "/serve.lock" }

    private func makeRoom(_ way: Way) throws {
        switch way {
        case .lockDeleted: try #require(unlink(lock) == 0)
        case .lockReplaced:
            try #require(FileManager.default.createFile(atPath: lock + ".new", contents: nil))
            try #require(rename(lock + ".new", lock) == 0)
        case .lockMovedAndPutBack: try #require(rename(lock, lock + ".away") == 0)
        }
    }

    @Test(
        "the first goes on when the second has ended, with what that wrote, whether or not it was asked meanwhile",
        arguments: Way.allCases,
        [false, true]
    )
    func recovers(way: Way, isAsked: Bool) throws {
        let first = try Served(database)
        for name in ["a", "b", "c"] { #expect(try first.write(name) == nil) }

        try makeRoom(way)
        let second = try Served(database)
        #expect(try second.write("other") == nil)
        if isAsked { #expect(try first.write("refused")?.category == .unavailable) }
        #expect(try second.write("another") == nil)
        second.end()
        if way == .lockMovedAndPutBack { try #require(rename(lock + ".away", lock) == 0) }
        let refusal = try first.write("d")
        let isReady = first.isReady
        #expect(throws: StorageError.self) {
            var impatient = database
            impatient.options.lockWait = .zero
            _ = try impatient.openForServing(Queue())
        }
        first.end()

        #expect(refusal == nil, "\(String(describing: refusal))")
        #expect(isReady)
        #expect(try database.committedNames() == ["a", "b", "c", "other", "another", "d"])
        #expect(try database.integrity().findings == [])
    }

    @Test("the first stays out where the second was a newer one, and says why")
    func newer() throws {
        let first = try Served(database)
        #expect(try first.write("a") == nil)
        try makeRoom(.lockDeleted)
        var newer = database
        newer.options.migrations.append(
            Migration(name: "0003_create_more", sql: Array("CREATE TABLE more (id INTEGER) STRICT;".utf8))
        )

        let second = try Served(newer)
        #expect(try second.write("other") == nil)
        second.end()
        let refusals = try [first.write("b"), first.write("c")]
        first.end()

        for refusal in refusals {
            #expect(refusal?.category == .unavailable)
            #expect(refusal?.message.contains("0003_create_more") == true && refusal?.isTransient == true)
        }
        let reader = try Database(folder: folder.path, options: newer.options).openReader()
        #expect(try reader.snapshot { db in try itemNames(db) } == ["a", "other"])
    }

    @Test("a log that another program has cut back in a checkpoint is no log that was cut")
    func foreignCheckpoint() throws {
        let first = try Served(database)
        for name in ["a", "b"] { #expect(try first.write(name) == nil) }
        let log = database.path + "-wal"
        func size() throws -> Int { try Data(contentsOf: URL(filePath: log)).count }
        #expect(try size() > 0)

        // It may meet a checkpoint of the server's own, and do nothing.
        repeat { try database.damage("PRAGMA wal_checkpoint(TRUNCATE)") } while try size() > 0
        let refusal = try first.write("c")
        first.end()

        #expect(refusal == nil, "\(String(describing: refusal))")
        #expect(try database.committedNames() == ["a", "b", "c"])
    }
}
