/// The database and its log as the server opened them, to see whether their names still lead to them.
///
/// An open file lives on when its name is deleted or given to another: what is committed then is gone with the process.
struct HeldFiles: Sendable {
    private struct File: Sendable {
        let path: String
        let isLog: Bool
        let identity: [UInt64]
        /// What it had at least when it was last looked at.
        var size: Int64
    }

    private var files: [File] = []

    /// The files as they are now; one that is not there is not looked after.
    init(of database: Database) throws(StorageError) {
        for (path, isLog) in [(database.path, false), (database.path + "-wal", true)] {
            guard let facts = try FileFacts(path) else { continue }
            files.append(File(path: path, isLog: isLog, identity: facts.identity, size: facts.size))
        }
    }

    /// Looks at them.
    ///
    /// - Parameter knownLogBytes: what the log has at least, as SQLite's index says; asked where it became shorter. Another
    ///   process that cut it back in a checkpoint has said so there.
    /// - Throws: `unavailable` where one is gone, is another, or was cut; `access` and `io` where the system does not tell.
    mutating func check(knownLogBytes: () -> Int64?) throws(StorageError) {
        for index in files.indices {
            let file = files[index]
            guard let facts = try FileFacts(file.path) else { throw Self.lost("\(file.path) is gone") }
            guard facts.identity == file.identity else {
                throw Self.lost("\(file.path) is not the file that this server opened")
            }
            guard facts.size >= file.size || file.isLog && (knownLogBytes() ?? .max) <= facts.size else {
                throw Self.lost("\(file.path) was cut from \(file.size) to \(facts.size) bytes")
            }
            files[index].size = facts.size
        }
    }

    /// The owner of the files may make them shorter now: a checkpoint does.
    mutating func allowShrinking() {
        for index in files.indices { files[index].size = 0 }
    }

    private static func lost(_ what: String) -> StorageError {
        StorageError(
            .unavailable,
            "\(what): nothing is written until it is as before; fix: put it back, or stop the server and see what is there"
        )
    }
}

extension Database {
    /// Refuses a log without its database, before SQLite throws the log away: it takes an empty file for a new database.
    ///
    /// - Throws: `corrupt`, with the fix.
    static func requireDatabaseOfLog(_ path: String) throws(StorageError) {
        let database = try FileFacts(path)
        guard database?.size ?? 0 == 0, let log = try FileFacts(path + "-wal"), log.size > 0 else {
            return
        }
        throw StorageError(
            .corrupt,
            "\(path) is \(database == nil ? "gone" : "empty"), and \(path)-wal holds what was written to it; fix: put the "
                + "database file back beside it, or: countersign restore BACKUP; to begin anew, move both away"
        )
    }
}
