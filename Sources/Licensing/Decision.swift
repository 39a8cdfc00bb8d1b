/// What a rule answers: a refusal is a value, an error is a surprise.
public enum Decision<Value> {
    /// Yes, and this is what to do or tell.
    case granted(Value)
    /// No, and why.
    case denied(Denial)
}

extension Decision: Sendable where Value: Sendable {}
extension Decision: Equatable where Value: Equatable {}

extension Decision {
    /// What was granted, or `nil`.
    public var value: Value? {
        if case .granted(let value) = self { return value }
        return nil
    }

    /// Why it was denied, or `nil`.
    public var denial: Denial? {
        if case .denied(let denial) = self { return denial }
        return nil
    }

    /// The same decision about another value.
    public func map<Other>(_ transform: (Value) -> Other) -> Decision<Other> {
        switch self {
        case .granted(let value): return .granted(transform(value))
        case .denied(let denial): return .denied(denial)
        }
    }
}

/// The wire's three answers to a question.
public enum Verdict: String, Hashable, Sendable, CaseIterable {
    /// The server decided yes.
    case granted
    /// The server decided no, with proof in hand.
    case rejected
    /// Everything else: takes no right away.
    case unknown
}

/// The code of a domain outcome, as it stands on the wire.
public enum OutcomeCode: String, Hashable, Sendable, CaseIterable {
    /// The license is in force and, where asked, the seat held.
    case valid = "VALID"
    /// Taken back by the vendor.
    case licenseRevoked = "LICENSE_REVOKED"
    /// Held back by the vendor.
    case licenseSuspended = "LICENSE_SUSPENDED"
    /// Over, its grace included.
    case licenseExpired = "LICENSE_EXPIRED"
    /// Nobody's, another's, or of another mode: one answer for all.
    case licenseNotFound = "LICENSE_NOT_FOUND"
    /// Begins later.
    case licenseNotStarted = "LICENSE_NOT_STARTED"
    /// A new seat was asked for with a key that a newer one replaced.
    case licenseReissued = "LICENSE_REISSUED"
    /// The product's own key form with a wrong check.
    case licenseKeyMalformed = "LICENSE_KEY_MALFORMED"
    /// The install holds no seat.
    case notActivated = "NOT_ACTIVATED"
    /// Every seat is in use.
    case noSeatsAvailable = "NO_SEATS_AVAILABLE"
    /// Too many new seats in the period.
    case transferLimit = "TRANSFER_LIMIT"
    /// The caller may not do that.
    case forbidden = "FORBIDDEN"
    /// The input is not what it should be.
    case validation = "VALIDATION"
    /// A trial runs.
    case trialActive = "TRIAL_ACTIVE"
    /// The trial is over.
    case trialExpired = "TRIAL_EXPIRED"
    /// A trial may be started.
    case trialAvailable = "TRIAL_AVAILABLE"
    /// Trials are off.
    case trialDisabled = "TRIAL_DISABLED"
    /// Trials were never configured.
    case trialNotConfigured = "TRIAL_NOT_CONFIGURED"
    /// A store purchase was refunded or revoked.
    case purchaseRevoked = "PURCHASE_REVOKED"
    /// A store purchase is over.
    case purchaseExpired = "PURCHASE_EXPIRED"
    /// No such meter.
    case meterNotFound = "METER_NOT_FOUND"
    /// The same idempotency key came with another body.
    case idempotencyConflict = "IDEMPOTENCY_CONFLICT"
    /// The same order id came with other parameters.
    case orderIDConflict = "ORDER_ID_CONFLICT"
    /// A license without an end cannot be renewed.
    case notRenewable = "NOT_RENEWABLE"
    /// An edit would take a right from existing licenses.
    case affectsExisting = "AFFECTS_EXISTING"
    /// The server does not trust its clock.
    case clockUnsure = "CLOCK_UNSURE"
}

extension OutcomeCode {
    /// The verdict that goes with the code: only proof in hand rejects.
    public var verdict: Verdict {
        switch self {
        case .valid, .trialActive: return .granted
        case .licenseRevoked, .licenseSuspended, .licenseExpired, .trialExpired, .purchaseRevoked, .purchaseExpired:
            return .rejected
        case .licenseNotFound, .licenseNotStarted, .licenseReissued, .licenseKeyMalformed, .notActivated,
            .noSeatsAvailable, .transferLimit, .forbidden, .validation, .trialAvailable, .trialDisabled,
            .trialNotConfigured, .meterNotFound, .idempotencyConflict, .orderIDConflict, .notRenewable,
            .affectsExisting, .clockUnsure:
            return .unknown
        }
    }
}

/// Why a rule said no.
public enum Denial: Hashable, Sendable {
    /// The vendor took the license back.
    case revoked
    /// The vendor holds the license back.
    case suspended
    /// The license begins at this moment.
    case notStarted(until: Timestamp)
    /// The license's end; its grace is over too.
    case expired(at: Timestamp)
    /// A new seat was asked for with a key that a newer one replaced.
    case reissued
    /// The install holds no seat of the license.
    case notActivated
    /// Every seat is in use.
    case noSeats(used: Int, limit: Int)
    /// So many new seats in the plan's transfer period are the most.
    case transferLimit(most: Int)
    /// The plan does not let customers release seats themselves.
    case selfReleaseOff
    /// `replace` names no seat of this license.
    case replacedSeatNotFound
    /// A license without an end cannot be renewed.
    case notRenewable
    /// Neither the command nor the plan says how long a renewal lasts.
    case renewalWithoutDuration

    /// The code of the refusal on the wire.
    public var code: OutcomeCode {
        switch self {
        case .revoked: return .licenseRevoked
        case .suspended: return .licenseSuspended
        case .notStarted: return .licenseNotStarted
        case .expired: return .licenseExpired
        case .reissued: return .licenseReissued
        case .notActivated: return .notActivated
        case .noSeats: return .noSeatsAvailable
        case .transferLimit: return .transferLimit
        case .selfReleaseOff: return .forbidden
        case .replacedSeatNotFound, .renewalWithoutDuration: return .validation
        case .notRenewable: return .notRenewable
        }
    }

    /// What the refusal says about the right: only proof in hand rejects.
    public var verdict: Verdict { code.verdict }
}
