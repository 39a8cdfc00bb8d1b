import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Validation quota") struct ValidationCounterTests {
    /// 2026-11-30T23:59:59Z, the last second of a month.
    private let lastSecond = Timestamp(secondsSinceEpoch: 1_796_083_199)
    private let office: LicenseOffice
    private let vendor: Vendor

    init() throws {
        office = try LicenseOffice()
        var vendor = office.vendor
        vendor.validationQuota = 3
        self.vendor = vendor
    }

    private func count(
        _ counter: ValidationCounter,
        _ vendor: Vendor? = nil,
        at now: Timestamp
    ) throws -> QuotaDecision {
        try office.database.openReader().snapshot { db in try counter.count(by: vendor ?? self.vendor, at: now, in: db)
        }
    }

    private func flush(_ counter: ValidationCounter) throws {
        let sums = counter.takeSums()
        try office.database.openForCommandLine().write { db in try sums.write(in: db) }
    }

    private func isCounted(_ decision: QuotaDecision) -> Bool {
        if case .counted = decision { true } else { false }
    }

    @Test("the quota is used up by as many validations as it says, and tells when it begins anew")
    func limit() throws {
        let counter = ValidationCounter()

        let decisions = try (0..<4).map { _ in try count(counter, at: lastSecond) }

        #expect(decisions.map(isCounted) == [true, true, true, false])
        guard case .counted(let first) = decisions[0], case .usedUp(let end) = decisions[3] else { return }
        #expect(first.remaining == 2)
        #expect(end.used == 3 && end.remaining == 0)
        #expect(end.resetsAt == lastSecond.adding(seconds: 1))
    }

    @Test("at the first second of the next month there is all of it again")
    func monthBoundary() throws {
        let counter = ValidationCounter()
        for _ in 0..<3 { _ = try count(counter, at: lastSecond) }

        let before = try count(counter, at: lastSecond)
        let after = try count(counter, at: lastSecond.adding(seconds: 1))
        let stillBefore = try count(counter, at: lastSecond)

        #expect(!isCounted(before))
        #expect(isCounted(after))
        #expect(!isCounted(stillBefore), "a request that was read before midnight belongs to the old month")
    }

    @Test("without a quota validations are counted all the same, for a quota set later")
    func unlimited() throws {
        let counter = ValidationCounter()
        for _ in 0..<5 { _ = try count(counter, office.vendor, at: lastSecond) }

        let limited = try count(counter, at: lastSecond)

        guard case .usedUp(let use) = limited else {
            Issue.record("counted")
            return
        }
        #expect(use.used == 5 && use.remaining == 0)
    }

    @Test("a quota of 0 lets none through")
    func none() throws {
        var vendor = vendor
        vendor.validationQuota = 0

        #expect(!isCounted(try count(ValidationCounter(), vendor, at: lastSecond)))
    }

    @Test("what was flushed survives a crash; what was counted since is let through once more")
    func crash() throws {
        let counter = ValidationCounter()
        for _ in 0..<2 { _ = try count(counter, at: lastSecond) }
        try flush(counter)
        _ = try count(counter, at: lastSecond)

        let restarted = ValidationCounter()
        let decisions = try (0..<2).map { _ in try count(restarted, at: lastSecond) }

        #expect(decisions.map(isCounted) == [true, false])
    }

    @Test("sums are written again after a failure, and never lower what is written")
    func repeats() throws {
        let counter = ValidationCounter()
        _ = try count(counter, at: lastSecond)
        let early = counter.takeSums()
        #expect(counter.takeSums().isEmpty)
        _ = try count(counter, at: lastSecond)
        counter.putBack()
        try flush(counter)
        try office.database.openForCommandLine().write { db in try early.write(in: db) }

        let written = try office.database.openReader().snapshot { db in
            try QuotaStore.count(of: vendor.id, month: lastSecond.startOfMonth, in: db)
        }

        #expect(written == 2)
    }

    @Test("loops that count at the same time pass no more than the quota")
    func parallel() async throws {
        let counter = ValidationCounter()
        var limited = vendor
        limited.validationQuota = 100
        let (vendor, office, now) = (limited, office, lastSecond)

        let counted = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let reader = try office.database.openReader()
                    return try (0..<50).count { _ in
                        try reader.snapshot { db in
                            if case .counted = try counter.count(by: vendor, at: now, in: db) { true } else { false }
                        }
                    }
                }
            }
            return try await group.reduce(0, +)
        }

        #expect(counted == 100)
    }

    private func hold(_ counter: ValidationCounter) throws -> QuotaDecision {
        try office.database.openReader().snapshot { db in try counter.hold(by: vendor, at: lastSecond, in: db) }
    }

    private func used(_ counter: ValidationCounter) throws -> Int64 {
        try office.database.openReader().snapshot { db in try counter.use(of: vendor, at: lastSecond, in: db) }.used
    }

    @Test("one that is held is counted once it is answered, and given back where it is not")
    func holding() throws {
        let counter = ValidationCounter()
        do {
            var holds = try (0..<3).map { _ in try hold(counter) }
            #expect(try used(counter) == 0)
            guard case .allHeld = try count(counter, at: lastSecond), case .allHeld = try hold(counter) else {
                Issue.record("passed the quota")
                return
            }
            guard case .held(let first) = holds.removeFirst() else {
                Issue.record("not held")
                return
            }
            first.settle()
            first.settle()
        }

        #expect(try used(counter) == 1)
        let more = try (0..<3).map { _ in try count(counter, at: lastSecond) }
        #expect(more.map(isCounted) == [true, true, false])
        guard case .usedUp = more[2] else {
            Issue.record("not used up")
            return
        }
    }

    @Test("one that is given back after it was counted may be counted again")
    func givenBack() throws {
        let counter = ValidationCounter()
        for _ in 0..<3 { _ = try count(counter, at: lastSecond) }

        counter.giveBack(by: vendor.id, at: lastSecond)

        #expect(isCounted(try count(counter, at: lastSecond)))
        #expect(!isCounted(try count(counter, at: lastSecond)))
    }

    @Test("what is held is not written, so that a restart gives it back")
    func heldOverFlush() throws {
        let counter = ValidationCounter()
        _ = try count(counter, at: lastSecond)
        let holds = try (0..<2).map { _ in try hold(counter) }
        try flush(counter)
        #expect(try used(ValidationCounter()) == 1)

        for case .held(let validation) in holds { validation.settle() }
        try flush(counter)

        #expect(try used(ValidationCounter()) == 3)
    }

    @Test("loops that hold, answer and give back at the same time pass no more than the quota, and lose none")
    func parallelHolds() async throws {
        let counter = ValidationCounter()
        var limited = vendor
        limited.validationQuota = 100
        let (vendor, office, now) = (limited, office, lastSecond)

        let answered = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let reader = try office.database.openReader()
                    return try (0..<100).count { number in
                        let decision = try reader.snapshot { db in try counter.hold(by: vendor, at: now, in: db) }
                        guard case .held(let validation) = decision, number % 3 == 0 else { return false }
                        validation.settle()
                        return true
                    }
                }
            }
            return try await group.reduce(0, +)
        }

        #expect(answered <= 100)
        let left = try (0..<101).count { _ in
            try office.database.openReader().snapshot { db in
                if case .counted = try counter.count(by: vendor, at: now, in: db) { true } else { false }
            }
        }
        #expect(answered + left == 100)
    }
}
