internal import CSQLite
internal import CSystem
internal import Migrations
internal import SystemPrimitives

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The SQLite library this process runs with.
public enum SQLiteLibrary {
    /// Its version, for example `3.40.1`.
    public static var version: String { String(cString: sqlite3_libversion()) }

    /// Whether it is one of 3.7.0 up to 3.51.2, which can corrupt a database when one connection checkpoints while
    /// another commits: https://sqlite.org/wal.html#walresetbug. Countersign keeps the two apart by `write.lock`; a
    /// stranger's connection (a `sqlite3` shell, say) would not.
    public static var hasWALResetBug: Bool { hasWALResetBug(version: sqlite3_libversion_number()) }

    /// The same for a version as SQLite numbers them: 3.40.1 is 3040001.
    package static func hasWALResetBug(version: Int32) -> Bool { (3_007_000...3_051_002).contains(version) }
}

/// The database's files and their surroundings, as far as they can be seen without changing anything.
public struct Examination: Sendable {
    /// One file, or the folder itself.
    public struct File: Sendable {
        /// Its path.
        public let path: String
        /// The uid it belongs to.
        public let owner: UInt32
        /// Permission bits, 0600 for files and 0700 for the folder.
        public let mode: UInt32
        /// Bytes.
        public let size: Int64
        /// Whether group or others may do anything with it.
        public var isOpenToOthers: Bool { mode & 0o077 != 0 }
        /// Whether others, who are not even of its group, may write to it: nothing starts on such a file.
        public var isWritableByOthers: Bool { mode & 0o002 != 0 }
        /// Path and mode, such as `data/serve.lock (mode 0640)`.
        public var text: String { "\(path) (mode \(FileMode.text(mode)))" }
    }

    /// The folder first, then what is there of the database, its log and its locks.
    public let files: [File]
    /// Files that processes left which were killed: nothing needs them, unless such a process runs at this moment.
    public let leftovers: [String]
    /// The uid of this process.
    public let ownUser: UInt32
    /// Bytes that may still be written to the file system.
    public let freeBytes: Int64
    /// The kind of file system, for example `ext`, or its number in hexadecimal where it has no name here.
    public let fileSystem: String
    /// Whether other machines may write to it too, or it is known to keep locks badly: SQLite does not work there.
    public let isNetworkFileSystem: Bool
    /// The process id of the server that runs; `nil` when none does.
    public let servedBy: Int32?
}

/// What a look at the whole database found.
public struct Integrity: Sendable {
    /// What is wrong, a line each; empty: sound.
    public let findings: [String]
    /// Whether the schema's `CHECK` constraints were looked at, too: SQLite does that only where it may write to the file.
    public let areConstraintsChecked: Bool
}

extension Database {
    /// Looks at the folder's files, their owners and modes, and the file system.
    ///
    /// - Parameter keys: where the master key is; what was left of writing it is found, too.
    /// - Throws: `access` or `io` when the folder is not there or cannot be looked at; `access` for a link.
    public func examine(keys: [String] = []) throws(StorageError) -> Examination {
        guard try FileFacts(folder) != nil else {
            throw StorageError(.access, code: ENOENT, "there is no folder \(folder)")
        }
        let found = try ownFiles()
        var space = statvfs()
        guard statvfs(folder, &space) == 0 else { throw .system("statvfs \(folder)") }
        let kind = try fileSystemKind()
        var pid: Int32?
        if try FileFacts.own(serveLockPath) != nil {
            let lock = try FileLock.open(serveLockPath)
            if try !lock.tryAcquire() { pid = lock.owner() ?? 0 }
        }
        return Examination(
            files: found,
            leftovers: leftovers(sparing: keys),
            ownUser: UInt32(geteuid()),
            freeBytes: Int64(space.f_bavail) * Int64(space.f_frsize),
            fileSystem: kind.name,
            isNetworkFileSystem: kind.isNetwork,
            servedBy: pid
        )
    }

    /// The folder, and what there is of the database's files, with owners and modes.
    ///
    /// - Throws: `access` or `io` where the system does not tell; `access` for a link.
    public func ownFiles() throws(StorageError) -> [Examination.File] {
        var found: [Examination.File] = []
        for path in [folder] + files {
            guard let facts = try path == folder ? FileFacts(path) : FileFacts.own(path) else { continue }
            found.append(
                Examination.File(path: path, owner: UInt32(facts.owner), mode: facts.mode, size: facts.size)
            )
        }
        return found
    }

    /// What is wrong with the database's structure, its rows by the schema's rules among it, and references to nothing.
    ///
    /// Reads the whole file and changes nothing, beside a server that runs, too.
    ///
    /// - Throws: `StorageError` when it cannot be opened or read.
    public func integrity() throws(StorageError) -> Integrity {
        guard try exists() else { throw StorageError(.access, code: ENOENT, "there is no database at \(path)") }
        do throws(StorageError) {
            return try integrity(as: .examining)
        } catch {
            guard error.category == .io else { throw error }
            // What cannot be opened for writing may still be read.
            return try integrity(as: .reading)
        }
    }

    private func integrity(as role: Connection.Role) throws(StorageError) -> Integrity {
        let connection = try Connection.open(path, role, waiting: .seconds(5), vfs: options.vfs)
        try Migrator(options).requireOurs(connection, path)
        return Integrity(
            findings: try Database.findings(connection),
            areConstraintsChecked: !connection.isOpenForReadingAlone
        )
    }

    /// The migrations that ran, and those this binary would still run, each oldest first.
    ///
    /// - Throws: `schema` when the database is newer or differs; `notOurs`; whatever SQLite reports.
    public func migrationStatus() throws(StorageError) -> (applied: [String], pending: [String]) {
        guard try exists() else { return ([], options.migrations.map(\.name)) }
        let connection = try Connection.open(path, .reading, waiting: .seconds(5), vfs: options.vfs)
        let migrator = Migrator(options)
        try migrator.requireOurs(connection, path)
        let pending = try migrator.pending(connection, path)
        return (options.migrations[..<pending.startIndex].map(\.name), pending.map(\.name))
    }

    static func findings(_ connection: borrowing Connection) throws(StorageError) -> [String] {
        var findings: [String] = []
        do {
            try connection.each(built: "PRAGMA integrity_check", [:]) { row in
                let line = try row.text()
                if line != "ok" { findings.append(line) }
            }
            try connection.each(built: "PRAGMA foreign_key_check", [:]) { row in
                let table = try row.text()
                let id = try row.integerOrNil()
                findings.append("row \(id.map { "\($0)" } ?? "?") of \(table) refers to nothing")
            }
        } catch {
            let error = (error as? StorageError) ?? StorageError(.other, "\(error)")
            guard error.category == .corrupt else { throw error }
            findings.append(error.message)
        }
        return findings
    }

    static func requireSound(_ connection: borrowing Connection, _ file: String) throws(StorageError) {
        let findings = try findings(connection)
        guard let first = findings.first else { return }
        throw StorageError(.corrupt, "\(file) is damaged (\(findings.count) findings): \(first)")
    }

    private func fileSystemKind() throws(StorageError) -> (name: String, isNetwork: Bool) {
        var number: UInt32 = 0
        var isRemote: Int32 = 0
        guard cs_file_system(folder, &number, &isRemote) == 0 else { throw .system("statfs \(folder)") }
        // statfs(2). Those whose locks or shared memory SQLite cannot rely on are marked.
        let known: [UInt32: (String, Bool)] = [
            0xEF53: ("ext", false), 0x5846_5342: ("xfs", false), 0x9123_683E: ("btrfs", false),
            0x0102_1994: ("tmpfs", false), 0x794C_7630: ("overlayfs", false), 0x2FC1_2FC1: ("zfs", false),
            0xF2F5_2010: ("f2fs", false), 0x6969: ("nfs", true), 0x517B: ("smb", true), 0xFF53_4D42: ("cifs", true),
            0xFE53_4D42: ("smb2", true), 0x5346_414F: ("afs", true), 0x00C3_6400: ("ceph", true),
            0x0102_1997: ("9p", true), 0x6573_5546: ("fuse", true), 0x7461_636F: ("ocfs2", true),
            0x0116_1970: ("gfs2", true), 0x0BD0_0BD0: ("lustre", true),
        ]
        if let kind = known[number] { return kind }
        return (number == 0 ? "local" : "0x" + String(number, radix: 16), isRemote != 0)
    }
}
