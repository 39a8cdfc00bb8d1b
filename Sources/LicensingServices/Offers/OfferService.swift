public import Licensing
public import Storage
internal import StrictJSON

/// Makes, edits and removes the offers of products, each with its row in the audit log.
public struct OfferService: Sendable {
    private let audit: AuditTrail
    private let entropy: any Entropy

    /// - Parameters:
    ///   - keys: What the audit log is chained with.
    ///   - entropy: Where names of offers come from that were given none.
    public init(keys: DataKeys, entropy: any Entropy) {
        audit = AuditTrail(keys: keys)
        self.entropy = entropy
    }

    /// A name for an offer that was given none.
    ///
    /// - Throws: What the source of entropy throws.
    public func freshName(at now: Timestamp) throws -> OfferName {
        let id: OfferID = try Identifier(at: now, entropy: entropy)
        return try OfferName(id.text.lowercased())
    }

    /// Writes a new offer.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`, `PLAN_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func create(
        _ offer: Offer,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        guard try OfferStore.find(offer.id, of: product.id, in: db) == nil else {
            throw Refusal(.alreadyExists, "the product has an offer \(offer.id) already", member: "id")
        }
        guard try OfferStore.count(of: product.id, in: db) < Offer.mostInProduct else {
            throw Refusal(.validation, "a product has at most \(Offer.mostInProduct) offers", member: "id")
        }
        try write(offer, replacing: nil, "offer.create", of: product, by: actor, in: db)
    }

    /// Writes an offer in the place of the one of its name.
    ///
    /// - Returns: Whether it differs from what was there; if not, nothing is written.
    /// - Throws: `Refusal` (`OFFER_NOT_FOUND`, `PLAN_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func edit(
        _ offer: Offer,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        let before = try Self.offer(offer.id, of: product, in: db)
        guard before != offer else { return false }
        try write(offer, replacing: before, "offer.edit", of: product, by: actor, in: db)
        return true
    }

    /// Makes an offer be as described: new where there is none of this name.
    ///
    /// - Parameter changes: With a kind, where the offer may be new.
    /// - Throws: `Refusal` (`PLAN_NOT_FOUND`, `VALIDATION`), `StorageError`.
    public func apply(
        _ changes: OfferChanges,
        to id: OfferName,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> CatalogService.Outcome {
        if let known = try OfferStore.find(id, of: product.id, in: db) {
            return try edit(changes.applied(to: known), of: product, by: actor, in: db) ? .changed : .unchanged
        }
        guard let kind = changes.kind else { throw Refusal(.validation, "is required", member: "kind") }
        try create(changes.applied(to: Offer(id: id, kind: kind)), of: product, by: actor, in: db)
        return .created
    }

    /// Removes an offer: clients are not told of it any more.
    ///
    /// - Throws: `Refusal` (`OFFER_NOT_FOUND`), `StorageError`.
    public func delete(
        _ id: OfferName,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        let offer = try Self.offer(id, of: product, in: db)
        _ = try OfferStore.remove(id, of: product.id, in: db)
        try record("offer.delete", id, of: product, before: offer, after: nil, by: actor, in: db)
    }

    /// An offer of a product.
    ///
    /// - Throws: `Refusal` (`OFFER_NOT_FOUND`), `StorageError`.
    public static func offer<DB: Queries & ~Copyable>(
        _ id: OfferName,
        of product: Product,
        in db: borrowing DB
    ) throws -> Offer {
        guard let offer = try OfferStore.find(id, of: product.id, in: db) else {
            throw Refusal(.offerNotFound, "the product has no offer \(id)", member: "id")
        }
        return offer
    }

    /// All offers of a product in the order of their names, those included that have ended.
    ///
    /// - Throws: `StorageError`.
    public static func all<DB: Queries & ~Copyable>(of product: Product, in db: borrowing DB) throws -> [Offer] {
        try OfferStore.all(of: product.id, in: db)
    }

    private func write(
        _ offer: Offer,
        replacing before: Offer?,
        _ action: String,
        of product: Product,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        do throws(OfferFault) {
            _ = try offer.checked()
        } catch {
            throw Refusal(.validation, error.reason, member: error.member)
        }
        if let plan = offer.plan, try PlanStore.find(plan, of: product.id, in: db) == nil {
            throw Refusal(.planNotFound, "the product has no plan \(plan)", member: "plan")
        }
        let others = try OfferStore.all(of: product.id, in: db).filter { $0.id != offer.id }
        guard others.reduce(offer.byteCount, { $0 + $1.byteCount }) <= Offer.mostBytesInProduct else {
            throw Refusal(
                .validation,
                "the product's offers are too long together: they may have \(Offer.mostBytesInProduct) bytes",
                member: "url"
            )
        }
        try OfferStore.write(offer, of: product.id, at: actor.now, in: db)
        try record(action, offer.id, of: product, before: before, after: offer, by: actor, in: db)
    }

    private func record(
        _ action: String,
        _ id: OfferName,
        of product: Product,
        before: Offer?,
        after: Offer?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: action,
                target: "\(product.id)/\(id)",
                before: before?.jsonText,
                after: after?.jsonText
            ),
            by: actor,
            in: db
        )
    }
}

extension Offer {
    /// As the audit log keeps it.
    var jsonText: String {
        var writer = JSONWriter(capacity: 256)
        write(to: &writer)
        return String(decoding: writer.finish(), as: UTF8.self)
    }
}
