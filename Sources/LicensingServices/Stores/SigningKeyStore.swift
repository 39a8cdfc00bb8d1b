public import Licensing
package import Storage

/// Where a signing key is in its life.
public enum SigningKeyState: String, Hashable, Sendable, CaseIterable {
    /// Published, not signing yet.
    case next
    /// Signs.
    case active
    /// Published, not signing any more.
    case retiring
    /// Neither.
    case retired
    /// Was `next` and never signed: given up because it may be known to others.
    case discarded
}

/// One row of `signing_keys`.
public struct SigningKeyRecord: Hashable, Sendable {
    /// Names the row.
    public var id: SigningKeyID
    /// Whose it is.
    public var vendor: Vendor.ID
    /// What it signs for.
    public var mode: Mode
    /// Where it is in its life.
    public var state: SigningKeyState
    /// RFC 7638 thumbprint of the public key.
    public var kid: String
    /// DER of the public key, RFC 5280 §4.1.
    public var spki: [UInt8]
    /// PKCS#8 of the private key, sealed; `nil` while only the public half is here, or when it is retired.
    public var sealedPrivateKey: [UInt8]?
    /// When it was made or imported.
    public var createdAt: Timestamp
    /// When it began to sign.
    public var activatedAt: Timestamp?
    /// While retiring: until when it stays published, exclusive.
    public var publishedUntil: Timestamp?

    /// Whether an app or a server may still be asked to trust it at `now`.
    public func isPublished(at now: Timestamp) -> Bool {
        switch state {
        case .next, .active: true
        case .retiring: publishedUntil.map { now < $0 } ?? true
        case .retired, .discarded: false
        }
    }

    /// The state at `now`, one of the four that are told: a retiring key is retired once its time is over, whatever the row
    /// still says, and so is one that was given up before it ever signed.
    public func state(at now: Timestamp) -> SigningKeyState {
        isPublished(at: now) ? state : .retired
    }
}

/// The rows of `signing_keys`.
package enum SigningKeyStore {
    package static func insert(_ key: SigningKeyRecord, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            INSERT INTO signing_keys (
                id, vendor_id, mode, algorithm, state, kid, spki, private_sealed, created_at, activated_at,
                published_until
            ) VALUES (
                :id, :vendor_id, :mode, 'ES256', :state, :kid, :spki, :private_sealed, :created_at, :activated_at,
                :published_until
            )
            """,
            [
                "id": .id(key.id), "vendor_id": .id(key.vendor), "mode": .word(key.mode), "state": .word(key.state),
                "kid": .text(key.kid), "spki": .blob(key.spki), "private_sealed": .blobOrNull(key.sealedPrivateKey),
                "created_at": .instant(key.createdAt), "activated_at": .instantOrNull(key.activatedAt),
                "published_until": .instantOrNull(key.publishedUntil),
            ]
        )
    }

    package static func update(_ key: SigningKeyRecord, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE signing_keys SET state = :state, private_sealed = :private_sealed, activated_at = :activated_at,
                published_until = :published_until
            WHERE id = :id
            """,
            [
                "id": .id(key.id), "state": .word(key.state), "private_sealed": .blobOrNull(key.sealedPrivateKey),
                "activated_at": .instantOrNull(key.activatedAt),
                "published_until": .instantOrNull(key.publishedUntil),
            ]
        )
    }

    /// Has keys be retired whose time as published ones is over, and forgets their private halves, which sign nothing any
    /// more and could only be stolen.
    package static func retire(at now: Timestamp, in db: borrowing WriteTransaction) throws {
        try db.run(
            """
            UPDATE signing_keys SET state = 'retired', private_sealed = NULL
            WHERE state = 'retiring' AND published_until <= :now
            """,
            ["now": .instant(now)]
        )
    }

    package static func active<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID,
        mode: Mode,
        in db: borrowing DB
    ) throws -> SigningKeyRecord? {
        try db.recall(RecallKey("active signing key", vendor, mode), keeping: .many) {
            try db.first(
                """
                SELECT id, vendor_id, mode, state, kid, spki, private_sealed, created_at, activated_at, published_until
                FROM signing_keys
                WHERE vendor_id = :vendor_id AND mode = :mode AND algorithm = 'ES256' AND state = 'active'
                """,
                ["vendor_id": .id(vendor), "mode": .word(mode)],
                read
            )
        }
    }

    package static func find<DB: Queries & ~Copyable>(kid: String, in db: borrowing DB) throws -> SigningKeyRecord? {
        try db.first(
            """
            SELECT id, vendor_id, mode, state, kid, spki, private_sealed, created_at, activated_at, published_until
            FROM signing_keys WHERE kid = :kid
            """,
            ["kid": .text(kid)],
            read
        )
    }

    /// Every key of a vendor, newest first.
    package static func all<DB: Queries & ~Copyable>(
        of vendor: Vendor.ID,
        in db: borrowing DB
    ) throws -> [SigningKeyRecord] {
        try db.all(
            """
            SELECT id, vendor_id, mode, state, kid, spki, private_sealed, created_at, activated_at, published_until
            FROM signing_keys WHERE vendor_id = :vendor_id ORDER BY id DESC
            """,
            ["vendor_id": .id(vendor)],
            read
        )
    }

    /// Every key that signs, of every vendor: what a start tries out.
    package static func allActive<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> [SigningKeyRecord] {
        try db.all(
            """
            SELECT id, vendor_id, mode, state, kid, spki, private_sealed, created_at, activated_at, published_until
            FROM signing_keys WHERE state = 'active' ORDER BY id
            """,
            [:],
            read
        )
    }

    private static func read(_ row: inout Row) throws -> SigningKeyRecord {
        SigningKeyRecord(
            id: try row.id(),
            vendor: try row.id(),
            mode: try row.word(),
            state: try row.word(),
            kid: try row.text(),
            spki: try row.blob(),
            sealedPrivateKey: try row.blobOrNil(),
            createdAt: try row.instant(),
            activatedAt: try row.instantOrNil(),
            publishedUntil: try row.instantOrNil()
        )
    }
}
