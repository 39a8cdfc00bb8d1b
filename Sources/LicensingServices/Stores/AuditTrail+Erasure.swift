package import Licensing
package import Storage

/// Where the audit log and the outbox tell of a person, as far as they were looked through.
public struct PersonalMentions: Sendable {
    /// What was looked for: the person's name and address as they were kept, and as JSON writes them.
    let texts: [String]
    /// Rows of the audit log.
    var audit: Set<Int64> = []
    /// Rows of the outbox.
    var outbox: Set<Int64> = []
    /// The last row of each that was looked at.
    var lastAudit: Int64 = 0
    var lastOutbox: Int64 = 0

    init(of texts: [String]) { self.texts = texts }
}

extension AuditTrail {
    /// Looks for a person in the texts of the audit log and the outbox: reasons given for changes of the customer and its
    /// licenses, and every text of the vendor that contains one of those looked for, in whatever case. Both logs grow for
    /// good, so that most of them are looked through before the write lock is taken.
    ///
    /// - Parameter known: What an earlier look found: only what is behind it is looked through.
    package static func mentions<DB: Queries & ~Copyable>(
        of customer: Customer,
        behind known: PersonalMentions,
        in db: borrowing DB
    ) throws -> PersonalMentions {
        var found = known
        found.audit.formUnion(
            try db.all(
                """
                SELECT position FROM audit
                WHERE position > :last AND reason IS NOT NULL AND (target = :customer OR target IN (
                    SELECT licenses.id FROM licenses WHERE licenses.customer_id = :customer
                ))
                """,
                ["last": .integer(known.lastAudit), "customer": .id(customer.id)],
                { row in try row.position() }
            )
        )
        for text in known.texts.map(PersonalText.init) {
            let rows = try db.all(
                """
                SELECT position, coalesce(reason, ''), coalesce(detail, '') FROM audit
                WHERE position > :last AND vendor_id = :vendor_id
                    AND (reason LIKE :pattern ESCAPE '!' OR detail LIKE :pattern ESCAPE '!')
                """,
                [
                    "last": .integer(known.lastAudit), "vendor_id": .id(customer.vendor),
                    "pattern": .text(text.pattern),
                ],
                { row in (position: try row.position(), texts: [try row.text(), try row.text()]) }
            )
            found.audit.formUnion(rows.filter { $0.texts.contains(where: text.isIn) }.map(\.position))
            let events = try db.all(
                """
                SELECT position, payload FROM outbox
                WHERE position > :last AND vendor_id = :vendor_id AND payload LIKE :pattern ESCAPE '!'
                """,
                [
                    "last": .integer(known.lastOutbox), "vendor_id": .id(customer.vendor),
                    "pattern": .text(text.pattern),
                ],
                { row in (position: try row.position(), payload: try row.text()) }
            )
            found.outbox.formUnion(events.filter { text.isIn($0.payload) }.map(\.position))
        }
        found.lastAudit = try db.first("SELECT max(position) FROM audit", { try $0.integerOrNil() }).flatMap { $0 } ?? 0
        found.lastOutbox =
            try db.first("SELECT max(position) FROM outbox", { try $0.integerOrNil() }).flatMap { $0 } ?? 0
        return found
    }

    /// Removes the texts of rows that tell of a person. The chain holds one digest of a row's reason and detail, so the
    /// two go together; it stays whole.
    ///
    /// - Returns: How many rows of the audit log lost their texts.
    package static func erase(_ mentions: PersonalMentions, in db: borrowing WriteTransaction) throws -> Int {
        for position in mentions.outbox.sorted() {
            try db.run(
                "UPDATE outbox SET payload = '{}' WHERE position = :position",
                ["position": .integer(position)]
            )
        }
        return try mentions.audit.sorted().reduce(0) { erased, position in
            erased
                + (try db.run(
                    """
                    UPDATE audit SET reason = NULL, detail = NULL
                    WHERE position = :position AND (reason IS NOT NULL OR detail IS NOT NULL)
                    """,
                    ["position": .integer(position)]
                ))
        }
    }
}

/// A name or an address that is looked for in whatever case it was written.
struct PersonalText {
    private let folded: String

    /// For SQLite's `LIKE`, which takes letters of ASCII in either case: finds all that `isIn` does, and more, since any
    /// other character stands for anything. `!` escapes.
    let pattern: String

    init(_ text: String) {
        folded = Self.folded(text)
        var pattern = "%"
        for character in text {
            switch character {
            case "%", "_", "!": pattern += "!\(character)"
            case _ where character.isASCII: pattern.append(character)
            default: pattern += "%"
            }
        }
        self.pattern = pattern + "%"
    }

    /// Whether `text` contains it; characters are equal however they are composed.
    func isIn(_ text: String) -> Bool { Self.folded(text).contains(folded) }

    /// Upper case first, where `ß` is `SS`.
    private static func folded(_ text: String) -> String { text.uppercased().lowercased() }
}

extension AuditTrail {
    /// Whether a head that was kept is still the code of a row.
    package static func contains<DB: Queries & ~Copyable>(_ head: Digest256, in db: borrowing DB) throws -> Bool {
        try db.first("SELECT count(*) FROM audit WHERE mac = :mac", ["mac": .blob(head.bytes)]) { row in
            try row.count() > 0
        } ?? false
    }
}
