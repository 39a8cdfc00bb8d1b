internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

// Which transactions a document is written in.
extension SeedRun {
    /// How many licenses no earlier run made: those whose keys a repeat can tell, and those whose keys are shown once.
    private var newLicenses: (repeatable: Int, shownOnce: Int) {
        var count = (repeatable: 0, shownOnce: 0)
        for vendor in vendors {
            for product in vendor.products {
                for license in product.licenses where license.known == nil {
                    if license.isShownOnce { count.shownOnce += 1 } else { count.repeatable += 1 }
                }
            }
        }
        return count
    }

    /// Refuses so many licenses with keys that are shown once.
    ///
    /// - Throws: `CommandFailure` (`VALIDATION`).
    static func check(shownOnce count: Int) throws(CommandFailure) {
        guard count > mostShownOnce else { return }
        throw CommandFailure(
            code: "VALIDATION",
            "\(count) new licenses are of products with keep_license_keys=false: their keys are shown once, so all of them "
                + "are written in one transaction, and that is of at most \(mostShownOnce) licenses; split the document",
            members: [("pointer", CommandFailure.json("/vendors"))]
        )
    }

    /// Does all of it, in one transaction where no more than `portion` licenses have keys that a repeat can tell.
    ///
    /// Where it is more, all is tried and checked before anything is kept, so that a mistake leaves nothing behind; the
    /// licenses beyond the first portion follow, with a moment for a server between them, and a run that breaks off is
    /// gone on with by the next. What is shown once comes last.
    ///
    /// - Parameter progress: Told before each transaction but the first how many new licenses are written.
    /// - Throws: `CommandFailure` that names the place in the document, and says what was written before; `StorageError`.
    func apply(_ work: borrowing Workspace, progress: (_ written: Int, _ all: Int) -> Void = { _, _ in }) throws
        -> Outcome
    {
        let count = newLicenses
        try Self.check(shownOnce: count.shownOnce)
        guard count.repeatable > Self.portion else { return try work.write { db in try write(.everything, in: db) } }
        var (tried, plans) = try work.connection.write(isDryRun: true) { db in
            let tried = try write(.noLicense, in: db)
            return (
                tried,
                try Dictionary(grouping: tried.waiting, by: \.product.id).mapValues { waiting in
                    try allPlans(of: waiting[0].product, in: db)
                }
            )
        }
        for (license, _, product, name) in tried.waiting {
            try at(license.seed.pointer) {
                try service.check(license.draft, of: product, under: plans[product.id] ?? [:], at: actor.now)
            }
            guard work.isDryRun else { continue }
            tried.note(.created, "license \(name) \(license.seed.order?.orderID ?? license.draft.licenseID.text)")
        }
        plans = [:]
        if work.isDryRun { return tried }
        return try applyInPortions(work, all: count.repeatable + count.shownOnce, progress)
    }

    private func applyInPortions(
        _ work: borrowing Workspace,
        all count: Int,
        _ progress: (_ written: Int, _ all: Int) -> Void
    ) throws -> Outcome {
        var outcome = try work.write { db in try write(.firstPortion, in: db) }
        let waiting = outcome.waiting.filter { !$0.license.isShownOnce }
        let last = (licenses: outcome.waiting.filter(\.license.isShownOnce), credentials: outcome.waitingCredentials)
        let isAnythingLast = !last.licenses.isEmpty || !last.credentials.isEmpty
        do {
            for start in stride(from: 0, to: waiting.count, by: Self.portion) {
                progress(outcome.written, count)
                outcome = try work.write { db in
                    var outcome = outcome
                    for (license, place, product, name) in waiting[start..<min(start + Self.portion, waiting.count)] {
                        try write(license, at: place, of: product, name, &outcome, in: db)
                    }
                    return outcome
                }
            }
            guard isAnythingLast else { return outcome }
            progress(outcome.written, count)
            return try work.write { db in
                var outcome = outcome
                for (credential, owner) in last.credentials { try write(credential, owner, &outcome, in: db) }
                for (license, place, product, name) in last.licenses {
                    try write(license, at: place, of: product, name, &outcome, in: db)
                }
                return outcome
            }
        } catch {
            let isKnown = (error as? StorageError)?.category != .unknownOutcome
            let rest = isKnown && isAnythingLast ? ", none of what is shown once" : ""
            throw CommandFailure(error).after(
                outcome.written,
                "the catalog and \(outcome.written) of \(count) new licenses were written before\(rest)"
            )
        }
    }

    private func allPlans<DB: Queries & ~Copyable>(
        of product: Product,
        in db: borrowing DB
    ) throws -> [PlanCode: Plan] {
        let plans = try CatalogFinder.plans(of: product, after: nil, limit: .max, in: db)
        return Dictionary(plans.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
