public import Licensing
public import Storage
import Synchronization
import SystemPrimitives

/// What became of one validation.
public enum QuotaDecision: Sendable {
    /// It is counted, in these numbers too.
    case counted(QuotaUse)
    /// It is counted until it is known whether it is answered.
    case held(HeldValidation)
    /// The month's are used up; it is not counted.
    case usedUp(QuotaUse)
    /// Those that are left are held for answers that are not ready: what fails gives its own back in a moment.
    case allHeld(QuotaUse)
}

/// Counts the validations of vendors that were answered, in memory, for all loops and all contracts; writes its sums now and
/// then.
///
/// Counted before the answer, so that many at once do not pass the quota together, and given back where there is none: what
/// a vendor pays for is answers.
///
/// The first validation of a month reads what is written; from then on memory knows best, since one process alone counts.
/// A crash forgets what was counted since the last flush, five seconds at most, and lets as many through once more.
public final class ValidationCounter: Sendable {
    fileprivate struct Key: Hashable {
        let vendor: Vendor.ID
        let month: Timestamp
    }

    private struct Count {
        /// Those that are held included.
        var validations: Int64
        var held: Int64 = 0
        var isWritten: Bool

        var answered: Int64 { validations - held }
    }

    private let counts = Guarded<[Key: Count]>([:])

    /// A counter that has not counted yet.
    public init() {}

    /// Counts one validation that is answered at once, if the vendor's quota of this month has one left.
    ///
    /// - Parameter vendor: with the quota that holds now.
    /// - Returns: never `held`.
    /// - Throws: `StorageError`.
    public func count<DB: Queries & ~Copyable>(
        by vendor: Vendor,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> QuotaDecision {
        try count(by: vendor, at: now, isHeld: false, in: db)
    }

    /// Counts one validation whose answer has to wait, if the vendor's quota of this month has one left.
    ///
    /// - Parameter vendor: with the quota that holds now.
    /// - Returns: never `counted`.
    /// - Throws: `StorageError`.
    public func hold<DB: Queries & ~Copyable>(
        by vendor: Vendor,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> QuotaDecision {
        try count(by: vendor, at: now, isHeld: true, in: db)
    }

    private func count<DB: Queries & ~Copyable>(
        by vendor: Vendor,
        at now: Timestamp,
        isHeld: Bool,
        in db: borrowing DB
    ) throws -> QuotaDecision {
        let key = Key(vendor: vendor.id, month: now.startOfMonth)
        if let decision = count(key, by: vendor, at: now, isHeld: isHeld, startingFrom: nil) { return decision }
        let written = try QuotaStore.count(of: key.vendor, month: key.month, in: db)
        guard let decision = count(key, by: vendor, at: now, isHeld: isHeld, startingFrom: written) else {
            preconditionFailure("a count that has a start goes on")
        }
        return decision
    }

    /// Takes back one validation that was counted and could not be answered.
    ///
    /// - Parameters:
    ///   - vendor: the one it was counted for.
    ///   - now: the moment it was counted at.
    public func giveBack(by vendor: Vendor.ID, at now: Timestamp) {
        change(Key(vendor: vendor, month: now.startOfMonth)) { count in
            // What is written never goes down: a crash right now forgets this, as it forgets what was counted.
            count.validations = max(0, count.validations - 1)
        }
    }

    fileprivate func settle(_ key: Key, isAnswered: Bool) {
        change(key) { count in
            count.held -= 1
            if !isAnswered { count.validations -= 1 }
        }
    }

    private func change(_ key: Key, _ change: (inout Count) -> Void) {
        counts.withLock { counts in
            guard var count = counts[key] else { return }
            change(&count)
            count.isWritten = false
            counts[key] = count
        }
    }

    /// What the vendor used in this month, without counting.
    ///
    /// - Throws: `StorageError`.
    public func use<DB: Queries & ~Copyable>(
        of vendor: Vendor,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> QuotaUse {
        let key = Key(vendor: vendor.id, month: now.startOfMonth)
        let known = counts.withLock { $0[key]?.answered }
        let used = try known ?? QuotaStore.count(of: key.vendor, month: key.month, in: db)
        return QuotaUse(quota: vendor.validationQuota, used: used, at: now)
    }

    /// Counts, or answers `nil` where nobody has looked yet what is written.
    private func count(
        _ key: Key,
        by vendor: Vendor,
        at now: Timestamp,
        isHeld: Bool,
        startingFrom written: Int64?
    ) -> QuotaDecision? {
        let use = counts.withLock { counts -> (use: QuotaUse, isCounted: Bool, isLeft: Bool)? in
            // Another loop may have looked meanwhile, and counted on.
            guard var count = counts[key] ?? written.map({ Count(validations: $0, isWritten: true) }) else {
                return nil
            }
            let before = QuotaUse(quota: vendor.validationQuota, used: count.validations, at: now)
            guard before.allowsAnother else {
                counts[key] = count
                let answered = QuotaUse(quota: vendor.validationQuota, used: count.answered, at: now)
                return (before, false, answered.allowsAnother)
            }
            count.validations = count.validations.addingClamped(1)
            if isHeld { count.held += 1 } else { count.isWritten = false }
            counts[key] = count
            return (QuotaUse(quota: vendor.validationQuota, used: count.validations, at: now), true, true)
        }
        guard let use else { return nil }
        guard use.isCounted else { return use.isLeft ? .allHeld(use.use) : .usedUp(use.use) }
        return isHeld ? .held(HeldValidation(self, key)) : .counted(use.use)
    }

    // MARK: Writing

    /// Sums that are to be written.
    public struct Sums: Sendable {
        fileprivate var values: [(vendor: Vendor.ID, month: Timestamp, validations: Int64)] = []

        /// Whether there is nothing to write.
        public var isEmpty: Bool { values.isEmpty }

        /// Writes them. May be done twice, and in any order: what is written never goes down.
        ///
        /// - Throws: `StorageError`.
        public func write(in db: borrowing WriteTransaction) throws {
            for value in values {
                try QuotaStore.raise(of: value.vendor, month: value.month, to: value.validations, in: db)
            }
        }
    }

    /// What was counted since the last time; forgets months that are over and written.
    public func takeSums() -> Sums {
        counts.withLock { counts in
            var sums = Sums()
            let newest = counts.keys.map(\.month).max()
            for (key, count) in counts {
                if !count.isWritten {
                    sums.values.append((key.vendor, key.month, count.answered))
                    counts[key]?.isWritten = true
                } else if let newest, key.month.adding(months: 1) < newest {
                    counts[key] = nil
                }
            }
            return sums
        }
    }

    /// Has `takeSums` give everything once more, after sums could not be written.
    public func putBack() {
        counts.withLock { counts in
            for key in counts.keys { counts[key]?.isWritten = false }
        }
    }
}

/// One validation that is counted while its answer waits for a write.
///
/// Given back with the last reference to it, wherever its request came to an end, unless it was answered.
public final class HeldValidation: Sendable {
    private let counter: ValidationCounter
    private let key: ValidationCounter.Key
    private let isSettled = Atomic<Bool>(false)

    fileprivate init(_ counter: ValidationCounter, _ key: ValidationCounter.Key) {
        self.counter = counter
        self.key = key
    }

    /// It is answered, and stays counted.
    public func settle() {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        counter.settle(key, isAnswered: true)
    }

    deinit {
        if !isSettled.load(ordering: .acquiring) { counter.settle(key, isAnswered: false) }
    }
}
