public import Licensing
public import Storage
internal import StrictJSON

/// What is said about a product; what is `nil` or not listed is left alone.
public struct ProductChanges: Equatable, Sendable {
    /// For people.
    public var name: String?
    /// What its new license keys begin with.
    public var keyPrefix: KeyPrefix?
    /// Settings by name; `nil` unsets one: its default counts then.
    public var settings: [ProductSetting: String?]

    /// Changes of these members.
    public init(name: String? = nil, keyPrefix: KeyPrefix? = nil, settings: [ProductSetting: String?] = [:]) {
        self.name = name
        self.keyPrefix = keyPrefix
        self.settings = settings
    }
}

extension CatalogService {
    /// A product that is not yet written.
    ///
    /// - Throws: `Refusal` for a name or a setting that is none, what the source of entropy throws.
    public func draft(
        product slug: Slug,
        of vendor: Vendor.ID,
        _ changes: ProductChanges,
        at now: Timestamp
    ) throws -> Product {
        let id: Product.ID = try Identifier(at: now, entropy: entropy)
        return try Product(id: id, vendor: vendor, slug: slug, name: slug.text).edited(by: changes)
    }

    /// Writes a new product; its trial plan is named by an edit, once there is one.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`, `PLAN_NOT_FOUND`), `StorageError`.
    public func create(_ product: Product, by actor: Actor, in db: borrowing WriteTransaction) throws {
        guard try ProductStore.find(slug: product.slug, of: product.vendor, in: db) == nil else {
            throw Refusal(.alreadyExists, "the vendor has a product \(product.slug) already", member: "slug")
        }
        try requireTrialPlan(of: product, in: db)
        try ProductStore.insert(product, at: actor.now, in: db)
        try record("product.create", product.id.text, of: product.vendor, after: product.jsonText, by: actor, in: db)
    }

    /// Edits a product; another `trial_duration` or `trial_start` reaches the trials that run in the same transaction.
    ///
    /// - Parameters:
    ///   - revivesTrials: Whether trials that are over get the length that `changes` names, too.
    ///   - affectsExisting: Whether it may take a right from licenses that there are.
    /// - Throws: `Refusal` (`VALIDATION`, `PLAN_NOT_FOUND` for a trial plan that is not there, and `AFFECTS_EXISTING` with
    ///   the number of licenses that would lose a right), `StorageError`.
    public func edit(
        _ product: Product,
        by changes: ProductChanges,
        revivesTrials: Bool = false,
        affectsExisting: Bool = false,
        actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (product: Product, outcome: Outcome) {
        let edited = try product.edited(by: changes)
        if edited.keyPrefix != product.keyPrefix, try LicenseStore.exist(of: product.id, in: db) {
            throw Refusal(
                .validation,
                "cannot change once licenses were issued: keys that were sold are read by their prefix",
                member: "key_prefix"
            )
        }
        let taken = affectsExisting ? [] : product.settings.rightsTaken(byBecoming: edited.settings)
        if let right = taken.first {
            let hit = try PlanStore.licenseCount(of: product.id, hitBy: taken, in: db)
            let whose = "the product \(product.slug)"
            if hit > 0 { throw Self.refusal(taken, hit, of: whose, member: right.text) }
        }
        if edited.settings.trialPlan != product.settings.trialPlan { try requireTrialPlan(of: edited, in: db) }
        if edited != product { try ProductStore.update(edited, in: db) }
        let movedTrials =
            edited.settings.movesTrials(of: product.settings) || revivesTrials
            ? try TrialService.applyLength(of: edited, isReviving: revivesTrials, at: actor.now, in: db) : 0
        guard edited != product || movedTrials > 0 else { return (product, .unchanged) }
        try record(
            "product.set",
            product.id.text,
            of: product.vendor,
            because: movedTrials > 0 ? "gave \(movedTrials) trials another end" : nil,
            before: product.jsonText,
            after: edited.jsonText,
            by: actor,
            in: db
        )
        return (edited, .changed)
    }

    private func requireTrialPlan(of product: Product, in db: borrowing WriteTransaction) throws {
        guard let code = product.settings.trialPlan, try PlanStore.find(code, of: product.id, in: db) == nil else {
            return
        }
        throw Refusal(.planNotFound, "the product has no plan \(code)", member: "trial_plan")
    }
}

extension Product {
    /// The product after an edit; that its trial plan is there is still to be seen.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) naming the member.
    public func edited(by changes: ProductChanges) throws(Refusal) -> Product {
        var edited = self
        if let name = changes.name { edited.name = try CatalogService.checkedName(name) }
        if let prefix = changes.keyPrefix { edited.keyPrefix = prefix }
        for setting in ProductSetting.allCases {
            guard let text = changes.settings[setting] else { continue }
            do throws(ValueFault) {
                try edited.settings.set(setting, to: text)
                if setting == .extra, let extra = edited.settings.extra {
                    edited.settings.extra = try Self.checkedExtra(extra)
                }
            } catch {
                throw Refusal(.validation, error.reason, member: setting.rawValue)
            }
        }
        return edited
    }

    private static func checkedExtra(_ text: String) throws(ValueFault) -> String {
        guard let object = ProductSettings.extra(text) else {
            throw ValueFault("must be one JSON object, at most 16 deep")
        }
        return object
    }
}

extension ProductSettings {
    /// The one JSON object, at most 16 deep, that `text` is: as it was written, without the blanks around it; `nil` where
    /// it is anything else. It stands in signed documents, whose other members it must not be able to write.
    static func extra(_ text: String) -> String? {
        guard let document = try? JSONDocument(parsing: Array(text.utf8), maximumDepth: 16),
            document.root.kind == .object
        else { return nil }
        return String(decoding: document.root.source, as: UTF8.self)
    }
}
