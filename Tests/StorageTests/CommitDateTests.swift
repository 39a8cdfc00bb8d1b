import Licensing
import Storage
import Synchronization
import Testing

@Suite("Dates of commits") struct CommitDateTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
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
        #expect(try database.committedNames() == ["a"])
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

        #expect(try database.committedNames() == ["a", "b"])
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
}
