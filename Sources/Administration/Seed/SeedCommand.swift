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
        defer { context.progress(nil) }
        // Nothing that can fail comes after it: what is shown once is lost unless it is printed.
        let outcome = try run.apply(work) { context.progress("\($0) of \($1) licenses written") }
        let isDryRun = work.isDryRun
        var notes: [String] = []
        if outcome.showsKeysOnce, !isDryRun { notes.append("keys of products that keep none are shown this once") }
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
                // Also those of earlier runs; in a dry run, those alone have an id and a key.
                for license in outcome.licenses {
                    let isThere = !(isDryRun && license.isNew)
                    writer.object { writer in
                        writer.member("order_id", orNull: license.orderID)
                        writer.member("id", orNull: isThere ? license.id.text : nil)
                        writer.member("key", orNull: isThere ? license.key : nil)
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
