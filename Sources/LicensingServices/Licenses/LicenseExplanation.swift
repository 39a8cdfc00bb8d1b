public import Licensing
public import Storage
public import StrictJSON

/// The ordered checks behind the verdict on a license: what `validate` answers, and why.
public struct LicenseExplanation: Hashable, Sendable {
    /// One question that is asked about a license.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        /// The vendor took it back.
        case revoked
        /// The vendor holds it back.
        case suspended
        /// Its start lies ahead.
        case notStarted = "not_started"
        /// Its end and grace are over.
        case expired
        /// The key that was shown is an old one.
        case reissued
        /// The install holds no seat.
        case notActivated = "not_activated"
        /// No seat is free for another install.
        case noSeats = "no_seats"
    }

    /// What one check found.
    public struct Check: Hashable, Sendable {
        /// Which.
        public let name: Name
        /// Whether there is nothing to object.
        public let isPassed: Bool
        /// Whether it decides about a validation; the others tell what a new install would hear.
        public let isDeciding: Bool
        /// What was looked at, for people.
        public let detail: String
    }

    /// In the order in which they are asked: the first deciding one that is not passed gives the answer.
    public let checks: [Check]
    /// The answer of `validate`.
    public let code: OutcomeCode

    /// What the answer says about the right.
    public var verdict: Verdict { code.verdict }

    /// Writes the members `verdict`, `code` and `checks` into an open object.
    public func writeMembers(to writer: inout JSONWriter) {
        writer.member("verdict", verdict.rawValue)
        writer.member("code", code.rawValue)
        writer.name("checks")
        writer.array { writer in
            for check in checks {
                writer.object { writer in
                    writer.member("check", check.name.rawValue)
                    writer.member("passed", check.isPassed)
                    writer.member("deciding", check.isDeciding)
                    writer.member("detail", check.detail)
                }
            }
        }
    }
}

extension License {
    /// Explains what `validation(isInstallGiven:seat:keyIsReplaced:at:)` answers.
    ///
    /// - Parameters:
    ///   - isInstallGiven: Whether an install was named.
    ///   - seat: Its unreleased activation of this license.
    ///   - keyIsReplaced: Whether the key that was shown is an old one.
    ///   - seats: Seats held and the limit.
    ///   - now: The time.
    public func explanation(
        isInstallGiven: Bool,
        seat: Activation?,
        keyIsReplaced: Bool,
        seats: SeatUse,
        at now: Timestamp
    ) -> LicenseExplanation {
        typealias Check = LicenseExplanation.Check
        let validation = validation(
            isInstallGiven: isInstallGiven,
            seat: seat,
            keyIsReplaced: keyIsReplaced,
            at: now
        )
        let reason = standingReason.map { ": \($0)" } ?? ""
        var checks = [
            Check(
                name: .revoked,
                isPassed: standing != .revoked,
                isDeciding: true,
                detail: standing == .revoked ? "revoked\(reason)" : "not revoked"
            ),
            Check(
                name: .suspended,
                isPassed: standing != .suspended,
                isDeciding: true,
                detail: standing == .suspended ? "suspended\(reason)" : "not suspended"
            ),
            Check(
                name: .notStarted,
                isPassed: startsAt.map { now >= $0 } ?? true,
                isDeciding: true,
                detail: startsAt.map { "starts at \($0)" } ?? "started with its issue at \(issuedAt)"
            ),
            Check(
                name: .expired,
                isPassed: rightEndsAt.map { now < $0 } ?? true,
                isDeciding: true,
                detail: endDetail
            ),
            Check(
                name: .reissued,
                isPassed: !keyIsReplaced,
                isDeciding: false,
                detail: keyIsReplaced
                    ? "the key was replaced: installs with a seat go on, a new one needs the new key"
                    : "the key is the current one"
            ),
        ]
        if isInstallGiven {
            checks.append(
                Check(
                    name: .notActivated,
                    isPassed: validation.seat != nil,
                    isDeciding: true,
                    detail: Self.seatDetail(seat, isHeld: validation.seat != nil, under: plan)
                )
            )
        }
        let capacity = seatCapacity
        checks.append(
            Check(
                name: .noSeats,
                isPassed: capacity.map { seats.used < $0 } ?? true,
                isDeciding: false,
                detail: capacity.map { "\(seats.used) seats used, \($0) may be" }
                    ?? "\(seats.used) seats used, unlimited"
            )
        )
        return LicenseExplanation(checks: checks, code: validation.code)
    }

    private var endDetail: String {
        if let duration = term.pendingDuration { return "lasts \(duration) from the first activation on" }
        guard let end = expiresAt, let rightEnd = rightEndsAt else { return "never ends" }
        return end == rightEnd ? "ends at \(end)" : "ends at \(end), and with its grace at \(rightEnd)"
    }

    private static func seatDetail(_ seat: Activation?, isHeld: Bool, under plan: Plan) -> String {
        guard let seat else { return "the install holds no seat of this license" }
        guard isHeld else { return "the lease of its seat \(seat.id) is over" }
        let lease = seat.leaseEnd(leaseSeconds: plan.leaseSeconds).map { ", its lease lasts until \($0)" } ?? ""
        return "the install holds the seat \(seat.id)\(lease)"
    }
}

extension LicenseService {
    /// What the explanation of one license is made from.
    public struct ExplainedLicense: Sendable {
        /// The license.
        public let facts: LicenseFacts
        /// Why it is as it is.
        public let explanation: LicenseExplanation
    }

    /// Explains what an install would hear about a license.
    ///
    /// - Parameters:
    ///   - name: The license, by its id or by a key as it was typed: an old key is explained as such.
    ///   - product: Where it is looked for; `nil`: everywhere.
    ///   - install: The install that asks; `nil`: none is named.
    /// - Throws: `Refusal` as `find(_:of:in:)`, `StorageError`.
    public func explain<DB: Queries & ~Copyable>(
        _ name: String,
        of product: Product?,
        for install: InstallID?,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> ExplainedLicense {
        guard let facts = try facts(of: try find(name, of: product, in: db), at: now, in: db) else {
            throw Self.notFound
        }
        let license = facts.license
        var keyIsReplaced = false
        if License.ID(name) == nil, let key = try? LicenseKey(name, prefix: facts.product.keyPrefix) {
            let digest = keys.digest(of: key, product: license.product)
            keyIsReplaced = try LicenseKeyStore.find(digest, in: db)?.isReplaced ?? false
        }
        let row = try install.flatMap { install in
            let digest = keys.digest(of: install, product: license.product)
            return try InstallStore.find(digest, of: license.product, mode: license.mode, in: db)
        }
        let explanation = license.explanation(
            isInstallGiven: install != nil,
            seat: try LicenseFinder.seat(of: license.id, heldBy: row, in: db),
            keyIsReplaced: keyIsReplaced,
            seats: facts.seats,
            at: now
        )
        return ExplainedLicense(facts: facts, explanation: explanation)
    }
}
