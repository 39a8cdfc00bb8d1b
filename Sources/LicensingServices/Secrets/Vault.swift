internal import Cryptography
internal import Licensing
public import Storage

/// The data keys of a database, opened by its master key.
///
/// A master key is made only together with a new database. The order is safe against a break at any point: the key's
/// file is durable before the database holds anything wrapped by it, and a database without data keys and without a
/// vendor is still new.
public struct Vault: Sendable {
    /// The keys under which everything secret is looked up or sealed.
    public let keys: DataKeys
    /// Where the master key is.
    public let file: KeyFile
    /// Whether this made them.
    public let isNew: Bool

    /// Opens the data keys for a server that has just opened, and perhaps made, the database.
    ///
    /// - Throws: As `open(_:of:file:clock:)`; `StorageError` where the database cannot be opened.
    public static func open(_ database: Database, file: KeyFile, clock: any WallClock) throws -> Vault {
        let connection = try database.openForCommandLine(isMade: false)
        return try open(connection, of: database, file: file, clock: clock)
    }

    /// Opens the data keys; makes them, and the master key where its file is not there, when the database is new.
    ///
    /// - Throws: `VaultFault` for a database without its key, with another's, or a key that others can read;
    ///   `StorageError`; `CryptographyError` without randomness; `ClockUnsure` where keys are to be made.
    public static func open(
        _ connection: borrowing CommandLineConnection,
        of database: Database,
        file: KeyFile,
        clock: any WallClock
    ) throws -> Vault {
        if try connection.snapshot({ db in try DataKeyStore.exist(in: db) }) {
            return try reopen(connection, of: database, file: file, clock: clock)
        }
        guard try connection.snapshot({ try VendorStore.list(after: nil, limit: 1, in: $0).isEmpty }) else {
            throw VaultFault(
                .noDataKeys,
                "\(database.path) has lost its data keys: it is damaged; restore a backup"
            )
        }
        // Another process may make the file, or the keys, at this very moment: who comes second takes what is there.
        guard let master = try file.read() ?? file.make() ?? file.read() else { throw missing(file, database.path) }
        let fresh = try DataKeys.random()
        let wrapped = try DataKeyStore.Wrapped(fresh, under: master)
        let isMade = try connection.write { db in
            guard try !DataKeyStore.exist(in: db) else { return false }
            try DataKeyStore.write(wrapped, at: try clock.now(in: db), in: db)
            return true
        }
        if isMade { return Vault(keys: fresh, file: file, isNew: true) }
        return try reopen(connection, of: database, file: file, clock: clock)
    }

    /// Opens data keys that are there.
    private static func reopen(
        _ connection: borrowing CommandLineConnection,
        of database: Database,
        file: KeyFile,
        clock: any WallClock
    ) throws -> Vault {
        func look() throws -> Unwrapped {
            try connection.snapshot { db in try unwrap(file, of: database.path, in: db) }
        }
        do {
            let found = try look()
            if found.source == file { return Vault(keys: found.keys, file: file, isNew: false) }
        } catch let fault as VaultFault where [.anotherDatabases, .missing].contains(fault.reason) {
            // Perhaps only between two steps of a rotation.
        }
        // A rotation is under way, and over once the lock is here; or it was killed, and this ends it.
        let opened = try database.holdingKeys(waits: true) { () throws -> Vault in
            let found = try look()
            // Where the file cannot be put in its place, the key opens from where it is.
            if found.source != file {
                _ = try? file.put(found.source, at: connection.snapshot { db in try clock.now(in: db) })
            }
            return Vault(keys: found.keys, file: file, isNew: false)
        }
        guard let opened else { preconditionFailure("whoever waits gets the lock or throws") }
        return opened
    }

    /// The data keys of a database that has them.
    ///
    /// - Throws: `VaultFault`, `StorageError`.
    public static func keys<DB: Queries & ~Copyable>(
        _ file: KeyFile,
        of database: Database,
        in db: borrowing DB
    ) throws -> DataKeys {
        try keys(file, of: database.path, in: db)
    }

    /// The data keys of a database, or of a backup, that has them.
    ///
    /// - Parameter opened: What is opened, as faults name it.
    /// - Throws: `VaultFault`, `StorageError`.
    public static func keys<DB: Queries & ~Copyable>(
        _ file: KeyFile,
        of opened: String,
        in db: borrowing DB
    ) throws -> DataKeys {
        try unwrap(file, of: opened, in: db).keys
    }

    /// Data keys, and the file of the master key that opens them.
    struct Unwrapped {
        let keys: DataKeys
        let source: KeyFile
    }

    /// Opens the data keys by the master key in its file, or by a new one that a rotation has not put there yet.
    ///
    /// - Throws: `VaultFault`, `StorageError`.
    static func unwrap<DB: Queries & ~Copyable>(
        _ file: KeyFile,
        of opened: String,
        in db: borrowing DB
    ) throws -> Unwrapped {
        func keys(under master: MasterKey) throws -> DataKeys? {
            do {
                return try DataKeyStore.read(under: master, in: db)
            } catch DataKeyStore.Fault.missing {
                throw VaultFault(.noDataKeys, "\(opened) has no data keys: no command has made them yet")
            } catch DataKeyStore.Fault.anotherMasterKey {
                return nil
            }
        }
        let master = try file.read()
        if let master, let keys = try keys(under: master) { return Unwrapped(keys: keys, source: file) }
        for next in file.coming {
            if let key = try? next.read(), let keys = try keys(under: key) {
                return Unwrapped(keys: keys, source: next)
            }
        }
        let former = try file.former.first { former in
            guard let key = try? former.read() else { return false }
            return try keys(under: key) != nil
        }
        let hint = former.map { "a rotation kept it as \($0.path): name that by COUNTERSIGN_MASTER_KEY_FILE" }
        guard master != nil else {
            throw VaultFault(
                .missing,
                "there is no master key \(file.path), without which \(opened) does not open; fix: "
                    + (hint
                        ?? "put the file back (mode 0600), or name it by COUNTERSIGN_MASTER_KEY_FILE; a new one would "
                        + "not do")
            )
        }
        throw VaultFault(
            .anotherDatabases,
            "the master key \(file.path) is not the one of \(opened); fix: "
                + (hint ?? "put the right file there, or name it by COUNTERSIGN_MASTER_KEY_FILE")
        )
    }

    private static func missing(_ file: KeyFile, _ opened: String) -> VaultFault {
        VaultFault(
            .missing,
            "the master key \(file.path) was removed while the keys of \(opened) were made; fix: try again"
        )
    }
}
