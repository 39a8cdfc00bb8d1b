// The ranges that settings of products, plans and licenses must keep to, each checked in one place.

extension CalendarDuration {
    /// Refuses an offline life outside 1 hour to 366 days: a product's.
    ///
    /// - Throws: `ValueFault`.
    public func checkedAsProductOfflineLife() throws(ValueFault) -> CalendarDuration {
        guard shortestSeconds >= 3600, longestSeconds <= 366 * Timestamp.secondsPerDay else {
            throw ValueFault("must be 1 hour to 366 days")
        }
        return self
    }

    /// Refuses an offline life outside 1 hour to 10 years: a plan's or license's, for machines without a network.
    ///
    /// - Throws: `ValueFault`.
    public func checkedAsLicenseOfflineLife() throws(ValueFault) -> CalendarDuration {
        // Ten years have two or three leap days.
        guard shortestSeconds >= 3600, longestSeconds <= 3653 * Timestamp.secondsPerDay else {
            throw ValueFault("must be 1 hour to 10 years")
        }
        return self
    }

    /// Refuses no length at all.
    ///
    /// - Throws: `ValueFault`.
    public func checkedAsPositive() throws(ValueFault) -> CalendarDuration {
        guard !isZero else { throw ValueFault("must be longer than nothing") }
        return self
    }
}

extension SeatLimit {
    /// Reads `unlimited` or a whole number from 0 to `highest`.
    ///
    /// - Throws: `ValueFault`.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        guard text != "unlimited" else {
            self = .unlimited
            return
        }
        var reader = DigitReader(text)
        guard let count = reader.number(), reader.isAtEnd else { throw ValueFault(Self.expectation) }
        try self.init(number: count)
    }

    /// A limit of so many seats.
    ///
    /// - Throws: `ValueFault` for a number that is negative or above `highest`.
    public init(number: Int64) throws(ValueFault) {
        guard (0...Int64(Self.highest)).contains(number) else { throw ValueFault(Self.expectation) }
        self = .limited(Int(number))
    }

    /// What is refused says this.
    public static let expectation = "must be a whole number from 0 to \(highest), or unlimited"

    /// The number, or `unlimited`.
    public var text: String { count.map { "\($0)" } ?? "unlimited" }
}

extension MeterLimit {
    /// Reads `unlimited` or a whole number from 0 on, within 64 bits.
    ///
    /// - Throws: `ValueFault`.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        guard text != "unlimited" else {
            self = .unlimited
            return
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(text) else {
            throw ValueFault("must be a whole number from 0 on, or unlimited")
        }
        self = .limited(count)
    }

    /// The number, or `unlimited`.
    public var text: String { count.map { "\($0)" } ?? "unlimited" }
}

extension Plan {
    /// The longest lease of a floating seat: 366 days.
    public static let longestLeaseSeconds: Int64 = 31_622_400

    /// Refuses a plan whose members are out of range or do not fit together.
    ///
    /// - Throws: `PlanFault`, with the member's name as in the seed document.
    public func checked() throws(PlanFault) -> Plan {
        func check(_ member: String, _ reason: String, _ holds: Bool) throws(PlanFault) {
            guard holds else { throw PlanFault(member: member, reason: reason) }
        }
        try check("features", "must name a feature once", Set(features).count == features.count)
        try check("features", "must be at most \(Feature.mostInProduct)", features.count <= Feature.mostInProduct)
        try check(
            "seat_limit",
            SeatLimit.expectation,
            seatLimit.count.map { (0...SeatLimit.highest).contains($0) } ?? true
        )
        try check("overage_percent", "must be 0 to 10000", (0...10_000).contains(overagePercent))
        try check(
            "lease_seconds",
            "must be 1 to \(Self.longestLeaseSeconds)",
            leaseSeconds.map { (1...Self.longestLeaseSeconds).contains($0) } ?? true
        )
        try check("duration", "must be longer than nothing", duration.map { !$0.isZero } ?? true)
        try check("transfer_limit", "must be 0 or more", (transferLimit ?? 0) >= 0)
        try check("transfer_period", "must be longer than nothing", transferPeriod.map { !$0.isZero } ?? true)
        try check("meters", "must not be negative", meters.values.allSatisfy { ($0.count ?? 0) >= 0 })
        do throws(ValueFault) {
            try environment?.requireRoom(on: features.count)
        } catch {
            throw PlanFault(member: "environment", reason: error.reason)
        }
        do throws(ValueFault) {
            _ = try offlineLife?.checkedAsLicenseOfflineLife()
        } catch {
            throw PlanFault(member: "offline_life", reason: error.reason)
        }
        return self
    }
}

/// Which member of a plan is not as it should be.
public struct PlanFault: Error, Hashable, Sendable {
    /// Its name as in the seed document.
    public let member: String
    /// A short sentence that does not repeat the input.
    public let reason: String
}
