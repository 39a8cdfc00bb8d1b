public import Licensing
public import Storage

extension CatalogService {
    /// Writes a new feature.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`, `VALIDATION` for one too many), `StorageError`.
    public func create(
        _ feature: Feature,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        guard try FeatureStore.find(feature.code, of: product.id, in: db) == nil else {
            throw Refusal(.alreadyExists, "the product has a feature \(feature.code) already", member: "code")
        }
        guard try FeatureStore.count(of: product.id, in: db) < Feature.mostInProduct else {
            throw Refusal(.validation, "a product has at most \(Feature.mostInProduct) features", member: "code")
        }
        let feature = Feature(code: feature.code, name: try Self.checkedName(feature.name))
        try FeatureStore.insert(feature, of: product.id, at: actor.now, in: db)
        try record(
            "feature.create",
            "\(product.id)/\(feature.code)",
            of: product.vendor,
            after: feature.jsonText,
            by: actor,
            in: db
        )
    }

    /// Gives a feature another name; its code is in bundles and stays.
    ///
    /// - Throws: `Refusal` (`FEATURE_NOT_FOUND`), `StorageError`.
    public func rename(
        _ code: FeatureCode,
        to name: String,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (feature: Feature, outcome: Outcome) {
        guard let before = try FeatureStore.find(code, of: product.id, in: db) else {
            throw Refusal(.featureNotFound, "the product has no feature \(code)", member: "code")
        }
        let feature = Feature(code: code, name: try Self.checkedName(name))
        guard feature != before else { return (before, .unchanged) }
        try FeatureStore.rename(feature, of: product.id, in: db)
        try record(
            "feature.edit",
            "\(product.id)/\(code)",
            of: product.vendor,
            before: before.jsonText,
            after: feature.jsonText,
            by: actor,
            in: db
        )
        return (feature, .changed)
    }
}
