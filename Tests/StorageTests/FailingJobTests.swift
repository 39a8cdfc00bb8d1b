import Storage
import Testing

@Suite("Jobs that fail") struct FailingJobTests {
    let folder: TemporaryFolder
    let database: Database

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
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
        #expect(try database.committedNames() == ["a", "b"])
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
        #expect(try database.committedNames() == ["a", "b"])
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
        #expect(try database.committedNames() == ["a", "b", "c"])
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
        #expect(try database.committedNames() == ["a", "b"])
    }

    @Test("a reference that is missing at COMMIT fails its own job only, and nothing is called unknown")
    func deferredForeignKey() throws {
        let answers = try workOff(
            [.insert("a", ticket: 0), .insert("b", ticket: 1, parent: 99), .insert("c", ticket: 2)],
            in: database
        )

        #expect(answers.succeeded == [0, 2])
        #expect(answers.error(of: 1)?.category == .constraint(.foreignKey))
        #expect(try database.committedNames() == ["a", "c"])
    }
}
