extension Install {
    /// 90 days.
    public static let keptUnseen = CalendarDuration(days: 90)

    /// What keeps an install that is not seen any more.
    public struct Ties: Hashable, Sendable {
        /// It holds a seat.
        public var hasSeat: Bool
        /// It presented a purchase.
        public var hasPurchase: Bool
        /// It was given something.
        public var hasGift: Bool
        /// Something was counted for it.
        public var hasUsage: Bool
        /// It has a trial with an end.
        public var hasTrialWithEnd: Bool

        /// Ties of these members.
        public init(hasSeat: Bool, hasPurchase: Bool, hasGift: Bool, hasUsage: Bool, hasTrialWithEnd: Bool) {
            self.hasSeat = hasSeat
            self.hasPurchase = hasPurchase
            self.hasGift = hasGift
            self.hasUsage = hasUsage
            self.hasTrialWithEnd = hasTrialWithEnd
        }
    }

    /// Whether it may be removed: nothing ties it, and it was not seen for 90 days.
    ///
    /// A trial's row with a fingerprint stays without it: the machine's first contact is kept.
    public func isRemovable(given ties: Ties, at now: Timestamp) -> Bool {
        guard !ties.hasSeat, !ties.hasPurchase, !ties.hasGift, !ties.hasUsage, !ties.hasTrialWithEnd else {
            return false
        }
        return now >= lastSeenAt.adding(Self.keptUnseen)
    }
}
