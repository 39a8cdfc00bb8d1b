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
            return Vault(
                keys: try connection.snapshot { try keys(file, of: database, in: $0) },
                file: file,
                isNew: false
            )
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
        return Vault(keys: try connection.snapshot { try keys(file, of: database, in: $0) }, file: file, isNew: false)
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
        guard let master = try file.read() else { throw missing(file, opened) }
        do {
            return try DataKeyStore.read(under: master, in: db)
        } catch DataKeyStore.Fault.missing {
            throw VaultFault(.noDataKeys, "\(opened) has no data keys: no command has made them yet")
        } catch DataKeyStore.Fault.anotherMasterKey {
            func opens(_ other: KeyFile) -> Bool {
                guard let key = try? other.read() else { return false }
                return (try? DataKeyStore.read(under: key, in: db)) != nil
            }
            if opens(file.next) {
                throw VaultFault(
                    .anotherDatabases,
                    "a rotation of the master key broke off: \(file.next.path) is the key of \(opened); fix: "
                        + "mv \(file.next.path) \(file.path), and keep the old file for old backups"
                )
            }
            let fix =
                file.former.first(where: opens).map { former in
                    "a rotation kept it as \(former.path): name that by COUNTERSIGN_MASTER_KEY_FILE"
                } ?? "put the right file there, or name it by COUNTERSIGN_MASTER_KEY_FILE"
            throw VaultFault(
                .anotherDatabases,
                "the master key \(file.path) is not the one of \(opened); fix: \(fix)"
            )
        }
    }

    private static func missing(_ file: KeyFile, _ opened: String) -> VaultFault {
        VaultFault(
            .missing,
            "there is no master key \(file.path), without which \(opened) does not open; fix: put the file back "
                + "(mode 0600), or name it by COUNTERSIGN_MASTER_KEY_FILE; a new one would not do"
        )
    }
}
