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
}
