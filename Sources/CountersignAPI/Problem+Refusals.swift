import CountersignWire
import Licensing
import LicensingServices
import StrictJSON

// What rules and administration refuse, in words.

extension Problem {
    /// A license key that nobody has, or that belongs to another vendor, product or mode: one answer for all.
    static func licenseNotFound(at now: Timestamp) -> Problem {
        var problem = Problem(.licenseNotFound, "No license of this product has this key.")
        problem.body.serverTime = now.rfc3339
        return problem
    }

    /// A key of the product's own form that nobody can have.
    static var licenseKeyMalformed: Problem {
        Problem(.licenseKeyMalformed, "The license key has a typing error: its check symbol does not fit.")
    }

    /// A rule's refusal of an action; `bundle` is told where the status says so.
    ///
    /// - Parameters:
    ///   - listed: The seats to choose from, where none is free and customers may release them.
    init(_ denial: Denial, seats: SeatUse?, listed: [ListedSeat]? = nil, bundle: [UInt8]?, at now: Timestamp) {
        switch denial {
        case .revoked: self.init(.licenseRevoked, "The vendor revoked this license.")
        case .suspended: self.init(.licenseSuspended, "The vendor suspended this license.")
        case .notStarted(let start): self.init(.licenseNotStarted, "This license begins at \(start.rfc3339).")
        case .expired(let end): self.init(.licenseExpired, "This license ended at \(end.rfc3339).")
        case .reissued:
            self.init(.licenseReissued, "This license has a new key; a new install needs that one.")
        case .notActivated: self.init(.notActivated, "This install holds no seat of this license: activate it first.")
        case .noSeats(let used, let limit):
            self.init(.noSeatsAvailable, Self.noSeatsDetail(used: used, limit: limit))
            body.activations = listed.map { rows in rows.map { Wire.SeatRow($0.activation, isThis: $0.isThis) } }
        case .transferLimit(let most):
            self.init(.transferLimit, "This license seats at most \(most) new installs in its period.")
        case .selfReleaseOff:
            self.init(.forbidden, "Seats of this license are not released by its customers: ask the vendor.")
        case .replacedSeatNotFound:
            self.init(InvalidMembers(JSONPointer("replace"), "must name a seat of this license"))
        case .notRenewable: self.init(.notRenewable, "This license has no end that could be moved.")
        case .renewalWithoutDuration:
            self.init(InvalidMembers(JSONPointer("duration"), "is required, since the plan has none"))
        }
        body.serverTime = now.rfc3339
        switch body.status {
        case 402, 409, 410:
            body.bundle = bundle
            if body.status == 409 { body.seats = seats.map(Wire.Seats.init) }
        default: break
        }
    }

    private static func noSeatsDetail(used: Int, limit: Int) -> String {
        switch limit {
        case 0: "This license has no seats."
        case 1: "The one seat of this license is in use."
        case used: "All \(limit) seats of this license are in use."
        default: "\(used) seats of this license are in use; its limit is \(limit)."
        }
    }

    /// What administration did not do.
    init(_ refusal: Refusal) {
        switch refusal.code {
        case .validation:
            self.init(InvalidMembers(Self.pointer(to: refusal.member), refusal.message))
        case .alreadyExists: self.init(.alreadyExists, refusal.message)
        case .productNotFound: self.init(.productNotFound, refusal.message)
        case .planNotFound: self.init(.planNotFound, refusal.message)
        case .licenseNotFound: self.init(.licenseNotFound, refusal.message)
        case .activationNotFound: self.init(.activationNotFound, refusal.message)
        case .customerNotFound: self.init(.customerNotFound, refusal.message)
        case .meterNotFound: self.init(.meterNotFound, refusal.message)
        case .vendorNotFound, .featureNotFound, .credentialNotFound, .keyNotFound, .installNotFound, .giftNotFound,
            .offerNotFound, .trialNotFound, .connectionNotFound, .spendTierNotFound, .noNextKey:
            self.init(.notFound, refusal.message)
        case .orderIDConflict: self.init(.orderIDConflict, refusal.message)
        case .affectsExisting: self.init(.affectsExisting, refusal.message)
        case .notRenewable: self.init(.notRenewable, refusal.message)
        case .licenseRevoked:
            // Told to an administrator about a command: no answer to the question whether the right holds.
            self.init(.licenseRevoked, refusal.message)
            body.status = 409
        case .licenseKeyMalformed: self.init(.licenseKeyMalformed, refusal.message)
        case .ambiguous: self.init(.ambiguous, refusal.message)
        case .forbidden: self.init(.forbidden, refusal.message)
        }
        body.licenses = refusal.licenses
    }

    /// A refusal of a command names one member; no name is the whole body.
    private static func pointer(to member: String?) -> JSONPointer {
        guard let member else { return .root }
        return JSONPointer(member)
    }
}
