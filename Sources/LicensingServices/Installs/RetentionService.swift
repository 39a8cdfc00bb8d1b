public import Licensing
public import Storage
internal import SystemPrimitives

/// Removes what nothing needs any more: rows, in portions that hold up nobody, and private halves of retired keys.
public final class RetentionService: Sendable {
    /// How long idempotency records are kept.
    public static let idempotencySeconds: Int64 = 24 * 3600
    /// How long an event of the outbox waits for somebody to fetch it. What happened stays in the audit log.
    public static let eventSeconds: Int64 = 180 * 86_400
    /// How long an install without seat, purchase, gift, usage or ended trial is kept unseen.
    public static let unseenInstallSeconds: Int64 = 90 * 86_400
    /// How often all installs that were not seen for long are looked at: what ties one may end later.
    static let lookSeconds: Int64 = 3600
    static let portion = 500

    /// How far the look at unseen installs has come. Most of them stay, so that what was looked at is remembered, and not
    /// only what was removed.
    private enum Look {
        case at(InstallStore.Place)
        case done(Timestamp)
    }

    private let look = Guarded(Look.at(.start))

    /// One that begins with the installs that were not seen for longest.
    public init() {}

    /// Looks at one portion of each kind, and removes what may go.
    ///
    /// - Returns: Whether there may be more.
    /// - Throws: `StorageError`.
    public func removeExpired(at now: Timestamp, in db: borrowing WriteTransaction) throws -> Bool {
        let records = try IdempotencyStore.removeOld(
            before: now.adding(seconds: -Self.idempotencySeconds),
            limit: Self.portion,
            in: db
        )
        try SigningKeyStore.retire(at: now, in: db)
        let hasInstalls = try removeInstalls(at: now, in: db)
        let hasDocuments = try StoreService.removeOldDocuments(at: now, portion: Self.portion, in: db)
        let events = try AuditTrail.removeEvents(
            before: now.adding(seconds: -Self.eventSeconds),
            limit: Self.portion,
            in: db
        )
        return records == Self.portion || hasInstalls || hasDocuments || events == Self.portion
    }

    private func removeInstalls(at now: Timestamp, in db: borrowing WriteTransaction) throws -> Bool {
        let place: InstallStore.Place
        switch look.withLock({ $0 }) {
        case .at(let next): place = next
        case .done(let end):
            guard now < end || now >= end.adding(seconds: Self.lookSeconds) else { return false }
            place = .start
        }
        let next = try InstallStore.removeUnseen(
            since: now.adding(seconds: -Self.unseenInstallSeconds),
            after: place,
            lookingAt: Self.portion,
            in: db
        )
        look.withLock { $0 = next.map(Look.at) ?? .done(now) }
        return next != nil
    }
}
