/// Who sells software; owns everything below.
public struct Vendor: Hashable, Sendable, IdentifiedEntity {
    /// `ven_`
    public static let identifierPrefix = "ven_"

    /// Names the vendor for good.
    public var id: Identifier<Vendor>
    /// Unique on the server.
    public var slug: Slug
    /// For people.
    public var name: String
    /// The issuer in bundles where one is configured; see `issuer`.
    public var configuredIssuer: String?
    /// Validations a calendar month (UTC), or `nil` for no limit.
    public var validationQuota: Int64?

    /// A vendor of these members.
    public init(
        id: Identifier<Vendor>,
        slug: Slug,
        name: String,
        configuredIssuer: String? = nil,
        validationQuota: Int64? = nil
    ) {
        self.id = id
        self.slug = slug
        self.name = name
        self.configuredIssuer = configuredIssuer
        self.validationQuota = validationQuota
    }

    /// `iss` of the vendor's bundles: the configured one, else `countersign:<slug>`.
    public var issuer: String { configuredIssuer ?? "countersign:\(slug)" }
}
