import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// `POST /v1/trial`: starts the install's trial where it may be started, and tells what it is.
struct AskTrial: AppQuestion {
    let call: TrialCall

    init(reading reader: inout AppRequestReader) throws {
        let install = reader.requiredInstall()
        call = reader.trialCall()
        guard install != nil, reader.isValid else { throw reader.failure }
    }

    struct Facts: Sendable {
        let state: InstallState
        /// Whether the call has something to write.
        let isDue: Bool
        /// Where this install is told it.
        let token: TrialService.SealedToken?
    }

    func facts(for contact: Contact, install: Install?, in db: borrowing Snapshot) throws -> Facts {
        let state = try contact.requiredState(of: install, in: db)
        guard let install else { return Facts(state: state, isDue: true, token: nil) }
        return Facts(
            state: state,
            isDue: try TrialService.isDue(
                call,
                of: install,
                standing: state.trial,
                under: contact.caller.product.settings,
                at: contact.now,
                in: db
            ),
            token: try TrialService.sealedToken(of: state.trial, for: install, in: db)
        )
    }

    func write(before facts: Facts, for contact: Contact) -> (@Sendable (borrowing WriteTransaction) throws -> Void)? {
        guard facts.isDue, let install = contact.install else { return nil }
        let call = call
        return { db in
            try contact.services.trials.start(call, by: install, for: contact.caller, at: contact.now, in: db)
        }
    }

    func startsTrial(_ facts: Facts) -> Bool {
        call.asksToStart && facts.state.trial.trial == nil && facts.state.trial.status.state == .available
    }

    func response(to facts: Facts, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        let status = facts.state.trial.status
        let answer = Wire.TrialAnswer(
            state: status.state.rawValue,
            code: status.code.rawValue,
            verdict: WireVerdict(status.verdict),
            startedAt: status.startedAt?.rfc3339,
            endsAt: status.endsAt?.rfc3339,
            remainingSeconds: status.remainingSeconds,
            trialToken: try facts.token.map { try contact.services.trials.open($0) },
            bundle: try context.bundle(for: facts.state, at: contact.now),
            serverTime: contact.now.rfc3339
        )
        return .json(.ok, answer.body())
    }
}
