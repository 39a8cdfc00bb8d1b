package import Licensing
package import Storage

extension AuditTrail {
    /// Removes a person from the texts of the audit log and the outbox: reasons given for changes of the customer and its
    /// licenses, and every text of the vendor that contains one of `texts`.
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
        for text in texts {
            erased += try db.run(
                """
                UPDATE audit SET reason = NULL, detail = NULL WHERE vendor_id = :vendor_id AND
                    (instr(coalesce(reason, ''), :text) > 0 OR instr(coalesce(detail, ''), :text) > 0)
                """,
                ["vendor_id": .id(customer.vendor), "text": .text(text)]
            )
            try db.run(
                "UPDATE outbox SET payload = '{}' WHERE vendor_id = :vendor_id AND instr(payload, :text) > 0",
                ["vendor_id": .id(customer.vendor), "text": .text(text)]
            )
        }
        return erased
    }
}

extension AuditTrail {
    /// Whether a head that was kept is still the code of a row.
    package static func contains<DB: Queries & ~Copyable>(_ head: [UInt8], in db: borrowing DB) throws -> Bool {
        try db.first("SELECT count(*) FROM audit WHERE mac = :mac", ["mac": .blob(head)]) { row in
            try row.int() > 0
        } ?? false
    }
}
