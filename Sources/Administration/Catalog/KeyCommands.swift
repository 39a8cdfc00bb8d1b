internal import Cryptography
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// `admin keys …`: the keys that sign bundles.
enum KeyCommands {
    static let all = [list, rotate, importNext]

    private static let onlyMode = Parameter<Mode>.option("mode", "live|test", "of that mode alone") {
        (text) throws(ValueFault) in try CommonParameters.word(text)
    }
    private static let reason = Parameter<String>.option("reason", "TEXT", "why, for the audit log") {
        (text) throws(ValueFault) in try CommonParameters.line(text, upTo: 1000)
    }
    private static let compromised = Parameter.flag(
        "compromised",
        "the private key may be known: retires it at once and discards next; apps need an update"
    )

    private static let list = Command(
        "admin keys list",
        .lists,
        "lists a vendor's signing keys, newest first",
        [CommonParameters.vendor.specification, onlyMode.specification],
        example: "admin keys list --vendor acme"
    ) { call, context in
        let slug = try call.required(CommonParameters.vendor)
        let mode = try call.value(onlyMode)
        let (limit, cursor) = (try call.limit(), try call.cursor())
        let work = try context.open()
        let keys = try work.read { db in
            try CatalogFinder.signingKeys(of: CatalogFinder.vendor(slug, in: db), in: db)
        }.filter { mode == nil || $0.mode == mode }
        let now = work.now
        let page = try Page(all: keys, limit: limit, after: cursor) { $0.kid }
        return .page("keys", page) { writer, key in key.write(to: &writer, at: now) }
    }

    private static let rotate = Command(
        "admin keys rotate",
        .writes,
        "lets the next key sign, makes a new next, and prints the pins to ship",
        [
            CommonParameters.vendor.specification, CommonParameters.mode.specification, compromised.specification,
            reason.specification,
        ],
        example: "admin keys rotate --vendor acme --mode live"
    ) { call, context in
        let slug = try call.required(CommonParameters.vendor)
        let mode = try call.value(CommonParameters.mode) ?? .live
        let isCompromised = call.isSet(compromised)
        let reason = try call.value(reason)
        let work = try context.open()
        let catalog = work.catalog
        let vendor = try work.vendor(slug)
        let draft = try catalog.draftRotation(of: vendor.id, mode: mode, isCompromised: isCompromised, at: work.now)
        let (rotation, pins) = try work.write { db in
            let rotation = try catalog.rotateKeys(of: vendor, draft, because: reason, by: work.actor, in: db)
            return (rotation, try ProductSetup.Pin.all(of: vendor, mode: mode, at: work.now, in: db))
        }
        let note =
            isCompromised
            ? "apps that pin the old keys alone refuse every bundle from now on: ship an update with these pins"
            : "ship these pins with the next version of every app; the old key stays published until "
                + (rotation.old.publishedUntil?.rfc3339 ?? "it is retired")
        let now = work.now
        let isDryRun = work.isDryRun
        return Report(notes: isDryRun ? ["nothing was kept: the pins of a real rotation differ"] : [note]) { writer in
            writer.name("rotation")
            writer.object { writer in
                writer.member("vendor", vendor.slug.text)
                writer.member("mode", mode.rawValue)
                writer.member("active", rotation.active.kid)
                writer.member("old", rotation.old.kid)
                writer.member("old_state", rotation.old.state(at: now).rawValue)
                writer.member("old_published_until", orNull: rotation.old.publishedUntil?.rfc3339)
                writer.member("discarded", orNull: rotation.discarded?.kid)
            }
            writer.name("pins")
            writer.array { writer in
                for pin in pins {
                    writer.object { writer in
                        writer.member("kid", pin.kid)
                        writer.member("spki", pin.spki)
                        writer.member("state", pin.state.rawValue)
                    }
                }
            }
            if isDryRun { writer.member("dry_run", true) }
        }
    }

    // MARK: A next key that is kept elsewhere

    private static let publicKey = Parameter<String>.option(
        "public-key",
        "FILE",
        "the public key, PEM or DER; - reads it"
    ) {
        (text) throws(ValueFault) in text
    }
    private static let privateKey = Parameter<String>.option(
        "private-key",
        "FILE",
        "its private half, PKCS#8 in PEM or DER, later; - reads it"
    ) { (text) throws(ValueFault) in text }

    private static let importNext = Command(
        "admin keys import-next",
        .writes,
        "publishes a key of your own as next, and takes its private half later",
        [
            CommonParameters.vendor.specification, CommonParameters.mode.specification, publicKey.specification,
            privateKey.specification,
        ],
        example: "admin keys import-next --vendor acme --public-key next.pub.pem"
    ) { call, context in
        let slug = try call.required(CommonParameters.vendor)
        let mode = try call.value(CommonParameters.mode) ?? .live
        switch (try call.value(publicKey), try call.value(privateKey)) {
        case (let file?, nil):
            let spki = try KeyDocument.bytes(context.surroundings.readFile(file, 65_536), "PUBLIC KEY", "--public-key")
            return try publish(spki, mode, slug, context)
        case (nil, let file?):
            let pkcs8 = try KeyDocument.bytes(
                context.surroundings.readFile(file, 65_536),
                "PRIVATE KEY",
                "--private-key"
            )
            return try complete(SecretBytes(pkcs8), mode, slug, context)
        default:
            throw CommandFailure.usage(
                "admin keys import-next needs --public-key first, and --private-key later",
                option: "--public-key"
            )
        }
    }

    private static func publish(_ spki: [UInt8], _ mode: Mode, _ slug: Slug, _ context: CommandContext) throws -> Report
    {
        let work = try context.open()
        let catalog = work.catalog
        let vendor = try work.vendor(slug)
        let key = try catalog.draftImport(spki: spki, of: vendor.id, mode: mode, at: work.now)
        _ = try work.write { db in try catalog.importNext(key, by: work.actor, in: db) }
        let note = "ship its pin; give its private half with --private-key before the next rotation"
        let now = work.now
        return work.report("key", notes: [note]) { key.write(to: &$0, at: now) }
    }

    private static func complete(
        _ pkcs8: SecretBytes,
        _ mode: Mode,
        _ slug: Slug,
        _ context: CommandContext
    ) throws -> Report {
        let work = try context.open()
        let catalog = work.catalog
        let next = try work.read { db in
            try CatalogFinder.signingKeys(of: CatalogFinder.vendor(slug, in: db), in: db)
                .first { $0.mode == mode && $0.state == .next }
        }
        guard let next else { throw Refusal(.keyNotFound, "there is no next key: import its public half first") }
        let completed = try catalog.completed(next, by: pkcs8)
        try work.write { db in try catalog.complete(completed, by: work.actor, in: db) }
        let now = work.now
        return work.report("key") { completed.write(to: &$0, at: now) }
    }
}

/// A key in a file: DER, or PEM (RFC 7468).
enum KeyDocument {
    /// The DER bytes.
    ///
    /// - Throws: `CommandFailure` (`VALIDATION`) for PEM of another kind.
    static func bytes(_ file: [UInt8], _ label: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        guard file.starts(with: Array("-----BEGIN".utf8)) else { return file }
        let lines = String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard lines.first == "-----BEGIN \(label)-----",
            let end = lines.firstIndex(of: "-----END \(label)-----"),
            let bytes = Base64.decode(lines[1..<end].joined())
        else {
            throw CommandFailure(
                code: "VALIDATION",
                "\(option) must be DER, or PEM that begins with -----BEGIN \(label)-----",
                members: [("option", CommandFailure.json(option))]
            )
        }
        return bytes
    }
}

extension SigningKeyRecord {
    /// Writes what everybody may know of the key, and whether its private half is here.
    func write(to writer: inout JSONWriter, at now: Timestamp) {
        writer.object { writer in
            writer.member("kid", kid)
            writer.member("mode", mode.rawValue)
            writer.member("algorithm", "ES256")
            writer.member("state", state(at: now).rawValue)
            writer.member("spki", Base64.string(spki))
            writer.name("jwk")
            writer.object { writer in
                writer.member("kty", "EC")
                writer.member("crv", "P-256")
                if let key = try? P256.PublicKey(spki: spki) {
                    writer.member("x", key.x)
                    writer.member("y", key.y)
                }
                writer.member("use", "sig")
                writer.member("alg", "ES256")
                writer.member("kid", kid)
            }
            writer.member("created_at", createdAt.rfc3339)
            writer.member("activated_at", orNull: activatedAt?.rfc3339)
            writer.member("published_until", orNull: publishedUntil?.rfc3339)
            writer.member("private_here", sealedPrivateKey != nil)
        }
    }
}
