public import Licensing
public import Storage

/// Which licenses are listed; what is `nil` is not looked at.
public struct LicenseFilter: Hashable, Sendable {
    /// Those of one vendor.
    public var vendor: Vendor.ID?
    /// Those of one product.
    public var product: Product.ID?
    /// Those of a plan of this code.
    public var plan: PlanCode?
    /// Those that are this now.
    public var status: LicenseStatus?
    /// Those of this customer.
    public var customerEmail: EmailAddress?
    /// Live or test ones.
    public var mode: Mode?
    /// Those issued for this order.
    public var orderID: String?

    /// A filter of these members.
    public init(
        vendor: Vendor.ID? = nil,
        product: Product.ID? = nil,
        plan: PlanCode? = nil,
        status: LicenseStatus? = nil,
        customerEmail: EmailAddress? = nil,
        mode: Mode? = nil,
        orderID: String? = nil
    ) {
        self.vendor = vendor
        self.product = product
        self.plan = plan
        self.status = status
        self.customerEmail = customerEmail
        self.mode = mode
        self.orderID = orderID
    }
}

/// A page of a list of licenses.
public struct LicensePage: Sendable {
    /// In the order of their ids, which is that of their issue to the second.
    public let licenses: [LicenseFacts]
    /// The cursor of the next page: the last license's id, or that of the last one that was looked at; `nil`: there is
    /// none.
    public let next: License.ID?
}

extension LicenseService {
    /// How many licenses are read in one go while a list looks for those of a status.
    static let portion = 1000

    /// A page of the licenses that a filter lets through.
    ///
    /// - Parameters:
    ///   - cursor: The last id of the page before.
    ///   - limit: The most licenses on the page, 1 or more.
    ///   - most: The most licenses of each product that are looked at, 1 or more: the page may then be short, or empty,
    ///     and yet not be the last. `nil`: as many as it takes, for whoever holds up nobody.
    /// - Throws: `StorageError`.
    public func list<DB: Queries & ~Copyable>(
        _ filter: LicenseFilter,
        _ detail: LicenseDetail = .summary,
        after cursor: License.ID?,
        limit: Int,
        lookingAt most: Int? = nil,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> LicensePage {
        precondition(limit > 0, "a page holds one license at least")
        let end = try most.flatMap { try LicenseStore.place(after: $0, of: filter, after: cursor, in: db) }
        var found: [License] = []
        var cursor = cursor
        while found.count <= limit {
            let portion = filter.status == nil ? limit + 1 : Self.portion
            let read = try LicenseStore.list(filter, after: cursor, through: end, limit: portion, at: now, in: db)
            found += read.filter { filter.status == nil || $0.status(at: now) == filter.status }
            guard read.count == portion, let last = read.last else { break }
            cursor = last.id
        }
        let page = found.prefix(limit)
        return LicensePage(
            licenses: try page.map { license in try facts(of: license, detail, at: now, in: db) },
            next: found.count > limit ? page.last?.id : end
        )
    }
}
