public import Cryptography
public import Licensing
public import Storage

/// Makes, rotates and tries out the keys that sign for a vendor.
///
/// For each vendor and mode one key signs, `next` is published ahead of its time so that apps ship both pins, and keys that
/// signed before stay published until every bundle they signed is over.
public struct SigningKeyService: Sendable {
    private let keys: DataKeys
    private let entropy: any Entropy

    /// - Parameters:
    ///   - keys: What private keys are sealed with.
    ///   - entropy: Where identifiers come from.
    public init(keys: DataKeys, entropy: any Entropy) {
        self.keys = keys
        self.entropy = entropy
    }

    /// Makes a key; nothing is written yet.
    ///
    /// - Throws: `CryptographyError`.
    public func make(
        _ state: SigningKeyState,
        of vendor: Vendor.ID,
        mode: Mode,
        at now: Timestamp
    ) throws -> SigningKeyRecord {
        let key = try P256.SigningKey.generate()
        let id: SigningKeyID = try Identifier(at: now, entropy: entropy)
        return SigningKeyRecord(
            id: id,
            vendor: vendor,
            mode: mode,
            state: state,
            kid: key.publicKey.keyID.text,
            spki: key.publicKey.spki,
            sealedPrivateKey: try keys.seal(key.pkcs8.copy(), for: .signingKey, row: id.text),
            createdAt: now,
            activatedAt: state == .active ? now : nil,
            publishedUntil: nil
        )
    }

    /// The four keys of a new vendor: one that signs and the next, live and test.
    ///
    /// - Throws: `CryptographyError`.
    public func initialKeys(of vendor: Vendor.ID, at now: Timestamp) throws -> [SigningKeyRecord] {
        var made: [SigningKeyRecord] = []
        for mode in Mode.allCases {
            for state in [SigningKeyState.active, .next] {
                made.append(try make(state, of: vendor, mode: mode, at: now))
            }
        }
        return made
    }

    /// Which keys a rotation changed.
    public struct Rotation: Sendable {
        /// Signs from now on.
        public let active: SigningKeyRecord
        /// Signed until now.
        public let old: SigningKeyRecord
        /// Was published as next and is given up, after a compromise.
        public let discarded: SigningKeyRecord?
    }

    /// Promotes `next`, publishes `fresh` as the one after it, and lets the old key retire.
    ///
    /// The old one stays published until now + the longest offline life configured for the vendor in that mode: no bundle
    /// it signed lives longer. After a compromise nothing of it is trusted: `next` is discarded with it (both may be
    /// known), `fresh` signs at once, `spare` is next, and apps need an update.
    ///
    /// - Parameters:
    ///   - fresh: A key made ready before the transaction.
    ///   - spare: Another one, for a compromise.
    /// - Throws: `Refusal` (`NO_NEXT_KEY`) while the private half of `next` is not here, `StorageError`.
    public func rotate(
        vendor: Vendor,
        mode: Mode,
        fresh: SigningKeyRecord,
        spare: SigningKeyRecord?,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Rotation {
        guard var old = try SigningKeyStore.active(of: vendor.id, mode: mode, in: db) else {
            throw BundleService.NoSigningKey()
        }
        var next = try SigningKeyStore.all(of: vendor.id, in: db).first { $0.mode == mode && $0.state == .next }
        let isCompromised = spare != nil
        old.state = isCompromised ? .retired : .retiring
        if isCompromised { old.sealedPrivateKey = nil }
        old.publishedUntil =
            isCompromised ? now : try KeyRetention.end(vendor: vendor.id, mode: mode, from: now, in: db)
        try SigningKeyStore.update(old, in: db)
        if let spare {
            if var given = next {
                given.state = .discarded
                given.sealedPrivateKey = nil
                try SigningKeyStore.update(given, in: db)
                next = given
            }
            var active = fresh
            active.state = .active
            active.activatedAt = now
            try SigningKeyStore.insert(active, in: db)
            try SigningKeyStore.insert(spare, in: db)
            return Rotation(active: active, old: old, discarded: next)
        }
        guard var promoted = next, promoted.sealedPrivateKey != nil else {
            throw Refusal(
                .noNextKey,
                "the private half of the next key is not here: import it with keys import-next, or rotate --compromised"
            )
        }
        promoted.state = .active
        promoted.activatedAt = now
        try SigningKeyStore.update(promoted, in: db)
        try SigningKeyStore.insert(fresh, in: db)
        return Rotation(active: promoted, old: old, discarded: nil)
    }

    /// Makes ready a `next` key whose private half stays elsewhere for now.
    ///
    /// - Throws: `Refusal` when the bytes are no P-256 key; `CryptographyError` when that could not be found out.
    public func importedNext(
        spki: [UInt8],
        of vendor: Vendor.ID,
        mode: Mode,
        at now: Timestamp
    ) throws -> SigningKeyRecord {
        let key: P256.PublicKey
        do throws(CryptographyError) {
            key = try P256.PublicKey(spki: spki)
        } catch  where error.isTrouble {
            throw error
        } catch {
            throw Refusal(.validation, "the key is not a P-256 public key (DER SubjectPublicKeyInfo)", member: "spki")
        }
        return SigningKeyRecord(
            id: try Identifier(at: now, entropy: entropy),
            vendor: vendor,
            mode: mode,
            state: .next,
            kid: key.keyID.text,
            spki: key.spki,
            sealedPrivateKey: nil,
            createdAt: now
        )
    }

    /// Puts `next` in the place of the one there was, which never signed.
    ///
    /// - Throws: `StorageError`.
    public func replaceNext(
        by next: SigningKeyRecord,
        in db: borrowing WriteTransaction
    ) throws {
        let all = try SigningKeyStore.all(of: next.vendor, in: db)
        if var old = all.first(where: { $0.mode == next.mode && $0.state == .next }) {
            old.state = .discarded
            old.sealedPrivateKey = nil
            try SigningKeyStore.update(old, in: db)
        }
        try SigningKeyStore.insert(next, in: db)
    }

    /// The row of a published key with its private half, which is checked to be its.
    ///
    /// - Throws: `Refusal` when it is no P-256 key or another one's; `CryptographyError`.
    public func completed(_ record: SigningKeyRecord, by pkcs8: SecretBytes) throws -> SigningKeyRecord {
        let key: P256.SigningKey
        do throws(CryptographyError) {
            key = try P256.SigningKey(pkcs8: pkcs8)
        } catch  where error.isTrouble {
            throw error
        } catch {
            throw Refusal(.validation, "the key is not a P-256 private key (DER PKCS#8)", member: "private_key")
        }
        guard key.publicKey.spki == record.spki else {
            throw Refusal(.validation, "the private key belongs to another public key", member: "private_key")
        }
        var completed = record
        completed.sealedPrivateKey = try keys.seal(pkcs8.copy(), for: .signingKey, row: record.id.text)
        return completed
    }

    /// Signs and verifies a test message with every key that signs: a start that could not sign must not happen.
    ///
    /// - Returns: What is wrong, one line a key; empty when all work.
    /// - Throws: `StorageError`.
    public func selfTest<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> [String] {
        var faults: [String] = []
        for record in try SigningKeyStore.allActive(in: db) {
            do {
                let key = try record.privateKey(under: keys)
                let message = Array("countersign self-test \(record.kid)".utf8)
                let signature = try P256.Signer.open(key).sign(message)
                let published = try P256.PublicKey(spki: record.spki)
                guard try published.isValid(signature, for: message), published.keyID.text == record.kid else {
                    faults.append("signing key \(record.kid) of \(record.vendor) does not belong to its public key")
                    continue
                }
            } catch {
                faults.append("signing key \(record.kid) of \(record.vendor) does not open: \(error)")
            }
        }
        for vendor in try VendorStore.list(after: nil, limit: .max, in: db) {
            for mode in Mode.allCases
            where try SigningKeyStore.active(of: vendor.id, mode: mode, in: db) == nil {
                faults.append("vendor \(vendor.slug) has no key that signs in \(mode.rawValue) mode")
            }
        }
        return faults
    }
}

/// How long a key stays published after it signed last.
enum KeyRetention {
    /// `now` + the longest offline life over all products, plans and licenses of the vendor in that mode.
    static func end<DB: Queries & ~Copyable>(
        vendor: Vendor.ID,
        mode: Mode,
        from now: Timestamp,
        in db: borrowing DB
    ) throws -> Timestamp {
        var end = now
        try db.each(
            """
            SELECT offline_life FROM products WHERE vendor_id = :vendor_id
            UNION
            SELECT plans.offline_life FROM plans JOIN products ON products.id = plans.product_id
            WHERE products.vendor_id = :vendor_id AND plans.offline_life IS NOT NULL
            UNION
            SELECT licenses.offline_life FROM licenses JOIN products ON products.id = licenses.product_id
            WHERE products.vendor_id = :vendor_id AND licenses.mode = :mode AND licenses.offline_life IS NOT NULL
            """,
            ["vendor_id": .id(vendor), "mode": .word(mode)]
        ) { row in
            end = max(end, now.adding(try row.duration()))
        }
        return end
    }
}
