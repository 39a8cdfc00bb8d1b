/// Every product in both modes, each a model of its own. What they share of one product or one vendor is said here; they
/// share nothing else.
struct World {
    let setup: Setup
    let realms: [Realm]
    private(set) var now: Int64
    private var models: [Model]

    init(_ setup: Setup) {
        self.setup = setup
        realms = setup.realms
        now = setup.start
        models = realms.map { Model(setup.products[$0.product], isTest: $0.isTest, at: setup.start) }
    }

    private func place(_ realm: Realm) -> Int { 2 * realm.product + (realm.isTest ? 1 : 0) }

    /// Does one step; what the caller hears of it.
    mutating func perform(_ step: Step) -> Told {
        let (own, twin) = (place(step.realm), place(step.realm.twin))
        // Licenses of both modes follow a plan and its product.
        let losers = [own, twin].reduce(0) { sum, place in
            switch step.operation {
            case .editPlan(let plan, let edit, affectsExisting: false): sum + models[place].losers(by: edit, of: plan)
            case .set(let edit, revives: false): sum + models[place].losers(by: edit)
            default: sum
            }
        }
        if losers > 0 {
            var told = Told("AFFECTS_EXISTING")
            told.affected = losers
            return told
        }
        var told = models[own].perform(step.operation)
        told.paper?.realm = step.realm
        switch step.operation {
        case .editPlan, .set: _ = models[twin].perform(step.operation)
        case .issue(_, _, _, _, let customer?, _) where models[own].customers.contains(customer):
            // A vendor's customers are those of all its products; what they bought is not.
            let vendor = setup.products[step.realm.product].vendor
            for realm in realms where setup.products[realm.product].vendor == vendor {
                models[place(realm)].customers.insert(customer)
            }
        default: break
        }
        models[twin].ledger = models[own].ledger
        now = models[own].now
        for place in models.indices { models[place].now = now }
        return told
    }

    /// The bundle of an install.
    mutating func paper(_ install: Int, in realm: Realm) -> Paper {
        var paper = models[place(realm)].paper(install)
        paper.realm = realm
        return paper
    }
}
