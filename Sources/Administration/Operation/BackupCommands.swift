internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// `backup`, `restore`, `migrate`.
enum BackupCommands {
    static let all = [backup, restore, migrate]

    private static let file = Parameter<String>.argument("FILE", "the backup's file") { $0 }

    private static let backup = Command(
        "backup",
        .writes,
        "copies the database, also while a server runs, and checks the copy",
        [file.specification],
        example: "backup /var/backups/countersign-$(date +%F).db"
    ) { call, context in
        let target = try call.required(file)
        let database = context.database
        try context.requireDatabase()
        try database.becomeOwner()
        // A dry run makes the copy and throws it away: that proves that it can be made.
        let summary = try database.backUp(to: target, sparing: context.keyPaths, isKept: !context.isDryRun)
        let note =
            "the master key is not in it, and without the key nobody opens it: keep a copy of \(context.keyFile.path) "
            + "elsewhere (countersign admin master-key export FILE)"
        return report("backup", summary, target, notes: [note], context)
    }

    private static let restore = Command(
        "restore",
        .writes,
        "puts a backup in the place of the database, while no server runs",
        [file.specification],
        example: "restore /var/backups/countersign-2026-11-29.db"
    ) { call, context in
        let source = try call.required(file)
        let (database, keyFile) = (context.database, context.keyFile)
        try database.becomeOwner()
        let summary: CopySummary
        do {
            summary = try database.restore(from: source) { db in
                _ = try Vault.keys(keyFile, of: source, in: db)
                if context.isDryRun { throw WouldRestore() }
            }
        } catch is WouldRestore {
            return Report(isConfirmation: true) { writer in
                writer.name("restore")
                writer.object { writer in writer.member("file", source) }
                writer.member("dry_run", true)
            }
        }
        let notes = [
            "what happened after the backup is undone: seats released since are held again, meters consumed and refunds "
                + "since are forgotten",
            "whatever was revoked after the backup is valid again: API keys, admin tokens and publishable keys, licenses and "
                + "the keys they had before a reissue, signing keys given up as compromised; before a server starts look at: "
                + "countersign admin credential list --vendor V; and revoke again what is not to be trusted",
        ]
        return report("restore", summary, source, notes: notes, context)
    }

    /// Ends a dry run before anything is replaced.
    private struct WouldRestore: Error {}

    private static func report(
        _ name: StaticString,
        _ summary: CopySummary,
        _ file: String,
        notes: [String],
        _ context: CommandContext
    ) -> Report {
        Report(notes: notes, isConfirmation: true) { writer in
            writer.name(name)
            writer.object { writer in
                writer.member("file", file)
                writer.member("bytes", summary.bytes)
                writer.member("state_version", summary.stateVersion)
                writer.member("committed_at", orNull: summary.committedAt > 0 ? summary.commitTime : nil)
                writer.member("migration", summary.migration)
            }
            if context.isDryRun { writer.member("dry_run", true) }
        }
    }

    private static let migrate = Command(
        "migrate",
        .writes,
        "brings a database to this version's schema; a server does so by itself at its start",
        example: "migrate"
    ) { _, context in
        // It makes none: one that nobody meant to make hides a folder that was mistyped.
        try context.requireDatabase()
        try context.database.becomeOwner()
        let before = try context.database.migrationStatus()
        // Opening migrates.
        if !context.isDryRun { _ = try context.open() }
        return Report(isConfirmation: true) { writer in
            writer.name("migrations")
            writer.object { writer in
                writer.name("applied_now")
                writer.array { writer in for name in before.pending { writer.value(name) } }
                writer.name("applied_before")
                writer.array { writer in for name in before.applied { writer.value(name) } }
            }
            if context.isDryRun { writer.member("dry_run", true) }
        }
    }
}
