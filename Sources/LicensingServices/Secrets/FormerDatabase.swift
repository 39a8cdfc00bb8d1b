public import Storage
internal import SystemPrimitives

/// What a folder tells of a database that it had: a master key is made only when the tables of its database are there, so
/// that a folder with a key and without them has lost it. A new one in its place would be a server that knows nobody.
public struct FormerDatabase: Sendable {
    private let folder: String
    /// The key in the folder itself, whatever else is configured.
    private let key: String?

    /// Looks into the folder; to be made before the database is looked at, since another process may make both meanwhile.
    /// A folder that cannot be looked into is told of by whoever opens it.
    public init(of database: Database) {
        folder = database.folder
        let path = KeyFile(configured: nil, folder: folder).path
        key = (try? SmallFile.facts(path)) == nil ? nil : path
    }

    /// Refuses a database that is not there, or has no tables, where there was one.
    ///
    /// - Throws: `VaultFault` (`databaseLost`), with the fix.
    public func check(_ past: Past?) throws(VaultFault) {
        guard past == nil, let key else { return }
        throw VaultFault(
            .databaseLost,
            "\(folder) holds a master key and no database: that was deleted, or its disk is not mounted; fix: put "
                + "countersign.db back (with its -wal), or: countersign restore BACKUP; to begin anew, move \(key) away"
        )
    }
}
