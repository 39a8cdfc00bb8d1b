public import Licensing
public import Storage

// How a license stands: suspended, reinstated, revoked.
extension LicenseService {
    /// Suspends a license; suspending twice changes nothing.
    ///
    /// - Throws: `Refusal` (`LICENSE_REVOKED`), `StorageError`.
    public func suspend(
        _ license: License,
        of product: Product,
        because reason: String,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        let standing = try granted(license.suspensionDecision(), "suspended")
        return try write(standing, "license.suspend", license, of: product, because: reason, by: actor, in: db)
    }

    /// Makes a suspended license active again; a revoked one only when that is said.
    ///
    /// - Throws: `Refusal` (`LICENSE_REVOKED`), `StorageError`.
    public func reinstate(
        _ license: License,
        of product: Product,
        includingRevoked: Bool,
        because reason: String,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        let decision = license.reinstatementDecision(includingRevoked: includingRevoked)
        let standing = try granted(decision, "reinstated without saying so (revoked)")
        return try write(standing, "license.reinstate", license, of: product, because: reason, by: actor, in: db)
    }

    /// Revokes a license; revoking twice changes nothing.
    ///
    /// - Throws: `StorageError`.
    public func revoke(
        _ license: License,
        of product: Product,
        because reason: String,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        try write(
            license.revokedStanding,
            "license.revoke",
            license,
            of: product,
            because: reason,
            by: actor,
            in: db
        )
    }

    private func granted(_ decision: Decision<Standing>, _ verb: String) throws -> Standing {
        switch decision {
        case .granted(let standing): return standing
        case .denied: throw Refusal(.licenseRevoked, "the license is revoked and cannot be \(verb)")
        }
    }

    private func write(
        _ standing: Standing,
        _ action: String,
        _ license: License,
        of product: Product,
        because reason: String,
        by actor: Actor,
        in db: borrowing WriteTransaction
    ) throws -> License {
        guard license.standing != standing else { return license }
        var changed = license
        changed.standing = standing
        changed.standingReason = standing == .active ? nil : reason
        try LicenseStore.update(changed, in: db)
        try record(action, changed, of: product, before: license, because: reason, by: actor, in: db)
        return changed
    }
}
