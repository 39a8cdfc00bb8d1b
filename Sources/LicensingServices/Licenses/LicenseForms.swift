public import Licensing
public import StrictJSON

/// How what is said about a license is written as text: the same on the command line, in imported files and in requests.
public enum LicenseForms {
    /// The most characters of an order id.
    public static let longestOrderID = 200
    /// The most characters of a customer's name.
    public static let longestName = 200

    /// `N`, `unlimited` or `plan`.
    ///
    /// - Throws: `ValueFault`.
    public static func seats(_ text: String) throws(ValueFault) -> PlanChoice<SeatLimit> {
        if text == "plan" { return .plan }
        do {
            return .own(try SeatLimit(text))
        } catch {
            throw ValueFault(seatsExpectation)
        }
    }

    /// A JSON number, `"unlimited"` or `"plan"`: what `seats(_:)` reads, but numbers are numbers.
    ///
    /// - Throws: `ValueFault`.
    public static func seats(_ value: JSONValue) throws(ValueFault) -> PlanChoice<SeatLimit> {
        if value.isString("plan") { return .plan }
        if value.isString("unlimited") { return .own(.unlimited) }
        guard case .value(let number) = value.integer, let limit = try? SeatLimit(number: number) else {
            throw ValueFault(seatsExpectation)
        }
        return .own(limit)
    }

    private static let seatsExpectation = "\(SeatLimit.expectation), or plan"

    /// How many licenses one call may issue.
    public static let mostIssued = 1000

    /// How many licenses to issue.
    ///
    /// - Throws: `ValueFault` for none, or more than `mostIssued`.
    public static func count(_ number: Int64) throws(ValueFault) -> Int {
        guard (1...Int64(mostIssued)).contains(number) else { throw ValueFault("must be from 1 to \(mostIssued)") }
        return Int(number)
    }

    /// A policy's word, or `plan`.
    ///
    /// - Throws: `ValueFault`.
    public static func seatPolicy(_ text: String) throws(ValueFault) -> PlanChoice<SeatPolicy> {
        if text == "plan" { return .plan }
        guard let policy = SeatPolicy(rawValue: text) else {
            throw ValueFault("must be deny, release_oldest, allow_overage, or plan")
        }
        return .own(policy)
    }

    /// An instant, a date (its end, UTC), `never` or `plan`.
    ///
    /// - Throws: `ValueFault`.
    public static func end(_ text: String) throws(ValueFault) -> EndChoice {
        switch text {
        case "plan": return .plan
        case "never": return .never
        default: return .at(try Timestamp(text, as: .end))
        }
    }

    /// A duration that is longer than nothing.
    ///
    /// - Throws: `ValueFault`.
    public static func duration(_ text: String) throws(ValueFault) -> CalendarDuration {
        try CalendarDuration(text).checkedAsPositive()
    }

    /// An instant, or a date: its start, UTC.
    ///
    /// - Throws: `ValueFault`.
    public static func start(_ text: String) throws(ValueFault) -> Timestamp { try Timestamp(text, as: .start) }

    /// An instant, a date (its end, UTC) or `never`.
    ///
    /// - Throws: `ValueFault`.
    public static func maintenance(_ text: String) throws(ValueFault) -> Change<Timestamp> {
        text == "never" ? .unset : .set(try Timestamp(text, as: .end))
    }

    /// A duration of 1 hour to 10 years, or `plan`.
    ///
    /// - Throws: `ValueFault`.
    public static func offlineLife(_ text: String) throws(ValueFault) -> PlanChoice<CalendarDuration> {
        text == "plan" ? .plan : .own(try CalendarDuration(text).checkedAsLicenseOfflineLife())
    }

    /// An environment rule as JSON, or `plan`.
    ///
    /// - Throws: `ValueFault`.
    public static func environment(_ text: String) throws(ValueFault) -> PlanChoice<EnvironmentRule> {
        if text == "plan" { return .plan }
        let document: JSONDocument
        do {
            document = try JSONDocument(parsing: Array(text.utf8))
        } catch {
            throw ValueFault("must be JSON: \(error)")
        }
        return .own(try EnvironmentRule(document.root))
    }

    /// The vendor's name for an order: one line, blanks around it cut off, and no license id, so that the two are never
    /// taken for one another.
    ///
    /// - Throws: `ValueFault`.
    public static func orderID(_ text: String) throws(ValueFault) -> String {
        let id = try line(text, longest: longestOrderID)
        guard License.ID(id) == nil else { throw ValueFault("must not be a license id") }
        return id
    }

    /// A customer's name: one line, blanks around it cut off.
    ///
    /// - Throws: `ValueFault`.
    public static func name(_ text: String) throws(ValueFault) -> String { try line(text, longest: longestName) }

    private static func line(_ text: String, longest: Int) throws(ValueFault) -> String {
        let scalars = trimmed(text)
        guard !scalars.isEmpty else { throw ValueFault("must not be blank") }
        guard !scalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw ValueFault("must be one line without control characters")
        }
        guard scalars.count <= longest else { throw ValueFault("must have at most \(longest) characters") }
        return String(scalars)
    }
}
