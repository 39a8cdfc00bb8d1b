import Licensing
import Storage
import Testing

@Suite("What a reader remembers") final class RecallTests {
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

    /// What a snapshot answered, and whether it had to read.
    struct Asked: Equatable {
        let answer: Int?
        let wasRead: Bool

        init(_ answer: Int?, wasRead: Bool) {
            self.answer = answer
            self.wasRead = wasRead
        }
    }

    /// Asks a question to which the database would say `answer`.
    func ask(_ answer: Int?, _ key: RecallKey? = nil, keeping: Recall = .many) throws -> Asked {
        let key = key ?? self.key
        return try reader.snapshot { db in
            var wasRead = false
            let found = try db.recall(key, keeping: keeping) { () -> Int? in
                wasRead = true
                return answer
            }
            return Asked(found, wasRead: wasRead)
        }
    }

    func commit() throws {
        try writer.write { db in _ = try db.run("INSERT INTO heaps (bytes) VALUES (x'00')") }
    }

    @Test("an answer is read once for each state version", arguments: [Recall.many, .latest])
    func version(keeping: Recall) throws {
        #expect(try ask(1, keeping: keeping) == Asked(1, wasRead: true))
        #expect(try ask(2, keeping: keeping) == Asked(1, wasRead: false))

        try commit()

        #expect(try ask(3, keeping: keeping) == Asked(3, wasRead: true))
        #expect(try ask(4, keeping: keeping) == Asked(3, wasRead: false))
    }

    @Test("what committed while a snapshot is open shows in the next one")
    func openSnapshot() throws {
        try reader.snapshot { db in
            let before = try db.stateVersion()
            try commit()
            let after = try db.stateVersion()
            let answer = try db.recall(key, keeping: .many) { 1 }
            #expect(after == before && answer == 1)
        }

        #expect(try ask(2) == Asked(2, wasRead: true))
    }

    @Test("that there is nothing is not remembered")
    func nothing() throws {
        #expect(try ask(nil) == Asked(nil, wasRead: true))
        #expect(try ask(1) == Asked(1, wasRead: true))
    }

    @Test("of a question whose last answer is kept, another key takes the place")
    func latest() throws {
        let other = RecallKey("a question", Identifier<License>(high: 1, low: 3))
        #expect(try ask(1, keeping: .latest) == Asked(1, wasRead: true))
        #expect(try ask(2, other, keeping: .latest) == Asked(2, wasRead: true))

        #expect(try ask(3, keeping: .latest) == Asked(3, wasRead: true))
    }

    @Test("keys differ by question, entity, mode and digest")
    func keys() throws {
        let id = Identifier<License>(high: 1, low: 2)
        let digest = try #require(Digest256(bytes: [UInt8](repeating: 1, count: 32)))
        let keys = [
            key, RecallKey("another question", id), RecallKey("a question", id, .live),
            RecallKey("a question", id, .test), RecallKey("a question", digest),
            RecallKey("a question", Identifier<License>(high: 2, low: 1)),
        ]

        for (number, key) in keys.enumerated() { #expect(try ask(number, key) == Asked(number, wasRead: true)) }
        for (number, key) in keys.enumerated() { #expect(try ask(-1, key) == Asked(number, wasRead: false)) }
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
            let first = try db.recall(key, keeping: .many) { 1 }
            let second = try db.recall(key, keeping: .many) { 2 }
            #expect(first == 1 && second == 2)
        }
    }
}
