import CFaultyVFS
import CSQLite
import Foundation
import Migrations
import Storage
import Synchronization
import SystemPrimitives
import SystemTestSupport
import Testing

/// A folder that goes away with its last user.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("storage-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func mode(of name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}

extension Migration {
    /// Tables to play with; `parent` is checked only at COMMIT. An INSERT into `heaps`, which has no rule to break, needs
    /// no statement journal: when it finds the database full, SQLite gives up the whole transaction.
    static let items = Migration(
        name: "0002_create_items",
        sql: Array(
            """
            CREATE TABLE items (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, note BLOB, flag INTEGER CHECK (flag IN (0, 1)),
                parent INTEGER REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED
            ) STRICT;
            CREATE TABLE heaps (bytes BLOB) STRICT;
            """.utf8
        )
    )
}

extension Database.Options {
    static func test(
        now: @escaping @Sendable () -> Int64 = { 1_800_000_000_000_000 },
        migrations: [Migration] = [Migration.all[0], .items],
        synchronous: Database.Synchronous = .off
    ) -> Database.Options {
        var options = Database.Options(now: now)
        options.synchronous = synchronous
        options.migrations = migrations
        options.lockWait = .milliseconds(50)
        options.batchWait = .milliseconds(50)
        return options
    }
}

typealias Queue = WriterQueue<Int, Int64>

/// Asks again and again until it is so, for ten minutes at most.
func wait(_ place: SourceLocation = #_sourceLocation, for isSo: () throws -> Bool) rethrows {
    let end = MonotonicClock.nanoseconds() + 600_000_000_000
    while try !isSo() {
        guard MonotonicClock.nanoseconds() < end else {
            Issue.record("it never came to that", sourceLocation: place)
            return
        }
        sched_yield()
    }
}

extension Queue {
    /// A queue whose clock stands still: however slow the machine is, nothing in it is late, and no batch is too long.
    /// For every test that wants its jobs to be run.
    static func still(capacity: Int = 4096) -> Queue {
        let now = MonotonicClock.nanoseconds()
        return Queue(capacity: capacity, clock: { now })
    }
}

/// A clock that goes on only when a test says so, or when a job does that is to take long.
final class HandClock: Sendable {
    private let nanoseconds = Atomic<UInt64>(MonotonicClock.nanoseconds())

    var now: @Sendable () -> UInt64 { { self.nanoseconds.load(ordering: .acquiring) } }

    func advance(by duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let added = UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        nanoseconds.wrappingAdd(added, ordering: .acquiringAndReleasing)
    }
}

extension Queue.Submission {
    /// Inserts an item of this name and answers its id.
    static func insert(_ name: String, ticket: Int, note: Int = 0, parent: Int64? = nil) -> Queue.Submission {
        Queue.Submission(ticket: ticket, origin: UInt64(ticket)) { db in
            try insertItem(name, note: note, parent: parent, in: db)
        }
    }
}

@discardableResult
func insertItem(
    _ name: String,
    note: Int = 0,
    parent: Int64? = nil,
    in db: borrowing WriteTransaction
) throws -> Int64 {
    let id = try db.first(
        "INSERT INTO items (name, note, parent) VALUES (:name, :note, :parent) RETURNING id",
        [
            "name": .text(name), "note": .blob([UInt8](repeating: 7, count: note)),
            "parent": .integerOrNull(parent),
        ]
    ) { row in try row.integer() }
    return try #require(id)
}

/// Lets the database grow by `pages` more pages only.
func limitSize(toMore pages: Int64, in db: borrowing WriteTransaction) throws {
    let now = try db.first("PRAGMA page_count") { row in try row.integer() } ?? 0
    try db.each(built: "PRAGMA max_page_count = \(now + pages)", [:]) { _ in }
}

func insertHeap(_ bytes: Int, in db: borrowing WriteTransaction) throws {
    try db.run("INSERT INTO heaps (bytes) VALUES (:bytes)", ["bytes": .blob([UInt8](repeating: 7, count: bytes))])
}

func itemNames(_ db: borrowing some Queries & ~Copyable) throws -> [String] {
    try db.all("SELECT name FROM items ORDER BY id") { row in try row.text() }
}

extension Database {
    /// The names of the items that a new reader sees.
    func committedNames() throws -> [String] {
        try openReader().snapshot { db in try itemNames(db) }
    }

    /// Does to the file what no connection of ours would do.
    func damage(_ statement: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        try #require(sqlite3_exec(handle, statement, nil, nil, nil) == SQLITE_OK)
    }
}

/// Somebody else who holds a lock: SQLite's write lock on a database, or `flock` on any other file.
final class Stranger {
    private var handle: OpaquePointer?
    private var lock: HeldLock?

    init(_ path: String) throws {
        if path.hasSuffix(".db") {
            try #require(sqlite3_open(path, &handle) == SQLITE_OK)
            try #require(sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
        } else {
            lock = try HeldLock(path)
        }
    }

    /// Lets go of it.
    func release() {
        lock?.release()
        if let handle { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    deinit { sqlite3_close(handle) }
}

/// What a run of the writer answered, ticket by ticket.
struct Answers {
    var all: [(ticket: Int, result: Result<Int64, any Error>)] = []
    var batches: [Int] = []
    var aborts: [StorageError] = []

    var tickets: [Int] { all.map(\.ticket) }

    var succeeded: [Int] {
        all.compactMap { if case .success = $0.result { $0.ticket } else { nil } }
    }

    func error(of ticket: Int) -> StorageError? {
        for answer in all where answer.ticket == ticket {
            if case .failure(let error) = answer.result { return error as? StorageError }
        }
        return nil
    }
}

/// Submits everything, and lets the writer work it off and end, on this thread.
func workOff(
    _ submissions: [Queue.Submission],
    in database: Database,
    queue: Queue = .still(),
    settings: Writer<Int, Int64>.Settings = .init(),
    afterOpening: (borrowing Writer<Int, Int64>) throws -> Void = { _ in }
) throws -> Answers {
    var writer = try database.openForServing(queue, settings: settings)
    try afterOpening(writer)
    var submissions = submissions
    try #require(queue.submit(&submissions))
    queue.stop()
    var answers = Answers()
    writer.run(
        deliver: { batch in
            answers.batches.append(batch.count)
            answers.all += batch.map { ($0.ticket, $0.result) }
        },
        abort: { answers.aborts.append($0) }
    )
    return answers
}
