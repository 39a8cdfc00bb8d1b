import Licensing
import Storage
import Testing

@Suite("What a reader remembers") struct RecallTests {
    let folder: TemporaryFolder
    let database: Database
    let writer: CommandLineConnection
    let reader: Reader
    let key = RecallKey("a question", Identifier<License>(high: 1, low: 2))

    init() throws {
        folder = try TemporaryFolder()
        database = Database(folder: folder.path, options: .test())
        writer = try database.openForCommandLine()
        reader = try database.openReader()
    }

    /// Asks for `answer`; what was read, and whether it was.
    func ask(_ answer: Int?, _ key: RecallKey? = nil, keeping: Recall = .many) throws -> (answer: Int?, wasRead: Bool) {
        try reader.snapshot { db in
            var wasRead = false
            let found = try db.recall(key ?? self.key, keeping: keeping) {
                wasRead = true
                return answer
            }
            return (found, wasRead)
        }
    }

    func commit() throws {
        try writer.write { db in _ = try db.run("INSERT INTO heaps (bytes) VALUES (x'00')") }
    }

    @Test("an answer is read once for each state version", arguments: [Recall.many, .latest])
    func version(keeping: Recall) throws {
        #expect(try ask(1, keeping: keeping) == (1, true))
        #expect(try ask(2, keeping: keeping) == (1, false))

        try commit()

        #expect(try ask(3, keeping: keeping) == (3, true))
        #expect(try ask(4, keeping: keeping) == (3, false))
    }

    @Test("what committed while a snapshot is open shows in the next one")
    func openSnapshot() throws {
        try reader.snapshot { db in
            let before = try db.stateVersion()
            try commit()
            #expect(try db.stateVersion() == before)
            #expect(try db.recall(key, keeping: .many) { 1 } == 1)
        }

        #expect(try ask(2) == (2, true))
    }

    @Test("that there is nothing is not remembered")
    func nothing() throws {
        #expect(try ask(nil) == (nil, true))
        #expect(try ask(1) == (1, true))
    }

    @Test("of a question whose last answer is kept, another key takes the place")
    func latest() throws {
        let other = RecallKey("a question", Identifier<License>(high: 1, low: 3))
        #expect(try ask(1, keeping: .latest) == (1, true))
        #expect(try ask(2, other, keeping: .latest) == (2, true))

        #expect(try ask(3, keeping: .latest) == (3, true))
    }

    @Test("keys differ by question, entity, mode and digest")
    func keys() throws {
        let id = Identifier<License>(high: 1, low: 2)
        let digest = try #require(Digest256(bytes: Array(repeating: 1, count: 32)))
        let keys = [
            key, RecallKey("another question", id), RecallKey("a question", id, .live),
            RecallKey("a question", id, .test), RecallKey("a question", digest),
            RecallKey("a question", Identifier<License>(high: 2, low: 1)),
        ]

        for (number, key) in keys.enumerated() { #expect(try ask(number, key) == (number, true)) }
        for (number, key) in keys.enumerated() { #expect(try ask(-1, key) == (number, false)) }
    }

    @Test("more keys than are remembered are read anew, and right")
    func many() throws {
        for round in 0..<2 {
            for number in 0..<3000 {
                let key = RecallKey("a question", Identifier<License>(high: 0, low: UInt64(number)))
                #expect(try ask(number, key).answer == number, "round \(round)")
            }
        }
    }

    @Test("a write transaction always reads")
    func writing() throws {
        try writer.write { db in
            #expect(try db.recall(key, keeping: .many) { 1 } == 1)
            #expect(try db.recall(key, keeping: .many) { 2 } == 2)
        }
    }
}
