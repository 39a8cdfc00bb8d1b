public import Licensing
public import Storage

/// Makes and edits vendors, products, features, plans, credentials and signing keys, each with its row in the audit log.
///
/// Used by the command line and the seed document alike. Everything that needs cryptography is made ready before the
/// transaction that writes it; an edit that changes nothing writes nothing.
public struct CatalogService: Sendable {
    let keys: DataKeys
    let entropy: any Entropy
    let audit: AuditTrail
    let credentials: CredentialService
    let signing: SigningKeyService

    /// - Parameters:
    ///   - keys: What secrets are sealed with.
    ///   - entropy: Where identifiers and tokens come from.
    public init(keys: DataKeys, entropy: any Entropy) {
        self.keys = keys
        self.entropy = entropy
        audit = AuditTrail(keys: keys)
        credentials = CredentialService(keys: keys, entropy: entropy)
        signing = SigningKeyService(keys: keys, entropy: entropy)
    }

    /// What became of something that was to be as described.
    public enum Outcome: Hashable, Sendable {
        /// It was not there.
        case created
        /// It was there and is different now.
        case changed
        /// It was there as described.
        case unchanged
    }

    func record(
        _ action: String,
        _ target: String,
        of vendor: Vendor.ID?,
        because reason: String? = nil,
        before: String? = nil,
        after: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: vendor,
                action: action,
                target: target,
                reason: reason,
                before: before,
                after: after
            ),
            by: actor,
            in: db
        )
    }
}

/// Finds what an administrator names.
public enum CatalogFinder {
    /// The vendor of a slug.
    ///
    /// - Throws: `Refusal` (`VENDOR_NOT_FOUND`), `StorageError`.
    public static func vendor<DB: Queries & ~Copyable>(_ slug: Slug, in db: borrowing DB) throws -> Vendor {
        guard let vendor = try VendorStore.find(slug: slug, in: db) else {
            throw Refusal(.vendorNotFound, "there is no vendor \(slug)", member: "vendor")
        }
        return vendor
    }

    /// The vendor and the product that `vendor/product` names.
    ///
    /// - Throws: `Refusal` (`VENDOR_NOT_FOUND`, `PRODUCT_NOT_FOUND`), `StorageError`.
    public static func product<DB: Queries & ~Copyable>(
        _ product: Slug,
        of vendor: Slug,
        in db: borrowing DB
    ) throws -> (vendor: Vendor, product: Product) {
        let owner = try self.vendor(vendor, in: db)
        guard let found = try ProductStore.find(slug: product, of: owner.id, in: db) else {
            throw Refusal(.productNotFound, "there is no product \(vendor)/\(product)", member: "product")
        }
        return (owner, found)
    }

    /// The product of an id; `nil` where there is none.
    ///
    /// - Throws: `StorageError`.
    public static func product<DB: Queries & ~Copyable>(_ id: Product.ID, in db: borrowing DB) throws -> Product? {
        try ProductStore.find(id, in: db)
    }

    /// `vendor/product`, as a product is named from outside; `nil` where there is none of this id.
    ///
    /// - Throws: `StorageError`.
    public static func productName<DB: Queries & ~Copyable>(
        _ id: Product.ID,
        in db: borrowing DB
    ) throws -> String? {
        guard let product = try ProductStore.find(id, in: db), let vendor = try VendorStore.find(product.vendor, in: db)
        else { return nil }
        return "\(vendor.slug)/\(product.slug)"
    }

    /// A plan of a product.
    ///
    /// - Throws: `Refusal` (`PLAN_NOT_FOUND`), `StorageError`.
    public static func plan<DB: Queries & ~Copyable>(
        _ code: PlanCode,
        of product: Product,
        in db: borrowing DB
    ) throws -> Plan {
        guard let plan = try PlanStore.find(code, of: product.id, in: db) else {
            throw Refusal(.planNotFound, "the product \(product.slug) has no plan \(code)", member: "plan")
        }
        return plan
    }

    /// A feature of a product.
    ///
    /// - Throws: `Refusal` (`FEATURE_NOT_FOUND`), `StorageError`.
    public static func feature<DB: Queries & ~Copyable>(
        _ code: FeatureCode,
        of product: Product,
        in db: borrowing DB
    ) throws -> Feature {
        guard let feature = try FeatureStore.find(code, of: product.id, in: db) else {
            throw Refusal(.featureNotFound, "the product \(product.slug) has no feature \(code)", member: "code")
        }
        return feature
    }

    /// A credential.
    ///
    /// - Throws: `Refusal` (`CREDENTIAL_NOT_FOUND`), `StorageError`.
    public static func credential<DB: Queries & ~Copyable>(
        _ id: CredentialID,
        in db: borrowing DB
    ) throws -> CredentialRecord {
        guard let credential = try CredentialStore.find(id, in: db) else {
            throw Refusal(.credentialNotFound, "there is no credential \(id)", member: "credential")
        }
        return credential
    }

    // MARK: Lists, in the order of their cursors; those after `cursor` (exclusive), at most `limit`

    /// Vendors by slug.
    ///
    /// - Throws: `StorageError`.
    public static func vendors<DB: Queries & ~Copyable>(
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Vendor] {
        try VendorStore.list(after: cursor, limit: limit, in: db)
    }

    /// Products of a vendor by slug.
    ///
    /// - Throws: `StorageError`.
    public static func products<DB: Queries & ~Copyable>(
        of vendor: Vendor,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Product] {
        try ProductStore.list(of: vendor.id, after: cursor, limit: limit, in: db)
    }

    /// Features of a product by code.
    ///
    /// - Throws: `StorageError`.
    public static func features<DB: Queries & ~Copyable>(
        of product: Product,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Feature] {
        try FeatureStore.list(of: product.id, after: cursor, limit: limit, in: db)
    }

    /// Plans of a product by code.
    ///
    /// - Throws: `StorageError`.
    public static func plans<DB: Queries & ~Copyable>(
        of product: Product,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Plan] {
        try PlanStore.list(of: product.id, after: cursor, limit: limit, in: db)
    }

    /// Credentials of a vendor, or of one of its products, by id.
    ///
    /// - Throws: `StorageError`.
    public static func credentials<DB: Queries & ~Copyable>(
        of vendor: Vendor,
        product: Product?,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [CredentialRecord] {
        try CredentialStore.list(of: vendor.id, product: product?.id, after: cursor, limit: limit, in: db)
    }

    /// Every signing key of a vendor, newest first.
    ///
    /// - Throws: `StorageError`.
    public static func signingKeys<DB: Queries & ~Copyable>(
        of vendor: Vendor,
        in db: borrowing DB
    ) throws -> [SigningKeyRecord] {
        try SigningKeyStore.all(of: vendor.id, in: db)
    }

    /// How many licenses follow a plan.
    ///
    /// - Throws: `StorageError`.
    public static func licenseCount<DB: Queries & ~Copyable>(of plan: Plan, in db: borrowing DB) throws -> Int {
        try PlanStore.licenseCount(of: plan.id, in: db)
    }
}
