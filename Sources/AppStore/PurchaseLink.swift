public import Licensing

/// An install that presented a transaction of an `originalTransactionId`, and so has what that gives.
///
/// A row of `purchase_links`: connection, ``originalTransactionID``, ``mode`` and ``install``, unique together, with
/// ``presentedAt``. Fingerprint and last contact are the install's own. In sandbox the links, and the most there may be
/// of them, are counted by mode.
public struct PurchaseLink: Hashable, Sendable {
    /// The most installs of one `originalTransactionId` at a time, in one mode.
    public static let standardLimit = 10

    /// How long an install stays linked after it was last seen: 30 days.
    public static let life = CalendarDuration(days: 30)

    /// The install.
    public var install: Identifier<Install>
    /// Keyed digest of its machine, where one is known.
    public var fingerprint: Digest256?
    /// When it, or the install whose link it took over, first presented a transaction.
    public var presentedAt: Timestamp
    /// When the install was last heard of.
    public var lastSeenAt: Timestamp

    /// A link of these members.
    public init(
        install: Identifier<Install>,
        fingerprint: Digest256?,
        presentedAt: Timestamp,
        lastSeenAt: Timestamp
    ) {
        self.install = install
        self.fingerprint = fingerprint
        self.presentedAt = presentedAt
        self.lastSeenAt = lastSeenAt
    }

    /// Whether the install still counts as one that has the purchase.
    public func isLive(at now: Timestamp) -> Bool { now < lastSeenAt.adding(Self.life) }
}

/// What becomes of an install that presents a transaction.
public enum LinkDecision: Hashable, Sendable {
    /// It has its link: nothing to write.
    case linked
    /// A place is free: insert a link.
    case added
    /// The link of this install becomes its own, `presentedAt` kept: the same machine after a reinstall, or one that
    /// has not been seen for so long that its last proof has ended.
    case takesOver(Identifier<Install>)
    /// All places are in use: 409 `NO_SEATS_AVAILABLE` where the purchase would entitle.
    case full(limit: Int)

    /// Whether the install has a link afterwards.
    public var isLinked: Bool {
        if case .full = self { return false }
        return true
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - install: the install that presents.
    ///   - fingerprint: its machine's, where one is known.
    ///   - links: all rows of that `originalTransactionId` and mode.
    ///   - limit: the most of them.
    ///   - offlineLife: the product's: as long as that after it was last seen an install may hold a proof.
    public static func decide(
        for install: Identifier<Install>,
        fingerprint: Digest256?,
        among links: [PurchaseLink],
        limit: Int = PurchaseLink.standardLimit,
        offlineLife: CalendarDuration,
        at now: Timestamp
    ) -> LinkDecision {
        if links.contains(where: { $0.install == install }) { return .linked }
        if let fingerprint, let own = links.first(where: { $0.fingerprint == fingerprint }) {
            return .takesOver(own.install)
        }
        if links.count < limit { return .added }
        let idle = links.filter { !$0.isLive(at: now) || $0.lastSeenAt.adding(offlineLife) < now }
        let longestUnseen = idle.min { ($0.lastSeenAt, $0.install) < ($1.lastSeenAt, $1.install) }
        return longestUnseen.map { .takesOver($0.install) } ?? .full(limit: limit)
    }
}
