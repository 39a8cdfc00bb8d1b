internal import AppStore
public import Licensing
public import Storage

/// How an administrator names whom a gift is for, with every id and key digested already.
public enum GiftRecipient: Hashable, Sendable {
    /// An install, by the keyed digest of its id.
    case install(Digest256)
    /// The installs of a license.
    case license(License.ID)
    /// The installs of a customer, by e-mail address.
    case customer(EmailAddress)
}

/// Gives features for nothing, takes them back, and tells what installs have by gifts and spend tiers.
public struct GiftService: Sendable {
    private let audit: AuditTrail

    /// - Parameter keys: What the audit log is chained with.
    public init(keys: DataKeys) { audit = AuditTrail(keys: keys) }

    // MARK: - For apps

    /// The live grants of an install by gifts, and by the tiers that its spend reached.
    ///
    /// - Parameters:
    ///   - seats: Those that the install holds, of licenses in force or not.
    ///   - settings: The product's.
    /// - Throws: `StorageError`.
    static func grants<DB: Queries & ~Copyable>(
        of install: Install,
        holding seats: [HeldSeat],
        under settings: ProductSettings,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [Grant] {
        let gifts = try GiftStore.candidates(for: install.id, in: db).flatMap {
            $0.grants(for: install, holding: seats, under: settings, at: now)
        }
        return try gifts + tierGrants(of: install, under: settings, at: now, in: db)
    }

    private static func tierGrants<DB: Queries & ~Copyable>(
        of install: Install,
        under settings: ProductSettings,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [Grant] {
        // Nothing is spent in test mode.
        guard install.mode == .live else { return [] }
        let tiers = try SpendTierStore.all(of: install.product, in: db)
        var grants: [Grant] = []
        for (currency, tiers) in Dictionary(grouping: tiers, by: \.currency) {
            let spend = try StoreRights.spend(of: install, in: currency, at: now, in: db)
            for tier in tiers {
                grants += tier.grants(
                    reachedAt: spend.reached(tier.thresholdMilliunits),
                    under: settings,
                    at: now
                )
            }
        }
        return grants
    }

    // MARK: - For administrators

    /// Whom a recipient's name means, and the mode of a gift for it.
    ///
    /// - Parameter mode: What was asked for; `nil`: the license's, or live.
    /// - Throws: `Refusal` (`INSTALL_NOT_FOUND`, `LICENSE_NOT_FOUND`, `CUSTOMER_NOT_FOUND`; `VALIDATION` for a license of
    ///   the other mode), `StorageError`.
    public static func target<DB: Queries & ~Copyable>(
        of recipient: GiftRecipient,
        of product: Product,
        mode: Mode?,
        in db: borrowing DB
    ) throws -> (target: GiftTarget, mode: Mode) {
        let asked = mode ?? .live
        switch recipient {
        case .install(let digest):
            guard let install = try InstallStore.find(digest, of: product.id, mode: asked, in: db) else {
                throw Refusal(
                    .installNotFound,
                    "no such install was ever in contact in \(asked) mode",
                    member: "install_id"
                )
            }
            return (.install(install.id), asked)
        case .license(let id):
            guard let license = try LicenseStore.find(id, in: db), license.product == product.id else {
                throw Refusal(.licenseNotFound, "the product has no such license", member: "license")
            }
            guard mode.map({ $0 == license.mode }) ?? true else {
                throw Refusal(.validation, "the license is one of \(license.mode) mode", member: "mode")
            }
            return (.license(id), license.mode)
        case .customer(let email):
            guard let customer = try CustomerStore.find(email: email.text, of: product.vendor, in: db) else {
                throw Refusal(.customerNotFound, "there is no such customer", member: "customer_email")
            }
            return (.customer(customer.id), asked)
        }
    }

    /// Gives features from now on.
    ///
    /// - Parameters:
    ///   - id: Names the gift.
    ///   - end: When it ends, exclusive; `nil`: never.
    ///   - reason: For the audit log.
    /// - Throws: As `target(of:of:mode:in:)`; `Refusal` (`FEATURE_NOT_FOUND`, `VALIDATION` for no features or an end that
    ///   is over), `StorageError`.
    public func create(
        _ id: GiftID,
        of features: [FeatureCode],
        to recipient: GiftRecipient,
        mode: Mode?,
        until end: Timestamp?,
        of product: Product,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Gift {
        guard !features.isEmpty else {
            throw Refusal(.validation, "must name at least one feature", member: "features")
        }
        guard end.map({ actor.now < $0 }) ?? true else {
            throw Refusal(.validation, "must be in the future", member: "until")
        }
        for code in features where try FeatureStore.find(code, of: product.id, in: db) == nil {
            throw Refusal(.featureNotFound, "the product has no feature \(code)", member: "features")
        }
        let (target, mode) = try Self.target(of: recipient, of: product, mode: mode, in: db)
        let gift = Gift(
            id: id,
            product: product.id,
            mode: mode,
            target: target,
            features: Set(features).sorted(),
            starts: actor.now,
            ends: end
        )
        try GiftStore.insert(gift, in: db)
        try record("gift.create", gift, of: product, before: nil, because: reason, by: actor, in: db)
        return gift
    }

    /// Takes a gift back; one that was taken back before stays as it is.
    ///
    /// - Throws: `Refusal` (`GIFT_NOT_FOUND`), `StorageError`.
    public func end(
        _ id: GiftID,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (gift: Gift, outcome: CatalogService.Outcome) {
        let gift = try Self.gift(id, in: db)
        guard let withdrawn = gift.withdrawn(at: actor.now) else { return (gift, .unchanged) }
        guard let product = try ProductStore.find(gift.product, in: db) else {
            throw StorageError(.corrupt, "a gift is of a product that is not there")
        }
        try GiftStore.withdraw(withdrawn, in: db)
        try record("gift.end", withdrawn, of: product, before: gift, because: reason, by: actor, in: db)
        return (withdrawn, .changed)
    }

    /// A gift.
    ///
    /// - Throws: `Refusal` (`GIFT_NOT_FOUND`), `StorageError`.
    public static func gift<DB: Queries & ~Copyable>(_ id: GiftID, in db: borrowing DB) throws -> Gift {
        guard let gift = try GiftStore.find(id, in: db) else {
            throw Refusal(.giftNotFound, "there is no gift \(id)", member: "gift")
        }
        return gift
    }

    /// Gifts of a product in the order of their ids, which is that of their making to the second, those after `cursor` (exclusive), at most `limit`.
    ///
    /// - Parameters:
    ///   - recipient: Those for it alone; `nil`: all.
    ///   - mode: Those of it alone; `nil`: both, for an install live.
    /// - Throws: As `target(of:of:mode:in:)`, `StorageError`.
    public static func list<DB: Queries & ~Copyable>(
        of product: Product,
        to recipient: GiftRecipient?,
        mode: Mode?,
        after cursor: String?,
        limit: Int,
        in db: borrowing DB
    ) throws -> [Gift] {
        let target = try recipient.map { try Self.target(of: $0, of: product, mode: mode, in: db).target }
        let filter = GiftStore.Filter(mode: mode, target: target)
        return try GiftStore.list(of: product.id, filter, after: cursor, limit: limit, in: db)
    }

    private func record(
        _ action: String,
        _ gift: Gift,
        of product: Product,
        before: Gift?,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: gift.id.text,
                reason: reason,
                before: before?.jsonText,
                after: gift.jsonText
            ),
            by: actor,
            in: db
        )
    }
}
