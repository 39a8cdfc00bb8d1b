public import Licensing

/// Names what a snapshot may answer from memory: a question, and what it was asked about.
public struct RecallKey: Hashable, Sendable {
    /// The address of the literal that names the question.
    let question: UInt
    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt64
    private let word3: UInt64

    private init(
        _ question: StaticString,
        _ word0: UInt64,
        _ word1: UInt64,
        _ word2: UInt64 = 0,
        _ word3: UInt64 = 0
    ) {
        self.question = UInt(bitPattern: question.utf8Start)
        self.word0 = word0
        self.word1 = word1
        self.word2 = word2
        self.word3 = word3
    }

    /// The question asked about what a digest leads to.
    public init(_ question: StaticString, _ digest: Digest256) {
        self.init(question, digest.word0, digest.word1, digest.word2, digest.word3)
    }

    /// The question asked about one entity, in one mode where that makes a difference.
    public init<Entity>(_ question: StaticString, _ id: Identifier<Entity>, _ mode: Mode? = nil) {
        let number: UInt64 =
            switch mode {
            case nil: 0
            case .live: 1
            case .test: 2
            }
        self.init(question, id.high, id.low, number)
    }
}

/// What the snapshots of one reader remember of each other: answers, for as long as the state version is the one they
/// were read at. Equal versions mean equal rows, so that an answer from memory is the answer of the database.
struct SnapshotMemory: ~Copyable {
    private struct Contents {
        /// The state of the snapshot under way; nil until it is asked.
        var current: DatabaseState?
        /// The version that everything below was read at.
        var version: Int64?
        var answers: [RecallKey: AnyObject] = [:]
        /// The last answer to each question of which only that is kept.
        var latest: [(key: RecallKey, answer: AnyObject)] = []
    }

    /// Keeps a value where a dictionary of values of any type can hold it.
    private final class Answer<Value: Sendable>: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    /// The most answers that are kept; of more, all are read anew.
    private static let most = 1024

    /// Behind a pointer, so that a snapshot that is only lent can remember.
    private let contents: UnsafeMutablePointer<Contents>

    init() {
        contents = .allocate(capacity: 1)
        contents.initialize(to: Contents())
    }

    deinit {
        contents.deinitialize(count: 1)
        contents.deallocate()
    }

    /// Begins a snapshot: its state is to be read again.
    borrowing func begin() { contents.pointee.current = nil }

    /// The state of the snapshot under way, read once; what was read at another version is forgotten.
    borrowing func state(_ read: () throws -> DatabaseState) throws -> DatabaseState {
        if let current = contents.pointee.current { return current }
        let state = try read()
        contents.pointee.current = state
        if contents.pointee.version != state.version {
            contents.pointee.version = state.version
            contents.pointee.answers.removeAll(keepingCapacity: true)
            contents.pointee.latest.removeAll(keepingCapacity: true)
        }
        return state
    }

    /// The answer that is remembered. Only to be asked after `state`.
    borrowing func answer<Value: Sendable>(to key: RecallKey, keeping: Recall) -> Value? {
        switch keeping {
        case .many: return (contents.pointee.answers[key] as? Answer<Value>)?.value
        case .latest:
            for entry in contents.pointee.latest where entry.key == key {
                return (entry.answer as? Answer<Value>)?.value
            }
            return nil
        }
    }

    borrowing func keep<Value: Sendable>(_ value: Value, as key: RecallKey, keeping: Recall) {
        let answer = Answer(value)
        switch keeping {
        case .many:
            if contents.pointee.answers.count >= Self.most { contents.pointee.answers.removeAll() }
            contents.pointee.answers[key] = answer
        case .latest:
            if let place = contents.pointee.latest.firstIndex(where: { $0.key.question == key.question }) {
                contents.pointee.latest[place] = (key, answer)
            } else {
                contents.pointee.latest.append((key, answer))
            }
        }
    }
}

/// How much a reader remembers of a question.
public enum Recall: Sendable {
    /// The answers to many keys: for rows that are few and asked for all the time, as those of the catalog.
    case many
    /// The last answer: for what one request asks twice.
    case latest
}
