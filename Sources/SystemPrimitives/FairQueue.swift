/// What waits for one thread that works for many: bounded, with a share of the places for each origin at most, and with the
/// thread's time shared among them.
///
/// The next element is the oldest of the origin that has used the least time: whoever has much to do, or what takes long,
/// delays another by the one element that is being worked on, not by all of its own. Elements of one origin keep their
/// order. Who comes anew has used as much as who is next: nobody saves up time by staying away, and nobody sheds what was
/// used by coming with one element at a time, as long as others wait.
///
/// What was taken is let go of at once, and places that were used are used again: a queue that is never empty does not grow.
///
/// A value; whoever shares it guards it.
public struct FairQueue<Element: Sendable>: Sendable {
    /// What is known of an origin.
    private struct Account: Sendable {
        /// Time used, in nanoseconds since an unnamed beginning that all origins share.
        var used: UInt64
        /// What its last element took: what is to be expected of its next one.
        var last: UInt64 = 0

        mutating func charge(_ spent: UInt64) {
            // Some time always, whatever the clock says: or the origin would be next for ever.
            used += max(spent, 1)
            last = spent
        }
    }

    /// One element, and how many places it takes up.
    private struct Waiting: Sendable {
        let element: Element
        let size: Int
    }

    /// What one origin has waiting.
    private struct Lane: Sendable {
        /// In the order of arrival, from `head` on; what stands before it was taken.
        private var elements: [Waiting?]
        private var head = 0
        /// How many places its elements take up together.
        private(set) var size: Int
        let origin: UInt64
        var account: Account
        /// Of origins that used as much, who came first is next.
        let turn: UInt64

        init(_ waiting: Waiting, of origin: UInt64, _ account: Account, turn: UInt64) {
            elements = [waiting]
            size = waiting.size
            self.origin = origin
            self.account = account
            self.turn = turn
        }

        var count: Int { elements.count - head }

        var places: Int { elements.count }

        var first: Element? { head < elements.count ? elements[head]?.element : nil }

        mutating func append(_ waiting: Waiting) {
            elements.append(waiting)
            size += waiting.size
        }

        mutating func popFirst() -> Waiting? {
            guard head < elements.count, let first = elements[head].take() else { return nil }
            size -= first.size
            head += 1
            // Places that were used go back in portions, so that a lane that is never empty does not grow.
            if head >= 32, head * 2 >= elements.count {
                elements.removeFirst(head)
                head = 0
            }
            return first
        }

        mutating func popLast() -> Waiting? {
            guard head < elements.count, let last = elements.removeLast() else { return nil }
            size -= last.size
            return last
        }
    }

    /// How many places there are.
    public let capacity: Int
    /// How many of them one origin may take up.
    public let share: Int
    /// How many elements wait.
    public private(set) var count = 0
    /// How many places they take up.
    public private(set) var size = 0

    /// Of origins that have something waiting, in no order.
    private var lanes: [Lane] = []
    /// Where in `lanes` an origin's is.
    private var places: [UInt64: Int] = [:]
    /// Accounts of origins that have nothing waiting, and have used more than `usedByNext`.
    private var debts: [UInt64: Account] = [:]
    /// What the origin had used whose element was taken last: nobody who waits has used less.
    private var usedByNext: UInt64 = 0
    private var served: UInt64?
    private var arrivals: UInt64 = 0

    /// Debts beyond this are looked through for those that are settled.
    private static var manyDebts: Int { 64 }

    /// An empty queue.
    ///
    /// - Parameters:
    ///   - capacity: how many places there are, at least 1.
    ///   - share: how many of them one origin may take up, at least 1.
    public init(capacity: Int, share: Int) {
        precondition(capacity >= 1 && share >= 1, "a queue holds at least one element, whosever it is")
        self.capacity = capacity
        self.share = share
    }

    /// Whether nothing waits.
    public var isEmpty: Bool { count == 0 }

    /// Places for elements, taken ones that are not used again yet included; for tests.
    var placesHeld: Int { lanes.reduce(0) { $0 + $1.places } }

    /// Takes an element over where there is room for it.
    ///
    /// - Parameters:
    ///   - origin: a digest of who asks.
    ///   - size: how many places it takes up, at least 1.
    /// - Returns: false where the queue is full, or the origin's share of it.
    public mutating func append(_ element: Element, of origin: UInt64, takingUp size: Int = 1) -> Bool {
        guard size <= capacity - self.size, size <= share - self.size(of: origin) else { return false }
        let waiting = Waiting(element: element, size: size)
        if let place = places[origin] {
            lanes[place].append(waiting)
        } else {
            var account = debts.removeValue(forKey: origin) ?? Account(used: usedByNext)
            account.used = max(account.used, usedByNext)
            places[origin] = lanes.count
            lanes.append(Lane(waiting, of: origin, account, turn: arrivals))
            arrivals += 1
        }
        count += 1
        self.size += size
        return true
    }

    /// Takes an element over in any case in which others have more: in a full queue the newest element of the origin that
    /// takes up most gives way, as often as needed, while that takes up more than `origin` would.
    ///
    /// - Parameters: as `append`.
    /// - Returns: what gave way; nil where the element was not taken over, and nothing gave way.
    public mutating func appendDisplacing(_ element: Element, of origin: UInt64, takingUp size: Int = 1) -> [Element]? {
        if append(element, of: origin, takingUp: size) { return [] }
        var tried = self
        var displaced: [Element] = []
        while !tried.append(element, of: origin, takingUp: size) {
            guard let other = tried.displace(for: origin, needing: size) else { return nil }
            displaced.append(other)
        }
        self = tried
        return displaced
    }

    /// Takes out the newest element of the origin that takes up most; nil where that is no more than `origin` would.
    private mutating func displace(for origin: UInt64, needing size: Int) -> Element? {
        guard let place = lanes.indices.max(by: { lanes[$0].size < lanes[$1].size }),
            lanes[place].size > self.size(of: origin) + size, let last = lanes[place].popLast()
        else { return nil }
        count -= 1
        self.size -= last.size
        leaveIfEmpty(place)
        return last.element
    }

    private func size(of origin: UInt64) -> Int { places[origin].map { lanes[$0].size } ?? 0 }

    /// The next element, which is in the queue no more; nil where nothing waits: then nobody owes anybody anything.
    ///
    /// - Parameters:
    ///   - spent: nanoseconds spent on the element that was taken last; 0 for all: origins take turns.
    ///   - time: nanoseconds there are for it: where its origin's last one took longer, it is left where it is.
    public mutating func popFirst(charging spent: UInt64 = 0, within time: UInt64 = .max) -> Element? {
        charge(spent)
        guard let place = next else {
            debts.removeAll(keepingCapacity: true)
            return nil
        }
        guard lanes[place].account.last <= time else { return nil }
        guard let first = lanes[place].popFirst() else { return nil }
        count -= 1
        size -= first.size
        usedByNext = max(usedByNext, lanes[place].account.used)
        served = lanes[place].origin
        leaveIfEmpty(place)
        return first.element
    }

    /// Takes out what is at the head of any origin and of this kind, behind which there may be more of it.
    public mutating func removeFirst(while isWanted: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        // From the end, so that a lane that takes the place of one that left was looked at already.
        for place in lanes.indices.reversed() {
            while let first = lanes[place].first, isWanted(first) {
                size -= lanes[place].popFirst()?.size ?? 0
                removed.append(first)
            }
            leaveIfEmpty(place)
        }
        count -= removed.count
        return removed
    }

    /// Where in `lanes` the one is that has used the least.
    private var next: Int? {
        guard var next = lanes.indices.first else { return nil }
        for place in lanes.indices.dropFirst() where lanes[place].account.used <= lanes[next].account.used {
            let isLess = lanes[place].account.used < lanes[next].account.used
            if isLess || lanes[place].turn < lanes[next].turn { next = place }
        }
        return next
    }

    private mutating func charge(_ spent: UInt64) {
        guard let origin = served.take() else { return }
        if let place = places[origin] {
            lanes[place].account.charge(spent)
        } else {
            debts[origin, default: Account(used: usedByNext)].charge(spent)
        }
    }

    private mutating func leaveIfEmpty(_ place: Int) {
        guard lanes[place].count == 0 else { return }
        let (origin, account) = (lanes[place].origin, lanes[place].account)
        places[origin] = nil
        let last = lanes.removeLast()
        if place < lanes.count {
            lanes[place] = last
            places[last.origin] = place
        }
        if debts.count >= Self.manyDebts { debts = debts.filter { $0.value.used > usedByNext } }
        if account.used > usedByNext || served == origin { debts[origin] = account }
    }
}
