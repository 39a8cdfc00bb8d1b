public import Licensing
package import Storage

/// A customer as an administrator sees it.
public struct CustomerFacts: Hashable, Sendable {
    /// The customer.
    public let customer: Customer
    /// When it was made.
    public let createdAt: Timestamp
    /// When its name and address were removed.
    public let erasedAt: Timestamp?
    /// How many licenses it has.
    public let licenses: Int
}

extension CustomerStore {
    /// A customer with what is counted of it.
    package static func facts<DB: Queries & ~Copyable>(
        of id: Customer.ID,
        in db: borrowing DB
    ) throws -> CustomerFacts? {
        try db.first(
            """
            SELECT id, vendor_id, email, name, created_at, erased_at,
                (SELECT count(*) FROM licenses WHERE licenses.customer_id = customers.id)
            FROM customers WHERE id = :id
            """,
            ["id": .id(id)],
            readFacts
        )
    }

    /// Customers of one vendor in the order of their ids, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [CustomerFacts] {
        try db.all(
            """
            SELECT id, vendor_id, email, name, created_at, erased_at,
                (SELECT count(*) FROM licenses WHERE licenses.customer_id = customers.id)
            FROM customers WHERE vendor_id = :vendor_id AND id > :cursor ORDER BY id LIMIT :limit
            """,
            ["vendor_id": .id(vendor), "cursor": .text(cursor ?? ""), "limit": .int(limit)],
            readFacts
        )
    }

    /// Removes name and address, the words of administrators that repeat them, and what devices of the customer are called.
    package static func erase(_ customer: Customer, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE customers SET email = NULL, name = NULL, erased_at = :now WHERE id = :id",
            ["id": .id(customer.id), "now": .instant(now)]
        )
        try db.run(
            "UPDATE licenses SET standing_reason = NULL WHERE customer_id = :id AND standing_reason IS NOT NULL",
            ["id": .id(customer.id)]
        )
        try db.run(
            """
            UPDATE installs SET device_name = NULL WHERE device_name IS NOT NULL AND id IN (
                SELECT activations.install_id FROM activations
                JOIN licenses ON licenses.id = activations.license_id WHERE licenses.customer_id = :id
            )
            """,
            ["id": .id(customer.id)]
        )
        try db.run(
            """
            UPDATE activations SET device_name = NULL WHERE device_name IS NOT NULL AND license_id IN (
                SELECT licenses.id FROM licenses WHERE licenses.customer_id = :id
            )
            """,
            ["id": .id(customer.id)]
        )
    }

    private static func readFacts(_ row: inout Row) throws -> CustomerFacts {
        let id = try row.id(of: Customer.self)
        let vendor = try row.id(of: Vendor.self)
        let email = try row.textOrNil()
        let name = try row.textOrNil()
        return CustomerFacts(
            customer: Customer(id: id, vendor: vendor, name: name, email: email),
            createdAt: try row.instant(),
            erasedAt: try row.instantOrNil(),
            licenses: try row.size()
        )
    }
}
