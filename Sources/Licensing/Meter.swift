/// When a meter's count begins anew.
public enum MeterPeriod: Hashable, Sendable {
    /// Never.
    case lifetime
    /// With each day, UTC.
    case day
    /// With each calendar month, UTC.
    case month
    /// With each calendar year, UTC.
    case year
    /// So long after a window opened; one opens with the first count after the last one ended.
    case rolling(CalendarDuration)

    /// Reads `lifetime`, `day`, `month`, `year` or an ISO 8601 duration.
    ///
    /// - Throws: `ValueFault`.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        switch text {
        case "lifetime": self = .lifetime
        case "day": self = .day
        case "month": self = .month
        case "year": self = .year
        default: self = .rolling(try CalendarDuration(text).checkedAsPositive())
        }
    }

    /// As it is read.
    public var text: String {
        switch self {
        case .lifetime: return "lifetime"
        case .day: return "day"
        case .month: return "month"
        case .year: return "year"
        case .rolling(let duration): return duration.iso8601
        }
    }

    /// The most seconds of a window; `nil` for one without an end.
    fileprivate var longestSeconds: Int64? {
        switch self {
        case .lifetime: return nil
        case .day: return Timestamp.secondsPerDay
        case .month: return CalendarDuration(months: 1).longestSeconds
        case .year: return CalendarDuration(months: 12).longestSeconds
        case .rolling(let duration): return duration.longestSeconds
        }
    }

    /// The fewest seconds of a window; `nil` for one without an end.
    fileprivate var shortestSeconds: Int64? {
        switch self {
        case .lifetime: return nil
        case .day: return Timestamp.secondsPerDay
        case .month: return CalendarDuration(months: 1).shortestSeconds
        case .year: return CalendarDuration(months: 12).shortestSeconds
        case .rolling(let duration): return duration.shortestSeconds
        }
    }

    /// The start of the window that a count at `now` opens.
    func windowStart(at now: Timestamp) -> Timestamp {
        switch self {
        case .lifetime: return .earliest
        case .day: return now.startOfDay
        case .month: return now.startOfMonth
        case .year: return now.startOfYear
        case .rolling: return now
        }
    }

    /// The end of the window that opened at `start`, or `nil` where it has none.
    func windowEnd(from start: Timestamp) -> Timestamp? {
        switch self {
        case .lifetime: return nil
        case .day: return start.startOfDay.adding(seconds: Timestamp.secondsPerDay)
        case .month: return start.startOfMonth.adding(months: 1)
        case .year: return start.startOfYear.adding(months: 12)
        case .rolling(let duration): return start.adding(duration)
        }
    }
}

/// Who shares a meter's count.
public enum MeterScope: String, Hashable, Sendable, CaseIterable {
    /// Nobody: each install has its own.
    case install
    /// The installs of a license.
    case license
    /// The installs of a customer.
    case customer
}

/// What is counted for: a row of usage is named by meter and subject.
public enum MeterSubject: Hashable, Sendable {
    /// An install.
    case install(Install.ID)
    /// A license; with customer scope one that has no customer.
    case license(License.ID)
    /// A customer.
    case customer(Customer.ID)

    /// The identifier's text form.
    public var text: String {
        switch self {
        case .install(let id): return id.text
        case .license(let id): return id.text
        case .customer(let id): return id.text
        }
    }
}

/// A counted feature of a product.
public struct Meter: Hashable, Sendable {
    /// Names the meter for good.
    public var id: MeterID
    /// Whose it is.
    public var product: Product.ID
    /// Unique within the product.
    public var name: MeterName
    /// The most in a period, where no plan raises it.
    public var limit: MeterLimit
    /// When the count begins anew.
    public var period: MeterPeriod
    /// Who shares the count.
    public var scope: MeterScope

    /// The most that one call may count.
    public static let mostAmount: Int64 = 1_000_000_000
    /// The most meters of a product: each has a row in every bundle.
    public static let mostInProduct = 256

    /// A meter of these members.
    public init(
        id: MeterID,
        product: Product.ID,
        name: MeterName,
        limit: MeterLimit,
        period: MeterPeriod,
        scope: MeterScope
    ) {
        self.id = id
        self.product = product
        self.name = name
        self.limit = limit
        self.period = period
        self.scope = scope
    }

    /// The limit that counts: the highest of the product's and those of the plans.
    ///
    /// - Parameter plans: The plans of the active licenses that the install holds a seat of.
    public func limit(raisedBy plans: some Sequence<Plan>) -> MeterLimit {
        plans.reduce(limit) { limit, plan in plan.meters[name].map { max(limit, $0) } ?? limit }
    }

    /// What is counted for when `install` calls.
    ///
    /// - Parameters:
    ///   - install: Who calls.
    ///   - license: The license that counts (`MeterLicense`); not asked for with install scope.
    /// - Returns: `nil` where the scope needs a license and there is none.
    public func subject(for install: Install.ID, license: License?) -> MeterSubject? {
        switch scope {
        case .install: return .install(install)
        case .license: return license.map { .license($0.id) }
        case .customer: return license.map { license in license.customer.map { .customer($0) } ?? .license(license.id) }
        }
    }
}

/// What was counted in a window: a row of usage.
public struct MeterUsage: Hashable, Sendable {
    /// When the window opened.
    public var windowStart: Timestamp
    /// The count, never negative.
    public var used: Int64

    /// A usage of these members.
    public init(windowStart: Timestamp, used: Int64) {
        self.windowStart = windowStart
        self.used = used
    }

    /// The usage after an administrator gave `amount` back: never below zero.
    public func refunded(_ amount: Int64) -> MeterUsage {
        MeterUsage(windowStart: windowStart, used: max(0, used.subtractingClamped(max(0, amount))))
    }

    /// Whether it is of the window that is open at `now`; one that is over counts as none.
    public func isCurrent(for period: MeterPeriod, at now: Timestamp) -> Bool {
        // A window that seems to open later is the current one: a clock that was set back gives no new allowance.
        period.windowEnd(from: windowStart).map { now < $0 } ?? true
    }
}

/// What an edit of a meter takes from those who count.
extension Meter {
    /// Whether it becomes less than it was when it becomes `new`: a lower limit, a longer period, another scope.
    ///
    /// A period that cannot be compared for sure counts as longer. Another scope begins all counts anew, and installs that
    /// had an allowance each may share one.
    public func isLess(whenBecoming new: Meter) -> Bool {
        if new.limit < limit || new.scope != scope { return true }
        guard new.limit != .unlimited, new.period != period else { return false }
        guard let longest = new.period.longestSeconds else { return true }
        guard let shortest = period.shortestSeconds else { return false }
        return longest > shortest
    }
}

/// A meter that is asked about: what the transaction has read.
public struct MeterQuestion: Hashable, Sendable {
    /// The meter.
    public var meter: Meter
    /// The limit that counts: `Meter.limit(raisedBy:)`.
    public var limit: MeterLimit
    /// The row of the subject, of whatever window, or `nil` where there is none.
    public var usage: MeterUsage?
    /// 1 to `Meter.mostAmount`.
    public var amount: Int64

    /// A question of these members.
    public init(meter: Meter, limit: MeterLimit, usage: MeterUsage?, amount: Int64 = 1) {
        self.meter = meter
        self.limit = limit
        self.usage = usage
        self.amount = amount
    }
}

/// What is told about one meter: `{meter, allowed, used, limit, left, resets_at}`.
public struct MeterReport: Hashable, Sendable {
    /// The meter's name.
    public var meter: MeterName
    /// Whether its own amount fits, or fitted.
    public var isAllowed: Bool
    /// The count in the current window; after counting where everything was counted.
    public var used: Int64
    /// The limit that counts.
    public var limit: MeterLimit
    /// When the current window ends; `nil` where none is open, or it never does.
    public var resetsAt: Timestamp?

    /// A report of these members.
    public init(meter: MeterName, isAllowed: Bool, used: Int64, limit: MeterLimit, resetsAt: Timestamp?) {
        self.meter = meter
        self.isAllowed = isAllowed
        self.used = used
        self.limit = limit
        self.resetsAt = resetsAt
    }

    /// What is left, never below zero; `nil` where there is no limit.
    public var left: Int64? { limit.count.map { max(0, $0.subtractingClamped(used)) } }
}

/// The answer about one or several meters.
public struct MeterAnswer: Hashable, Sendable {
    /// Whether every amount fits; with `consumption`: whether all were counted.
    public var isAllowed: Bool
    /// A row a question, in their order.
    public var reports: [MeterReport]
    /// With `consumption`, where all were counted: the usage to write for each question, in their order. Otherwise empty.
    public var writes: [MeterUsage]

    /// An answer of these members.
    public init(isAllowed: Bool, reports: [MeterReport], writes: [MeterUsage]) {
        self.isAllowed = isAllowed
        self.reports = reports
        self.writes = writes
    }
}

extension MeterQuestion {
    /// The usage of the window that is open at `now`: a new one at 0 where the last one ended.
    private func current(at now: Timestamp) -> MeterUsage {
        let empty = MeterUsage(windowStart: meter.period.windowStart(at: now), used: 0)
        guard let usage, usage.isCurrent(for: meter.period, at: now) else { return empty }
        return usage
    }

    private func fits(_ usage: MeterUsage) -> Bool {
        let (sum, overflow) = usage.used.addingReportingOverflow(amount)
        guard !overflow else { return false }
        return limit.count.map { sum <= $0 } ?? true
    }

    private func report(_ usage: MeterUsage, isAllowed: Bool) -> MeterReport {
        // A rolling window that was opened stays open until its end, also where everything was given back.
        let isOpen: Bool
        if case .rolling = meter.period {
            isOpen = usage.used > 0 || usage == self.usage
        } else {
            isOpen = true
        }
        return MeterReport(
            meter: meter.name,
            isAllowed: isAllowed,
            used: usage.used,
            limit: limit,
            resetsAt: isOpen ? meter.period.windowEnd(from: usage.windowStart) : nil
        )
    }

    /// Answers `peek`: whether each amount would fit now. Counts nothing.
    public static func peek(_ questions: [MeterQuestion], at now: Timestamp) -> MeterAnswer {
        let reports = questions.map { question in
            let usage = question.current(at: now)
            return question.report(usage, isAllowed: question.fits(usage))
        }
        return MeterAnswer(isAllowed: reports.allSatisfy(\.isAllowed), reports: reports, writes: [])
    }

    /// Answers `consume`: counts all amounts, or where one does not fit, none.
    ///
    /// - Parameters:
    ///   - questions: Each of another meter; amounts from 1 to `Meter.mostAmount`.
    ///   - now: The time.
    public static func consumption(_ questions: [MeterQuestion], at now: Timestamp) -> MeterAnswer {
        precondition(
            questions.allSatisfy { (1...Meter.mostAmount).contains($0.amount) },
            "amounts are checked where they are read"
        )
        let peeked = peek(questions, at: now)
        guard peeked.isAllowed else { return peeked }
        let writes = questions.map { question in
            var usage = question.current(at: now)
            usage.used = usage.used.addingClamped(question.amount)
            return usage
        }
        let reports = zip(questions, writes).map { $0.report($1, isAllowed: true) }
        return MeterAnswer(isAllowed: true, reports: reports, writes: writes)
    }
}

/// The license that a meter of license or customer scope counts for.
public enum MeterLicense: Hashable, Sendable {
    /// This one.
    case license(License)
    /// None: what the caller hears.
    case denied(Denial)
    /// Several, and the call names none: `VALIDATION`.
    case several

    /// Finds the license when the call shows a key: judged as in heartbeat.
    ///
    /// - Parameters:
    ///   - license: The key's.
    ///   - seat: The install's activation of it whose `releasedAt` is `nil`, if there is one.
    ///   - now: The time.
    public init(named license: License, seat: Activation?, at now: Timestamp) {
        switch license.heartbeatDecision(seat: seat, at: now) {
        case .granted: self = .license(license)
        case .denied(let denial): self = .denied(denial)
        }
    }

    /// Finds the license when the call shows no key: the one license in force that the install holds a seat of.
    ///
    /// - Parameters:
    ///   - held: The install's activations whose `releasedAt` is `nil`, each with its license.
    ///   - now: The time.
    public init(amongHeld held: [(license: License, seat: Activation)], at now: Timestamp) {
        let active = held.filter { $0.license.heartbeatDecision(seat: $0.seat, at: now).value != nil }
        switch active.count {
        case 0: self = .denied(.notActivated)
        case 1: self = .license(active[0].license)
        default: self = .several
        }
    }
}
