/// What waits for one thread that works for many: bounded, with a quarter of the places for each origin at most, and with
/// the thread's time shared among them.
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

    /// What one origin has waiting.
    private struct Lane: Sendable {
        /// In the order of arrival, from `head` on; what stands before it was taken.
        private var elements: [Element?]
        private var head = 0
        let origin: UInt64
        var account: Account
        /// Of origins that used as much, who came first is next.
        let turn: UInt64

        init(_ element: Element, of origin: UInt64, _ account: Account, turn: UInt64) {
            elements = [element]
            self.origin = origin
            self.account = account
            self.turn = turn
        }

        var count: Int { elements.count - head }

        var places: Int { elements.count }

        var first: Element? { head < elements.count ? elements[head] : nil }

        mutating func append(_ element: Element) { elements.append(element) }

        mutating func popFirst() -> Element? {
            guard head < elements.count else { return nil }
            let element = elements[head].take()
            head += 1
            // Places that were used go back in portions, so that a lane that is never empty does not grow.
            if head >= 32, head * 2 >= elements.count {
                elements.removeFirst(head)
                head = 0
            }
            return element
        }
    }

    /// The most elements that may wait.
    public let capacity: Int
    /// The most elements of one origin that may wait.
    public let share: Int
    /// How many elements wait.
    public private(set) var count = 0

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

    /// An empty queue for at most `capacity` elements, at least 4.
    public init(capacity: Int) {
        precondition(capacity >= 4, "a queue holds at least 4 elements, one for each quarter")
        self.capacity = capacity
        share = capacity / 4
    }

    /// Whether nothing waits.
    public var isEmpty: Bool { count == 0 }

    /// Places for elements, taken ones that are not used again yet included; for tests.
    var placesHeld: Int { lanes.reduce(0) { $0 + $1.places } }

    /// Takes an element over where there is room for it.
    ///
    /// - Parameter origin: a digest of who asks.
    /// - Returns: false where the queue is full, or the origin's share of it.
    public mutating func append(_ element: Element, of origin: UInt64) -> Bool {
        guard count < capacity else { return false }
        if let place = places[origin] {
            guard lanes[place].count < share else { return false }
            lanes[place].append(element)
        } else {
            var account = debts.removeValue(forKey: origin) ?? Account(used: usedByNext)
            account.used = max(account.used, usedByNext)
            places[origin] = lanes.count
            lanes.append(Lane(element, of: origin, account, turn: arrivals))
            arrivals += 1
        }
        count += 1
        return true
    }

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
        let element = lanes[place].popFirst()
        count -= 1
        usedByNext = max(usedByNext, lanes[place].account.used)
        served = lanes[place].origin
        leaveIfEmpty(place)
        return element
    }

    /// Takes out what is at the head of any origin and of this kind, behind which there may be more of it.
    public mutating func removeFirst(while isWanted: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        // From the end, so that a lane that takes the place of one that left was looked at already.
        for place in lanes.indices.reversed() {
            while let first = lanes[place].first, isWanted(first) {
                _ = lanes[place].popFirst()
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
