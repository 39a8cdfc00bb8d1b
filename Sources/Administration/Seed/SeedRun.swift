internal import AppStore
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// Makes a database be as a document says: everything that needs cryptography first, then all of it in one transaction.
struct SeedRun {
    /// What was done, in the order of the document.
    struct Outcome {
        var created: [String] = []
        var changed: [String] = []
        var unchanged = 0
        var secrets: [IssuedCredential] = []
        /// With the keys that this run made or imported. Secrets.
        var licenses: [(orderID: String?, id: License.ID, key: String?)] = []
        var connections: [StoreConnection] = []

        mutating func note(_ outcome: CatalogService.Outcome, _ name: String) {
            switch outcome {
            case .created: created.append(name)
            case .changed: changed.append(name)
            case .unchanged: unchanged += 1
            }
        }
    }

    struct PreparedVendor {
        let seed: SeedVendor
        let slug: Slug
        let id: Vendor.ID
        /// `nil`: it is there.
        let draft: VendorDraft?
        let products: [PreparedProduct]
        let credentials: [PreparedCredential]
    }

    struct PreparedProduct {
        let seed: SeedProduct
        let slug: Slug
        /// As it will be, but for its trial plan.
        let product: Product
        let isNew: Bool
        let credentials: [PreparedCredential]
        let licenses: [(seed: SeedLicense, draft: LicenseDraft)]
        /// Each with the name it gets, should it be new.
        let connections: [(seed: SeedConnection, id: StoreConnectionID)]
    }

    struct PreparedCredential {
        let seed: SeedCredential
        /// `nil`: it is there.
        let draft: CredentialService.Draft?
    }

    let affectsExisting: Bool
    let actor: Actor
    let catalog: CatalogService
    let service: LicenseService
    let offers: OfferService
    let stores: StoreConnectionService
    let tiers: SpendTierService
    let entropy: any Entropy
    private var vendors: [PreparedVendor] = []

    /// Reads what is there, and makes everything ready that is not.
    ///
    /// - Throws: `CommandFailure` that names the place in the document; `StorageError`, `CryptographyError`.
    init(_ document: SeedDocument, _ work: borrowing Workspace) throws {
        affectsExisting = document.affectsExisting
        actor = work.actor
        catalog = work.catalog
        service = LicenseService(keys: work.keys, entropy: work.entropy)
        offers = work.offers
        stores = StoreConnectionService(keys: work.keys)
        tiers = SpendTierService(keys: work.keys)
        entropy = work.entropy
        for seed in document.vendors {
            guard let slug = seed.slug else { continue }
            let known = try work.read { db in try VendorStore.find(slug: slug, in: db) }
            vendors.append(try prepare(seed, slug, known, work))
        }
    }

    /// Writes everything.
    ///
    /// - Throws: `CommandFailure` that names the place in the document, `StorageError`; then nothing may be kept.
    func write(in db: borrowing WriteTransaction) throws -> Outcome {
        var outcome = Outcome()
        for vendor in vendors { try write(vendor, &outcome, in: db) }
        return outcome
    }

    private func write(
        _ prepared: PreparedVendor,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        let name = "vendor \(prepared.slug)"
        let known = try VendorStore.find(slug: prepared.slug, in: db)
        guard (known?.id ?? prepared.id) == prepared.id, (known == nil) == (prepared.draft != nil) else {
            throw Self.changedMeanwhile
        }
        try at(prepared.seed.pointer) {
            if let draft = prepared.draft {
                try catalog.create(draft, by: actor, in: db)
                outcome.note(.created, name)
            } else if let known {
                outcome.note(try catalog.edit(known, by: prepared.seed.changes, actor: actor, in: db).outcome, name)
            }
        }
        for credential in prepared.credentials { try write(credential, prepared.slug.text, &outcome, in: db) }
        for product in prepared.products { try write(product, of: prepared, &outcome, in: db) }
    }

    private func write(
        _ prepared: PreparedProduct,
        of vendor: PreparedVendor,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        let seed = prepared.seed
        let name = "\(vendor.slug)/\(prepared.slug)"
        let known = try ProductStore.find(slug: prepared.slug, of: vendor.id, in: db)
        guard (known?.id ?? prepared.product.id) == prepared.product.id, (known == nil) == prepared.isNew else {
            throw Self.changedMeanwhile
        }
        if known == nil {
            try at(seed.pointer) { try catalog.create(prepared.product, by: actor, in: db) }
        }
        var product = known ?? prepared.product
        for feature in seed.features { try write(feature, of: product, name, &outcome, in: db) }
        // Before the plans, which raise their limits.
        for meter in seed.meters { try write(meter, of: product, name, &outcome, in: db) }
        for plan in seed.plans { try write(plan, of: product, name, &outcome, in: db) }
        // After the plans, one of which may be its trial's.
        let edited = try at(seed.pointer, settings: seed.changes.settings) {
            try catalog.edit(product, by: seed.changes, actor: actor, in: db)
        }
        product = edited.product
        outcome.note(prepared.isNew ? .created : edited.outcome, "product \(name)")
        for tier in seed.spendTiers { try write(tier, of: product, name, &outcome, in: db) }
        for credential in prepared.credentials { try write(credential, name, &outcome, in: db) }
        for offer in seed.offers { try write(offer, of: product, name, &outcome, in: db) }
        for (connection, id) in prepared.connections {
            try write(connection, id, of: product, name, &outcome, in: db)
        }
        for (license, draft) in prepared.licenses {
            try write(license, draft, of: product, name, &outcome, in: db)
        }
    }

    // MARK: Places

    static let changedMeanwhile = CommandFailure(
        code: "DATABASE_BUSY",
        "somebody else changed the catalog meanwhile: run it again"
    )

    /// Runs `body`; what it refuses is told with its place in the document.
    func at<Value>(
        _ pointer: JSONPointer,
        settings: [ProductSetting: String?] = [:],
        _ body: () throws -> Value
    ) throws -> Value {
        do {
            return try body()
        } catch let refusal as Refusal {
            var place = pointer
            if let member = refusal.member {
                let isSetting = ProductSetting(rawValue: member).map { settings[$0] != nil } ?? false
                place = (isSetting ? pointer.appending("settings") : pointer).appending(member)
            }
            var failure = CommandFailure(refusal)
            failure = CommandFailure(
                code: failure.code,
                "\(place) \(refusal.message)",
                members: failure.members + [("pointer", CommandFailure.json(place.description))]
            )
            throw failure
        }
    }
}
