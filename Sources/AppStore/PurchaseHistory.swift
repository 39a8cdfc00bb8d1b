public import Licensing

/// One purchase, or one paid period of a subscription, as its newest copy describes it.
///
/// A row of `purchases`: the identifier, the ``key`` (unique with the connection) and the members of ``transaction``.
/// Purchases of the sandbox that are seen under test and live credentials are one row.
public struct Purchase: Hashable, Sendable {
    /// Names the purchase; `ref` of its grants.
    public let id: PurchaseID
    /// The newest copy known.
    public internal(set) var transaction: StoreTransaction

    /// A purchase of these members.
    public init(id: PurchaseID, transaction: StoreTransaction) {
        self.id = id
        self.transaction = transaction
    }

    /// Names the purchase by what Apple calls it.
    public var key: PurchaseKey { transaction.purchaseKey }
}

/// What a purchase is worth; `purchase.state` on the wire.
public enum PurchaseCondition: String, Hashable, Sendable, CaseIterable {
    /// In force.
    case active
    /// Its time, grace and leeway included, is over.
    case expired
    /// Refunded, or taken back from the family.
    case revoked
    /// The customer moved to a higher product: gives nothing itself.
    case upgraded
    /// Used up by nature: never a lasting right.
    case consumable
    /// The connection's map does not name the product: never gave anything.
    case unmapped
}

/// All that is known of one `originalTransactionId`: its purchases or periods, and how it goes on.
///
/// Signed data may come in any order, twice, or years late: the history is the same. That defeats replaying the copy
/// of a transaction that was signed before its refund.
public struct PurchaseHistory: Hashable, Sendable {
    /// Apple's name for what installs are linked to.
    public let originalTransactionID: String
    /// One for each ``Purchase/key``, in no particular order.
    public private(set) var purchases: [Purchase]
    /// The newest renewal information.
    public private(set) var renewal: RenewalInfo?
    /// When the last period of a subscription that is known began.
    private var lastPeriodBegan: Timestamp?

    /// What applying signed data did.
    public enum Change: Hashable, Sendable {
        /// A purchase, or the first renewal information: insert the row.
        case inserted
        /// Newer than what was known: update the row.
        case updated
        /// As known, or older: to be recorded, not applied.
        case unchanged
    }

    /// The history that the rows of one `originalTransactionId` make.
    public init(originalTransactionID: String, purchases: [Purchase] = [], renewal: RenewalInfo? = nil) {
        self.originalTransactionID = originalTransactionID
        self.purchases = purchases
        self.renewal = renewal
        lastPeriodBegan = Self.lastPeriodBegan(in: purchases)
    }

    private static func lastPeriodBegan(in purchases: [Purchase]) -> Timestamp? {
        purchases.lazy.map(\.transaction).filter { $0.type == .autoRenewable }.map(\.purchasedAt).max()
    }

    /// The purchase that `transaction` is a copy of.
    public func purchase(of transaction: StoreTransaction) -> Purchase? {
        let key = transaction.purchaseKey
        return purchases.first { $0.key == key }
    }

    /// Takes a copy of one of its purchases into account.
    ///
    /// - Parameter id: names the purchase if it is a new one.
    public mutating func apply(_ transaction: StoreTransaction, id: PurchaseID) -> Change {
        precondition(transaction.originalTransactionID == originalTransactionID, "a transaction of another history")
        let key = transaction.purchaseKey
        defer { lastPeriodBegan = Self.lastPeriodBegan(in: purchases) }
        guard let index = purchases.firstIndex(where: { $0.key == key }) else {
            purchases.append(Purchase(id: id, transaction: transaction))
            return .inserted
        }
        guard transaction.supersedes(purchases[index].transaction) else { return .unchanged }
        purchases[index].transaction = transaction
        return .updated
    }

    /// Takes renewal information into account.
    public mutating func apply(_ renewal: RenewalInfo) -> Change {
        precondition(renewal.originalTransactionID == originalTransactionID, "renewal information of another history")
        guard let known = self.renewal else {
            self.renewal = renewal
            return .inserted
        }
        guard renewal.supersedes(known) else { return .unchanged }
        self.renewal = renewal
        return .updated
    }
}

// MARK: - In force

extension PurchaseHistory {
    /// When the right from `purchase` ends if nothing takes it away, `nil` for never.
    ///
    /// Of an auto-renewable: the end of its period, with the connection's leeway unless it is known not to renew, or
    /// the end of its grace, whichever is later. Leeway and grace are for the last period: once a later one is known
    /// the renewal has reached us, and a refund of that one must not fall back on them.
    /// Of a non-renewing one: as long after its purchase as the connection says.
    public func end(of purchase: Purchase, under connection: StoreConnection) -> Timestamp? {
        let transaction = purchase.transaction
        if transaction.type == .nonRenewing {
            return connection.storeProduct(transaction.productID)?.duration.map { transaction.purchasedAt.adding($0) }
        }
        guard let expiresAt = transaction.expiresAt else { return nil }
        guard transaction.type == .autoRenewable, isLastPeriod(purchase) else { return expiresAt }
        let isKnownNotToRenew = renewal?.isKnownNotToRenew ?? false
        let end = isKnownNotToRenew ? expiresAt : expiresAt.adding(connection.renewalLeeway)
        return max(end, renewal?.graceEndsAt ?? end)
    }

    private func isLastPeriod(_ purchase: Purchase) -> Bool {
        lastPeriodBegan.map { $0 <= purchase.transaction.purchasedAt } ?? true
    }

    /// What `purchase` is worth at `now`.
    ///
    /// - Parameter limit: an end that is not the store's: that of ``ReviewAccess``.
    public func condition(
        of purchase: Purchase,
        under connection: StoreConnection,
        at now: Timestamp,
        limit: Timestamp? = nil
    ) -> PurchaseCondition {
        let transaction = purchase.transaction
        if transaction.type == .consumable { return .consumable }
        if connection.storeProduct(transaction.productID) == nil { return .unmapped }
        // The customer has the higher product then, also where Apple calls the lower one revoked.
        if transaction.isUpgraded { return .upgraded }
        if transaction.revokedAt != nil { return .revoked }
        if let end = end(of: purchase, under: connection), now >= end { return .expired }
        if let limit, now >= limit { return .expired }
        return .active
    }

    /// Whether a purchase of the store's product `productID` is in force at `now`.
    ///
    /// - Parameter limits: as ``grants(under:in:at:offlineLife:limits:)`` takes them.
    public func isInForce(
        _ productID: String,
        under connection: StoreConnection,
        in mode: Mode,
        at now: Timestamp,
        limits: [PurchaseID: Timestamp] = [:]
    ) -> Bool {
        purchases.contains {
            $0.transaction.productID.utf8.elementsEqual(productID.utf8)
                && isInForce($0, under: connection, in: mode, at: now, limits: limits)
        }
    }

    /// The live grants of all its purchases, for an install that is linked to it.
    ///
    /// - Parameters:
    ///   - connection: the one whose purchases these are.
    ///   - mode: the install's.
    ///   - offlineLife: the product's.
    ///   - limits: ends of ``ReviewAccess`` by purchase; looked at in live mode under a sandbox connection alone,
    ///     where a purchase without one gives nothing.
    public func grants(
        under connection: StoreConnection,
        in mode: Mode,
        at now: Timestamp,
        offlineLife: CalendarDuration,
        limits: [PurchaseID: Timestamp] = [:]
    ) -> [Grant] {
        var grants: [Grant] = []
        for purchase in purchases where isInForce(purchase, under: connection, in: mode, at: now, limits: limits) {
            var end = end(of: purchase, under: connection)
            if connection.isReview(in: mode), let limit = limits[purchase.id] { end = min(end ?? limit, limit) }
            for feature in connection.storeProduct(purchase.transaction.productID)?.features ?? [] {
                grants.append(
                    Grant(
                        feature: feature,
                        reference: .purchase(purchase.id),
                        // Apple's clock may be a little ahead of ours: what is paid has begun.
                        starts: min(purchase.transaction.purchasedAt, now),
                        ends: end,
                        offlineLife: offlineLife
                    )
                )
            }
        }
        return grants
    }

    private func isInForce(
        _ purchase: Purchase,
        under connection: StoreConnection,
        in mode: Mode,
        at now: Timestamp,
        limits: [PurchaseID: Timestamp]
    ) -> Bool {
        var limit: Timestamp?
        if connection.isReview(in: mode) {
            guard let end = limits[purchase.id] else { return false }
            limit = end
        }
        return condition(of: purchase, under: connection, at: now, limit: limit) == .active
    }
}

// MARK: - Which copy is newer

extension StoreTransaction {
    /// Whether this copy says something newer than `other`, another copy of the same purchase.
    ///
    /// The later signed one; of two signed in the same millisecond the revoked one, then the upgraded one. What follows
    /// only makes the answer the same for every order of arrival.
    public func supersedes(_ other: StoreTransaction) -> Bool {
        if signedMilliseconds != other.signedMilliseconds { return signedMilliseconds > other.signedMilliseconds }
        if (revokedAt != nil) != (other.revokedAt != nil) { return revokedAt != nil }
        if isUpgraded != other.isUpgraded { return isUpgraded }
        return other.rank.lexicographicallyPrecedes(rank)
    }

    private var rank: [UInt8] {
        var bytes: [UInt8] = []
        let instants = [expiresAt, revokedAt, purchasedAt, originallyPurchasedAt]
        for number in instants.map({ $0?.secondsSinceEpoch ?? .min }) + [priceMilliunits ?? .min] {
            // Flipping the sign bit makes the order of bytes that of numbers.
            let bits = UInt64(bitPattern: number) ^ 1 << 63
            for shift in stride(from: UInt64(56), through: 0, by: -8) { bytes.append(UInt8(bits >> shift & 0xFF)) }
        }
        bytes.append(isFamilyShared ? 1 : 0)
        for text in [transactionID, productID, type.rawValue, currency ?? "", webOrderLineItemID ?? ""] {
            bytes += Array(text.utf8) + [0]
        }
        return bytes
    }
}

extension RenewalInfo {
    /// Whether this says something newer than `other` about the same subscription.
    ///
    /// The later signed one. What follows only makes the answer the same for every order of arrival.
    public func supersedes(_ other: RenewalInfo) -> Bool {
        if signedMilliseconds != other.signedMilliseconds { return signedMilliseconds > other.signedMilliseconds }
        return other.rank.lexicographicallyPrecedes(rank)
    }

    private var rank: [Int64] {
        [
            graceEndsAt?.secondsSinceEpoch ?? .min, renews.map { $0 ? 1 : 0 } ?? -1, expirationIntent ?? .min,
            isInBillingRetry ? 1 : 0,
        ]
    }
}
