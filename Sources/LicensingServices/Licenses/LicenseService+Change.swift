internal import Cryptography
public import Licensing
public import Storage

// Its term, its key and its seats.
extension LicenseService {
    /// Renews a license by a duration, or by its plan's.
    ///
    /// - Throws: `Refusal` (`NOT_RENEWABLE`, `VALIDATION` where neither has a duration), `StorageError`.
    public func renew(
        _ license: License,
        of product: Product,
        by duration: CalendarDuration?,
        because reason: String? = nil,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        var renewed = license
        switch license.renewalDecision(by: duration, at: actor.now) {
        case .granted(let term): renewed.term = term
        case .denied(.renewalWithoutDuration):
            throw Refusal(.validation, "the plan has no duration: say one", member: "duration")
        case .denied: throw Refusal(.notRenewable, "the license has no end to renew")
        }
        try LicenseStore.update(renewed, in: db)
        try record("license.renew", renewed, of: product, before: license, because: reason, by: actor, in: db)
        return renewed
    }

    /// Makes ready a new key for a license.
    ///
    /// - Throws: `CryptographyError`.
    public func newKey(for product: Product, mode: Mode) throws -> LicenseKeyDraft {
        try LicenseDrafter(keys: keys, entropy: entropy).key(for: product, mode: mode)
    }

    /// Gives a license another key. Seats, grants and bundles are not touched, unless the old key leaked and its seats go.
    ///
    /// - Parameter revokesSeats: Releases every seat, for a key that leaked.
    /// - Throws: `StorageError`.
    public func reissue(
        _ license: License,
        of product: Product,
        with key: LicenseKeyDraft,
        revokesSeats: Bool,
        because reason: String,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        try LicenseKeyStore.replaceCurrent(of: license.id, at: actor.now, in: db)
        try insert(key, of: license.id, at: actor.now, in: db)
        if revokesSeats { try ActivationStore.releaseAll(of: license.id, at: actor.now, because: .reissued, in: db) }
        var reissued = license
        reissued.keyLastFour = key.key.lastFour
        try record("license.reissue", reissued, of: product, before: license, because: reason, by: actor, in: db)
        return reissued
    }

    /// Releases one seat of a license.
    ///
    /// - Returns: Whether it was held until now.
    /// - Throws: `Refusal` (`ACTIVATION_NOT_FOUND`) where the license never had this seat, `StorageError`.
    public func releaseSeat(
        _ activation: Activation.ID,
        of license: License,
        product: Product,
        because reason: String?,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> Bool {
        guard let seat = try ActivationStore.find(activation, in: db), seat.license == license.id else {
            throw Refusal(.activationNotFound, "the license has no seat \(activation)", member: "activation")
        }
        let release = license.deactivation(of: seat, because: .administrator, at: actor.now)
        guard let written = release.release else { return false }
        try ActivationStore.release(written.activation, at: written.at, because: written.reason, in: db)
        try audit.record(
            AuditedChange(
                vendor: product.vendor,
                action: "license.release-seat",
                target: license.id.text,
                reason: reason,
                after: "{\"activation\":\"\(activation)\"}"
            ),
            by: actor,
            in: db
        )
        return release.isReleased
    }

    /// The current key of a license, where the product keeps keys. A secret.
    ///
    /// - Throws: `StorageError`, `CryptographyError`.
    public func currentKey<DB: Queries & ~Copyable>(of license: License.ID, in db: borrowing DB) throws -> String? {
        try LicenseKeyStore.sealedCurrent(of: license, in: db).map { try open($0) }
    }

    func open(_ kept: LicenseKeyStore.Sealed) throws -> String {
        let key = try keys.open(kept.sealed, from: .licenseKey, row: kept.digest.hexadecimal)
        return String(decoding: key.copy(), as: UTF8.self)
    }
}
