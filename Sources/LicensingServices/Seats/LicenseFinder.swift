public import Licensing
public import Storage

/// A license that a key led to.
public struct FoundLicense: Hashable, Sendable {
    /// The license, with its plan.
    public let license: License
    /// The key was replaced by a newer one.
    public let keyIsReplaced: Bool
}

/// Finds licenses by their keys, within one product and mode.
public enum LicenseFinder {
    /// The license a key leads to; `nil` where there is none, or it is another product's or mode's: one answer for all.
    ///
    /// - Throws: `StorageError`.
    public static func find<DB: Queries & ~Copyable>(
        _ key: KeyClaim,
        of caller: Caller,
        in db: borrowing DB
    ) throws -> FoundLicense? {
        let match = try LicenseKeyStore.find(key.digest, in: db)
        // A key that nobody has leads to a license that is not there, so that it takes as long as another mode's.
        let id = match?.license ?? Identifier(high: 0, low: 0)
        guard let license = try LicenseStore.find(id, of: caller.product.id, mode: caller.mode, in: db), let match
        else {
            return nil
        }
        return FoundLicense(license: license, keyIsReplaced: match.isReplaced)
    }

    /// The activation of a license that an install holds unreleased; its lease may be over.
    ///
    /// - Throws: `StorageError`.
    public static func seat<DB: Queries & ~Copyable>(
        of license: License.ID,
        heldBy install: Install?,
        in db: borrowing DB
    ) throws -> Activation? {
        guard let install else { return nil }
        return try ActivationStore.unreleased(heldBy: install.id, in: db).first { $0.license == license }
    }

    /// The seats of a license that its customer is shown, to release one: where there are more than `ListedSeat.mostListed`,
    /// those that were unseen for longest, and the calling install's.
    ///
    /// - Throws: `StorageError`.
    public static func listed<DB: Queries & ~Copyable>(
        of license: License,
        for install: Install.ID?,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [Activation] {
        var seats = try ActivationStore.longestUnseen(
            of: license.id,
            leaseSeconds: license.plan.leaseSeconds,
            at: now,
            limit: ListedSeat.mostListed,
            in: db
        )
        if let install, !seats.contains(where: { $0.install == install }),
            let own = try ActivationStore.unreleased(of: license.id, heldBy: install, in: db),
            own.isHeld(at: now, leaseSeconds: license.plan.leaseSeconds)
        {
            seats.append(own)
        }
        return seats
    }

    /// The same for an install that was refused a seat, of which none is its own: who holds one is not refused. A lease that
    /// is counted from when its install was seen last may look as if it went on, now that the refused call was recorded.
    ///
    /// - Throws: `StorageError`.
    public static func listed<DB: Queries & ~Copyable>(
        of license: License,
        refusedTo install: Install.ID,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [ListedSeat] {
        let seats = try listed(of: license, for: nil, at: now, in: db).filter { $0.install != install }
        return license.listed(seats, for: install, at: now)
    }

    /// How many seats of a license are held at `now`.
    ///
    /// - Throws: `StorageError`.
    public static func seatUse<DB: Queries & ~Copyable>(
        of license: License,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> SeatUse {
        SeatUse(
            used: try ActivationStore.seatCount(
                of: license.id,
                leaseSeconds: license.plan.leaseSeconds,
                at: now,
                in: db
            ).held,
            limit: license.seatLimit
        )
    }
}
