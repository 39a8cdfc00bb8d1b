public import Licensing
public import Storage

extension CatalogService {
    /// Makes a credential ready.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) for a kind that does not go with a product or without one, `CryptographyError`.
    public func draft(
        credential kind: CredentialKind,
        mode: Mode,
        vendor: Vendor.ID,
        product: Product.ID?,
        name: String,
        at now: Timestamp
    ) throws -> CredentialService.Draft {
        switch kind {
        case .publishable where product == nil:
            throw Refusal(.validation, "a pk credential belongs to one product", member: "product")
        case .unified where product != nil:
            throw Refusal(.validation, "a ul credential belongs to a whole vendor", member: "vendor")
        default: break
        }
        return try credentials.draft(
            kind: kind,
            mode: mode,
            vendor: vendor,
            product: product,
            name: try Self.checkedName(name),
            at: now
        )
    }

    /// Writes a credential that was made ready.
    ///
    /// - Throws: `StorageError`.
    public func create(
        _ draft: CredentialService.Draft,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        let made = draft.issued.record
        try credentials.insert(draft, in: db)
        try record(
            "credential.create",
            made.id.text,
            of: made.vendor,
            after: Self.auditText(of: made, in: db),
            by: actor,
            in: db
        )
    }

    /// Ends a credential now; revoking twice changes nothing.
    ///
    /// - Throws: `StorageError`.
    public func revoke(
        _ credential: CredentialRecord,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> CredentialRecord {
        guard credential.revokedAt == nil else { return credential }
        var revoked = credential
        revoked.revokedAt = actor.now
        try CredentialStore.update(revoked, in: db)
        try record(
            "credential.revoke",
            credential.id.text,
            of: credential.vendor,
            because: reason,
            before: Self.auditText(of: credential, in: db),
            after: Self.auditText(of: revoked, in: db),
            by: actor,
            in: db
        )
        return revoked
    }

    /// Puts `draft` in the place of a credential, which goes on until `end`.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) for one that is over, `StorageError`.
    public func rotate(
        _ credential: CredentialRecord,
        to draft: CredentialService.Draft,
        until end: Timestamp,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> CredentialRecord {
        guard credential.isValid(at: actor.now) else {
            throw Refusal(.validation, "the credential is over: create a new one", member: "credential")
        }
        var old = credential
        old.expiresAt = min(end, credential.expiresAt ?? .latest)
        try CredentialStore.update(old, in: db)
        try credentials.insert(draft, in: db)
        try record(
            "credential.rotate",
            credential.id.text,
            of: credential.vendor,
            before: Self.auditText(of: credential, in: db),
            after: Self.auditText(of: draft.issued.record, in: db),
            by: actor,
            in: db
        )
        return old
    }

    private static func auditText(of credential: CredentialRecord, in db: borrowing WriteTransaction) throws -> String {
        credential.jsonText(product: try credential.product.flatMap { try CatalogFinder.productName($0, in: db) })
    }

    /// The token of a publishable credential; `nil` for every other kind.
    ///
    /// - Throws: `StorageError`, `CryptographyError`.
    public func token<DB: Queries & ~Copyable>(of id: CredentialID, in db: borrowing DB) throws -> String? {
        try credentials.token(of: id, in: db)
    }
}
