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
        var licenses: [(orderID: String?, id: License.ID)] = []
        var connections: [StoreConnection] = []

        mutating func note(_ outcome: CatalogService.Outcome, _ name: String) {
            switch outcome {
            case .created: created.append(name)
            case .changed: changed.append(name)
            case .unchanged: unchanged += 1
            }
        }
    }

    private struct PreparedVendor {
        let seed: SeedVendor
        let slug: Slug
        let id: Vendor.ID
        /// `nil`: it is there.
        let draft: VendorDraft?
        let products: [PreparedProduct]
        let credentials: [PreparedCredential]
    }

    private struct PreparedProduct {
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

    private struct PreparedCredential {
        let seed: SeedCredential
        /// `nil`: it is there.
        let draft: CredentialService.Draft?
    }

    private let affectsExisting: Bool
    private let actor: Actor
    private let catalog: CatalogService
    private let service: LicenseService
    private let offers: OfferService
    private let stores: StoreConnectionService
    private let tiers: SpendTierService
    private let entropy: any Entropy
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

    // MARK: Making ready

    private func prepare(
        _ seed: SeedVendor,
        _ slug: Slug,
        _ known: Vendor?,
        _ work: borrowing Workspace
    ) throws -> PreparedVendor {
        let draft =
            try known == nil ? at(seed.pointer) { try catalog.draft(vendor: slug, seed.changes, at: actor.now) } : nil
        let id = known?.id ?? draft?.vendor.id ?? Vendor.ID(high: 0, low: 0)
        let credentials =
            try known.map { vendor in
                try work.read { db in
                    try CatalogFinder.credentials(of: vendor, product: nil, after: nil, limit: .max, in: db)
                }
            } ?? []
        return PreparedVendor(
            seed: seed,
            slug: slug,
            id: id,
            draft: draft,
            products: try seed.products.compactMap { product in
                try product.slug.map { try prepare(product, $0, of: id, credentials, work) }
            },
            credentials: try seed.credentials.map { try prepare($0, vendor: id, product: nil, credentials) }
        )
    }

    private func prepare(
        _ seed: SeedProduct,
        _ slug: Slug,
        of vendor: Vendor.ID,
        _ credentials: [CredentialRecord],
        _ work: borrowing Workspace
    ) throws -> PreparedProduct {
        // The trial plan may be one that this document makes: it is named once that is done.
        var changes = seed.changes
        changes.settings[.trialPlan] = nil
        let known = try work.read { db in try ProductStore.find(slug: slug, of: vendor, in: db) }
        let product = try at(seed.pointer) {
            try known?.edited(by: changes) ?? catalog.draft(product: slug, of: vendor, changes, at: actor.now)
        }
        return PreparedProduct(
            seed: seed,
            slug: slug,
            product: product,
            isNew: known == nil,
            credentials: try seed.credentials.map {
                try prepare($0, vendor: vendor, product: product.id, credentials)
            },
            licenses: try seed.licenses.compactMap { license in
                try license.order.map { order in
                    (license, try at(license.pointer) { try service.draft(order, for: product, at: actor.now) })
                }
            },
            connections: try seed.connections.map { ($0, try Identifier(at: actor.now, entropy: work.entropy)) }
        )
    }

    private func prepare(
        _ seed: SeedCredential,
        vendor: Vendor.ID,
        product: Product.ID?,
        _ known: [CredentialRecord]
    ) throws -> PreparedCredential {
        guard let kind = seed.kind, let name = seed.name,
            !known.contains(where: { seed.isMet(by: $0, of: product, at: actor.now) })
        else { return PreparedCredential(seed: seed, draft: nil) }
        let draft = try at(seed.pointer) {
            try catalog.draft(
                credential: kind,
                mode: seed.mode,
                vendor: vendor,
                product: product,
                name: name,
                at: actor.now
            )
        }
        return PreparedCredential(seed: seed, draft: draft)
    }

    // MARK: Writing

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
        var product: Product
        let known = try ProductStore.find(slug: prepared.slug, of: vendor.id, in: db)
        guard (known?.id ?? prepared.product.id) == prepared.product.id, (known == nil) == prepared.isNew else {
            throw Self.changedMeanwhile
        }
        if let known {
            product = known
        } else {
            try at(seed.pointer) { try catalog.create(prepared.product, by: actor, in: db) }
            product = prepared.product
        }
        for feature in seed.features { try write(feature, of: product, name, &outcome, in: db) }
        // Before the plans, which raise their limits.
        for meter in seed.meters {
            let done = try at(meter.pointer) {
                try meter.write(of: product, by: catalog, affectsExisting: affectsExisting, actor: actor, in: db)
            }
            outcome.note(done, "meter \(name) \(meter.identity ?? "")")
        }
        for plan in seed.plans { try write(plan, of: product, name, &outcome, in: db) }
        let edited = try at(seed.pointer, settings: seed.changes.settings) {
            try catalog.edit(product, by: seed.changes, actor: actor, in: db)
        }
        product = edited.product
        outcome.note(prepared.isNew ? .created : edited.outcome, "product \(name)")
        for tier in seed.spendTiers { try write(tier, of: product, name, &outcome, in: db) }
        for credential in prepared.credentials { try write(credential, name, &outcome, in: db) }
        for offer in seed.offers {
            guard let id = offer.id else { continue }
            try at(offer.pointer) {
                outcome.note(
                    try offers.apply(offer.changes, to: id, of: product, by: actor, in: db),
                    "offer \(name) \(id)"
                )
            }
        }
        for (connection, id) in prepared.connections {
            try write(connection, id, of: product, name, &outcome, in: db)
        }
        for license in prepared.licenses {
            let issued = try at(license.seed.pointer) {
                try service.issue(license.draft, of: product, by: actor, in: db)
            }
            let order = license.seed.order?.orderID
            outcome.note(
                issued.isRepeated ? .unchanged : .created,
                "license \(name) \(order ?? issued.license.id.text)"
            )
            outcome.licenses.append((order, issued.license.id))
        }
    }

    private func write(
        _ seed: SeedFeature,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let code = seed.code else { return }
        let shown = "feature \(name) \(code)"
        try at(seed.pointer) {
            guard try FeatureStore.find(code, of: product.id, in: db) != nil else {
                let feature = Feature(code: code, name: seed.name ?? code.text)
                try catalog.create(feature, of: product, by: actor, in: db)
                outcome.note(.created, shown)
                return
            }
            guard let newName = seed.name else {
                outcome.note(.unchanged, shown)
                return
            }
            outcome.note(try catalog.rename(code, to: newName, of: product, by: actor, in: db).outcome, shown)
        }
    }

    private func write(
        _ seed: SeedPlan,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let code = seed.code else { return }
        let shown = "plan \(name) \(code)"
        try at(seed.pointer) {
            guard let known = try PlanStore.find(code, of: product.id, in: db) else {
                let plan = try catalog.draft(plan: code, of: product.id, seed.changes, at: actor.now)
                try catalog.create(plan, of: product, by: actor, in: db)
                outcome.note(.created, shown)
                return
            }
            let edited = try catalog.edit(
                known,
                of: product,
                by: seed.changes,
                affectsExisting: affectsExisting,
                actor: actor,
                in: db
            )
            outcome.note(edited.outcome, shown)
        }
    }

    private func write(
        _ seed: SeedConnection,
        _ id: StoreConnectionID,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let environment = seed.environment, let bundleID = seed.bundleID else { return }
        let put = try at(seed.pointer) {
            try stores.put(
                id,
                environment,
                bundleID: bundleID,
                with: seed.changes,
                of: product,
                by: actor,
                in: db
            )
        }
        outcome.note(put.outcome, "connection \(name) \(environment.rawValue) \(bundleID)")
        outcome.connections.append(put.connection)
    }

    private func write(
        _ seed: SeedSpendTier,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let code = seed.code else { return }
        let id = try SpendTierID(at: actor.now, entropy: entropy)
        outcome.note(
            try at(seed.pointer) {
                try tiers.put(id, code, with: seed.changes, of: product, by: actor, in: db)
            },
            "spend tier \(name) \(code)"
        )
    }

    private func write(
        _ prepared: PreparedCredential,
        _ owner: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        let shown = "credential \(owner) \(prepared.seed.name ?? "")"
        guard let draft = prepared.draft else {
            outcome.note(.unchanged, shown)
            return
        }
        try catalog.create(draft, by: actor, in: db)
        outcome.note(.created, shown)
        outcome.secrets.append(draft.issued)
    }

    // MARK: Places

    private static let changedMeanwhile = CommandFailure(
        code: "DATABASE_BUSY",
        "somebody else changed the catalog meanwhile: run it again"
    )

    /// Runs `body`; what it refuses is told with its place in the document.
    private func at<Value>(
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
