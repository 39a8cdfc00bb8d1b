public import Licensing
public import Storage

/// What is said about a vendor; what is `nil` is left alone.
public struct VendorChanges: Equatable, Sendable {
    /// For people.
    public var name: String?
    /// The issuer of its bundles; unset: `countersign:<slug>`.
    public var issuer: Change<String>?
    /// Validations a calendar month; unset: no limit.
    public var validationQuota: Change<Int64>?

    /// Changes of these members.
    public init(name: String? = nil, issuer: Change<String>? = nil, validationQuota: Change<Int64>? = nil) {
        self.name = name
        self.issuer = issuer
        self.validationQuota = validationQuota
    }
}

/// A vendor and its four signing keys, made ready before the transaction that writes them.
public struct VendorDraft: Sendable {
    /// The vendor.
    public let vendor: Vendor
    let signingKeys: [SigningKeyRecord]
}

extension CatalogService {
    /// Makes a vendor ready: one key that signs and the next, live and test.
    ///
    /// - Throws: `Refusal` for an issuer that is none, `CryptographyError`.
    public func draft(vendor slug: Slug, _ changes: VendorChanges, at now: Timestamp) throws -> VendorDraft {
        var vendor = Vendor(id: try Identifier(at: now, entropy: entropy), slug: slug, name: slug.text)
        try Self.apply(changes, to: &vendor)
        return VendorDraft(vendor: vendor, signingKeys: try signing.initialKeys(of: vendor.id, at: now))
    }

    /// Writes a vendor that was made ready.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`), `StorageError`.
    public func create(_ draft: VendorDraft, by actor: Actor, in db: borrowing WriteTransaction) throws {
        let vendor = draft.vendor
        guard try VendorStore.find(slug: vendor.slug, in: db) == nil else {
            throw Refusal(.alreadyExists, "there is a vendor \(vendor.slug) already", member: "slug")
        }
        try requireFree(vendor, in: db)
        try VendorStore.insert(vendor, at: actor.now, in: db)
        for key in draft.signingKeys { try SigningKeyStore.insert(key, in: db) }
        try record("vendor.create", vendor.id.text, of: vendor.id, after: vendor.jsonText, by: actor, in: db)
    }

    /// Edits a vendor.
    ///
    /// - Throws: `Refusal` (`VALIDATION` for an issuer that is none, `ALREADY_EXISTS` for another vendor's), `StorageError`.
    public func edit(
        _ vendor: Vendor,
        by changes: VendorChanges,
        actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> (vendor: Vendor, outcome: Outcome) {
        var edited = vendor
        try Self.apply(changes, to: &edited)
        guard edited != vendor else { return (vendor, .unchanged) }
        try requireFree(edited, in: db)
        try VendorStore.update(edited, in: db)
        try record(
            "vendor.edit",
            vendor.id.text,
            of: vendor.id,
            before: vendor.jsonText,
            after: edited.jsonText,
            by: actor,
            in: db
        )
        return (edited, .changed)
    }

    private static func apply(_ changes: VendorChanges, to vendor: inout Vendor) throws(Refusal) {
        if let name = changes.name { vendor.name = try checkedName(name) }
        switch changes.issuer {
        case nil: break
        case .unset?: vendor.configuredIssuer = nil
        case .set(let issuer)?:
            do {
                vendor.configuredIssuer = try CatalogLimits.checkedIssuer(issuer)
            } catch {
                throw Refusal(.validation, error.reason, member: "issuer")
            }
        }
        switch changes.validationQuota {
        case nil: break
        case .unset?: vendor.validationQuota = nil
        case .set(let quota)?:
            guard quota >= 0 else { throw Refusal(.validation, "must be 0 or more", member: "validation_quota") }
            vendor.validationQuota = quota
        }
    }

    static func checkedName(_ name: String) throws(Refusal) -> String {
        do {
            return try CatalogLimits.checkedName(name)
        } catch {
            throw Refusal(.validation, error.reason, member: "name")
        }
    }

    private func requireFree(_ vendor: Vendor, in db: borrowing WriteTransaction) throws {
        guard let other = try VendorStore.find(issuer: vendor.issuer, in: db), other.id != vendor.id else { return }
        throw Refusal(.alreadyExists, "the vendor \(other.slug) signs as this issuer", member: "issuer")
    }
}
