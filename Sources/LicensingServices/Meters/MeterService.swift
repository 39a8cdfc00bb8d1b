public import Licensing
public import Storage

/// How much of which meter.
public struct MeterAmount: Hashable, Sendable {
    /// Of the caller's product.
    public let meter: MeterName
    /// 1 to `Meter.mostAmount`.
    public let amount: Int64

    /// So much of a meter.
    public init(_ meter: MeterName, _ amount: Int64 = 1) {
        self.meter = meter
        self.amount = amount
    }
}

/// What an app asks about its meters.
public struct MeterRequest: Hashable, Sendable {
    /// At least one, each of another meter.
    public let amounts: [MeterAmount]
    /// Whose license counts, for meters of license and customer scope.
    public let key: KeyClaim?

    /// A request about these meters.
    public init(_ amounts: [MeterAmount], key: KeyClaim? = nil) {
        precondition(!amounts.isEmpty && Set(amounts.map(\.meter)).count == amounts.count, "each meter once")
        self.amounts = amounts
        self.key = key
    }
}

/// What became of a request about meters.
public enum MeterOutcome: Hashable, Sendable {
    /// An answer; being out of allowance is one.
    case answered(MeterAnswer)
    /// The product has no such meter.
    case noSuchMeter(MeterName)
    /// No license has the key.
    case licenseNotFound
    /// The license is not in force, or the install holds no seat.
    case denied(Denial)
    /// The install holds seats of several licenses, and the request shows no key.
    case severalLicenses
}

/// Counts what is used of a product's meters, and tells it.
public enum MeterService {
    /// Tells whether each amount would fit now. Counts nothing.
    ///
    /// - Parameter install: `nil` before its first contact was recorded: it has used nothing and holds no seat.
    /// - Throws: `StorageError`.
    public static func peek<DB: Queries & ~Copyable>(
        _ request: MeterRequest,
        by install: Install?,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> MeterOutcome {
        switch try MeterReading.read(request, by: install, for: caller, at: now, in: db) {
        case .refused(let outcome): return outcome
        case .read(let rows): return .answered(MeterQuestion.peek(rows.map(\.question), at: now))
        }
    }

    /// Counts every amount, or none; check and count are one step of the transaction.
    ///
    /// - Throws: `StorageError`.
    public static func consume(
        _ request: MeterRequest,
        by install: Install,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing WriteTransaction
    ) throws -> MeterOutcome {
        switch try MeterReading.read(request, by: install, for: caller, at: now, in: db) {
        case .refused(let outcome): return outcome
        case .read(let rows):
            let answer = MeterQuestion.consumption(rows.map(\.question), at: now)
            for (row, usage) in zip(rows, answer.writes) {
                guard let subject = row.subject else { preconditionFailure("an install that is known is a subject") }
                try MeterUsageStore.write(usage, of: row.question.meter.id, mode: caller.mode, by: subject, in: db)
            }
            return .answered(answer)
        }
    }

    /// What the bundle of an install says about its product's meters: each one that counts for it without doubt.
    ///
    /// A meter of license or customer scope is left out while the install holds no seat of a license in force, or seats of
    /// several: nobody can say which of them counts.
    ///
    /// - Throws: `StorageError`.
    static func reports<DB: Queries & ~Copyable>(
        of install: Install,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> [MeterReport] {
        let meters = try MeterStore.all(of: caller.product.id, in: db)
        guard !meters.isEmpty else { return [] }
        let held = try HeldLicenses.read(by: install, in: db)
        let plans = held.active(at: now).map(\.plan)
        var license: License?
        if case .license(let found) = MeterLicense(amongHeld: held.pairs, at: now) { license = found }
        let questions = try meters.compactMap { meter -> MeterQuestion? in
            guard let subject = meter.subject(for: install.id, license: license) else { return nil }
            let usage = try MeterUsageStore.find(of: meter.id, mode: caller.mode, by: subject, in: db)
            return MeterQuestion(meter: meter, limit: meter.limit(raisedBy: plans), usage: usage)
        }
        return MeterQuestion.peek(questions, at: now).reports
    }
}

/// The licenses that an install holds seats of, each with its seat; a lease may be over.
struct HeldLicenses {
    let pairs: [(license: License, seat: Activation)]

    /// Those of an install; none for one that was never recorded.
    static func read<DB: Queries & ~Copyable>(by install: Install?, in db: borrowing DB) throws -> HeldLicenses {
        guard let install else { return HeldLicenses(pairs: []) }
        let seats = try ActivationStore.unreleased(heldBy: install.id, in: db)
        guard !seats.isEmpty else { return HeldLicenses(pairs: []) }
        let byLicense = Dictionary(seats.map { ($0.license, $0) }, uniquingKeysWith: { first, _ in first })
        let licenses = try LicenseStore.seated(install.id, in: db)
        return HeldLicenses(pairs: licenses.compactMap { license in byLicense[license.id].map { (license, $0) } })
    }

    /// Those in force whose seat is held at `now`: their plans raise limits.
    func active(at now: Timestamp) -> [License] {
        pairs.filter { $0.license.heartbeatDecision(seat: $0.seat, at: now).value != nil }.map(\.license)
    }
}

/// What a transaction says about the meters of a request.
private enum MeterReading {
    struct Row {
        let question: MeterQuestion
        /// Who is counted for; `nil`: an install that was never recorded.
        let subject: MeterSubject?
    }

    case read([Row])
    case refused(MeterOutcome)

    static func read<DB: Queries & ~Copyable>(
        _ request: MeterRequest,
        by install: Install?,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> MeterReading {
        var meters: [Meter] = []
        for amount in request.amounts {
            guard let meter = try MeterStore.find(amount.meter, of: caller.product.id, in: db) else {
                return .refused(.noSuchMeter(amount.meter))
            }
            meters.append(meter)
        }
        let held = try HeldLicenses.read(by: install, in: db)
        var license: License?
        if meters.contains(where: { $0.scope != .install }) {
            switch try self.license(of: request, among: held, for: caller, at: now, in: db) {
            case nil: return .refused(.licenseNotFound)
            case .denied(let denial): return .refused(.denied(denial))
            case .several: return .refused(.severalLicenses)
            case .license(let found): license = found
            }
        }
        let plans = held.active(at: now).map(\.plan)
        let rows = try zip(meters, request.amounts).map { meter, amount in
            let subject = install.flatMap { meter.subject(for: $0.id, license: license) }
            return Row(
                question: MeterQuestion(
                    meter: meter,
                    limit: meter.limit(raisedBy: plans),
                    usage: try subject.flatMap { subject in
                        try MeterUsageStore.find(of: meter.id, mode: caller.mode, by: subject, in: db)
                    },
                    amount: amount.amount
                ),
                subject: subject
            )
        }
        return .read(rows)
    }

    /// The license that counts; `nil`: none has the key.
    private static func license<DB: Queries & ~Copyable>(
        of request: MeterRequest,
        among held: HeldLicenses,
        for caller: Caller,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> MeterLicense? {
        guard let key = request.key else { return MeterLicense(amongHeld: held.pairs, at: now) }
        guard let found = try LicenseFinder.find(key, of: caller, in: db) else { return nil }
        let seat = held.pairs.first { $0.license.id == found.license.id }?.seat
        return MeterLicense(named: found.license, seat: seat, at: now)
    }
}
