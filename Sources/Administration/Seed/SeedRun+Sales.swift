internal import AppStore
internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

// What a product is sold by.
extension SeedRun {
    func write(
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
        try at(prepared.seed.pointer) { try catalog.create(draft, by: actor, in: db) }
        outcome.note(.created, shown)
        outcome.secrets.append(draft.issued)
    }

    func write(
        _ prepared: PreparedLicense,
        at place: Int,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        let issued = try at(prepared.seed.pointer) {
            try service.issue(prepared.draft, of: product, by: actor, in: db)
        }
        // Somebody issued the order since it was looked up, and may have been told its key: the next run finds it.
        guard let key = issued.key, !issued.isRepeated else { throw Self.changedMeanwhile }
        let order = prepared.seed.order?.orderID
        outcome.note(.created, "license \(name) \(order ?? issued.license.id.text)")
        outcome.licenses[place] = (order, issued.license.id, key.text, true)
        outcome.written += 1
    }

    func write(
        _ seed: SeedOffer,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let id = seed.id else { return }
        let done = try at(seed.pointer) { try offers.apply(seed.changes, to: id, of: product, by: actor, in: db) }
        outcome.note(done, "offer \(name) \(id)")
    }

    func write(
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

    func write(
        _ seed: SeedConnection,
        _ id: StoreConnectionID,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let environment = seed.environment, let bundleID = seed.bundleID else { return }
        // The service would name the features alone, of which a connection has several lists.
        for (index, mapping) in seed.changes.mappings.enumerated() {
            let place = seed.pointer.appending("products").appending(index)
            try requireFeatures(mapping.features ?? [], at: place, of: product, in: db)
        }
        if case .set(let rule)? = seed.changes.grandfather {
            let place = seed.pointer.appending("grandfather")
            try requireFeatures(rule.features, at: place, of: product, in: db)
        }
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

    private func requireFeatures(
        _ codes: [FeatureCode],
        at pointer: JSONPointer,
        of product: Product,
        in db: borrowing WriteTransaction
    ) throws {
        try at(pointer) {
            for code in codes where try FeatureStore.find(code, of: product.id, in: db) == nil {
                throw Refusal(.featureNotFound, "the product has no feature \(code)", member: "features")
            }
        }
    }
}
