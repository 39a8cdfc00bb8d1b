import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// The members of a call by an app.
protocol AppBody: Sendable {
    /// Reads the members; throws `reader.failure` once everything was read.
    init(reading reader: inout AppRequestReader) throws
}

/// A call that asks: answered from the snapshot in which the caller was recognized, unless something must be written first.
protocol AppQuestion: AppBody {
    /// What one snapshot says.
    associatedtype Facts: Sendable

    /// Reads the facts.
    func facts(for contact: Contact, install: Install?, in db: borrowing Snapshot) throws -> Facts

    /// Whether the answer that these facts give counts toward the vendor's quota of validations.
    func isValidation(_ facts: Facts) -> Bool

    /// What must be written before the answer, beside the first contact of the install: nil for nothing.
    ///
    /// What it throws undoes what it wrote; what it returns refuses the call after what it wrote was committed.
    func write(before facts: Facts, for contact: Contact) -> QuestionWrite?

    /// Whether what it writes is the contact of the install too.
    static var writesContact: Bool { get }

    /// The answer, or what is thrown in its place.
    func response(to facts: Facts, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse
}

extension AppQuestion {
    func isValidation(_ facts: Facts) -> Bool { false }

    func write(before facts: Facts, for contact: Contact) -> QuestionWrite? { nil }

    static var writesContact: Bool { false }
}

/// What a question has written before it is answered; returns why it is refused all the same.
typealias QuestionWrite = @Sendable (borrowing WriteTransaction, Charges) throws -> LimitExceeded?

/// A call that changes something: decided and recorded in the writer's transaction.
protocol AppAction: AppBody {
    /// What became of it.
    associatedtype Result: Sendable

    /// Decides and records; the install's contact too, whatever is decided.
    func perform(for contact: Contact, in db: borrowing WriteTransaction) throws -> Result

    /// The answer, or what is thrown in its place.
    func response(to result: Result, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse
}

/// What a snapshot made of a request.
enum Reading<Body: AppBody, Facts: Sendable>: Sendable {
    /// It is sound.
    case call(Body, Contact, Install?, Facts)
    /// It is not; if the contact names an install, that was in contact all the same.
    case refused(any Error, Contact, Install?)
}

/// What a handler takes out of the loop's buffer before the snapshot.
struct AppEnvelope: Sendable {
    let token: PresentedToken
    let body: [UInt8]
    let idempotencyHeader: [[UInt8]]
    let mediaTypeProblem: Problem?
    let client: ClientKey?
    let limiter: RateLimiter

    init(_ request: HTTPRequest, in context: borrowing LoopState) throws {
        client = context.client
        limiter = context.shared.limiter
        token = try .ofApp(request)
        try token.required()
        body = request.bodyBytes()
        idempotencyHeader = request.headerLines("idempotency-key")
        do {
            try MediaType.check(request)
            mediaTypeProblem = nil
        } catch {
            mediaTypeProblem = Problem(error)
        }
    }

    /// Recognizes the caller, reads the body and, if it is sound, asks `facts`; all within one snapshot.
    func read<Body: AppBody, Facts: Sendable>(
        _: Body.Type,
        _ services: Services,
        in db: borrowing Snapshot,
        facts: (Body, Contact, borrowing Snapshot) throws -> (Install?, Facts)
    ) throws -> Reading<Body, Facts> {
        let now = try services.clock.now(in: db)
        let principal = try token.principal(.publishable, at: now, in: db)
        guard let caller = principal.caller else {
            throw Problem(.forbidden, "This credential is not for this route.")
        }
        if let mediaTypeProblem { throw mediaTypeProblem }
        let document = try JSONDocument(parsing: body)
        var reader = try AppRequestReader(
            document.root,
            idempotencyHeader: idempotencyHeader,
            for: caller,
            keys: services.keys
        )
        func contact() -> Contact {
            Contact(
                caller: caller,
                credential: principal.credential.id,
                now: now,
                install: reader.install,
                nonce: reader.nonce,
                services: services,
                client: client,
                limiter: limiter
            )
        }
        let body: Body
        do {
            body = try Body(reading: &reader)
        } catch {
            let contact = contact()
            return .refused(error, contact, try contact.row(in: db))
        }
        let contact = contact()
        if let key = reader.key {
            do throws(LimitExceeded) {
                try contact.look(.wrongKeys)
            } catch {
                // Too many keys of this vendor that nobody has: nothing is said about another one.
                let row = try contact.row(in: db)
                guard try contact.holdsSeat(of: key, row, in: db) else { return .refused(error, contact, row) }
            }
        }
        let (install, facts) = try facts(body, contact, db)
        return .call(body, contact, install, facts)
    }
}

/// What one snapshot makes of a question.
private struct Asked<Facts: Sendable>: Sendable {
    let facts: Facts
    /// Whether the contact itself has to be written.
    let isNew: Bool
    /// What else has to be written.
    let write: QuestionWrite?
    let validation: CountedValidation

    /// Asks, and counts last: what has no answer about a license, or none at all, does not count.
    init<Question: AppQuestion>(
        _ question: Question,
        _ contact: Contact,
        _ install: Install?,
        in db: borrowing Snapshot
    ) throws where Question.Facts == Facts {
        facts = try question.facts(for: contact, install: install, in: db)
        isNew = contact.mustBeRecorded(install)
        write = question.write(before: facts, for: contact)
        let isHeld = isNew || write != nil
        validation = question.isValidation(facts) ? try contact.countValidation(isHeld: isHeld, in: db) : .none
    }
}

/// What became of a question that may count as a validation.
private enum CountedValidation: Sendable {
    /// It is none.
    case none
    /// It is counted, and answered at once.
    case counted
    /// It is counted until its answer is ready, and given back if there is none.
    case held(HeldValidation)
    /// There is none left.
    case refused(LimitExceeded)

    /// The answer is ready.
    func settle() { if case .held(let validation) = self { validation.settle() } }
}

extension LoopState {
    /// Answers a question of an app.
    ///
    /// The first contact of an install goes through the writer whatever the answer is, so that its clock starts (design 1.7).
    mutating func ask<Question: AppQuestion>(
        _: Question.Type,
        _ request: HTTPRequest
    ) throws -> Outcome<Job> {
        let services = services
        let envelope = try AppEnvelope(request, in: self)
        let reading = try reader.snapshot { db in
            try envelope.read(Question.self, services, in: db) { question, contact, db in
                let install = try contact.row(in: db)
                return (install, try Asked(question, contact, install, in: db))
            }
        }
        switch reading {
        case .refused(let error, let contact, let install): return try refuse(error, contact, install)
        case .call(let question, let contact, let install, let asked):
            let validation = asked.validation
            if case .refused(let limit) = validation { return try refuse(limit, contact, install) }
            guard asked.isNew || asked.write != nil else {
                note(contact, install)
                do {
                    return .reply(try question.response(to: asked.facts, for: contact, in: &self))
                } catch {
                    contact.giveBack(validation)
                    throw error
                }
            }
            let (isNew, write) = (asked.isNew, asked.write)
            try lookAtFirstContacts(contact, install)
            return .write(for: contact.origin) { db, charges in
                if contact.isFirst(install) { try contact.passFirstContact(charges, in: db) }
                // The question's own write first: it must see what there was before this contact, to tell a new trial.
                let refusal = try write?(db, charges)
                if isNew, write == nil || !Question.writesContact { try contact.record(in: db) }
                try contact.touch(in: db)
                return refusal
            } then: { refusal, context in
                if let refusal {
                    context.trace(contact, install)
                    throw refusal
                }
                // Asked again, so that the answer and its bundle tell of one state, the one that was written included.
                let (contact, install, facts) = try context.reader.snapshot { db in
                    let contact = try contact.renewed(in: db)
                    let install = try contact.row(in: db)
                    let facts = try question.facts(for: contact, install: install, in: db)
                    if case .none = validation, question.isValidation(facts) {
                        // The license came meanwhile. What is answered anyway is answered over the quota, too.
                        _ = try contact.countValidation(isHeld: false, in: db)
                    }
                    return (contact, install, facts)
                }
                context.trace(contact, install)
                let response = try question.response(to: facts, for: contact, in: &context)
                if question.isValidation(facts) { validation.settle() }
                return response
            }
        }
    }

    /// Has the writer do what an app asks.
    mutating func act<Action: AppAction>(
        _: Action.Type,
        _ request: HTTPRequest
    ) throws -> Outcome<Job> {
        let services = services
        let envelope = try AppEnvelope(request, in: self)
        let reading: Reading<Action, Bool> = try reader.snapshot { db in
            try envelope.read(Action.self, services, in: db) { _, contact, db in (try contact.row(in: db), true) }
        }
        switch reading {
        case .refused(let error, let contact, let install): return try refuse(error, contact, install)
        case .call(let action, let contact, let install, _):
            try lookAtFirstContacts(contact, install)
            return .write(for: contact.origin) { db, charges in
                if contact.isFirst(install) { try contact.passFirstContact(charges, in: db) }
                let result = try action.perform(for: contact, in: db)
                try contact.touch(in: db)
                return result
            } then: { result, context in
                context.trace(contact, nil)
                return try action.response(to: result, for: contact, in: &context)
            }
        }
    }

    /// Refuses a call whose members are not sound, after its install's first contact was recorded.
    mutating func refuse(_ error: any Error, _ contact: Contact, _ install: Install?) throws -> Outcome<Job> {
        guard contact.mustBeRecorded(install) else {
            note(contact, install)
            throw error
        }
        try lookAtFirstContacts(contact, install)
        return .write(for: contact.origin) { db, charges in
            if contact.isFirst(install) { try contact.passFirstContact(charges, in: db) }
            try contact.record(in: db)
            try contact.touch(in: db)
        } then: { _, context in
            context.trace(contact, nil)
            throw error
        }
    }

    /// Remembers that a known install was in contact.
    mutating func note(_ contact: Contact, _ install: Install?) {
        trace(contact, install)
        guard let claim = contact.install, let install else { return }
        note(install, claim, of: contact)
    }

    /// Refuses what would be a first contact before it comes to the writer, where its address has none left. It is counted
    /// when it is written.
    func lookAtFirstContacts(_ contact: Contact, _ install: Install?) throws(LimitExceeded) {
        if contact.isFirst(install) { try contact.look(.firstContacts) }
    }

    mutating func trace(_ contact: Contact, _ install: Install?) {
        trace.wrongKeys = contact.bucket(.wrongKeys)
        trace.credential = contact.credential
        trace.install = install?.id
    }
}

extension Contact {
    /// Whether the install holds a seat of the license with this key: nobody else learns anything by the answer.
    fileprivate func holdsSeat(of key: KeyClaim, _ install: Install?, in db: borrowing Snapshot) throws -> Bool {
        guard let install, let found = try LicenseFinder.find(key, of: caller, in: db) else { return false }
        return try LicenseFinder.seat(of: found.license.id, heldBy: install, in: db) != nil
    }

    /// Counts one of the vendor's validations.
    ///
    /// - Parameter isHeld: whether its answer has to wait for a write, which may come to nothing.
    fileprivate func countValidation(isHeld: Bool, in db: borrowing Snapshot) throws -> CountedValidation {
        let (counter, vendor) = (services.validations, caller.vendor)
        let decision =
            isHeld ? try counter.hold(by: vendor, at: now, in: db) : try counter.count(by: vendor, at: now, in: db)
        switch decision {
        case .counted: return .counted
        case .held(let validation): return .held(validation)
        case .usedUp(let use): return .refused(LimitExceeded(use, at: now))
        case .allHeld(let use): return .refused(LimitExceeded(allHeld: use))
        }
    }

    /// Takes back a validation whose answer failed.
    fileprivate func giveBack(_ validation: CountedValidation) {
        if case .counted = validation { services.validations.giveBack(by: caller.vendor.id, at: now) }
    }

    /// Records the install's contact.
    func record(in db: borrowing WriteTransaction) throws {
        guard let install else { return }
        try services.installs.record(install, of: caller, at: now, in: db)
    }

    /// Notes that the install was in contact, and so were all the seats it holds: after what was decided by when that was
    /// last.
    func touch(in db: borrowing WriteTransaction) throws {
        guard let row = try row(in: db) else { return }
        try InstallStore.touch(row.id, at: now, in: db)
    }
}
