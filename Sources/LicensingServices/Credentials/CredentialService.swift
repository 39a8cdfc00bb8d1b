internal import Cryptography
public import Licensing
public import Storage

/// A credential that was just made, with the only copy of its token.
public struct IssuedCredential: Sendable {
    /// What is kept.
    public let record: CredentialRecord
    /// What the caller sends: shown once, unless it is publishable.
    public let token: String
}

/// Who a token belongs to.
public struct Principal: Sendable {
    /// The credential.
    public let credential: CredentialRecord
    /// Whose it is.
    public let vendor: Vendor
    /// The one product it is for; `nil`: the whole vendor.
    public let product: Product?
    /// The caller that an app's credential stands for; `nil` for one of a whole vendor.
    public let caller: Caller?

    init(credential: CredentialRecord, vendor: Vendor, product: Product?) {
        self.credential = credential
        self.vendor = vendor
        self.product = product
        caller = product.map { Caller(vendor: vendor, product: $0, mode: credential.mode) }
    }
}

/// Makes credentials, and recognizes their tokens.
///
/// A token is `pk_live_` and the like with 32 random bytes in base62. 256 random bits need neither salt nor slow hash: kept
/// is SHA-256, and beside it, for `pk_` alone, the token sealed.
public struct CredentialService: Sendable {
    private let keys: DataKeys
    private let entropy: any Entropy

    /// - Parameters:
    ///   - keys: What tokens are sealed with.
    ///   - entropy: Where tokens and identifiers come from.
    public init(keys: DataKeys, entropy: any Entropy) {
        self.keys = keys
        self.entropy = entropy
    }

    /// A credential made ready before the transaction that writes it.
    public struct Draft: Sendable {
        /// What will be kept, and the token.
        public let issued: IssuedCredential
        let digest: Digest256
        let sealed: [UInt8]?
    }

    /// Makes a credential; nothing is written yet.
    ///
    /// - Throws: `CryptographyError` without randomness.
    public func draft(
        kind: CredentialKind,
        mode: Mode,
        vendor: Vendor.ID,
        product: Product.ID?,
        name: String,
        at now: Timestamp
    ) throws -> Draft {
        let id: CredentialID = try Identifier(at: now, entropy: entropy)
        let token = "\(kind.rawValue)_\(mode.rawValue)_" + Base62.text(of: try entropy.bytes(32))
        let sealed =
            kind == .publishable ? try keys.seal(Array(token.utf8), for: .credentialToken, row: id.text) : nil
        let record = CredentialRecord(
            id: id,
            kind: kind,
            mode: mode,
            vendor: vendor,
            product: product,
            name: name,
            lastFour: String(token.suffix(4)),
            createdAt: now
        )
        return Draft(
            issued: IssuedCredential(record: record, token: token),
            digest: Self.digest(of: Array(token.utf8)),
            sealed: sealed
        )
    }

    /// Writes a credential that was made ready.
    ///
    /// - Throws: `StorageError`.
    public func insert(_ draft: Draft, in db: borrowing WriteTransaction) throws {
        try CredentialStore.insert(draft.issued.record, tokenDigest: draft.digest, sealedToken: draft.sealed, in: db)
    }

    /// The token of a publishable credential, to be shown again; `nil` for every other kind.
    ///
    /// - Throws: `StorageError`, `CryptographyError`.
    public func token<DB: Queries & ~Copyable>(of id: CredentialID, in db: borrowing DB) throws -> String? {
        guard let sealed = try CredentialStore.sealedToken(of: id, in: db) else { return nil }
        let token = try keys.open(sealed, from: .credentialToken, row: id.text)
        return String(decoding: token.copy(), as: UTF8.self)
    }

    /// Who a token belongs to at `now`; `nil` when nobody has it, or it was revoked or has ended.
    ///
    /// Found by digest: how long the look-up takes tells nothing of a token.
    ///
    /// - Throws: `StorageError`.
    public static func principal<DB: Queries & ~Copyable>(
        token: [UInt8],
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> Principal? {
        guard (1...256).contains(token.count) else { return nil }
        let digest = digest(of: token)
        let found = try db.recall(RecallKey("principal", digest), keeping: .many) { () throws -> Principal? in
            guard let credential = try CredentialStore.find(tokenDigest: digest, in: db),
                let vendor = try VendorStore.find(credential.vendor, in: db)
            else { return nil }
            let product = try credential.product.flatMap { try ProductStore.find($0, in: db) }
            return Principal(credential: credential, vendor: vendor, product: product)
        }
        // Judged each time: an end comes without a write.
        guard let found, found.credential.isValid(at: now) else { return nil }
        return found
    }

    private static func digest(of token: [UInt8]) -> Digest256 {
        guard let digest = Digest256(bytes: SHA256.digest(of: token)) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }
}

/// Bytes as one number in base 62, most significant digit first.
enum Base62 {
    private static let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// As many digits as the longest number of this many bytes has: 43 for 32 bytes.
    static func text(of bytes: [UInt8]) -> String {
        var number = bytes
        var text: [UInt8] = []
        // 62^43 > 2^256: every 32 bytes fit in 43 digits.
        let count = (bytes.count * 8 * 10_000 + 59_541) / 59_542
        for _ in 0..<count {
            var rest = 0
            for index in number.indices {
                let value = rest << 8 | Int(number[index])
                number[index] = UInt8(value / 62)
                rest = value % 62
            }
            text.append(digits[rest])
        }
        return String(decoding: text.reversed(), as: UTF8.self)
    }
}
