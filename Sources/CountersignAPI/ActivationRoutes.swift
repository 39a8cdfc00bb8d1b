import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// `POST /v1/activate`: claims a seat.
struct Activate: AppAction {
    let install: InstallClaim
    let key: KeyClaim
    let replaced: Activation.ID?

    init(reading reader: inout AppRequestReader) throws {
        let install = reader.requiredInstall()
        let key = reader.licenseKey()
        replaced = reader.replacedSeat()
        guard let install, let key, reader.isValid else { throw reader.failure }
        self.install = install
        self.key = key
    }

    func perform(for contact: Contact, in db: borrowing WriteTransaction) throws -> SeatOutcome<Activation>? {
        try contact.services.seats.activate(
            key,
            on: install,
            replacing: replaced,
            for: contact.caller,
            at: contact.now,
            in: db
        )
    }

    func response(
        to result: SeatOutcome<Activation>?,
        for contact: Contact,
        in context: inout LoopState
    ) throws -> HTTPResponse {
        guard let outcome = result else { throw Problem.licenseNotFound(at: contact.now) }
        context.trace.license = outcome.license.id
        context.trace.install = outcome.install.id
        let (bundle, state) = try context.currentBundle(for: contact)
        switch outcome.decision {
        case .denied(let denial):
            throw Problem(
                denial,
                seats: outcome.seats,
                listed: try context.seats(toChooseFrom: denial, of: outcome, at: contact.now),
                bundle: bundle,
                at: contact.now
            )
        case .granted(let activation):
            let answer = Wire.ActivateAnswer(
                activation: Wire.Activation(activation, of: outcome.license),
                license: Wire.License(outcome.license, at: contact.now),
                seats: Wire.Seats(outcome.seats),
                entitlements: state.entitlements.map(Wire.Entitlement.init),
                bundle: bundle,
                serverTime: contact.now.rfc3339
            )
            return .json(.ok, answer.body())
        }
    }
}

extension LoopState {
    /// The seats of a license that a customer may choose one of to release; `nil` where that is not what he is told.
    ///
    /// Read here and not in the writer, where everybody waits.
    func seats(
        toChooseFrom denial: Denial,
        of outcome: SeatOutcome<Activation>,
        at now: Timestamp
    ) throws -> [ListedSeat]? {
        guard case .noSeats = denial, outcome.license.plan.selfRelease else { return nil }
        return try reader.snapshot { db in
            try LicenseFinder.listed(of: outcome.license, refusedTo: outcome.install.id, at: now, in: db)
        }
    }
}

/// `POST /v1/deactivate`: releases the install's seat; never a refusal for a known key.
struct Deactivate: AppAction {
    let install: InstallClaim
    let key: KeyClaim

    init(reading reader: inout AppRequestReader) throws {
        let install = reader.requiredInstall()
        let key = reader.licenseKey()
        guard let install, let key, reader.isValid else { throw reader.failure }
        self.install = install
        self.key = key
    }

    func perform(for contact: Contact, in db: borrowing WriteTransaction) throws -> SeatService.Release? {
        try contact.services.seats.deactivate(key, on: install, for: contact.caller, at: contact.now, in: db)
    }

    func response(
        to result: SeatService.Release?,
        for contact: Contact,
        in context: inout LoopState
    ) throws -> HTTPResponse {
        guard let release = result else { throw Problem.licenseNotFound(at: contact.now) }
        context.trace.license = release.license.id
        let answer = Wire.DeactivateAnswer(
            isReleased: release.isReleased,
            seats: Wire.Seats(release.seats),
            bundle: try context.currentBundle(for: contact).token,
            serverTime: contact.now.rfc3339
        )
        return .json(.ok, answer.body())
    }
}
