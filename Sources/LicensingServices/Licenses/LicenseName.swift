public import Licensing
public import Storage

extension LicenseService {
    /// The codes of a product's plans.
    ///
    /// - Throws: `StorageError`.
    public static func planCodes<DB: Queries & ~Copyable>(
        of product: Product,
        in db: borrowing DB
    ) throws -> Set<PlanCode> {
        Set(try PlanStore.list(of: product.id, after: nil, limit: .max, in: db).map(\.code))
    }

    /// The product of a license, which is never taken away.
    ///
    /// - Throws: `StorageError`.
    public static func product<DB: Queries & ~Copyable>(of license: License, in db: borrowing DB) throws -> Product {
        guard let product = try ProductStore.find(license.product, in: db) else {
            throw StorageError(.corrupt, "a license has no product")
        }
        return product
    }

    /// The license of this id, which a name led to.
    ///
    /// - Throws: `Refusal` (`LICENSE_NOT_FOUND`), `StorageError`.
    public static func license<DB: Queries & ~Copyable>(_ id: License.ID, in db: borrowing DB) throws -> License {
        guard let license = try LicenseStore.find(id, in: db) else { throw notFound }
        return license
    }

    /// Finds the license that a person named by its id, or by any of its keys as it was typed.
    ///
    /// - Parameters:
    ///   - text: An id or a key.
    ///   - product: Where it is looked for; `nil`: in every product of the server.
    /// - Throws: `Refusal`: `LICENSE_NOT_FOUND`; `AMBIGUOUS` where several products know the key;
    ///   `LICENSE_KEY_MALFORMED` for a typing error in a product's own key; `StorageError`.
    public func find<DB: Queries & ~Copyable>(
        _ text: String,
        of product: Product?,
        in db: borrowing DB
    ) throws -> License.ID {
        if let id = License.ID(text) {
            guard let license = try LicenseStore.find(id, in: db), product.map({ $0.id == license.product }) ?? true
            else { throw Self.notFound }
            return id
        }
        let products = try product.map { [$0] } ?? ProductStore.all(in: db)
        var found: Set<License.ID> = []
        var isMalformed = false
        for product in products {
            let key: LicenseKey
            do throws(LicenseKey.Fault) {
                key = try LicenseKey(text, prefix: product.keyPrefix)
            } catch {
                isMalformed = isMalformed || error == .malformed
                continue
            }
            let digest = keys.digest(of: key, product: product.id)
            if let match = try LicenseKeyStore.find(digest, in: db) { found.insert(match.license) }
        }
        guard found.count <= 1 else {
            throw Refusal(
                .ambiguous,
                "\(found.count) products know this key: say which with product",
                member: "product"
            )
        }
        if let id = found.first { return id }
        guard !isMalformed else {
            throw Refusal(.licenseKeyMalformed, "the license key has a typing error: its check symbol does not fit")
        }
        throw Self.notFound
    }

    /// Finds the license that a program named by its id or its order id, among those of one vendor and mode.
    ///
    /// - Parameters:
    ///   - product: The one product that is looked in; `nil`: all of the vendor's.
    /// - Throws: `Refusal`: `LICENSE_NOT_FOUND`, also for what is another's; `AMBIGUOUS` where several products have such
    ///   an order; `StorageError`.
    public func find<DB: Queries & ~Copyable>(
        idOrOrder text: String,
        of vendor: Vendor.ID,
        product: Product?,
        mode: Mode,
        in db: borrowing DB
    ) throws -> License {
        if let id = License.ID(text) {
            guard let license = try LicenseStore.find(id, of: vendor, mode: mode, in: db),
                product.map({ $0.id == license.product }) ?? true
            else { throw Self.notFound }
            return license
        }
        let found = try LicenseStore.find(orderID: text, of: vendor, product: product?.id, mode: mode, in: db)
        guard found.count <= 1 else {
            throw Refusal(.ambiguous, "several products have this order: say which with product", member: "product")
        }
        guard let license = found.first else { throw Self.notFound }
        return license
    }

    static let notFound = Refusal(.licenseNotFound, "there is no such license")
}
