internal import Licensing
internal import LicensingServices
internal import Storage

// What a product is made of.
extension SeedRun {
    func write(
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

    func write(
        _ seed: SeedMeter,
        of product: Product,
        _ name: String,
        _ outcome: inout Outcome,
        in db: borrowing WriteTransaction
    ) throws {
        guard let meter = seed.name else { return }
        let shown = "meter \(name) \(meter)"
        try at(seed.pointer) {
            guard let known = try MeterStore.find(meter, of: product.id, in: db) else {
                let draft = try catalog.draft(meter: meter, of: product.id, seed.changes, at: actor.now)
                try catalog.create(draft, of: product, by: actor, in: db)
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

    func write(
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
}
