package import Licensing
package import Storage

extension AuditTrail {
    /// Removes a person from the texts of the audit log and the outbox: reasons given for changes of the customer and its
    /// licenses, and every text of the vendor that contains one of `texts`, in whatever case.
    ///
    /// The chain holds one digest of a row's reason and detail, so the two go together; it stays whole.
    ///
    /// - Parameter texts: Name and address as they were kept, and as JSON writes them.
    /// - Returns: How many rows of the audit log lost their texts.
    package static func erase(
        _ customer: Customer,
        texts: [String],
        in db: borrowing WriteTransaction
    ) throws -> Int {
        var erased = try db.run(
            """
            UPDATE audit SET reason = NULL, detail = NULL
            WHERE reason IS NOT NULL AND (target = :customer OR target IN (
                SELECT licenses.id FROM licenses WHERE licenses.customer_id = :customer
            ))
            """,
            ["customer": .id(customer.id)]
        )
        for text in texts.map(PersonalText.init) {
            let rows = try db.all(
                """
                SELECT position, coalesce(reason, ''), coalesce(detail, '') FROM audit
                WHERE vendor_id = :vendor_id AND (reason LIKE :pattern ESCAPE '!' OR detail LIKE :pattern ESCAPE '!')
                """,
                ["vendor_id": .id(customer.vendor), "pattern": .text(text.pattern)],
                { row in (position: try row.position(), texts: [try row.text(), try row.text()]) }
            )
            for row in rows where row.texts.contains(where: text.isIn) {
                erased += try db.run(
                    "UPDATE audit SET reason = NULL, detail = NULL WHERE position = :position",
                    ["position": .integer(row.position)]
                )
            }
            let events = try db.all(
                """
                SELECT position, payload FROM outbox
                WHERE vendor_id = :vendor_id AND payload LIKE :pattern ESCAPE '!'
                """,
                ["vendor_id": .id(customer.vendor), "pattern": .text(text.pattern)],
                { row in (position: try row.position(), payload: try row.text()) }
            )
            for event in events where text.isIn(event.payload) {
                try db.run(
                    "UPDATE outbox SET payload = '{}' WHERE position = :position",
                    ["position": .integer(event.position)]
                )
            }
        }
        return erased
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
    package static func contains<DB: Queries & ~Copyable>(_ head: [UInt8], in db: borrowing DB) throws -> Bool {
        try db.first("SELECT count(*) FROM audit WHERE mac = :mac", ["mac": .blob(head)]) { row in
            try row.count() > 0
        } ?? false
    }
}
