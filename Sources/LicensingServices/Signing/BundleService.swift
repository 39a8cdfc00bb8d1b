public import Bundles
public import Licensing
public import Storage

/// Everything one snapshot says about an install: what its bundle will say, and what the answer beside it shows.
public struct InstallState: Sendable {
    /// What the bundle is made from.
    public let facts: LicenseBundle.Facts
    /// The union of its live grants, for the answer.
    public let entitlements: [Entitlement]
    /// Its trial.
    public let trial: TrialStanding
    /// The key that signs for this vendor and mode.
    public let signingKey: SigningKeyRecord
}

/// Gathers the facts of bundles; the one place where the sources of rights come together.
public struct BundleService: Sendable {
    /// A vendor and mode without a key that signs: a start would have refused it.
    public struct NoSigningKey: Error, Sendable {}

    /// Without state.
    public init() {}

    /// Reads the state of an install within one snapshot, `seq` included.
    ///
    /// - Parameters:
    ///   - install: The install's row; `nil` before its first contact was recorded: it then has nothing.
    ///   - subject: `sub`, made from the install's id.
    ///   - nonce: The request's.
    /// - Throws: `StorageError`, `NoSigningKey`.
    public func state<DB: Queries & ~Copyable>(
        of install: Install?,
        subject: String,
        nonce: String?,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> InstallState {
        guard let key = try SigningKeyStore.active(of: caller.vendor.id, mode: caller.mode, in: db) else {
            throw NoSigningKey()
        }
        var grants: [Grant] = []
        var licenses: [LicenseBundle.License] = []
        var meters: [LicenseBundle.Meter] = []
        if let install {
            meters = try MeterService.reports(of: install, for: caller, at: now, in: db).map(LicenseBundle.Meter.init)
            let seats = try readLicenses(
                of: install,
                for: caller,
                at: now,
                in: db,
                grants: &grants,
                licenses: &licenses
            )
            grants += try StoreRights.grants(of: install, under: caller.product.settings, at: now, in: db)
            grants += try GiftService.grants(
                of: install,
                holding: seats,
                under: caller.product.settings,
                at: now,
                in: db
            )
        }
        let trial = try TrialService.standing(of: install, under: caller.product.settings, at: now, in: db)
        grants += try TrialService.grants(of: trial, for: caller.product, at: now, in: db)
        let facts = LicenseBundle.Facts(
            issuer: caller.vendor.issuer,
            product: caller.product.slug,
            subject: subject,
            sequence: try db.stateVersion(),
            mode: caller.mode,
            nonce: nonce,
            grants: grants,
            licenses: licenses,
            trial: LicenseBundle.Trial(trial.status),
            meters: meters,
            settings: caller.product.settings
        )
        return InstallState(
            facts: facts,
            entitlements: Entitlement.union(of: grants, at: now),
            trial: trial,
            signingKey: key
        )
    }

    /// Adds what the install has by licenses; tells which seats it holds, of licenses in force or not.
    private func readLicenses<DB: Queries & ~Copyable>(
        of install: Install,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB,
        grants: inout [Grant],
        licenses: inout [LicenseBundle.License]
    ) throws -> [HeldSeat] {
        let seats = try ActivationStore.unreleased(heldBy: install.id, in: db)
        guard !seats.isEmpty else { return [] }
        var held: [HeldSeat] = []
        let byLicense = Dictionary(seats.map { ($0.license, $0) }, uniquingKeysWith: { first, _ in first })
        for license in try LicenseStore.seated(install.id, in: db) {
            guard let seat = byLicense[license.id], seat.isHeld(at: now, leaseSeconds: license.plan.leaseSeconds)
            else { continue }
            held.append(
                HeldSeat(
                    license: license.id,
                    customer: license.customer,
                    leaseEnd: seat.leaseEnd(leaseSeconds: license.plan.leaseSeconds)
                )
            )
            grants += license.grants(for: seat, under: caller.product.settings, at: now)
            licenses.append(
                LicenseBundle.License(
                    id: license.id,
                    plan: license.plan.code,
                    status: license.status(at: now),
                    starts: license.rightStart(at: now),
                    ends: license.rightEndsAt,
                    maintenanceUntil: license.maintenanceUntil,
                    activation: seat.id
                )
            )
        }
        return held
    }
}

extension LicenseBundle.Meter {
    fileprivate init(_ report: MeterReport) {
        self.init(meter: report.meter, used: report.used, limit: report.limit.count, resets: report.resetsAt)
    }
}
