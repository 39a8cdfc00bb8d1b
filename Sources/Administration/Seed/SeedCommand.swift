internal import AppStore
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `seed FILE`: makes the database be as a document says.
enum SeedCommand {
    static let all = [command]

    private static let file = Parameter<String>.argument("FILE", "the JSON document, or - to read it") { $0 }

    /// The most bytes of a document.
    private static let longest = 64 << 20

    private static let command = Command(
        "seed",
        .writes,
        "applies a document of vendors, products, plans and licenses; a second run changes nothing",
        [file.specification],
        example: "seed vendors.json --dry-run"
    ) { call, context in
        let document = try SeedDocument(
            parsing: try context.surroundings.readFile(try call.required(file), longest)
        )
        let work = try context.open(makes: true)
        let run = try SeedRun(document, work)
        let outcome = try run.apply(work)
        let isDryRun = work.isDryRun
        let service = LicenseService(keys: work.keys, entropy: work.entropy)
        // Also those of earlier runs; in a dry run, those alone.
        var showsKeysOnce = false
        let licenses = try work.read { db in
            try outcome.licenses.map { order, id, made in
                let isThere = try !isDryRun || service.facts(of: id, .summary, at: work.now, in: db) != nil
                let kept = isThere ? try service.currentKey(of: id, in: db) : nil
                // Of a product that keeps no keys, the run that makes one alone can tell it.
                if isThere, kept == nil, made != nil { showsKeysOnce = true }
                return (order: order, id: isThere ? id : nil, key: isThere ? kept ?? made : nil)
            }
        }
        var notes: [String] = []
        if showsKeysOnce { notes.append("keys of products that keep none are shown this once") }
        if outcome.secrets.contains(where: { $0.record.kind != .publishable }), !isDryRun {
            notes.append("tokens are shown this once")
        }
        if work.vault.isNew, !isDryRun {
            notes.append(
                "the master key was made at \(work.vault.file.path); without it nobody reads the database: keep a copy "
                    + "elsewhere (countersign admin master-key export FILE)"
            )
        }
        return Report(notes: notes) { writer in
            for (name, list) in [("created", outcome.created), ("changed", outcome.changed)] {
                writer.name(dynamic: name)
                writer.array { writer in for text in list { writer.value(text) } }
            }
            writer.member("unchanged", outcome.unchanged)
            writer.name("secrets")
            writer.array { writer in
                for secret in outcome.secrets {
                    writer.object { writer in
                        writer.member("name", secret.record.name)
                        writer.member("token", orNull: isDryRun ? nil : secret.token)
                    }
                }
            }
            writer.name("licenses")
            writer.array { writer in
                for license in licenses {
                    writer.object { writer in
                        writer.member("order_id", orNull: license.order)
                        writer.member("id", orNull: license.id?.text)
                        writer.member("key", orNull: license.key)
                    }
                }
            }
            writer.name("connections")
            writer.array { writer in
                for connection in outcome.connections {
                    writer.object { writer in
                        writer.member("id", orNull: isDryRun ? nil : connection.id.text)
                        writer.member("notification_path", orNull: isDryRun ? nil : connection.notificationPath)
                    }
                }
            }
            if isDryRun { writer.member("dry_run", true) }
        }
    }
}
