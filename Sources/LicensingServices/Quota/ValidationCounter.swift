public import Licensing
public import Storage
import SystemPrimitives

/// What became of one validation.
public enum QuotaDecision: Hashable, Sendable {
    /// It is counted, in these numbers too.
    case counted(QuotaUse)
    /// The month's are used up; it is not counted.
    case usedUp(QuotaUse)
}

/// Counts the validations of vendors, in memory, for all loops and all contracts; writes its sums now and then.
///
/// The first validation of a month reads what is written; from then on memory knows best, since one process alone counts.
/// A crash forgets what was counted since the last flush, five seconds at most, and lets as many through once more.
public final class ValidationCounter: Sendable {
    private struct Key: Hashable {
        let vendor: Vendor.ID
        let month: Timestamp
    }

    private struct Count {
        var validations: Int64
        var isWritten: Bool
    }

    private let counts = Guarded<[Key: Count]>([:])

    /// A counter that has not counted yet.
    public init() {}

    /// Counts one validation, if the vendor's quota of this month has one left.
    ///
    /// - Parameter vendor: with the quota that holds now.
    /// - Throws: `StorageError`.
    public func count<DB: Queries & ~Copyable>(
        by vendor: Vendor,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> QuotaDecision {
        let key = Key(vendor: vendor.id, month: now.startOfMonth)
        if let decision = count(key, by: vendor, at: now, startingFrom: nil) { return decision }
        let written = try QuotaStore.count(of: key.vendor, month: key.month, in: db)
        guard let decision = count(key, by: vendor, at: now, startingFrom: written) else {
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
        counts.withLock { counts in
            let key = Key(vendor: vendor, month: now.startOfMonth)
            guard let count = counts[key], count.validations > 0 else { return }
            // What is written never goes down: a crash right now forgets this, as it forgets what was counted.
            counts[key] = Count(validations: count.validations - 1, isWritten: false)
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
        let known = counts.withLock { $0[key]?.validations }
        let used = try known ?? QuotaStore.count(of: key.vendor, month: key.month, in: db)
        return QuotaUse(quota: vendor.validationQuota, used: used, at: now)
    }

    /// Counts, or answers `nil` where nobody has looked yet what is written.
    private func count(
        _ key: Key,
        by vendor: Vendor,
        at now: Timestamp,
        startingFrom written: Int64?
    ) -> QuotaDecision? {
        counts.withLock { counts in
            // Another loop may have looked meanwhile, and counted on.
            guard var count = counts[key] ?? written.map({ Count(validations: $0, isWritten: true) }) else {
                return nil
            }
            let before = QuotaUse(quota: vendor.validationQuota, used: count.validations, at: now)
            guard before.allowsAnother else {
                counts[key] = count
                return .usedUp(before)
            }
            count.validations += 1
            count.isWritten = false
            counts[key] = count
            return .counted(QuotaUse(quota: vendor.validationQuota, used: count.validations, at: now))
        }
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
                    sums.values.append((key.vendor, key.month, count.validations))
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
