package import Cryptography
package import Licensing
package import Storage

/// The rows of `data_keys`.
package enum DataKeyStore {
    /// Why the data keys of a database could not be had.
    package enum Fault: Error, Hashable, Sendable {
        /// The database has none: it is new, or not one of ours.
        case missing
        /// They do not open with this master key.
        case anotherMasterKey
    }

    /// Whether the database has its keys.
    package static func exist<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Bool {
        try db.first("SELECT count(*) FROM data_keys", { try $0.count() }) == 2
    }

    /// Both keys, wrapped before the transaction that writes them.
    package struct Wrapped: Sendable {
        fileprivate let rows: [(purpose: String, bytes: [UInt8])]

        fileprivate init(rows: [(purpose: String, bytes: [UInt8])]) { self.rows = rows }

        /// Wraps both keys.
        package init(_ keys: DataKeys, under master: MasterKey) throws(CryptographyError) {
            rows = [
                ("lookup", try master.wrap(keys.lookup, purpose: "lookup")),
                ("seal", try master.wrap(keys.seal, purpose: "seal")),
            ]
        }
    }

    /// Writes both keys, in place of any before.
    package static func write(_ wrapped: Wrapped, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        for row in wrapped.rows {
            try db.run(
                """
                INSERT INTO data_keys (purpose, wrapped, wrapped_at) VALUES (:purpose, :wrapped, :wrapped_at)
                ON CONFLICT (purpose) DO UPDATE SET wrapped = excluded.wrapped, wrapped_at = excluded.wrapped_at
                """,
                ["purpose": .text(row.purpose), "wrapped": .blob(row.bytes), "wrapped_at": .instant(now)]
            )
        }
    }

    /// Both rows as they are.
    ///
    /// - Throws: `Fault.missing`, or `StorageError`.
    package static func wrapped<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Wrapped {
        let rows = try db.all(
            "SELECT purpose, wrapped FROM data_keys ORDER BY purpose",
            { row in (purpose: try row.text(), bytes: try row.blob()) }
        )
        guard rows.count == 2 else { throw Fault.missing }
        return Wrapped(rows: rows)
    }

    /// Writes both keys in place of those that were read before.
    ///
    /// - Throws: `busy` where they are not those any more: somebody else wrapped them since, or put another database in
    ///   the place of this one. The transaction must then be undone.
    package static func replace(
        _ old: Wrapped,
        by new: Wrapped,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws {
        for row in new.rows {
            let former = old.rows.first { $0.purpose == row.purpose }
            let changed = try db.run(
                """
                UPDATE data_keys SET wrapped = :wrapped, wrapped_at = :wrapped_at
                WHERE purpose = :purpose AND wrapped = :former
                """,
                [
                    "purpose": .text(row.purpose), "wrapped": .blob(row.bytes), "wrapped_at": .instant(now),
                    "former": .blob(former?.bytes ?? []),
                ]
            )
            guard changed == 1 else {
                throw StorageError(.busy, "the master key was changed meanwhile; nothing was done: try again")
            }
        }
    }

    /// Reads and unwraps both keys.
    ///
    /// - Throws: `Fault`, or `StorageError`.
    package static func read<DB: Queries & ~Copyable>(
        under master: MasterKey,
        in db: borrowing DB
    ) throws -> DataKeys {
        DataKeys(
            lookup: try read("lookup", under: master, in: db),
            seal: try read("seal", under: master, in: db)
        )
    }

    private static func read<DB: Queries & ~Copyable>(
        _ purpose: String,
        under master: MasterKey,
        in db: borrowing DB
    ) throws -> SecretBytes {
        let wrapped = try db.first(
            "SELECT wrapped FROM data_keys WHERE purpose = :purpose",
            ["purpose": .text(purpose)],
            { row in try row.blob() }
        )
        guard let wrapped else { throw Fault.missing }
        do {
            return try master.unwrap(wrapped, purpose: purpose)
        } catch CryptographyError.authenticationFailed {
            throw Fault.anotherMasterKey
        }
    }
}
