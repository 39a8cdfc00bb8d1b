/// What waits for one thread that works for many: bounded, with a quarter of the places for each origin at most, and with
/// turns.
///
/// The next element is the oldest of the origin whose turn it is, and turns go round among the origins that wait: whoever
/// has much to do delays the others by one element of its own, not by all of them. Elements of one origin keep their order.
/// What was taken is let go of at once, and a place that was used is used again: a queue that is never empty does not grow.
///
/// A value; whoever shares it guards it.
public struct FairQueue<Element: Sendable>: Sendable {
    private struct Place: Sendable {
        var element: Element?
        /// The place of the next element of the same origin, or of the next place that is free; negative for none.
        var next: Int
    }

    /// The elements of one origin.
    private struct Lane: Sendable {
        var first: Int
        var last: Int
        var count: Int
    }

    /// The most elements that may wait.
    public let capacity: Int
    /// The most elements of one origin that may wait.
    public let share: Int
    /// How many elements wait.
    public private(set) var count = 0

    /// As many as ever waited at one time.
    private var places: [Place] = []
    private var firstFree = -1
    private var lanes: [UInt64: Lane] = [:]
    /// A ring: each origin that waits stands in it once.
    private var turns: [UInt64]
    private var nextTurn = 0

    /// An empty queue for at most `capacity` elements, at least 4.
    public init(capacity: Int) {
        precondition(capacity >= 4, "a queue holds at least 4 elements, one for each quarter")
        self.capacity = capacity
        share = capacity / 4
        turns = Array(repeating: 0, count: capacity)
    }

    /// Whether nothing waits.
    public var isEmpty: Bool { count == 0 }

    /// How many places were ever made; for tests.
    public var placesMade: Int { places.count }

    /// Takes an element over where there is room for it.
    ///
    /// - Parameter origin: a digest of who asks.
    /// - Returns: false where the queue is full, or the origin's share of it.
    public mutating func append(_ element: Element, of origin: UInt64) -> Bool {
        guard count < capacity else { return false }
        var lane = lanes[origin] ?? Lane(first: -1, last: -1, count: 0)
        guard lane.count < share else { return false }
        let place = put(element)
        if lane.count == 0 {
            lane.first = place
            turns[(nextTurn + lanes.count) % capacity] = origin
        } else {
            places[lane.last].next = place
        }
        lane.last = place
        lane.count += 1
        lanes[origin] = lane
        count += 1
        return true
    }

    /// The next element, which is in the queue no more; nil where nothing waits.
    public mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let origin = turns[nextTurn]
        guard var lane = lanes[origin] else { preconditionFailure("an origin that has a turn waits") }
        nextTurn = (nextTurn + 1) % capacity
        let place = lane.first
        let element = places[place].element.take()
        lane.first = places[place].next
        lane.count -= 1
        places[place].next = firstFree
        firstFree = place
        count -= 1
        if lane.count == 0 {
            lanes[origin] = nil
        } else {
            lanes[origin] = lane
            turns[(nextTurn + lanes.count - 1) % capacity] = origin
        }
        return element
    }

    private mutating func put(_ element: Element) -> Int {
        guard firstFree >= 0 else {
            places.append(Place(element: element, next: -1))
            return places.count - 1
        }
        let place = firstFree
        firstFree = places[place].next
        places[place] = Place(element: element, next: -1)
        return place
    }
}
