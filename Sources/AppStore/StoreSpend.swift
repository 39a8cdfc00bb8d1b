public import Licensing

/// What an install has spent in one currency: the measure of spend tiers.
///
/// Made anew from the rows each time: a refund takes its price away again, whenever it comes.
public struct StoreSpend: Hashable, Sendable {
    private struct Item: Hashable {
        let amount: Int64
        let countedFrom: Timestamp
    }

    private var items: [Item] = []
    private var keys: Set<PurchaseKey> = []
    private let currency: String

    /// No spend yet, in the currency of that ISO 4217 code.
    public init(currency: String) { self.currency = currency }

    /// Adds the purchases of `history` that count: paid in production in this currency by the customer (what is shared
    /// in a family was paid by another), not refunded, each once. The price is that of the whole purchase.
    ///
    /// - Parameters:
    ///   - history: one that this install is the first of to have presented, of those still linked:
    ///     ``firstPresenter(among:at:)``.
    ///   - presentedAt: when it did.
    public mutating func add(_ history: PurchaseHistory, presentedAt: Timestamp) {
        for purchase in history.purchases {
            let transaction = purchase.transaction
            guard transaction.environment == .production, transaction.revokedAt == nil, !transaction.isFamilyShared,
                transaction.currency == currency, let price = transaction.priceMilliunits, price > 0,
                keys.insert(purchase.key).inserted
            else {
                continue
            }
            items.append(Item(amount: price, countedFrom: max(transaction.purchasedAt, presentedAt)))
        }
    }

    /// The sum, in thousandths of the currency's unit.
    public var totalMilliunits: Int64 { items.reduce(0) { $0.addingClamped($1.amount) } }

    /// When the sum reached `thresholdMilliunits`: the beginning of that tier's gift; `nil` if it has not, or no more.
    public func reached(_ thresholdMilliunits: Int64) -> Timestamp? {
        var sum: Int64 = 0
        for item in items.sorted(by: { $0.countedFrom < $1.countedFrom }) {
            sum = sum.addingClamped(item.amount)
            if sum >= thresholdMilliunits { return item.countedFrom }
        }
        return nil
    }

    /// The link whose install a history's spend counts for: of those that are live, the first to have presented it.
    ///
    /// - Parameter links: In the order they were presented, which decides within one second.
    public static func firstPresenter(among links: [PurchaseLink], at now: Timestamp) -> PurchaseLink? {
        links.filter { $0.isLive(at: now) }.min { $0.presentedAt < $1.presentedAt }
    }
}
