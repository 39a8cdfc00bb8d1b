internal import Cryptography
public import Licensing

/// A license key made ready before the transaction that writes it: digested, and sealed where the product keeps keys.
public struct LicenseKeyDraft: Sendable {
    /// The key. A secret.
    public let key: LicenseKey
    let digest: Digest256
    let sealed: [UInt8]?
}

/// A license made ready before the transaction that writes it: no cryptography happens while the write lock is held.
public struct LicenseDraft: Sendable {
    /// What was ordered.
    public let order: LicenseOrder
    /// Its key.
    public let key: LicenseKeyDraft
    /// The license's name, should it be written.
    public var licenseID: License.ID { id }
    var id: License.ID
    var customer: Customer.ID
    let orderDigest: Digest256?

    /// Whether nobody can ever tell its key but who has it ready here: it is made, not imported, and the product keeps none.
    public var isShownOnce: Bool { order.importedKey == nil && key.sealed == nil }
}

/// Makes keys and licenses ready.
struct LicenseDrafter: Sendable {
    let keys: DataKeys
    let entropy: any Entropy

    /// A fresh key for a product.
    func key(for product: Product, mode: Mode) throws -> LicenseKeyDraft {
        let key = try LicenseKey.make(prefix: product.keyPrefix, mode: mode, entropy: entropy)
        return try draft(of: key, for: product)
    }

    /// A key that was sold before, read as clients will type it.
    ///
    /// - Throws: `Refusal` for one that no client could ever use.
    func key(importing text: String, for product: Product) throws -> LicenseKeyDraft {
        do {
            return try draft(of: try LicenseKey(text, prefix: product.keyPrefix), for: product)
        } catch let fault as LicenseKey.Fault {
            switch fault {
            case .malformed:
                throw Refusal(
                    .licenseKeyMalformed,
                    "the key has the form of the product's own keys and a wrong check symbol: nobody could use it",
                    member: "key"
                )
            case .tooLong, .empty:
                throw Refusal(.validation, "must have 1 to \(LicenseKey.longest) letters or digits", member: "key")
            }
        }
    }

    func license(_ order: LicenseOrder, for product: Product, at now: Timestamp) throws -> LicenseDraft {
        LicenseDraft(
            order: order,
            key: try order.importedKey.map { try key(importing: $0, for: product) }
                ?? key(for: product, mode: order.mode),
            id: try Identifier(at: now, entropy: entropy),
            customer: try Identifier(at: now, entropy: entropy),
            orderDigest: order.orderID.map { _ in keys.orderDigest(order.parameters, product: product.id) }
        )
    }

    private func draft(of key: LicenseKey, for product: Product) throws -> LicenseKeyDraft {
        let digest = keys.digest(of: key, product: product.id)
        let sealed =
            product.settings.keepLicenseKeys
            ? try keys.seal(Array(key.text.utf8), for: .licenseKey, row: digest.hexadecimal) : nil
        return LicenseKeyDraft(key: key, digest: digest, sealed: sealed)
    }
}
