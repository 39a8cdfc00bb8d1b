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
        // What an unknown install, or one that tells another machine, is asking for is decided once that is written.
        guard let install, !contact.mustBeRecorded(install) else {
            return Facts(state: state, isDue: true, token: nil)
        }
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

    /// A call that is refused a trial is a contact all the same.
    static var writesContact: Bool { true }

    func write(before facts: Facts, for contact: Contact) -> QuestionWrite? {
        guard facts.isDue, let install = contact.install else { return nil }
        let call = call
        return { db, charges in
            let trials = contact.services.trials
            // Looked at here, not in the snapshot: of several calls for one trial, one starts it.
            if try trials.isNew(call, by: install, for: contact.caller, at: contact.now, in: db) {
                do throws(LimitExceeded) {
                    try contact.pass(.trials, charges)
                } catch {
                    try contact.record(in: db)
                    return error
                }
            }
            try trials.start(call, by: install, for: contact.caller, at: contact.now, in: db)
            return nil
        }
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
