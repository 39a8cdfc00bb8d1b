public import Cryptography
public import Licensing
public import Storage

extension CatalogService {
    /// The keys that a rotation needs, made ready before it.
    public struct RotationDraft: Sendable {
        let fresh: SigningKeyRecord
        let spare: SigningKeyRecord?
        let mode: Mode
    }

    /// Makes the keys of a rotation ready.
    ///
    /// - Throws: `CryptographyError`.
    public func draftRotation(
        of vendor: Vendor.ID,
        mode: Mode,
        isCompromised: Bool,
        at now: Timestamp
    ) throws -> RotationDraft {
        RotationDraft(
            fresh: try signing.make(.next, of: vendor, mode: mode, at: now),
            spare: isCompromised ? try signing.make(.next, of: vendor, mode: mode, at: now) : nil,
            mode: mode
        )
    }

    /// Rotates the signing key of a vendor and mode: see `SigningKeyService.rotate`.
    ///
    /// - Throws: `Refusal` (`NO_NEXT_KEY`), `StorageError`.
    public func rotateKeys(
        of vendor: Vendor,
        _ draft: RotationDraft,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> SigningKeyService.Rotation {
        let rotation = try signing.rotate(
            vendor: vendor,
            mode: draft.mode,
            fresh: draft.fresh,
            spare: draft.spare,
            at: actor.now,
            in: db
        )
        let isCompromised = draft.spare != nil
        try record(
            isCompromised ? "keys.rotate-compromised" : "keys.rotate",
            vendor.id.text,
            of: vendor.id,
            because: reason,
            before: #"{"active":"\#(rotation.old.kid)","mode":"\#(draft.mode.rawValue)"}"#,
            after: #"{"active":"\#(rotation.active.kid)","mode":"\#(draft.mode.rawValue)"}"#,
            by: actor,
            in: db
        )
        return rotation
    }

    /// Makes ready a `next` key whose private half stays elsewhere.
    ///
    /// - Throws: `Refusal` (`VALIDATION`) when the bytes are no P-256 key.
    public func draftImport(
        spki: [UInt8],
        of vendor: Vendor.ID,
        mode: Mode,
        at now: Timestamp
    ) throws -> SigningKeyRecord {
        try signing.importedNext(spki: spki, of: vendor, mode: mode, at: now)
    }

    /// Publishes an imported key as next, in the place of the one there was.
    ///
    /// - Throws: `Refusal` (`ALREADY_EXISTS`) for a key that was here before, `StorageError`.
    public func importNext(
        _ key: SigningKeyRecord,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Outcome {
        if let known = try SigningKeyStore.find(kid: key.kid, in: db) {
            guard known.vendor == key.vendor, known.mode == key.mode, known.state == .next else {
                throw Refusal(.alreadyExists, "this key is or was in use already", member: "public_key")
            }
            return .unchanged
        }
        try signing.replaceNext(by: key, in: db)
        try recordImport(key, "keys.import-next", by: actor, in: db)
        return .created
    }

    /// The `next` key with its private half, checked to be its.
    ///
    /// - Throws: `Refusal` (`VALIDATION`), `CryptographyError`.
    public func completed(_ next: SigningKeyRecord, by pkcs8: SecretBytes) throws -> SigningKeyRecord {
        try signing.completed(next, by: pkcs8)
    }

    /// Keeps the private half of `next`.
    ///
    /// - Throws: `Refusal` (`KEY_NOT_FOUND`) when it is not next any more, `StorageError`.
    public func complete(
        _ next: SigningKeyRecord,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        guard let known = try SigningKeyStore.find(kid: next.kid, in: db), known.state == .next else {
            throw Refusal(.keyNotFound, "the key is not the next one any more", member: "private_key")
        }
        try SigningKeyStore.update(next, in: db)
        try recordImport(next, "keys.import-next-private", by: actor, in: db)
    }

    private func recordImport(
        _ key: SigningKeyRecord,
        _ action: String,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws {
        try record(
            action,
            key.vendor.text,
            of: key.vendor,
            after: #"{"next":"\#(key.kid)","mode":"\#(key.mode.rawValue)"}"#,
            by: actor,
            in: db
        )
    }
}
