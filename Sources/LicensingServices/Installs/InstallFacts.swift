internal import AppStore
internal import Bundles
public import Licensing
public import Storage

/// What is told about one install to an administrator. Its id and its machine's fingerprint are in none of it: they are
/// kept as keyed digests alone.
public struct InstallFacts: Sendable {
    /// A seat that it holds.
    public struct Seat: Sendable {
        /// The seat.
        public let activation: Activation
        /// Of which license.
        public let license: License
    }

    /// The install.
    public let install: Install
    /// `vendor/product`.
    public let productName: String
    /// The seats that it holds, whether their licenses are in force or not.
    public let seats: [Seat]
    /// The moment for which this holds.
    public let now: Timestamp
}

/// Everything that an install has, and why.
public struct InstallRights: Sendable {
    /// The install.
    public let facts: InstallFacts
    /// The settings of its product.
    public let settings: ProductSettings
    /// The trial that counts for it, where there is one.
    public let trial: Trial?
    /// What it presented from a store.
    public let purchases: [StoreConnectionService.PurchaseFacts]
    /// The gifts that are for it, or for a license or customer whose seat it holds; those included that are over.
    public let gifts: [Gift]
    /// The live grants, as its bundle lists them.
    public let grants: [Grant]
}

/// How an administrator names an install.
public enum InstallName: Hashable, Sendable {
    /// By the id of its row.
    case id(Install.ID)
    /// By the keyed digest of the id that its app sends.
    case digest(Digest256, Mode)
}

extension InstallDirectory {
    /// Installs of a product in the order of their ids, which is that of their first contact to the second.
    ///
    /// - Parameters:
    ///   - mode: Those of it alone; `nil`: both.
    ///   - cursor: The last id of the page before.
    ///   - limit: The most that are read.
    /// - Throws: `StorageError`.
    public static func list<DB: Queries & ~Copyable>(
        of product: Product,
        in vendor: Vendor,
        mode: Mode?,
        after cursor: Install.ID?,
        limit: Int,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [InstallFacts] {
        try InstallStore.list(of: product.id, mode: mode, after: cursor, limit: limit, in: db).map { install in
            try facts(of: install, "\(vendor.slug)/\(product.slug)", at: now, in: db)
        }
    }

    /// An install and everything that it has.
    ///
    /// - Parameter product: Where it is looked for; `nil`: in every product, which an id alone allows.
    /// - Throws: `Refusal` (`INSTALL_NOT_FOUND`), `StorageError`, `BundleService.NoSigningKey`.
    public static func rights<DB: Queries & ~Copyable>(
        of name: InstallName,
        product: Product?,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> InstallRights {
        let found: Install?
        var reason = "there is no such install"
        switch name {
        case .id(let id): found = try InstallStore.find(id, in: db)
        case .digest(let digest, let mode):
            found = try product.flatMap { try InstallStore.find(digest, of: $0.id, mode: mode, in: db) }
            reason = "no such install was ever in contact in \(mode) mode"
        }
        guard let install = found, product.map({ $0.id == install.product }) ?? true else {
            throw Refusal(.installNotFound, reason, member: "install")
        }
        guard let product = try ProductStore.find(install.product, in: db),
            let vendor = try VendorStore.find(product.vendor, in: db)
        else { throw StorageError(.corrupt, "an install has no product or vendor") }
        // What its bundle would say now.
        let state = try BundleService().state(
            of: install,
            subject: "",
            nonce: nil,
            for: Caller(vendor: vendor, product: product, mode: install.mode),
            at: now,
            in: db
        )
        let purchases = try PurchaseLinkStore.all(of: install.id, in: db).flatMap { link in
            try StoreConnectionService.purchases(named: link.originalTransactionID, in: db)
                .filter { $0.connection.id == link.connection }
        }
        return InstallRights(
            facts: try facts(of: install, "\(vendor.slug)/\(product.slug)", at: now, in: db),
            settings: product.settings,
            trial: state.trial.trial,
            purchases: purchases,
            gifts: try GiftStore.candidates(for: install.id, in: db),
            grants: Grant.listed(state.facts.grants, at: now)
        )
    }

    private static func facts<DB: Queries & ~Copyable>(
        of install: Install,
        _ productName: String,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> InstallFacts {
        let seats = try ActivationStore.unreleased(heldBy: install.id, in: db).compactMap { seat in
            try LicenseStore.find(seat.license, in: db).flatMap { license in
                seat.isHeld(at: now, leaseSeconds: license.plan.leaseSeconds)
                    ? InstallFacts.Seat(activation: seat, license: license) : nil
            }
        }
        return InstallFacts(install: install, productName: productName, seats: seats, now: now)
    }
}
