public import Licensing
public import Storage

/// What became of a call about one license; `nil` in its place: no license has the key.
public struct SeatOutcome<Value: Sendable>: Sendable {
    /// The license as it is after the call.
    public let license: License
    /// The install that called.
    public let install: Install
    /// What was decided.
    public let decision: Decision<Value>
    /// The seats after the call.
    public let seats: SeatUse
}

/// Claims, renews and releases seats. Every method runs in a write transaction, so check and claim are one step.
public struct SeatService: Sendable {
    private let entropy: any Entropy
    private let installs: InstallDirectory
    private let contacts: LastContacts

    /// - Parameters:
    ///   - entropy: Where identifiers come from.
    ///   - contacts: What was answered and is not written yet.
    public init(entropy: any Entropy, contacts: LastContacts = LastContacts()) {
        self.entropy = entropy
        self.contacts = contacts
        installs = InstallDirectory(entropy: entropy)
    }

    /// Claims a seat for an install, which is recorded whatever is decided.
    ///
    /// - Returns: The seat it holds now or why not; `nil` when no license has the key.
    /// - Throws: `StorageError`, or what the source of entropy throws.
    public func activate(
        _ key: KeyClaim,
        on claim: InstallClaim,
        replacing replaced: Activation.ID?,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> SeatOutcome<Activation>? {
        let install = try installs.record(claim, of: caller, at: now, in: db)
        guard let found = try LicenseFinder.find(key, of: caller, in: db) else { return nil }
        var license = found.license
        let request = ActivationRequest(
            install: install.id,
            fingerprint: claim.fingerprint,
            device: install.device,
            replacing: replaced,
            keyIsReplaced: found.keyIsReplaced
        )
        let facts = try seatFacts(of: license, for: request, at: now, in: db)
        if let clone = facts.newlyClonedFingerprint {
            try ActivationStore.insertClone(clone, of: license.id, at: now, in: db)
        }
        let decision = license.activationDecision(
            for: request,
            given: facts,
            under: caller.product.settings,
            at: now
        )
        switch decision {
        case .denied(let denial):
            let seats = license.seatUse(given: facts, at: now)
            return SeatOutcome(license: license, install: install, decision: .denied(denial), seats: seats)
        case .granted(let grant):
            let activation = try write(grant, by: request, at: now, in: db)
            if grant.firstActivatedAt != nil || grant.startsTerm != nil {
                license.firstActivatedAt = grant.firstActivatedAt ?? license.firstActivatedAt
                license.term = grant.startsTerm ?? license.term
                try LicenseStore.update(license, in: db)
            }
            return SeatOutcome(license: license, install: install, decision: .granted(activation), seats: grant.seats)
        }
    }

    /// What the decision needs, and no more: a license may have many thousands of seats, and everybody's writes wait.
    private func seatFacts(
        of license: License,
        for request: ActivationRequest,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> SeatFacts {
        let lease = license.plan.leaseSeconds
        let count = try ActivationStore.seatCount(of: license.id, leaseSeconds: lease, at: now, in: db)
        var seats: [Activation] = []
        func add(_ more: [Activation]) {
            for seat in more where !seats.contains(where: { $0.id == seat.id }) { seats.append(seat) }
        }
        // First those that come with their take-overs.
        if let fingerprint = request.fingerprint {
            add(
                try ActivationStore.held(
                    of: license.id,
                    by: fingerprint,
                    leaseSeconds: lease,
                    at: now,
                    limit: Self.mostOfOneMachine,
                    in: db
                )
            )
        }
        if let own = try ActivationStore.unreleased(of: license.id, heldBy: request.install, in: db) { add([own]) }
        if let replacing = request.replacing, let seat = try ActivationStore.find(replacing, in: db),
            seat.license == license.id, seat.releasedAt == nil
        {
            add([seat])
        }
        let needed = license.releasesNeeded(held: count.held)
        if needed > 0 && needed <= Self.mostReleased {
            var unseen: [Activation]
            repeat {
                unseen = try ActivationStore.longestUnseen(
                    of: license.id,
                    leaseSeconds: lease,
                    at: now,
                    limit: needed,
                    in: db
                )
            } while try contacts.write(of: unseen.lazy.map { ($0.install, $0.lastSeenAt) }, in: db)
            add(unseen)
        }
        if let lease, count.lapsed > 0 {
            add(
                try ActivationStore.lapsed(
                    of: license.id,
                    leaseSeconds: lease,
                    at: now,
                    limit: Self.mostLapsed,
                    in: db
                )
            )
        }
        let replacedBy = try ActivationStore.fingerprintOfReplacement(of: request.install, on: license.id, in: db)
        let cloned = try Set([request.fingerprint, replacedBy].compactMap { $0 }).filter { fingerprint in
            try ActivationStore.isCloned(fingerprint, on: license.id, in: db)
        }
        let newSeats = try license.transferPeriodStart(at: now).map { start in
            try ActivationStore.newSeats(of: license.id, leaseSeconds: lease, after: start, at: now, in: db)
        }
        return SeatFacts(
            activations: seats,
            othersHeld: count.held - license.seatUse(of: seats, at: now).used,
            replacedByFingerprint: replacedBy,
            clonedFingerprints: cloned,
            newSeatsInPeriod: newSeats ?? 0
        )
    }

    /// Seats of one fingerprint that are looked at for a take-over: where more machines share it, they are clones.
    private static let mostOfOneMachine = 8
    /// Seats that one activation releases where a limit was lowered; beyond, it is refused until others are released.
    private static let mostReleased = 1000
    /// Seats whose lease is over that are written down as ended with a new seat: more than come to be with each.
    private static let mostLapsed = 16

    private func write(
        _ grant: ActivationGrant,
        by request: ActivationRequest,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Activation {
        for release in grant.releasing {
            try ActivationStore.release(release.activation, at: release.at, because: release.reason, in: db)
        }
        switch grant.seat {
        case .alreadySeated(let activation):
            try ActivationStore.update(activation, in: db)
            return activation
        case .takenOver(let activation, from: let old):
            try ActivationStore.update(activation, in: db)
            if let fingerprint = request.fingerprint {
                try ActivationStore.insertTakeover(of: activation, from: old, by: fingerprint, at: now, in: db)
            }
            return activation
        case .new(let seat):
            let activation = seat.activation(id: try Identifier(at: now, entropy: entropy))
            try ActivationStore.insert(activation, in: db)
            return activation
        }
    }

    /// What `deactivate` did.
    public struct Release: Sendable {
        /// Whether a seat was held until now.
        public let isReleased: Bool
        /// The license.
        public let license: License
        /// The seats after it.
        public let seats: SeatUse
    }

    /// Releases the install's seat, whatever the license's status and with any key of it.
    ///
    /// - Returns: Whether a seat was held until now; `nil` when no license has the key.
    /// - Throws: `StorageError`, or what the source of entropy throws.
    public func deactivate(
        _ key: KeyClaim,
        on claim: InstallClaim,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> Release? {
        let install = try installs.record(claim, of: caller, at: now, in: db)
        guard let found = try LicenseFinder.find(key, of: caller, in: db) else { return nil }
        let seat = try LicenseFinder.seat(of: found.license.id, heldBy: install, in: db)
        let deactivation = found.license.deactivation(of: seat, at: now)
        if let release = deactivation.release {
            try ActivationStore.release(release.activation, at: release.at, because: release.reason, in: db)
        }
        return Release(
            isReleased: deactivation.isReleased,
            license: found.license,
            seats: try LicenseFinder.seatUse(of: found.license, at: now, in: db)
        )
    }

    /// Renews the lease of the seat an install holds, where one is due; decided anew, since the question was read earlier.
    ///
    /// - Returns: `nil` when no license has the key.
    /// - Throws: `StorageError`, or what the source of entropy throws.
    public func renewLease(
        _ key: KeyClaim,
        on claim: InstallClaim,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> SeatOutcome<SeatRenewal>? {
        let install = try installs.record(claim, of: caller, at: now, in: db)
        guard let found = try LicenseFinder.find(key, of: caller, in: db) else { return nil }
        let seat = try LicenseFinder.seat(of: found.license.id, heldBy: install, in: db)
        let decision = found.license.heartbeatDecision(seat: seat, at: now)
        if case .granted(let renewal) = decision, renewal.writesLease {
            var seat = renewal.seat
            seat.lastSeenAt = max(seat.lastSeenAt, now)
            try ActivationStore.update(seat, in: db)
        }
        return SeatOutcome(
            license: found.license,
            install: install,
            decision: decision,
            seats: try LicenseFinder.seatUse(of: found.license, at: now, in: db)
        )
    }
}
