package import Licensing
package import Storage

/// The rows of `customers`.
package enum CustomerStore {
    package static func insert(_ customer: Customer, at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO customers (id, vendor_id, email, name, created_at)
            VALUES (:id, :vendor_id, :email, :name, :created_at)
            """,
            [
                "id": .id(customer.id), "vendor_id": .id(customer.vendor), "email": .textOrNull(customer.email),
                "name": .textOrNull(customer.name), "created_at": .instant(now),
            ]
        )
    }

    package static func update(_ customer: Customer, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE customers SET email = :email, name = :name WHERE id = :id",
            ["id": .id(customer.id), "email": .textOrNull(customer.email), "name": .textOrNull(customer.name)]
        )
    }

    package static func find<DB: Queries & ~Copyable>(_ id: Customer.ID, in db: borrowing DB) throws -> Customer? {
        try db.first(
            "SELECT id, vendor_id, email, name FROM customers WHERE id = :id",
            ["id": .id(id)],
            read
        )
    }

    /// The customer of one vendor by e-mail address, in the spelling that was kept.
    package static func find<DB: Queries & ~Copyable>(
        email: String,
        of vendor: Vendor.ID,
        in db: borrowing DB
    ) throws -> Customer? {
        try db.first(
            "SELECT id, vendor_id, email, name FROM customers WHERE vendor_id = :vendor_id AND email = :email",
            ["vendor_id": .id(vendor), "email": .text(email)],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> Customer {
        let id = try row.id(of: Customer.self)
        let vendor = try row.id(of: Vendor.self)
        let email = try row.textOrNil()
        return Customer(id: id, vendor: vendor, name: try row.textOrNil(), email: email)
    }
}
