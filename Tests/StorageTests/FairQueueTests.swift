import Testing

@testable import SystemPrimitives

@Suite("Queue that shares time") struct FairQueueTests {
    private final class Kept: Sendable {}

    /// Takes elements, each of which takes as long as its cost says; fewer than `count` where no more wait.
    private func take(_ count: Int, from queue: inout FairQueue<String>, costing cost: (String) -> UInt64)
        -> [String]
    {
        var taken: [String] = []
        var spent: UInt64 = 0
        while taken.count < count, let next = queue.popFirst(charging: spent) {
            taken.append(next)
            spent = cost(next)
        }
        return taken
    }

    private func filled(_ elements: [String], capacity: Int = 4096) -> FairQueue<String> {
        var queue = FairQueue<String>(capacity: capacity, share: capacity)
        let accepted = elements.count { queue.append($0, of: UInt64($0.utf8.first ?? 0)) }
        #expect(accepted == elements.count)
        return queue
    }

    @Test("origins whose elements cost the same take turns, and each keeps its order", arguments: [0, 1, 1000])
    func turns(cost: UInt64) {
        var queue = filled(["a1", "a2", "a3", "b1", "c1", "b2"])

        let taken = take(9, from: &queue) { _ in cost }

        #expect(taken == ["a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(queue.isEmpty)
    }

    @Test("who comes anew waits for those who came before, each for one turn")
    func newTurn() {
        var queue = filled(["a1", "a2", "a3", "b1", "c1", "b2"])

        let first = take(4, from: &queue) { _ in 0 }
        let isLateIn = queue.append("d1", of: UInt64(UInt8(ascii: "d")))
        let rest = take(4, from: &queue) { _ in 0 }

        #expect(isLateIn)
        #expect(first == ["a1", "b1", "c1", "a2"])
        #expect(Set(rest.prefix(3)) == ["b2", "d1", "a3"])
        #expect(rest.first == "b2" && queue.isEmpty)
    }

    @Test("whose elements cost more gets fewer of them done in the same time")
    func time() {
        var queue = filled((0..<100).flatMap { ["a\($0)", "b\($0)"] })

        let taken = take(50, from: &queue) { $0.hasPrefix("a") ? 10 : 1 }

        let first = taken.count { $0.hasPrefix("a") }
        #expect((4...6).contains(first))
    }

    @Test("who comes late is next, and is not let before the others for the time it stayed away")
    func newcomer() {
        var queue = filled((0..<100).map { "a\($0)" })
        _ = take(50, from: &queue) { _ in 1000 }
        for number in 0..<10 { _ = queue.append("b\(number)", of: 98) }

        let taken = take(6, from: &queue) { _ in 1000 }

        #expect(taken == ["b0", "a50", "b1", "a51", "b2", "a52"])
    }

    @Test("nobody sheds what was used by coming with one element at a time")
    func debt() {
        var queue = filled((0..<100).map { "b\($0)" })
        var expensive = 0
        var cheap = 0
        var spent: UInt64 = 0

        var isWaiting = false
        while cheap < 90 {
            if !isWaiting { isWaiting = queue.append("a", of: 97) }
            guard let next = queue.popFirst(charging: spent) else { break }
            spent = next == "a" ? 30 : 1
            if next == "a" {
                expensive += 1
                isWaiting = false
            } else {
                cheap += 1
            }
        }

        #expect(expensive <= 4, "of 90 units of the others' time, as many")
    }

    @Test("what is likely to take longer than there is time for is left, and is next all the same")
    func within() {
        var queue = filled(["a0", "a1", "a2", "b0", "b1"])

        let first = queue.popFirst()
        let other = queue.popFirst(charging: 50, within: 49)
        let second = queue.popFirst(charging: 60, within: 49)
        let left = queue.popFirst(within: 49)
        let long = queue.popFirst(within: 50)

        #expect(first == "a0" && other == "b0")
        #expect(second == nil && left == nil && long == "a1")
        #expect(queue.count == 2)
    }

    @Test("one origin fills its share, all together the whole")
    func shares() {
        var queue = FairQueue<Int>(capacity: 16, share: 4)

        let accepted = (0..<5).map { origin in (0..<5).count { queue.append($0, of: UInt64(origin)) } }

        #expect(accepted == [4, 4, 4, 4, 0])
        #expect(queue.count == 16)
    }

    @Test("what takes up several places needs so many, and gives as many back")
    func sizes() {
        var queue = FairQueue<String>(capacity: 10, share: 8)

        let first = [("a", 5), ("a", 4), ("a", 3), ("b", 3), ("b", 2)].map { name, size in
            queue.append("\(name)\(size)", of: UInt64(name.utf8.first ?? 0), takingUp: size)
        }
        let filled = (queue.count, queue.size)
        let taken = queue.popFirst()
        let isIn = queue.append("c5", of: 0, takingUp: 5)

        #expect(first == [true, false, true, false, true])
        #expect(filled == (3, 10) && taken == "a5")
        #expect(isIn && queue.size == 10)
        _ = queue.removeFirst { _ in true }
        #expect(queue.size == 0)
    }

    @Test("in a full queue the newest of whoever has most gives way, until all who come have as much; else nobody does")
    func displaced() {
        var queue = FairQueue<String>(capacity: 8, share: 8)
        func come(_ name: String, _ size: Int = 1) -> [String]? {
            queue.appendDisplacing(name, of: UInt64(name.utf8.first ?? 0), takingUp: size)
        }

        for number in 0..<8 { #expect(come("a\(number)") == []) }
        #expect(come("a8") == nil)
        #expect(come("b0") == ["a7"])
        #expect(come("b1") == ["a6"])
        // Of the six places of the first, three are more than it would then have itself, and no four.
        #expect(come("c0", 4) == nil)
        #expect(queue.size == 8)
        #expect(come("c1", 3) == ["a5", "a4", "a3"])
        #expect(come("b2") == nil)

        #expect(queue.size == 8)
        let left = take(9, from: &queue) { _ in 1 }
        #expect(left == ["a0", "b0", "c1", "a1", "b1", "a2"])
    }

    @Test("whatever gives way, sizes stay true, nothing is lost, and who gave way had more", arguments: 0..<20)
    func displacing(seed: UInt64) {
        var queue = FairQueue<(origin: UInt64, number: Int, size: Int)>(capacity: 40, share: 40)
        var expected: [UInt64: [(number: Int, size: Int)]] = [:]
        var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        func next(_ bound: UInt64) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % bound)
        }
        func size(_ origin: UInt64) -> Int { expected[origin, default: []].reduce(0) { $0 + $1.size } }

        for number in 0..<2_000 {
            if next(3) == 0 {
                guard let taken = queue.popFirst(charging: UInt64(next(100))) else { continue }
                #expect(expected[taken.origin]?.removeFirst().number == taken.number)
            } else {
                let (origin, needed) = (UInt64(next(5)), 1 + next(12))
                let all = queue.size
                let displaced = queue.appendDisplacing((origin, number, needed), of: origin, takingUp: needed)
                for other in displaced ?? [] {
                    #expect(other.origin != origin && size(other.origin) > size(origin) + needed)
                    #expect(expected[other.origin]?.removeLast().number == other.number)
                }
                if displaced != nil { expected[origin, default: []].append((number, needed)) }
                #expect(displaced != nil || queue.size == all)
                #expect(displaced != nil || all + needed > 40)
            }
            #expect(queue.size == expected.keys.reduce(0) { $0 + size($1) } && queue.size <= 40)
            #expect(queue.count == expected.values.reduce(0) { $0 + $1.count })
        }
    }

    @Test("of each origin the oldest are taken out, and nothing behind another")
    func removal() {
        var queue = filled(["a1", "a2", "a9", "a1", "b9", "c1", "c2"])

        let removed = queue.removeFirst { !$0.hasSuffix("9") }

        #expect(Set(removed) == ["a1", "a2", "c1", "c2"] && removed.count == 4)
        #expect(queue.count == 3)
        let left = take(9, from: &queue) { _ in 1 }
        #expect(Set(left) == ["a9", "a1", "b9"])
    }

    @Test("a queue that is never empty does not grow, and keeps nothing that was taken", arguments: [1, 2, 3, 100])
    func storage(waiting: Int) {
        var queue = FairQueue<Kept>(capacity: 4096, share: 4096)
        for number in 0..<waiting { _ = queue.append(Kept(), of: UInt64(number % 3)) }
        weak var last: Kept?

        for round in 0..<1_000 {
            let next = Kept()
            if round == 800 { last = next }
            let isAccepted = queue.append(next, of: UInt64(round % 3))
            let isTaken = queue.popFirst(charging: 1) != nil
            #expect(isAccepted && isTaken)
        }

        #expect(queue.count == waiting)
        #expect(queue.placesHeld <= 2 * waiting + 3 * 64)
        #expect(last == nil)
    }

    @Test("whatever comes and goes, all that was accepted is there once, in the order of its origin", arguments: 0..<20)
    func model(seed: UInt64) {
        var queue = FairQueue<(origin: UInt64, number: Int)>(capacity: 12, share: 3)
        var expected: [UInt64: [Int]] = [:]
        var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }

        for number in 0..<2_000 {
            let origin = next(6)
            switch next(8) {
            case 0...3:
                let (count, all) = (expected[origin, default: []].count, expected.values.reduce(0) { $0 + $1.count })
                let isAccepted = queue.append((origin, number), of: origin)
                #expect(isAccepted == (count < 3 && all < 12))
                if count < 3 && all < 12 { expected[origin, default: []].append(number) }
            case 4...6:
                if let taken = queue.popFirst(charging: next(100)) {
                    let oldest = expected[taken.origin]?.removeFirst()
                    #expect(oldest == taken.number)
                } else {
                    let isEmpty = expected.values.allSatisfy(\.isEmpty)
                    #expect(isEmpty)
                }
            default:
                let limit = number - 20
                let removed = queue.removeFirst { $0.number < limit }
                for element in removed {
                    let oldest = expected[element.origin]?.removeFirst()
                    #expect(oldest == element.number)
                }
                let left = Array(expected.values.joined())
                #expect(left.allSatisfy { $0 >= limit })
            }
        }
    }
}
