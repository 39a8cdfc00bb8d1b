import Licensing
import Storage

/// The table `validation_counts`.
enum QuotaStore {
    /// Validations that a vendor is known to have made in a month; 0 where none are written.
    static func count<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID,
        month: Timestamp,
        in db: borrowing DB
    ) throws -> Int64 {
        try db.first(
            "SELECT validations FROM validation_counts WHERE vendor_id = :vendor_id AND month = :month",
            ["vendor_id": .id(vendor), "month": .instant(month)]
        ) { row in try row.count() } ?? 0
    }

    /// Writes that there were at least so many; what is written already and is more, stays.
    static func raise(
        of vendor: Vendor.ID,
        month: Timestamp,
        to validations: Int64,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO validation_counts (vendor_id, month, validations)
            VALUES (:vendor_id, :month, :validations)
            ON CONFLICT (vendor_id, month) DO UPDATE SET validations = max(validations, excluded.validations)
            """,
            ["vendor_id": .id(vendor), "month": .instant(month), "validations": .integer(validations)]
        )
    }
}
