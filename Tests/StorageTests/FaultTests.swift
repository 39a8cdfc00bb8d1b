import CFaultyVFS
import Migrations
import Storage
import Synchronization
import Testing

/// Each test has a file system of its own, told to fail after the database is open.
@Suite("Failing disks") struct FaultTests {
    let folder: TemporaryFolder
    let vfs: String
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        vfs = folder.path
        var options = Database.Options.test(synchronous: .full)
        options.vfs = vfs
        database = Database(folder: folder.path, options: options)
        faulty_vfs_register(vfs)
    }

    @Test("one sync is made for a whole batch")
    func oneSync() throws {
        var before: Int32 = 0

        _ = try workOff((0..<200).map { .insert("n\($0)", ticket: $0) }, in: database) { _ in
            before = faulty_vfs_syncs(vfs)
        }

        // The log's header, the batch, and the checkpoint at the end.
        #expect(faulty_vfs_syncs(vfs) - before <= 3)
    }

    @Test("a failed COMMIT is unknown for every job of the batch; the next batch works on a new connection")
    func failedCommit() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 2
        let queue = Queue.still()

        let answers = try workOff(
            (0..<6).map { .insert("n\($0)", ticket: $0) },
            in: database,
            queue: queue,
            settings: settings
        ) { _ in faulty_vfs_fail_syncs(vfs, 1) }

        #expect(answers.batches == [2, 2, 2])
        #expect(answers.succeeded == [2, 3, 4, 5])
        #expect(answers.error(of: 0)?.category == .unknownOutcome)
        #expect(answers.error(of: 1)?.category == .unknownOutcome)
        #expect(answers.aborts.isEmpty)
        #expect(queue.status().failedCommits == 1)
        #expect(queue.status().lastError == nil)
        #expect(try Set(database.committedNames()).isSuperset(of: ["n2", "n3", "n4", "n5"]))
        #expect(try database.integrity().findings == [])
    }

    @Test("two failures, then a success, then two more: no reason to end")
    func notInARow() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        let vfs = vfs
        let breaking = Queue.Submission(ticket: 3, origin: 3) { _ in
            faulty_vfs_fail_syncs(vfs, 2)
            return 0  // changes nothing, so nothing is synced for it
        }

        let answers = try workOff(
            (0..<3).map { .insert("n\($0)", ticket: $0) } + [breaking]
                + (4..<7).map { .insert("n\($0)", ticket: $0) },
            in: database,
            settings: settings
        ) { _ in faulty_vfs_fail_syncs(vfs, 2) }

        #expect(answers.succeeded == [2, 3, 6])
        #expect(answers.aborts.isEmpty)
    }

    @Test("three failures in a row end the process, after their answers; what is left is answered too")
    func threeInARow() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1

        let answers = try workOff(
            (0..<5).map { .insert("n\($0)", ticket: $0) },
            in: database,
            settings: settings
        ) { _ in faulty_vfs_fail_syncs(vfs, 1000) }

        #expect(answers.tickets == [0, 1, 2, 3, 4])
        #expect(answers.succeeded == [])
        #expect(answers.aborts.count == 1)
        #expect((0..<3).allSatisfy { answers.error(of: $0)?.category == .unknownOutcome })
        #expect((3..<5).allSatisfy { answers.error(of: $0)?.category == .unavailable })
    }

    @Test("a full disk answers unknown as long as it is full, ends nothing, and recovers by itself")
    func fullDisk() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1

        let answers = try workOff(
            (0..<8).map { .insert("n\($0)", ticket: $0) },
            in: database,
            settings: settings
        ) { _ in faulty_vfs_fill(vfs, 5) }

        #expect(answers.succeeded == [5, 6, 7])
        #expect(answers.aborts.isEmpty)
        #expect(try database.committedNames() == ["n5", "n6", "n7"])
    }

    @Test(
        "a server that starts on a full disk is served, refuses writes, and makes up for its start when there is room"
    )
    func fullAtStart() throws {
        _ = try workOff([.insert("a", ticket: 0)], in: database)
        let before = try database.openReader().snapshot { db in try db.stateVersion() }
        let starts = Mutex(0)
        let queue = Queue.still()
        faulty_vfs_fill(vfs, 3)
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1

        var writer = try database.openForServing(
            queue,
            settings: settings,
            starting: { db in
                starts.withLock { $0 += 1 }
                try insertItem("start", in: db)
            }
        )
        let isReady = queue.status().isReady
        #expect(try database.committedNames() == ["a"])
        var submissions = (0..<5).map { Queue.Submission.insert("n\($0)", ticket: $0) }
        try #require(queue.submit(&submissions))
        queue.stop()
        var succeeded: [Int] = []
        writer.run(
            deliver: { answers in
                for answer in answers {
                    if case .success = answer.result { succeeded.append(answer.ticket) }
                }
            },
            abort: { _ in Issue.record("a full disk is no reason to end") }
        )

        #expect(!isReady && queue.status().lastError == nil)
        #expect(succeeded == [2, 3, 4])
        #expect(try database.committedNames() == ["a", "start", "n2", "n3", "n4"])
        #expect(starts.withLock { $0 } == 4)
        #expect(try database.openReader().snapshot { db in try db.stateVersion() } > before)
    }

    @Test("what is new, or to be migrated, does not start on a full disk", arguments: [false, true])
    func fullAtFirstStart(isOld: Bool) throws {
        if isOld {
            var old = database
            old.options.migrations = [Migration.all[0]]
            _ = try workOff([], in: old)
        }
        faulty_vfs_fill(vfs, 1000)

        #expect(throws: StorageError.self) { _ = try database.openForServing(Queue()) }
    }

    @Test("a log that may not grow is used again from its start")
    func reusedLog() throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        let update: @Sendable (Int) -> Queue.Submission = { ticket in
            Queue.Submission(ticket: ticket, origin: 0) { db in
                Int64(try db.run("UPDATE items SET flag = 1 - flag"))
            }
        }
        let queue = Queue.still()

        let answers = try workOff(
            (0..<200).map(update),
            in: database,
            queue: queue,
            settings: settings
        ) { writer in
            _ = try writer.write { db in try db.run("INSERT INTO items (name, flag) VALUES ('a', 0)") }
            faulty_vfs_limit(vfs, 200_000)
        }

        // About 24 of the commits of two pages each fit the log; then one fails, and the next begins it anew.
        #expect((180..<200).contains(answers.succeeded.count))
        #expect(queue.status().failedCommits == 200 - answers.succeeded.count)
        #expect(answers.aborts.isEmpty)
    }

    @Test("a command's failed COMMIT is reported as unknown")
    func commandLine() throws {
        let connection = try database.openForCommandLine()
        faulty_vfs_fail_syncs(vfs, 1)

        do {
            try connection.write { db in _ = try insertItem("a", in: db) }
            Issue.record("it was committed")
        } catch let error as StorageError {
            #expect(error.category == .unknownOutcome)
        }
    }
}
