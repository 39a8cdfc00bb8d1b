public import Licensing
public import Storage
public import StrictJSON

/// How an administrator names a customer.
public enum CustomerName: Hashable, Sendable {
    /// By id.
    case id(Customer.ID)
    /// By e-mail address, within a vendor.
    case email(EmailAddress)
}

extension CatalogFinder {
    /// A customer, of that vendor where one is given.
    ///
    /// - Throws: `Refusal` (`CUSTOMER_NOT_FOUND`, `VALIDATION` for an address without a vendor), `StorageError`.
    public static func customer<DB: Queries & ~Copyable>(
        _ name: CustomerName,
        of vendor: Vendor?,
        in db: borrowing DB
    ) throws -> CustomerFacts {
        let id: Customer.ID?
        switch name {
        case .id(let named): id = named
        case .email(let email):
            guard let vendor else {
                throw Refusal(.validation, "a customer named by an address needs its vendor", member: "vendor")
            }
            id = try CustomerStore.find(email: email.text, of: vendor.id, in: db)?.id
        }
        guard let id, let facts = try CustomerStore.facts(of: id, in: db),
            vendor.map({ $0.id == facts.customer.vendor }) ?? true
        else { throw Refusal(.customerNotFound, "there is no such customer", member: "customer") }
        return facts
    }

    /// Customers of a vendor in the order of their ids.
    ///
    /// - Throws: `StorageError`.
    public static func customers<DB: Queries & ~Copyable>(
        of vendor: Vendor,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [CustomerFacts] {
        try CustomerStore.list(of: vendor.id, after: cursor, limit: limit, in: db)
    }
}

extension CatalogService {
    /// What an erasure did.
    public struct Erasure: Sendable {
        /// The customer, without name and address.
        public let facts: CustomerFacts
        /// How many rows of the audit log lost their texts.
        public let auditRows: Int
        /// How many orders of the customer are named by a text with the person's name or address. They keep it: an order is
        /// found by what the vendor calls it, and issuing it again must find it.
        public let namedOrders: Int
    }

    /// Where the logs of the vendor tell of a customer now: found in a snapshot, since it takes long, for `erase`.
    ///
    /// - Throws: `StorageError`.
    public static func mentions<DB: Queries & ~Copyable>(
        of facts: CustomerFacts,
        in db: borrowing DB
    ) throws -> PersonalMentions {
        try AuditTrail.mentions(of: facts.customer, behind: nothingKnown(of: facts.customer), in: db)
    }

    private static func nothingKnown(of customer: Customer) -> PersonalMentions {
        let personal = personalTexts(of: customer)
        return PersonalMentions(of: Set(personal + personal.map(jsonBody)).sorted())
    }

    private static func personalTexts(of customer: Customer) -> [String] {
        // A text of three letters stands in too many words that are not about this person.
        [customer.email, customer.name].compactMap { $0 }.filter { $0.utf8.count > 3 }
    }

    /// Removes a person's name and address, also from audit text in whatever case it was written there, where the chain
    /// stays whole. Licenses, their order ids and seats stay.
    ///
    /// - Parameter known: What `mentions` found before; what came since is looked for here.
    /// - Throws: `StorageError`.
    public func erase(
        _ facts: CustomerFacts,
        mentioned known: PersonalMentions,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Erasure {
        let customer = facts.customer
        // Another name or address since: all is to be looked through again.
        let current = Self.nothingKnown(of: customer)
        let mentions = try AuditTrail.mentions(
            of: customer,
            behind: current.texts == known.texts ? known : current,
            in: db
        )
        let auditRows = try AuditTrail.erase(mentions, in: db)
        let personal = Self.personalTexts(of: customer)
        let namedOrders = try LicenseStore.orderIDs(of: customer, in: db).count { order in
            personal.contains { PersonalText($0).isIn(order) }
        }
        try CustomerStore.erase(customer, at: actor.now, in: db)
        try record("customer.erase", customer.id.text, of: customer.vendor, by: actor, in: db)
        guard let erased = try CustomerStore.facts(of: customer.id, in: db) else {
            throw Refusal(.customerNotFound, "there is no such customer", member: "customer")
        }
        return Erasure(facts: erased, auditRows: auditRows, namedOrders: namedOrders)
    }

    /// The text as JSON writes it, without the quotation marks.
    private static func jsonBody(_ text: String) -> String {
        var writer = JSONWriter(capacity: text.utf8.count + 2)
        writer.value(text)
        return String(decoding: writer.finish().dropFirst().dropLast(), as: UTF8.self)
    }
}

extension CustomerFacts {
    /// Writes `{"id","name","email","licenses","created_at","erased_at"}`.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", customer.id.text)
            writer.member("name", orNull: customer.name)
            writer.member("email", orNull: customer.email)
            writer.member("licenses", licenses)
            writer.member("created_at", createdAt.rfc3339)
            writer.member("erased_at", orNull: erasedAt?.rfc3339)
        }
    }
}
