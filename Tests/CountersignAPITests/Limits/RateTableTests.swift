import Testing

@testable import CountersignAPI

@Suite("Token buckets") struct RateTableTests {
    private let second: UInt64 = 1_000_000_000
    /// Any moment of a clock that counts from the start of the machine.
    private let start: UInt64 = 5_000_000_000

    private func key(_ number: UInt64, _ kind: RateKey.Kind = .requests, of owner: UInt64 = 0) -> RateKey {
        RateKey(kind: kind, high: 0x2001_0DB8, low: number, owner: owner)
    }

    @Test("a full bucket gives its limit at once, then one each interval")
    func burst() throws {
        let table = RateTable()
        let rate = try #require(Rate(3, perSeconds: 60))

        let first = (0..<4).map { _ in table.take(rate, key(1), at: start) }
        let early = table.take(rate, key(1), at: start + 20 * second - 1)
        let due = table.take(rate, key(1), at: start + 20 * second)

        #expect(first.map(\.isGranted) == [true, true, true, false])
        #expect(first.map(\.remaining) == [2, 1, 0, 0])
        #expect(first.map(\.resetSeconds) == [0, 0, 0, 20])
        #expect(first.allSatisfy { $0.limit == 3 })
        #expect(!early.isGranted)
        #expect(early.resetSeconds == 1, "a part of a second is a whole one")
        #expect(due.isGranted)
    }

    @Test(
        "in any stretch of time no more pass than the limit and what came back meanwhile",
        arguments: [1, 7, 20, 3_000]
    )
    func neverMore(limit: Int) throws {
        let table = RateTable()
        let rate = try #require(Rate(limit, perSeconds: 60))

        // Three minutes of a client that asks far more often than it may.
        let step = 60 * second / UInt64(limit) / 3
        let granted = (0..<UInt64(limit * 9)).count { table.take(rate, key(1), at: start + $0 * step).isGranted }

        #expect(granted <= limit * 4)
        #expect(granted >= limit * 4 - 2, "but what came back may be used")
    }

    @Test("a bucket that rests is full again, and never fuller")
    func refill() throws {
        let table = RateTable()
        let rate = try #require(Rate(5, perSeconds: 60))
        for _ in 0..<5 { _ = table.take(rate, key(1), at: start) }

        let later = (0..<6).map { _ in table.take(rate, key(1), at: start + 3_600 * second).isGranted }

        #expect(later == [true, true, true, true, true, false])
    }

    @Test("looking takes nothing")
    func look() throws {
        let table = RateTable()
        let rate = try #require(Rate(1, perSeconds: 60))

        let before = (0..<3).map { _ in table.look(rate, key(1), at: start).isGranted }
        let taken = table.take(rate, key(1), at: start)
        let after = table.look(rate, key(1), at: start)

        #expect(before == [true, true, true])
        #expect(taken.isGranted)
        #expect(!after.isGranted)
    }

    @Test("buckets of two addresses, of two kinds and of two owners do not meet")
    func apart() throws {
        let table = RateTable()
        let rate = try #require(Rate(1, perSeconds: 60))

        #expect(table.take(rate, key(1), at: start).isGranted)
        #expect(table.take(rate, key(2), at: start).isGranted)
        #expect(table.take(rate, key(1, .wrongKeys), at: start).isGranted)
        #expect(table.take(rate, key(1, .wrongKeys, of: 7), at: start).isGranted)
        #expect(!table.take(rate, key(1), at: start).isGranted)
    }

    @Test("0 is no limit")
    func off() {
        #expect(Rate(0, perSeconds: 60) == nil)
    }

    @Test("there are never more than 65,536 buckets, and longer waits outlive a flood of shorter ones")
    func bounded() throws {
        let table = RateTable()
        let minutely = try #require(Rate(10, perSeconds: 60))
        let daily = try #require(Rate(1, perSeconds: 86_400))
        for number in 0..<UInt64(1_000) { _ = table.take(daily, key(number, .trials), at: start) }

        for number in 0..<UInt64(200_000) { _ = table.take(minutely, key(number), at: start + second) }

        #expect(RateTable.most == 65_536)
        #expect(table.count <= 65_536)
        let forgotten = (0..<UInt64(1_000)).count { table.look(daily, key($0, .trials), at: start + second).isGranted }
        #expect(forgotten == 0)
    }

    @Test("a rate that was lowered keeps nobody waiting longer than its own bucket takes to fill")
    func lowered() throws {
        let table = RateTable()
        let slow = try #require(Rate(1, perSeconds: 86_400))
        let quick = try #require(Rate(60, perSeconds: 60))
        _ = table.take(slow, key(1), at: start)

        let allowance = table.take(quick, key(1), at: start + second)

        #expect(!allowance.isGranted)
        #expect(allowance.resetSeconds == 1)
    }

    @Test("eight threads together get no more than one would")
    func parallel() async throws {
        let table = RateTable()
        let rate = try #require(Rate(1_000, perSeconds: 60))
        let key = key(1)
        let moment = start

        let granted = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<500).count { _ in table.take(rate, key, at: moment).isGranted } }
            }
            return await group.reduce(0, +)
        }

        #expect(granted == 1_000)
    }
}
