public import Licensing
package import Storage

/// What a credential is for.
public enum CredentialKind: String, Hashable, Sendable, CaseIterable {
    /// An app's: publishable, names product and mode.
    case publishable = "pk"
    /// Administration over HTTP.
    case secret = "sk"
    /// A vendor's key for the UnifiedLicensing routes.
    case unified = "ul"
}

/// One row of `credentials`.
public struct CredentialRecord: Hashable, Sendable {
    /// Names the credential; safe to log.
    public var id: CredentialID
    /// What it is for.
    public var kind: CredentialKind
    /// What it sees.
    public var mode: Mode
    /// Whose it is.
    public var vendor: Vendor.ID
    /// The one product it is for; `nil`: the whole vendor.
    public var product: Product.ID?
    /// What people call it.
    public var name: String
    /// The end of the token, for people who compare.
    public var lastFour: String
    /// When it was made.
    public var createdAt: Timestamp
    /// When it ends by a rotation, exclusive.
    public var expiresAt: Timestamp?
    /// When it was revoked.
    public var revokedAt: Timestamp?

    /// Whether it opens anything at `now`.
    public func isValid(at now: Timestamp) -> Bool {
        revokedAt == nil && expiresAt.map { now < $0 } ?? true
    }
}

/// The rows of `credentials`.
package enum CredentialStore {
    package static func insert(
        _ credential: CredentialRecord,
        tokenDigest: Digest256,
        sealedToken: [UInt8]?,
        in db: borrowing WriteTransaction
    ) throws {
        try db.run(
            """
            INSERT INTO credentials (
                id, kind, mode, vendor_id, product_id, name, token_digest, token_sealed, last_four, created_at
            ) VALUES (
                :id, :kind, :mode, :vendor_id, :product_id, :name, :token_digest, :token_sealed, :last_four, :created_at
            )
            """,
            [
                "id": .id(credential.id), "kind": .word(credential.kind), "mode": .word(credential.mode),
                "vendor_id": .id(credential.vendor), "product_id": .idOrNull(credential.product),
                "name": .text(credential.name), "token_digest": .digest(tokenDigest),
                "token_sealed": .blobOrNull(sealedToken), "last_four": .text(credential.lastFour),
                "created_at": .instant(credential.createdAt),
            ]
        )
    }

    /// Writes the ends of a credential.
    package static func update(_ credential: CredentialRecord, in db: borrowing WriteTransaction) throws {
        try db.run(
            "UPDATE credentials SET expires_at = :expires_at, revoked_at = :revoked_at WHERE id = :id",
            [
                "id": .id(credential.id), "expires_at": .instantOrNull(credential.expiresAt),
                "revoked_at": .instantOrNull(credential.revokedAt),
            ]
        )
    }

    package static func find<DB: Queries & ~Copyable>(
        tokenDigest: Digest256,
        in db: borrowing DB
    ) throws -> CredentialRecord? {
        try db.first(
            """
            SELECT id, kind, mode, vendor_id, product_id, name, last_four, created_at, expires_at, revoked_at
            FROM credentials WHERE token_digest = :token_digest
            """,
            ["token_digest": .digest(tokenDigest)],
            read
        )
    }

    package static func find<DB: Queries & ~Copyable>(
        _ id: CredentialID,
        in db: borrowing DB
    ) throws -> CredentialRecord? {
        try db.first(
            """
            SELECT id, kind, mode, vendor_id, product_id, name, last_four, created_at, expires_at, revoked_at
            FROM credentials WHERE id = :id
            """,
            ["id": .id(id)],
            read
        )
    }

    /// The sealed token of a publishable credential.
    package static func sealedToken<DB: Queries & ~Copyable>(
        of id: CredentialID,
        in db: borrowing DB
    ) throws -> [UInt8]? {
        try db.first(
            "SELECT token_sealed FROM credentials WHERE id = :id",
            ["id": .id(id)],
            { row in try row.blobOrNil() }
        ).flatMap { $0 }
    }

    /// Credentials of a vendor in the order they were made, those after `cursor` (exclusive), at most `limit`.
    package static func list<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID,
        product: Product.ID? = nil,
        after cursor: String? = nil,
        limit: Int,
        in db: borrowing DB
    ) throws -> [CredentialRecord] {
        try db.all(
            """
            SELECT id, kind, mode, vendor_id, product_id, name, last_four, created_at, expires_at, revoked_at
            FROM credentials
            WHERE vendor_id = :vendor_id AND id > :cursor AND (:product_id IS NULL OR product_id = :product_id)
            ORDER BY id LIMIT :limit
            """,
            [
                "vendor_id": .id(vendor), "product_id": .idOrNull(product), "cursor": .text(cursor ?? ""),
                "limit": .int(limit),
            ],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> CredentialRecord {
        CredentialRecord(
            id: try row.id(),
            kind: try row.word(),
            mode: try row.word(),
            vendor: try row.id(),
            product: try row.idOrNil(),
            name: try row.text(),
            lastFour: try row.text(),
            createdAt: try row.instant(),
            expiresAt: try row.instantOrNil(),
            revokedAt: try row.instantOrNil()
        )
    }
}
