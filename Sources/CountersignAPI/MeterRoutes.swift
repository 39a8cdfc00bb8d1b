import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// `POST /v1/meters/peek`: tells whether amounts would fit; counts nothing.
struct PeekMeters: AppQuestion {
    let call: MeterCall

    init(reading reader: inout AppRequestReader) throws {
        call = try MeterCall(reading: &reader)
    }

    struct Facts: Sendable {
        let outcome: MeterOutcome
        /// For the bundle of a refusal.
        let state: InstallState?
    }

    func facts(for contact: Contact, install: Install?, in db: borrowing Snapshot) throws -> Facts {
        let outcome = try MeterService.peek(call.request, by: install, for: contact.caller, at: contact.now, in: db)
        guard case .denied = outcome else { return Facts(outcome: outcome, state: nil) }
        return Facts(outcome: outcome, state: try contact.state(of: install, in: db))
    }

    func response(to facts: Facts, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        let bundle = try facts.state.map { try context.bundle(for: $0, at: contact.now) }
        let answer = try call.answer(facts.outcome, refusedWith: bundle, at: contact.now)
        return .json(.ok, call.wire(answer, bundle: nil, at: contact.now).body())
    }
}

/// `POST /v1/meters/consume`: counts every amount or none; once for each idempotency key.
struct ConsumeMeters: AppAction {
    let call: MeterCall
    /// Whether the answer is to carry a bundle.
    let wantsBundle: Bool
    let repeatable: IdempotentCall?

    init(reading reader: inout AppRequestReader) throws {
        let wantsBundle = reader.members.bool("bundle") ?? false
        // Asked for before the call is found to be sound or not, so that a client hears of all that is wrong at once.
        (call, repeatable) = try MeterCall.read(&reader, route: "meters.consume")
        self.wantsBundle = wantsBundle
    }

    struct Result: Sendable {
        let install: Install
        /// Nil where the idempotency key came with another body before.
        let outcome: MeterOutcome?
    }

    func perform(for contact: Contact, in db: borrowing WriteTransaction) throws -> Result {
        // A count is written often and by installs that are known: what else they tell of themselves is flushed later.
        let directory = contact.services.installs
        let known = try directory.find(call.install, of: contact.caller, in: db)
        let install: Install
        if let known, !directory.mustRecord(call.install, known: known, for: contact.caller),
            !Sightings.mustBeWrittenNow(known, seenAt: contact.now)
        {
            install = known
        } else {
            install = try directory.record(call.install, of: contact.caller, at: contact.now, in: db)
        }
        func consume(_ db: borrowing WriteTransaction) throws -> MeterOutcome {
            try MeterService.consume(call.request, by: install, for: contact.caller, at: contact.now, in: db)
        }
        guard let repeatable else { return Result(install: install, outcome: try consume(db)) }
        let outcome = try repeatable.perform(at: contact.now, in: db) { facts in
            guard let answer = MeterAnswer(facts: facts) else {
                throw StorageError(.corrupt, "what was kept of a consumption cannot be read")
            }
            return MeterOutcome.answered(answer)
        } decide: { db in
            let outcome = try consume(db)
            guard case .answered(let answer) = outcome, answer.isAllowed else { return (outcome, nil) }
            return (outcome, answer.facts)
        }
        return Result(install: install, outcome: outcome.facts)
    }

    func response(to result: Result, for contact: Contact, in context: inout LoopState) throws -> HTTPResponse {
        context.trace.install = result.install.id
        context.note(result.install, call.install, of: contact)
        guard let outcome = result.outcome else {
            let bundle = try context.currentBundle(for: contact).token
            throw Problem.idempotencyConflict(bundle: bundle, at: contact.now)
        }
        var bundle: [UInt8]?
        switch outcome {
        case .answered where wantsBundle, .denied: bundle = try context.currentBundle(for: contact).token
        case .answered, .noSuchMeter, .licenseNotFound, .severalLicenses: break
        }
        let answer = try call.answer(outcome, refusedWith: bundle, at: contact.now)
        return .json(.ok, call.wire(answer, bundle: bundle, at: contact.now).body())
    }
}

/// What both calls say.
struct MeterCall: Sendable {
    let install: InstallClaim
    let request: MeterRequest
    /// Whether the call names `meters`, not one `meter`.
    let isList: Bool

    /// The most meters of one call.
    static let mostMeters = 256

    init(reading reader: inout AppRequestReader) throws {
        (self, _) = try Self.read(&reader, route: nil)
    }

    private init(install: InstallClaim, request: MeterRequest, isList: Bool) {
        self.install = install
        self.request = request
        self.isList = isList
    }

    /// Reads all members, and on a route that counts what a repeat is recognized by.
    static func read(
        _ reader: inout AppRequestReader,
        route: String?
    ) throws -> (call: MeterCall, repeatable: IdempotentCall?) {
        let install = reader.requiredInstall()
        let key = reader.members.value("license_key") == nil ? nil : reader.licenseKey()
        let isList = reader.members.value("meters") != nil
        let amounts = reader.members.meterAmounts()
        let repeatable = route.flatMap { reader.idempotentCall(route: $0) }
        guard let install, let amounts, reader.isValid else { throw reader.failure }
        return (MeterCall(install: install, request: MeterRequest(amounts, key: key), isList: isList), repeatable)
    }

    /// The answer of an outcome that is one; throws what the client hears in its place.
    func answer(_ outcome: MeterOutcome, refusedWith bundle: [UInt8]?, at now: Timestamp) throws -> MeterAnswer {
        switch outcome {
        case .answered(let answer): return answer
        case .noSuchMeter(let name):
            var problem = Problem(.meterNotFound, "This product has no meter \(name).")
            problem.body.serverTime = now.rfc3339
            throw problem
        case .licenseNotFound: throw Problem.licenseNotFound(at: now)
        case .denied(let denial):
            var problem = Problem(denial, seats: nil, bundle: bundle, at: now)
            if request.key == nil { problem.body.detail = "This install holds no seat of a license in force." }
            throw problem
        case .severalLicenses:
            throw InvalidMembers(
                JSONPointer("license_key"),
                "is required: this install holds seats of several licenses"
            )
        }
    }

    func wire(_ answer: MeterAnswer, bundle: [UInt8]?, at now: Timestamp) -> Wire.MetersAnswer {
        Wire.MetersAnswer(
            isAllowed: answer.isAllowed,
            reports: answer.reports.map(Wire.MeterReport.init),
            isList: isList,
            bundle: bundle,
            serverTime: now.rfc3339
        )
    }
}

extension MemberReader {
    /// `meter` with `amount`, or `meters`: names or objects of both; nil where something is wrong with them.
    fileprivate mutating func meterAmounts() -> [MeterAmount]? {
        guard value("meters") != nil else { return meterAmount().map { [$0] } }
        if value("meter") != nil { refuse("meter", "must not stand beside meters") }
        if value("amount") != nil { refuse("amount", "must stand in meters, beside each meter") }
        guard let elements = elements("meters") else { return nil }
        guard !elements.isEmpty else {
            refuse("meters", "must name at least one meter")
            return nil
        }
        guard elements.count <= MeterCall.mostMeters else {
            refuse("meters", "must name at most \(MeterCall.mostMeters) meters")
            return nil
        }
        var amounts: [MeterAmount] = []
        var names: Set<MeterName> = []
        for (value, pointer) in elements {
            let isName = value.kind == .string
            guard let amount = isName ? meterName(value, at: pointer) : meterAmount(value, at: pointer) else {
                continue
            }
            amounts.append(amount)
            guard names.insert(amount.meter).inserted else {
                refuse(InvalidMember(isName ? pointer : pointer.appending("meter"), "must not name a meter twice"))
                continue
            }
        }
        return names.count == elements.count ? amounts : nil
    }

    /// `meter` and `amount` of this object.
    private mutating func meterAmount() -> MeterAmount? {
        let amount = integer("amount", in: 1...Meter.mostAmount)
        guard value("meter") != nil else {
            refuse("meter", "is required")
            return nil
        }
        guard let text = text("meter", maximum: .max) else { return nil }
        do {
            let meter = try MeterName(text)
            return value("amount") != nil && amount == nil ? nil : MeterAmount(meter, amount ?? 1)
        } catch {
            refuse("meter", error.reason)
            return nil
        }
    }

    private mutating func meterName(_ value: JSONValue, at pointer: JSONPointer) -> MeterAmount? {
        do throws(ValueFault) {
            return MeterAmount(try MeterName(value.string ?? ""))
        } catch {
            refuse(InvalidMember(pointer, error.reason))
            return nil
        }
    }

    private mutating func meterAmount(_ value: JSONValue, at pointer: JSONPointer) -> MeterAmount? {
        do throws(InvalidMembers) {
            var members = try MemberReader(value, at: pointer)
            let amount = members.meterAmount()
            absorb(members)
            return amount
        } catch {
            for member in error.members { refuse(member) }
            return nil
        }
    }
}

extension Wire.MeterReport {
    init(_ report: MeterReport) {
        self.init(
            meter: report.meter.text,
            isAllowed: report.isAllowed,
            used: report.used,
            limit: report.limit.count,
            left: report.left,
            resetsAt: report.resetsAt?.rfc3339
        )
    }
}
