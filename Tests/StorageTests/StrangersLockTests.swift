import CFaultyVFS
import Storage
import Testing

/// Strangers who hold locks on the shared-memory file, where SQLite keeps its readers (bytes 123 to 127), its writer (120)
/// and its recovery (122): https://sqlite.org/walformat.html#locks. What SQLite wants to sleep is counted, and not slept.
@Suite("A stranger's locks among SQLite's own") struct StrangersLockTests {
    let folder: TemporaryFolder
    let vfs: String
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        vfs = folder.path
        var options = Database.Options.test()
        options.vfs = vfs
        options.readWait = .milliseconds(30)
        options.batchWait = .milliseconds(200)
        options.lockWait = .seconds(3)
        database = Database(folder: folder.path, options: options)
        faulty_vfs_register(vfs)
        _ = try workOff([.insert("a", ticket: 0)], in: database)
    }

    private func category(_ body: () throws -> Void) -> StorageError.Category? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StorageError)?.category
        }
    }

    /// A loop's connection that was let in once: each call reads on it, and says why that was refused.
    private func reading() throws -> () -> StorageError.Category? {
        let reader = try database.openLoopReader()
        let read = { category { try reader.snapshot { db in _ = try itemNames(db) } } }
        #expect(read() == nil)
        _ = faulty_vfs_slept(vfs)
        return read
    }

    @Test("a read on a loop gives up in time, the next at once, and waits again once one was let in")
    func loops() throws {
        let read = try reading()

        for _ in 0..<2 {
            faulty_vfs_lock(vfs, 123, 127)
            #expect(read() == .busy && faulty_vfs_slept(vfs) == 30_000)
            #expect(read() == .busy && read() == .busy && faulty_vfs_slept(vfs) == 0)
            faulty_vfs_unlock(vfs)
            #expect(read() == nil)
        }

        #expect(StorageError(.busy, "").isTransient)
    }

    @Test("a sleep that lasts longer than it was to is charged for what it lasted")
    func late() throws {
        let read = try reading()
        faulty_vfs_lock(vfs, 123, 127)
        defer { faulty_vfs_unlock(vfs) }
        // Each time by as long as a read may wait in all.
        faulty_vfs_sleep_late(vfs, 30_000)

        #expect(read() == .busy)
        let asked = faulty_vfs_slept(vfs)

        #expect(asked > 0 && asked < 1_000, "\(asked)")
    }

    @Test("a command waits as long as it does for write.lock, and no longer", arguments: [true, false])
    func commands(writes: Bool) throws {
        let connection = try database.openForCommandLine()
        faulty_vfs_lock(vfs, 123, 127)
        _ = faulty_vfs_slept(vfs)

        for _ in 0..<2 {
            let refusal = category {
                if writes {
                    try connection.write { db in _ = try insertItem("b", in: db) }
                } else {
                    try connection.snapshot { db in _ = try itemNames(db) }
                }
            }
            #expect(refusal == .busy)
        }
        let slept = faulty_vfs_slept(vfs)
        faulty_vfs_unlock(vfs)

        #expect(slept == (writes ? 6_000_000 : 3_000_000))
        try connection.write { db in _ = try insertItem("c", in: db) }
        #expect(try connection.snapshot { db in try itemNames(db) } == ["a", "c"])
    }

    @Test(
        "a write waits no longer than it may for any of them, is told so, and the writer goes on when they are gone",
        arguments: [(123, 127), (124, 127), (120, 120), (120, 127)] as [(Int32, Int32)]
    )
    func writer(first: Int32, last: Int32) throws {
        var settings = Writer<Int, Int64>.Settings()
        settings.batchLimit = 1
        // All is moved into the file after each, so that the next begins the log anew, and looks for a place in its COMMIT.
        settings.checkpointFrames = 1
        let queue = Queue.still()
        var writer = try database.openForServing(queue, settings: settings)
        var errors: [Int: StorageError.Category] = [:]
        var succeeded: [Int] = []
        var slept: [Int64] = []
        func submit(_ ticket: Int) {
            if ticket == 3 { faulty_vfs_lock(vfs, first, last) }
            // More than the failures in a row after which a failing disk ends the process.
            if ticket == 8 { faulty_vfs_unlock(vfs) }
            _ = faulty_vfs_slept(vfs)
            guard ticket < 10 else { return queue.stop() }
            var submissions = [Queue.Submission.insert("n\(ticket)", ticket: ticket)]
            #expect(queue.submit(&submissions))
        }
        submit(0)

        writer.run(
            deliver: { answers in
                for answer in answers {
                    switch answer.result {
                    case .success: succeeded.append(answer.ticket)
                    case .failure(let error): errors[answer.ticket] = (error as? StorageError)?.category
                    }
                    slept.append(faulty_vfs_slept(vfs))
                    submit(answer.ticket + 1)
                }
            },
            abort: { _ in Issue.record("a stranger's lock is no reason to end") }
        )

        #expect(succeeded == [0, 1, 2, 8, 9])
        for ticket in 3..<8 {
            let isTransient = errors[ticket].map { StorageError($0, "").isTransient } ?? false
            #expect(isTransient, "\(ticket): \(String(describing: errors[ticket]))")
        }
        // To open the database anew, to begin, and for the tidying before: each no longer than one write may wait.
        #expect(slept.allSatisfy { $0 <= 3 * 200_000 }, "\(slept)")
        #expect(queue.status().lastError == nil)
        let names = try database.committedNames()
        #expect(names == ["a"] + succeeded.map { "n\($0)" })
        #expect(try database.integrity().findings == [])
    }

    @Test("a restore is refused, and nothing is changed, while the state of the old database cannot be read")
    func restore() throws {
        let copy = folder.path + "/copy"
        _ = try database.backUp(to: copy)
        try database.openForCommandLine().write { db in _ = try insertItem("b", in: db) }
        faulty_vfs_lock(vfs, 123, 127)

        let refusal = category { _ = try database.restore(from: copy) { _ in } }
        faulty_vfs_unlock(vfs)

        #expect(refusal == .busy)
        #expect(try database.committedNames() == ["a", "b"])
    }
}
