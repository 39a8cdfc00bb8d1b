internal import AppStore
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// Makes a database be as a document says: everything that needs cryptography or a look-up first, then all of it in one
/// transaction, but for licenses beyond so many: those follow in transactions of their own.
///
/// What is shown once (a new credential, a key that is made for a product which keeps none) is all written by the last
/// transaction, after which nothing is left to do but to print it: a run that breaks off, whatever ends it, has written no
/// secret that nobody was shown.
struct SeedRun {
    /// The most new licenses that one transaction writes where a repeat can tell their keys: few, so that a server beside
    /// it hardly waits.
    static let portion = 2000
    /// The most licenses of a document whose keys are shown once: they share a transaction, of no more rows than that of an
    /// import.
    static let mostShownOnce = 50_000

    /// What was done, in the order of the document.
    struct Outcome {
        var created: [String] = []
        var changed: [String] = []
        var unchanged = 0
        var secrets: [IssuedCredential] = []
        /// With their keys, as far as they can be told, in the order of the document. Secrets.
        var licenses: [(orderID: String?, id: License.ID, key: String?, isNew: Bool)] = []
        /// Those that are still to be written, with their places in `licenses`.
        var waiting: [(license: PreparedLicense, place: Int, product: Product, name: String)] = []
        /// Those that are still to be written, with the name of whose they are.
        var waitingCredentials: [(credential: PreparedCredential, owner: String)] = []
        /// Whether a key is among these licenses' that is shown once.
        var showsKeysOnce = false
        /// New licenses that were written.
        var written = 0
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
        let licenses: [PreparedLicense]
        /// Each with the name it gets, should it be new.
        let connections: [(seed: SeedConnection, id: StoreConnectionID)]
    }

    struct PreparedLicense {
        let seed: SeedLicense
        let draft: LicenseDraft
        /// The license that an earlier run made of it, and its key where that is kept. A secret.
        let known: (id: License.ID, key: String?)?

        /// Whether it is to be made, with a key that only this run can tell.
        var isShownOnce: Bool { known == nil && draft.isShownOnce }
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
    private(set) var vendors: [PreparedVendor] = []

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

    // MARK: Writing

    /// What a transaction writes besides the catalog; the rest is left waiting.
    struct Share {
        /// At most so many new licenses.
        let licenses: Int
        /// Whether what is shown once may be among it.
        let shownOnce: Bool

        static let everything = Share(licenses: .max, shownOnce: true)
        static let noLicense = Share(licenses: 0, shownOnce: true)
        static let firstPortion = Share(licenses: SeedRun.portion, shownOnce: false)
    }

    func write(_ share: Share, in db: borrowing WriteTransaction) throws -> Outcome {
        var outcome = Outcome()
        for vendor in vendors { try write(vendor, &outcome, share, in: db) }
        return outcome
    }

    private func write(
        _ prepared: PreparedVendor,
        _ outcome: inout Outcome,
        _ share: Share,
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
        try write(prepared.credentials, prepared.slug.text, &outcome, share, in: db)
        for product in prepared.products { try write(product, of: prepared, &outcome, share, in: db) }
    }

    private func write(
        _ credentials: [PreparedCredential],
        _ owner: String,
        _ outcome: inout Outcome,
        _ share: Share,
        in db: borrowing WriteTransaction
    ) throws {
        for credential in credentials {
            if share.shownOnce || credential.draft == nil {
                try write(credential, owner, &outcome, in: db)
            } else {
                outcome.waitingCredentials.append((credential, owner))
            }
        }
    }

    private func write(
        _ prepared: PreparedProduct,
        of vendor: PreparedVendor,
        _ outcome: inout Outcome,
        _ share: Share,
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
            try catalog.edit(
                product,
                by: seed.changes,
                affectsExisting: affectsExisting,
                actor: actor,
                in: db
            )
        }
        product = edited.product
        outcome.note(prepared.isNew ? .created : edited.outcome, "product \(name)")
        for tier in seed.spendTiers { try write(tier, of: product, name, &outcome, in: db) }
        try write(prepared.credentials, name, &outcome, share, in: db)
        for offer in seed.offers { try write(offer, of: product, name, &outcome, in: db) }
        for (connection, id) in prepared.connections {
            try write(connection, id, of: product, name, &outcome, in: db)
        }
        for license in prepared.licenses {
            let place = outcome.licenses.count
            let id = license.known?.id ?? license.draft.licenseID
            outcome.licenses.append((license.seed.order?.orderID, id, license.known?.key, license.known == nil))
            if license.isShownOnce { outcome.showsKeysOnce = true }
            if license.known != nil {
                outcome.note(.unchanged, name)
            } else if outcome.written < share.licenses, share.shownOnce || !license.isShownOnce {
                try write(license, at: place, of: product, name, &outcome, in: db)
            } else {
                outcome.waiting.append((license, place, product, name))
            }
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
