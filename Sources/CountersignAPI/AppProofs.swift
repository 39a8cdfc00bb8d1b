import AppStore
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// A call that shows something signed: looked at on the loop, checked on the worker, then decided and recorded in the
/// writer's transaction.
protocol AppProof: AppBody {
    /// What is left after the refusals that cost nothing.
    associatedtype Presentation: Sendable
    /// What was signed, genuine.
    associatedtype Evidence: Sendable
    /// What became of it.
    associatedtype Result: Sendable

    /// Refuses what can be refused without a signature; what it throws is the answer.
    func presentation(for contact: Contact, in db: borrowing Snapshot) throws -> Presentation

    /// Checks signatures, on the worker; what it throws is the answer.
    func evidence(
        _ presentation: Presentation,
        for contact: Contact,
        chains: inout ChainCache
    ) throws -> Evidence

    /// Decides and records; the install's contact too, whatever is decided.
    func perform(_ evidence: Evidence, for contact: Contact, in db: borrowing WriteTransaction) throws -> Result

    /// The answer, or what is thrown in its place.
    func response(to result: Result, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse
}

extension LoopState {
    /// Has the worker check what an app shows, and the writer do what follows from it.
    mutating func prove<Proof: AppProof>(
        _: Proof.Type,
        _ request: HTTPRequest
    ) throws -> Outcome<Job> {
        let services = services
        let envelope = try AppEnvelope(request, in: self)
        let reading = try reader.snapshot { db in
            try envelope.read(Proof.self, services, in: db) { proof, contact, db in
                // A refusal must not keep the first contact from being recorded.
                (
                    try contact.row(in: db),
                    Result<Proof.Presentation, any Error> { try proof.presentation(for: contact, in: db) }
                )
            }
        }
        switch reading {
        case .refused(let error, let contact, let install): return try refuse(error, contact, install)
        case .call(_, let contact, let install, .failure(let error)): return try refuse(error, contact, install)
        case .call(let proof, let contact, let install, .success(let presentation)):
            try lookAtFirstContacts(contact, install)
            return .compute(for: contact.origin, bytes: request.body.byteCount) { chains in
                let evidence: Proof.Evidence
                do {
                    evidence = try proof.evidence(presentation, for: contact, chains: &chains)
                } catch {
                    return contact.refusal(error, install)
                }
                return .write { db, charges in
                    if contact.isFirst(install) { try contact.passFirstContact(charges, in: db) }
                    let result = try proof.perform(evidence, for: contact, in: db)
                    try contact.touch(in: db)
                    return { context in
                        context.trace(contact, nil)
                        return try proof.response(to: result, for: contact, in: &context)
                    }
                }
            }
        }
    }
}

extension Contact {
    /// Answers with an error, after the install's first contact was recorded.
    fileprivate func refusal(_ error: any Error, _ row: Install?) -> Computed {
        guard mustBeRecorded(row) else {
            return .answer { context in
                context.note(self, row)
                throw error
            }
        }
        return .write { db, charges in
            if isFirst(row) { try passFirstContact(charges, in: db) }
            try record(in: db)
            try touch(in: db)
            return { context in
                context.trace(self, nil)
                throw error
            }
        }
    }
}
