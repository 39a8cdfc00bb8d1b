/// One app of a vendor.
public struct Product: Hashable, Sendable, IdentifiedEntity {
    /// `prd_`
    public static let identifierPrefix = "prd_"

    /// Names the product for good.
    public var id: Identifier<Product>
    /// Whose product it is.
    public var vendor: Identifier<Vendor>
    /// Unique within the vendor; `aud` of its bundles.
    public var slug: Slug
    /// For people.
    public var name: String
    /// What its license keys begin with.
    public var keyPrefix: KeyPrefix
    /// How it behaves.
    public var settings: ProductSettings

    /// A product of these members.
    public init(
        id: Identifier<Product>,
        vendor: Identifier<Vendor>,
        slug: Slug,
        name: String,
        keyPrefix: KeyPrefix = .standard,
        settings: ProductSettings = ProductSettings()
    ) {
        self.id = id
        self.vendor = vendor
        self.slug = slug
        self.name = name
        self.keyPrefix = keyPrefix
        self.settings = settings
    }
}

/// A named capability of a product.
public struct Feature: Hashable, Sendable {
    /// Unique within the product.
    public var code: FeatureCode
    /// For people.
    public var name: String

    /// The most features a product may have.
    public static let mostInProduct = 256

    /// A feature of these members.
    public init(code: FeatureCode, name: String) {
        self.code = code
        self.name = name
    }
}

/// Who bought; a license without a customer is its own customer.
public struct Customer: Hashable, Sendable, IdentifiedEntity {
    /// `cus_`
    public static let identifierPrefix = "cus_"

    /// Names the customer for good.
    public var id: Identifier<Customer>
    /// Whose customer it is: vendors do not share customers.
    public var vendor: Identifier<Vendor>
    /// For people; `nil` where never told or erased.
    public var name: String?
    /// For finding and writing to; `nil` where never told or erased.
    public var email: String?

    /// A customer of these members.
    public init(id: Identifier<Customer>, vendor: Identifier<Vendor>, name: String? = nil, email: String? = nil) {
        self.id = id
        self.vendor = vendor
        self.name = name
        self.email = email
    }
}
