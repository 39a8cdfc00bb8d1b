public import Licensing
public import Storage

/// Removes rows that nothing needs any more, in portions that hold up nobody.
public enum RetentionService {
    /// How long idempotency records are kept.
    public static let idempotencySeconds: Int64 = 24 * 3600
    /// How long an install without seat, purchase, gift, usage or ended trial is kept unseen.
    public static let unseenInstallSeconds: Int64 = 90 * 86_400
    private static let portion = 500

    /// Removes one portion of each kind.
    ///
    /// - Returns: Whether there may be more.
    /// - Throws: `StorageError`.
    public static func removeExpired(at now: Timestamp, in db: borrowing WriteTransaction) throws -> Bool {
        let records = try IdempotencyStore.removeOld(
            before: now.adding(seconds: -idempotencySeconds),
            limit: portion,
            in: db
        )
        let installs = try InstallStore.removeUnseen(
            since: now.adding(seconds: -unseenInstallSeconds),
            limit: portion,
            in: db
        )
        let hasDocuments = try StoreService.removeOldDocuments(at: now, portion: portion, in: db)
        return records == portion || installs == portion || hasDocuments
    }
}
