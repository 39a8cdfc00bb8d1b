/// What a product knows of the App Store, in both of its modes.
struct Ledger {
    /// Everything that is bought of an article in one environment.
    struct Line: Hashable {
        var article: Int
        var isSandbox: Bool
    }

    struct Purchase {
        /// When it was first told of.
        var made: Int64
        /// The newest copy.
        var copy: Copy

        var line: Line { Line(article: copy.article, isSandbox: copy.isSandbox) }
        var name: Paper.Reference {
            .purchase(article: copy.article, period: copy.period, isSandbox: copy.isSandbox)
        }
    }

    struct Links: Hashable {
        var line: Line
        var isTest: Bool
    }

    struct Link {
        var install: Int
        var presented: Int64
    }

    struct Transaction: Hashable {
        var purchase: Paper.Reference
        var number: Int
    }

    struct Notice: Hashable {
        var name: Int
        var isSandbox: Bool
    }

    let start: Int64
    var connections: [Bool: ConnectionSpec] = [:]
    let tiers: [TierSpec]
    var apple = Apple()
    var purchases: [Purchase] = []
    var renewals: [Line: Renewal] = [:]
    /// In the order of their making.
    var links: [Links: [Link]] = [:]
    /// When a transaction of the sandbox was first shown by the shipped app.
    var reviews: [Transaction: Int64] = [:]
    var notices: Set<Notice> = []

    init(_ store: StoreSpec, at start: Int64) {
        self.start = start
        connections[false] = store.production
        connections[true] = store.sandbox
        tiers = store.tiers
    }

    // MARK: What a purchase is worth

    func features(_ purchase: Purchase) -> [Int]? {
        connections[purchase.copy.isSandbox]?.map[Article.all[purchase.copy.article].name]
    }

    func end(_ purchase: Purchase) -> Int64? {
        guard let connection = connections[purchase.copy.isSandbox] else { return nil }
        let bought = purchase.copy.bought
        switch Article.all[purchase.copy.article].kind {
        case .kept, .consumable: return nil
        case .season: return connection.season.map { adding($0, to: bought) }
        case .subscription:
            guard let ends = purchase.copy.ends else { return nil }
            // Once a later period is known, the renewal has reached us.
            if purchases.contains(where: { $0.line == purchase.line && $0.copy.bought > bought }) { return ends }
            let renewal = renewals[purchase.line]
            let late = renewal?.isKnownNotToRenew ?? false ? ends : ends + connection.leeway
            return max(late, renewal?.grace ?? late)
        }
    }

    /// When review ends: a day after one of its transactions was first shown.
    func reviewEnd(_ purchase: Purchase) -> Int64? {
        reviews.filter { $0.key.purchase == purchase.name }.map { $0.value + 86_400 }.max()
    }

    /// `limit`: the end of review.
    func state(_ purchase: Purchase, limit: Int64?, at now: Int64) -> String {
        if Article.all[purchase.copy.article].kind == .consumable { return "consumable" }
        if features(purchase) == nil { return "unmapped" }
        if purchase.copy.isUpgraded { return "upgraded" }
        if purchase.copy.isRevoked { return "revoked" }
        let ends = [end(purchase), limit].compactMap { $0 }
        return ends.allSatisfy { now < $0 } ? "active" : "expired"
    }

    // MARK: What is signed

    /// Keeps the newest copy; of two that were signed in the same moment, the refunded one.
    mutating func apply(_ copy: Copy, at now: Int64) -> Purchase {
        let new = Purchase(made: now, copy: copy)
        guard let place = purchases.firstIndex(where: { $0.name == new.name }) else {
            purchases.append(new)
            return new
        }
        let old = purchases[place].copy
        if copy.signed > old.signed || copy.signed == old.signed && copy.isRevoked { purchases[place].copy = copy }
        return purchases[place]
    }

    mutating func apply(_ renewal: Renewal, isSandbox: Bool) {
        let line = Line(article: renewal.article, isSandbox: isSandbox)
        if let old = renewals[line], old.signed > renewal.signed { return }
        renewals[line] = renewal
    }

    func ends(at now: Int64) -> [Int64?] {
        var ends = purchases.flatMap { [$0.copy.ends, end($0), reviewEnd($0)] }
        ends += renewals.values.map(\.grace)
        return ends
    }
}

// The App Store.
extension Model {
    private func takes(_ isSandbox: Bool) -> Bool {
        guard let connection = ledger?.connections[isSandbox] else { return false }
        return isSandbox ? isTest || connection.allowsReview : !isTest
    }

    /// Signed more than five minutes ahead of our clock.
    private func isAhead(_ milliseconds: Int64) -> Bool { milliseconds > (now + 300) * 1000 }

    /// The end of review, where that is why something is granted.
    private func limit(_ purchase: Ledger.Purchase) -> Int64? {
        purchase.copy.isSandbox && !isTest ? ledger?.reviewEnd(purchase) : nil
    }

    private func isInForce(_ purchase: Ledger.Purchase) -> Bool {
        let limit = limit(purchase)
        if purchase.copy.isSandbox && !isTest && limit == nil { return false }
        return takes(purchase.copy.isSandbox) && ledger?.state(purchase, limit: limit, at: now) == "active"
    }

    /// The purchases that an install showed one of, and what belongs to them.
    private func shown(by install: Int) -> [Ledger.Purchase] {
        guard let ledger else { return [] }
        return ledger.purchases.filter { purchase in
            ledger.links[Ledger.Links(line: purchase.line, isTest: isTest)]?.contains { $0.install == install } ?? false
        }
    }

    mutating func present(_ spec: DocumentSpec, _ install: Int, _ fingerprint: Int?) -> Told {
        guard let copy = ledger?.apple.copy(spec, at: now) else { return .skipped }
        var told = judge(copy, install, fingerprint)
        settle(install, fingerprint)
        told.paper = paper(install)
        return told
    }

    private mutating func judge(_ copy: Copy, _ install: Int, _ fingerprint: Int?) -> Told {
        record(install, fingerprint)
        guard let connections = ledger?.connections, !connections.isEmpty else { return Told("VALIDATION") }
        guard takes(copy.isSandbox), let connection = connections[copy.isSandbox] else {
            return Told("STORE_UNVERIFIED")
        }
        guard connection.isEnabled else { return Told("UNAVAILABLE") }
        guard !isAhead(copy.signed), let purchase = ledger?.apply(copy, at: now) else {
            return Told("STORE_UNVERIFIED")
        }
        let transaction = Ledger.Transaction(purchase: purchase.name, number: copy.transaction)
        let isReview = copy.isSandbox && !isTest
        let state = ledger?.state(purchase, limit: nil, at: now) ?? ""
        let isLinked = link(install, to: purchase.line)
        let first = ledger?.reviews[transaction]
        if isReview && state == "active" && isLinked && first == nil { ledger?.reviews[transaction] = now }

        let limit = limit(purchase)
        let isOver = isReview && limit.map { $0 <= now } ?? false
        let article = Article.all[copy.article].name
        let isAnother = shown(by: install).contains { Article.all[$0.copy.article].name == article && isInForce($0) }
        var told: Told
        switch state {
        case "active" where !isLinked: return Told("NO_SEATS_AVAILABLE")
        case "active": told = Told(!isOver || isAnother ? "GRANTED" : "PURCHASE_EXPIRED")
        case "expired": told = Told(isAnother ? "GRANTED" : "PURCHASE_EXPIRED")
        case "revoked": told = Told(isAnother ? "GRANTED" : "PURCHASE_REVOKED")
        default: told = Told("UNKNOWN")
        }
        told.purchase = Told.Purchase(
            name: purchase.name,
            state: ledger?.state(purchase, limit: limit, at: now) ?? "",
            ends: [ledger?.end(purchase), limit].compactMap { $0 }.min()
        )
        return told
    }

    /// Whether an install has its place among at most ten that showed something of a line.
    private mutating func link(_ install: Int, to line: Ledger.Line) -> Bool {
        let key = Ledger.Links(line: line, isTest: isTest)
        var links = ledger?.links[key] ?? []
        defer { ledger?.links[key] = links }
        if links.contains(where: { $0.install == install }) { return true }
        // The one presented first is the one of the machine.
        let order = links.indices.sorted { (links[$0].presented, $0) < (links[$1].presented, $1) }
        if let machine = installs[install]?.fingerprint,
            let own = order.first(where: { installs[links[$0].install]?.fingerprint == machine })
        {
            links[own].install = install
            return true
        }
        if links.count < 10 {
            links.append(Ledger.Link(install: install, presented: now))
            return true
        }
        let idle = links.indices.filter { place in
            guard let seen = installs[links[place].install]?.seen else { return false }
            return seen + 30 * 86_400 <= now || seen + settings.offlineLife < now
        }
        let oldest = idle.min { left, right in
            guard let left = installs[links[left].install], let right = installs[links[right].install] else {
                return false
            }
            return (left.seen, left.firstContact, left.number) < (right.seen, right.firstContact, right.number)
        }
        guard let oldest else { return false }
        links[oldest].install = install
        return true
    }

    mutating func notify(_ name: Int, isSandbox: Bool, _ spec: DocumentSpec?, _ renewal: RenewalSpec?) -> Told {
        guard let connection = ledger?.connections[isSandbox] else { return .skipped }
        let copy = spec.flatMap { ledger?.apple.copy($0, at: now) }
        let renewal = renewal.flatMap { ledger?.apple.renewal($0, at: now) }
        // What is signed now, and what is nested in it.
        guard connection.isEnabled else { return Told("UNAVAILABLE") }
        if let copy, copy.isSandbox != isSandbox { return Told("STORE_UNVERIFIED") }
        if [copy?.signed, renewal?.signed].contains(where: { $0.map { isAhead($0) } ?? false }) {
            return Told("UNAVAILABLE")
        }
        guard ledger?.notices.insert(Ledger.Notice(name: name, isSandbox: isSandbox)).inserted ?? false else {
            return Told("KNOWN")
        }
        if let copy { _ = ledger?.apply(copy, at: now) }
        if let renewal { ledger?.apply(renewal, isSandbox: isSandbox) }
        return Told("RECORDED")
    }

    mutating func connect(isSandbox: Bool, _ edit: ConnectionEdit) -> Told {
        guard var connection = ledger?.connections[isSandbox] else { return .skipped }
        switch edit {
        case .enabled(let isOn): connection.isEnabled = isOn
        case .review(let isOn): connection.allowsReview = isOn
        case .leeway(let seconds): connection.leeway = seconds
        case .map(let name, let features):
            if features == nil && connection.map[name] == nil { return Told("VALIDATION") }
            connection.map[name] = features
            if name == "season" && features == nil { connection.season = nil }
        case .season(let span):
            connection.map["season"] = connection.map["season"] ?? []
            connection.season = span
        }
        ledger?.connections[isSandbox] = connection
        return Told("OK")
    }

    // MARK: What an install has by it

    func place(of purchase: Ledger.Purchase) -> Int {
        ledger?.purchases.firstIndex { $0.name == purchase.name } ?? 0
    }

    /// What one install has by what it showed.
    func storeGrants(_ install: Int) -> [(features: [Int], starts: Int64, ends: Int64?, purchase: Ledger.Purchase)] {
        shown(by: install).filter { isInForce($0) }.map { purchase in
            let ends = [ledger?.end(purchase), limit(purchase)].compactMap { $0 }.min()
            return (ledger?.features(purchase) ?? [], min(purchase.copy.bought, now), ends, purchase)
        }
    }

    /// When an install's spend reached a threshold: of live purchases of production, paid and not refunded, for the install
    /// that showed them first of those that still count.
    func reached(_ threshold: Int64, by install: Int) -> Int64? {
        guard let ledger, !isTest else { return nil }
        var paid: [(at: Int64, price: Int64)] = []
        for (key, links) in ledger.links where !key.isTest && !key.line.isSandbox {
            let living = links.filter { link in
                guard let seen = installs[link.install]?.seen else { return false }
                return now < (link.install == install ? max(seen, now) : seen) + 30 * 86_400
            }
            guard let presented = living.map(\.presented).min(),
                living.first(where: { $0.presented == presented })?.install == install
            else { continue }
            for purchase in ledger.purchases where purchase.line == key.line {
                guard !purchase.copy.isRevoked, !purchase.copy.isShared else { continue }
                paid.append((max(purchase.copy.bought, presented), Article.all[purchase.copy.article].price))
            }
        }
        var sum: Int64 = 0
        return paid.sorted { $0.at < $1.at }.first { item in
            sum += item.price
            return sum >= threshold
        }?.at
    }

    var storeEnds: [Int64?] {
        guard let ledger else { return [] }
        let linked = Set(ledger.links.filter { $0.key.isTest == isTest }.values.flatMap { $0.map(\.install) })
        let seen = linked.compactMap { installs[$0]?.seen }
        let tiers = ledger.tiers.flatMap { tier in
            linked.map { install in
                reached(tier.threshold, by: install).flatMap { start in tier.lasting.map { adding($0, to: start) } }
            }
        }
        return ledger.ends(at: now) + tiers + seen.flatMap { [$0 + 30 * 86_400, $0 + settings.offlineLife] }
    }
}
