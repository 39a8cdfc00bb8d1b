public import Licensing

/// What `/v1/store/verify` answers about a genuine transaction.
public enum StoreOutcome: Hashable, Sendable {
    /// 200, granted.
    case granted
    /// 409 `NO_SEATS_AVAILABLE`, unknown: as many installs as may have it.
    case noLinkFree(limit: Int)
    /// 402, rejected, `PURCHASE_REVOKED` or `PURCHASE_EXPIRED`; the bundle lacks the grant.
    case rejected(OutcomeCode)
    /// 200, unknown: superseded, consumable or not in the map; nothing changes.
    case unchanged

    /// What it says about the right.
    public var verdict: Verdict {
        switch self {
        case .granted: .granted
        case .rejected: .rejected
        case .noLinkFree, .unchanged: .unknown
        }
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - condition: that of the purchase whose copy was presented, after the copy was applied.
    ///   - isAnotherInForce: whether another purchase of the same product of the store, which this install presented,
    ///     is in force: then an old receipt takes nothing away. Asked only where it matters.
    ///   - link: what became of the install's link.
    ///   - review: in live mode under a sandbox connection, what became of its access.
    public static func decide(
        _ condition: PurchaseCondition,
        isAnotherInForce: @autoclosure () throws -> Bool,
        link: LinkDecision,
        review: ReviewAccess? = nil
    ) rethrows -> StoreOutcome {
        switch condition {
        case .upgraded, .consumable, .unmapped: return .unchanged
        case .revoked: return try isAnotherInForce() ? .granted : .rejected(.purchaseRevoked)
        case .expired: return try isAnotherInForce() ? .granted : .rejected(.purchaseExpired)
        case .active: break
        }
        if case .full(let limit) = link { return .noLinkFree(limit: limit) }
        switch review {
        case .full(let limit): return .noLinkFree(limit: limit)
        case .over: return try isAnotherInForce() ? .granted : .rejected(.purchaseExpired)
        case .granted, nil: return .granted
        }
    }
}

/// `purchase` on the wire: what is told about the presented purchase with 200 and 402.
public struct PresentedPurchase: Hashable, Sendable {
    /// `pur_…`
    public var id: PurchaseID
    /// The store's product.
    public var productID: String
    /// `state` on the wire.
    public var condition: PurchaseCondition
    /// Where it was bought.
    public var environment: StoreEnvironment
    /// When the right from it ends or ended, leeway and grace included; `nil` for never.
    public var expiresAt: Timestamp?

    /// What is told about `purchase` of `history`.
    ///
    /// - Parameter limit: an end that is not the store's: that of ``ReviewAccess``.
    public init(
        _ purchase: Purchase,
        of history: PurchaseHistory,
        under connection: StoreConnection,
        at now: Timestamp,
        limit: Timestamp? = nil
    ) {
        id = purchase.id
        productID = purchase.transaction.productID
        condition = history.condition(of: purchase, under: connection, at: now, limit: limit)
        environment = purchase.transaction.environment
        let end = history.end(of: purchase, under: connection)
        expiresAt = limit.map { min(end ?? $0, $0) } ?? end
    }
}
