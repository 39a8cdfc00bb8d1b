import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// `POST /v1/validate`: a question; claims nothing.
struct Validate: AppQuestion {
    let install: InstallClaim?
    let key: KeyClaim

    init(reading reader: inout AppRequestReader) throws {
        install = reader.optionalInstall()
        let key = reader.licenseKey()
        guard let key, reader.isValid else { throw reader.failure }
        self.key = key
    }

    /// What is known of the license.
    struct Judgment: Sendable {
        let license: License
        let validation: Validation
        let seats: SeatUse
    }

    struct Facts: Sendable {
        /// Nil when no license has the key.
        let judgment: Judgment?
        /// Nil where the question named no install.
        let state: InstallState?
    }

    /// A key that nobody has counts for nobody: whoever has no license must not use up what others' customers need.
    func isValidation(_ facts: Facts) -> Bool { facts.judgment != nil }

    func facts(for contact: Contact, install row: Install?, in db: borrowing Snapshot) throws -> Facts {
        let found = try LicenseFinder.find(key, of: contact.caller, in: db)
        let judgment = try found.map { found in
            let license = found.license
            return Judgment(
                license: license,
                validation: license.validation(
                    isInstallGiven: install != nil,
                    seat: try LicenseFinder.seat(of: license.id, heldBy: row, in: db),
                    keyIsReplaced: found.keyIsReplaced,
                    at: contact.now
                ),
                seats: try LicenseFinder.seatUse(of: license, at: contact.now, in: db)
            )
        }
        return Facts(judgment: judgment, state: try contact.state(of: row, in: db))
    }

    func write(before facts: Facts, for contact: Contact) -> QuestionWrite? {
        guard let judgment = facts.judgment, judgment.validation.writesLease else { return nil }
        return contact.renewal(of: key)
    }

    func response(to facts: Facts, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        let judgment = facts.judgment
        let license = judgment?.license
        context.trace.license = license?.id
        if judgment == nil { context.countWrongKey(contact.bucket(.wrongKeys)) }
        let code = judgment?.validation.code ?? .licenseNotFound
        let answer = Wire.ValidateAnswer(
            code: code.rawValue,
            verdict: WireVerdict(code.verdict),
            license: license.map { Wire.License($0, at: contact.now) },
            activation: judgment.flatMap { judgment in
                judgment.validation.seat.map { Wire.Activation($0, of: judgment.license) }
            },
            seats: judgment.map { Wire.Seats($0.seats) },
            entitlements: facts.state?.entitlements.map(Wire.Entitlement.init),
            keyIsReplaced: judgment?.validation.keyIsReplaced ?? false,
            bundle: try facts.state.map { try context.bundle(for: $0, at: contact.now) },
            serverTime: contact.now.rfc3339
        )
        return .json(.ok, answer.body())
    }
}

/// `POST /v1/heartbeat`: renews the lease of a floating seat.
struct Heartbeat: AppQuestion {
    let key: KeyClaim

    init(reading reader: inout AppRequestReader) throws {
        let install = reader.requiredInstall()
        let key = reader.licenseKey()
        guard install != nil, let key, reader.isValid else { throw reader.failure }
        self.key = key
    }

    struct Facts: Sendable {
        /// Nil when no license has the key.
        let license: License?
        let decision: Decision<SeatRenewal>?
        let state: InstallState
    }

    func facts(for contact: Contact, install: Install?, in db: borrowing Snapshot) throws -> Facts {
        let license = try LicenseFinder.find(key, of: contact.caller, in: db)?.license
        let decision = try license.map { license in
            license.heartbeatDecision(
                seat: try LicenseFinder.seat(of: license.id, heldBy: install, in: db),
                at: contact.now
            )
        }
        return Facts(license: license, decision: decision, state: try contact.requiredState(of: install, in: db))
    }

    func write(before facts: Facts, for contact: Contact) -> QuestionWrite? {
        guard case .granted(let renewal)? = facts.decision, renewal.writesLease else { return nil }
        return contact.renewal(of: key)
    }

    func response(to facts: Facts, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        guard let license = facts.license, let decision = facts.decision else {
            throw Problem.licenseNotFound(at: contact.now)
        }
        context.trace.license = license.id
        let bundle = try context.bundle(for: facts.state, at: contact.now)
        switch decision {
        case .denied(let denial):
            throw Problem(denial, seats: nil, bundle: bundle, at: contact.now)
        case .granted(let renewal):
            let answer = Wire.HeartbeatAnswer(
                leaseExpiresAt: renewal.leaseEnd?.rfc3339,
                bundle: bundle,
                serverTime: contact.now.rfc3339
            )
            return .json(.ok, answer.body())
        }
    }
}

/// `POST /v1/seats`: lists the seats, for a customer who wants to release one.
struct ListSeats: AppQuestion {
    let key: KeyClaim

    init(reading reader: inout AppRequestReader) throws {
        let install = reader.requiredInstall()
        let key = reader.licenseKey()
        guard install != nil, let key, reader.isValid else { throw reader.failure }
        self.key = key
    }

    struct Facts: Sendable {
        /// Nil when no license has the key.
        let license: License?
        /// Those that are listed, and how many there are.
        let seats: [Activation]
        let use: SeatUse?
        /// Nil before its first contact was recorded: it holds none of them.
        let install: Install.ID?
        let state: InstallState
    }

    func facts(for contact: Contact, install: Install?, in db: borrowing Snapshot) throws -> Facts {
        let license = try LicenseFinder.find(key, of: contact.caller, in: db)?.license
        return Facts(
            license: license,
            seats: try license.map { license in
                try LicenseFinder.listed(of: license, for: install?.id, at: contact.now, in: db)
            } ?? [],
            use: try license.map { try LicenseFinder.seatUse(of: $0, at: contact.now, in: db) },
            install: install?.id,
            state: try contact.requiredState(of: install, in: db)
        )
    }

    func response(to facts: Facts, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        guard let license = facts.license, let use = facts.use, let install = facts.install else {
            throw Problem.licenseNotFound(at: contact.now)
        }
        context.trace.license = license.id
        switch license.seatListDecision(for: install, given: facts.seats, at: contact.now) {
        case .denied(let denial):
            let bundle = try context.bundle(for: facts.state, at: contact.now)
            throw Problem(denial, seats: nil, bundle: bundle, at: contact.now)
        case .granted(let rows):
            let answer = Wire.SeatsAnswer(
                seats: Wire.Seats(use),
                activations: rows.map { Wire.SeatRow($0.activation, isThis: $0.isThis) },
                serverTime: contact.now.rfc3339
            )
            return .json(.ok, answer.body())
        }
    }
}

/// `POST /v1/sync`: the current bundle of an install, whatever its rights come from; the beacon of an unlicensed one too.
struct Sync: AppQuestion {
    init(reading reader: inout AppRequestReader) throws {
        guard reader.requiredInstall() != nil, reader.isValid else { throw reader.failure }
    }

    func facts(for contact: Contact, install: Install?, in db: borrowing Snapshot) throws -> InstallState {
        try contact.requiredState(of: install, in: db)
    }

    func response(to facts: InstallState, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        let answer = Wire.SyncAnswer(
            bundle: try context.bundle(for: facts, at: contact.now),
            serverTime: contact.now.rfc3339
        )
        return .json(.ok, answer.body())
    }
}

extension Contact {
    /// The job that renews the calling install's lease, where one is still due.
    fileprivate func renewal(of key: KeyClaim) -> QuestionWrite? {
        guard let install else { return nil }
        return { db, _ in
            _ = try services.seats.renewLease(key, on: install, for: caller, at: now, in: db)
            return nil
        }
    }

    /// As `state(of:in:)`, for a call that must name its install.
    func requiredState(of row: Install?, in db: borrowing Snapshot) throws -> InstallState {
        guard let state = try state(of: row, in: db) else {
            preconditionFailure("the call was read, so it names an install")
        }
        return state
    }
}
