internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// `admin audit …`.
enum AuditCommands {
    static let all = [list, verify]

    private static let vendor = Parameter<Slug>.option("vendor", "SLUG", "of that vendor alone") {
        (text) throws(ValueFault) in try Slug(text)
    }
    /// Hexadecimal, as it is printed: base64url may begin with two hyphens, which a command line takes for an option.
    private static let head = Parameter<Digest256>.option("head", "HEAD", "a head kept before, to be in the chain") {
        (text) throws(ValueFault) in
        guard let head = Digest256(hexadecimal: text) else { throw ValueFault("must be 64 hexadecimal digits") }
        return head
    }

    private static let list = Command(
        "admin audit list",
        .lists,
        "lists what was changed by whom, newest first",
        [vendor.specification],
        example: "admin audit list --vendor acme --limit 20"
    ) { call, context in
        let slug = try call.value(vendor)
        let limit = try call.limit()
        let cursor = try call.cursor().map { text throws(CommandFailure) in
            guard let position = CommonParameters.integer(text, in: 1 ... .max) else {
                throw .noSuchCursor
            }
            return position
        }
        let work = try context.open()
        let (entries, slugs) = try work.read { db in
            let vendor = try slug.map { try CatalogFinder.vendor($0, in: db) }
            let vendors = try CatalogFinder.vendors(after: nil, limit: .max, in: db)
            return (
                try AuditTrail.list(of: vendor?.id, before: cursor, limit: limit + 1, in: db),
                Dictionary(uniqueKeysWithValues: vendors.map { ($0.id, $0.slug) })
            )
        }
        return .page("entries", Page(entries, limit: limit) { "\($0.position)" }) { writer, entry in
            writer.object { writer in
                writer.member("position", entry.position)
                writer.member("at", entry.at.rfc3339)
                writer.member("vendor", orNull: entry.vendor.flatMap { slugs[$0]?.text })
                writer.member("actor", entry.actor)
                writer.member("action", entry.action)
                writer.member("target", entry.target)
                writer.member("request_id", orNull: entry.requestID)
                writer.member("reason", orNull: entry.reason)
                writer.name("detail")
                // Somebody may have put anything there with another program.
                if let detail = entry.detail.map({ Array($0.utf8) }), (try? JSONDocument(parsing: detail)) != nil {
                    writer.value(json: detail)
                } else {
                    writer.null()
                }
            }
        }
    }

    private static let verify = Command(
        "admin audit verify",
        .reads,
        "walks the audit chain, says where it breaks, and prints the head to keep elsewhere",
        [vendor.specification, head.specification],
        example: "admin audit verify"
    ) { call, context in
        let slug = try call.value(vendor)
        let kept = try call.value(head)
        let work = try context.open()
        let trail = AuditTrail(keys: work.keys)
        let (result, isKnown) = try work.read { db in
            if let slug { _ = try CatalogFinder.vendor(slug, in: db) }
            return (try trail.verify(in: db), try kept.map { try AuditTrail.contains($0, in: db) } ?? true)
        }
        switch result {
        case .sound(let rows, let head):
            guard isKnown else {
                throw broken("the head that was kept is not in the chain: rows were removed from its end", at: rows + 1)
            }
            return Report { writer in
                writer.name("audit")
                writer.object { writer in
                    writer.member("rows", rows)
                    writer.member("head", head?.hexadecimal ?? "")
                }
            }
        case .broken(let position, let why):
            throw broken("the audit chain breaks at row \(position): \(why)", at: position)
        }
    }

    private static func broken(_ message: String, at position: Int64) -> CommandFailure {
        CommandFailure(code: "AUDIT_BROKEN", message, members: [("position", Array("\(position)".utf8))])
    }
}
