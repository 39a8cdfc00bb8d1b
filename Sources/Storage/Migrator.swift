internal import CSQLite
internal import Licensing
internal import Migrations

/// Brings a database to the schema of this binary, one transaction a migration. Runs under write.lock.
///
/// Each migration is recorded with its whole text: one that was changed after it ran is found by comparing.
struct Migrator {
    /// A migration that has just run.
    struct Applied {
        let name: String
        let isFirst: Bool
    }

    private let known: [Migration]
    private let options: Database.Options

    init(_ options: Database.Options) {
        known = options.migrations
        self.options = options
    }

    static func notOurs(_ path: String) -> StorageError {
        StorageError(.notOurs, "\(path) is not a database of Countersign")
    }

    /// Refuses another program's file. One without any table, as a start that broke off leaves it, is new.
    func requireOurs(_ connection: borrowing Connection, _ path: String) throws(StorageError) {
        let id: Int64
        do {
            id = try connection.integer("PRAGMA application_id")
        } catch {
            throw error.category == .notOurs ? Migrator.notOurs(path) : error
        }
        if id == Database.applicationID { return }
        guard id == 0, try connection.integer("SELECT count(*) FROM sqlite_schema") == 0 else {
            throw Migrator.notOurs(path)
        }
    }

    /// What is still to be done, after comparing what was done with what this binary knows.
    ///
    /// - Throws: `schema` when the database is newer, or one of its migrations differs.
    func pending(_ connection: borrowing Connection, _ path: String) throws(StorageError) -> ArraySlice<Migration> {
        let hasTable = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'") > 0
        guard hasTable else { return known[...] }
        var applied: [(number: Int, name: String, sql: String)] = []
        do {
            try connection.each("SELECT number, name, sql FROM schema_migrations ORDER BY number", [:]) { row in
                applied.append((try row.int(), try row.text(), try row.text()))
            }
        } catch {
            throw (error as? StorageError) ?? StorageError(.schema, "\(error)")
        }
        if applied.count > known.count, let newest = applied.last {
            throw StorageError(
                .schema,
                "\(path) was migrated to \(newest.name) by a newer countersign; this one knows migrations up to "
                    + "\(known.last?.name ?? "none"): run the newer one, or restore a backup made before the update"
            )
        }
        for (index, (there, here)) in zip(applied, known).enumerated() {
            guard there.number == index + 1, there.name == here.name, Array(there.sql.utf8) == here.sql else {
                throw StorageError(
                    .schema,
                    "migration \(there.name) of \(path) is not \(here.name) as this countersign knows it: "
                        + "migrations never change once they have run"
                )
            }
        }
        return known[applied.count...]
    }

    /// Runs what is pending and answers what ran.
    ///
    /// - Throws: `schema` naming the migration that failed; those before it stay.
    @discardableResult
    func migrate(_ connection: borrowing Connection, _ path: String) throws(StorageError) -> [Applied] {
        var applied: [Applied] = []
        let pending = try pending(connection, path)
        for (index, migration) in zip(pending.indices, pending) {
            try connection.execute("BEGIN IMMEDIATE")
            do {
                try run(migration, number: index + 1, connection)
                try connection.execute("COMMIT")
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                if error.isTransient { throw error }
                throw StorageError(.schema, code: error.code, "migration \(migration.name) failed: \(error.message)")
            }
            applied.append(Applied(name: migration.name, isFirst: index == 0))
        }
        return applied
    }

    private func run(
        _ migration: Migration,
        number: Int,
        _ connection: borrowing Connection
    ) throws(StorageError) {
        if number == 1 { try connection.execute("PRAGMA application_id=\(Database.applicationID)") }
        let sql = String(decoding: migration.sql, as: UTF8.self)
        try connection.execute(sql)
        guard connection.isInTransaction else {
            throw StorageError(.schema, "it ended its own transaction")
        }
        if let table = try connection.text("PRAGMA foreign_key_check") {
            throw StorageError(.schema, "it left a reference to nothing in \(table)")
        }
        // Told for who looks; in doubt it is not told.
        let time = (try? options.date(0))?.microseconds
        try connection.run(
            "INSERT INTO schema_migrations (number, name, sql, applied_at) VALUES (:number, :name, :sql, :now)",
            [
                "number": .int(number), "name": .text(migration.name), "sql": .text(sql),
                "now": .integer((time ?? 0) / 1_000_000),
            ]
        )
        try connection.run(
            "UPDATE state SET version = max(version + 1, :now) WHERE id = 1",
            ["now": .integer(max(0, time ?? 0))]
        )
    }
}
