import SystemPrimitives
import Testing

@Suite("Queue with turns") struct FairQueueTests {
    private final class Kept: Sendable {}

    @Test("origins take turns, and each keeps its order")
    func turns() {
        var queue = FairQueue<String>(capacity: 16)
        for text in ["a1", "a2", "a3", "b1", "c1", "b2"] {
            let isIn = queue.append(text, of: UInt64(text.utf8.first ?? 0))
            #expect(isIn)
        }

        let first = (0..<4).compactMap { _ in queue.popFirst() }
        let isLateIn = queue.append("d1", of: UInt64(UInt8(ascii: "d")))
        let rest = (0..<4).compactMap { _ in queue.popFirst() }

        #expect(isLateIn)
        #expect(first == ["a1", "b1", "c1", "a2"])
        #expect(rest == ["b2", "a3", "d1"])
        #expect(queue.isEmpty)
    }

    @Test("one origin fills a quarter, all together the whole")
    func shares() {
        var queue = FairQueue<Int>(capacity: 16)

        let accepted = (0..<5).map { origin in (0..<5).count { queue.append($0, of: origin) } }

        #expect(accepted == [4, 4, 4, 4, 0])
        #expect(queue.count == 16)
    }

    @Test("a queue that is never empty does not grow, and keeps nothing that was taken", arguments: 1...3)
    func storage(waiting: Int) {
        var queue = FairQueue<Kept>(capacity: 64)
        for origin in 0..<waiting { _ = queue.append(Kept(), of: UInt64(origin)) }
        weak var first: Kept?

        for round in 0..<1_000 {
            let next = Kept()
            if round == 0 { first = next }
            let isIn = queue.append(next, of: UInt64(round % 7))
            let taken = queue.popFirst()
            #expect(isIn && taken != nil)
        }

        #expect(queue.count == waiting)
        #expect(queue.placesMade == waiting + 1)
        #expect(first == nil)
    }

    @Test("whatever comes and goes, all that was accepted is there once, in the order of its origin", arguments: 0..<20)
    func model(seed: UInt64) {
        var queue = FairQueue<(origin: UInt64, number: Int)>(capacity: 12)
        var expected: [UInt64: [Int]] = [:]
        var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        func next(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }

        for number in 0..<2_000 {
            let origin = next(6)
            if next(2) == 0 {
                let (count, all) = (expected[origin, default: []].count, expected.values.reduce(0) { $0 + $1.count })
                let isIn = queue.append((origin, number), of: origin)
                #expect(isIn == (count < 3 && all < 12))
                if count < 3 && all < 12 { expected[origin, default: []].append(number) }
            } else if let taken = queue.popFirst() {
                let oldest = expected[taken.origin]?.removeFirst()
                #expect(oldest == taken.number)
            } else {
                #expect(expected.values.reduce(0) { $0 + $1.count } == 0)
            }
        }
    }
}
