internal import AppStore
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

/// Makes a database be as a document says: everything that needs cryptography or a look-up first, then all of it in one
/// transaction, but for licenses beyond so many: those follow in transactions of their own.
struct SeedRun {
    /// The most new licenses that one transaction writes: few, so that a server beside it hardly waits.
    static let portion = 2000

    /// What was done, in the order of the document.
    struct Outcome {
        var created: [String] = []
        var changed: [String] = []
        var unchanged = 0
        var secrets: [IssuedCredential] = []
        /// With the keys that this run made or imported, in the order of the document. Secrets.
        var licenses: [(orderID: String?, id: License.ID, key: String?)] = []
        /// Those that are still to be written, with their places in `licenses`.
        var waiting: [(license: PreparedLicense, place: Int, product: Product, name: String)] = []
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
        /// The license that an earlier run made of it.
        let known: License.ID?
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

    /// How many licenses no earlier run made.
    var newLicenses: Int {
        vendors.reduce(0) { sum, vendor in
            vendor.products.reduce(sum) { $0 + $1.licenses.count { $0.known == nil } }
        }
    }

    /// Does all of it, in one transaction where it is no more than `portion` licenses.
    ///
    /// Where it is more, all is tried and checked before anything is kept, so that a mistake leaves nothing behind; the
    /// licenses beyond the first portion follow, with a moment for a server between them, and a run that breaks off is
    /// gone on with by the next.
    ///
    /// - Throws: `CommandFailure` that names the place in the document; `StorageError`.
    func apply(_ work: borrowing Workspace) throws -> Outcome {
        guard newLicenses > Self.portion else { return try work.write { db in try write(in: db, upTo: .max) } }
        var (tried, plans) = try work.connection.write(isDryRun: true) { db in
            let tried = try write(in: db, upTo: 0)
            return (
                tried,
                try Dictionary(grouping: tried.waiting, by: \.product.id).mapValues { waiting in
                    try allPlans(of: waiting[0].product, in: db)
                }
            )
        }
        for (license, place, product, name) in tried.waiting {
            try at(license.seed.pointer) {
                try service.check(license.draft, of: product, under: plans[product.id] ?? [:], at: actor.now)
            }
            guard work.isDryRun else { continue }
            tried.note(.created, "license \(name) \(license.seed.order?.orderID ?? license.draft.licenseID.text)")
            tried.licenses[place].key = license.draft.key.key.text
        }
        plans = [:]
        if work.isDryRun { return tried }
        var outcome = try work.write { db in try write(in: db, upTo: Self.portion) }
        let waiting = outcome.waiting
        for start in stride(from: 0, to: waiting.count, by: Self.portion) {
            outcome = try work.write { db in
                var outcome = outcome
                for (license, place, product, name) in waiting[start..<min(start + Self.portion, waiting.count)] {
                    try write(license, at: place, of: product, name, &outcome, in: db)
                }
                return outcome
            }
        }
        return outcome
    }

    private func allPlans<DB: Queries & ~Copyable>(
        of product: Product,
        in db: borrowing DB
    ) throws -> [PlanCode: Plan] {
        let plans = try CatalogFinder.plans(of: product, after: nil, limit: .max, in: db)
        return Dictionary(plans.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Writes everything but the new licenses beyond the first `most`, which are left waiting.
    private func write(in db: borrowing WriteTransaction, upTo most: Int) throws -> Outcome {
        var outcome = Outcome()
        for vendor in vendors { try write(vendor, &outcome, upTo: most, in: db) }
        return outcome
    }

    private func write(
        _ prepared: PreparedVendor,
        _ outcome: inout Outcome,
        upTo most: Int,
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
        for product in prepared.products { try write(product, of: prepared, &outcome, upTo: most, in: db) }
    }

    private func write(
        _ prepared: PreparedProduct,
        of vendor: PreparedVendor,
        _ outcome: inout Outcome,
        upTo most: Int,
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
        for license in prepared.licenses {
            let place = outcome.licenses.count
            outcome.licenses.append((license.seed.order?.orderID, license.known ?? license.draft.licenseID, nil))
            if license.known != nil {
                outcome.note(.unchanged, name)
            } else if outcome.written < most {
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
