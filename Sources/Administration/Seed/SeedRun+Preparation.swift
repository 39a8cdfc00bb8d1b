internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

// What needs cryptography or the database as it is, before the transaction.
extension SeedRun {
    func prepare(
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

    func prepare(
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
            licenses: try prepare(seed.licenses, of: product, isNew: known == nil, work),
            connections: try seed.connections.map { ($0, try Identifier(at: actor.now, entropy: work.entropy)) }
        )
    }

    func prepare(
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

    private func prepare(
        _ seeds: [SeedLicense],
        of product: Product,
        isNew: Bool,
        _ work: borrowing Workspace
    ) throws -> [PreparedLicense] {
        var imported: [String: JSONPointer] = [:]
        let drafts: [(seed: SeedLicense, draft: LicenseDraft)] = try seeds.compactMap { seed in
            guard let order = seed.order else { return nil }
            return try at(seed.pointer) {
                let draft = try service.draft(order, for: product, at: actor.now)
                if order.importedKey != nil, let first = imported.updateValue(seed.pointer, forKey: draft.key.key.text)
                {
                    throw Refusal(.validation, "is the same key as that of \(first)", member: "key")
                }
                return (seed, draft)
            }
        }
        guard !isNew else { return drafts.map { PreparedLicense(seed: $0.seed, draft: $0.draft, known: nil) } }
        // Here, where nobody waits, and not in the transaction: of a second run all are there.
        return try work.read { db in
            try drafts.map { seed, draft in
                let known = try at(seed.pointer) { try service.repeated(draft, of: product, in: db) }
                // Told here, so that nothing can fail between writing and telling.
                return PreparedLicense(
                    seed: seed,
                    draft: draft,
                    known: try known.map { (id: $0, key: try service.currentKey(of: $0, in: db)) }
                )
            }
        }
    }
}
