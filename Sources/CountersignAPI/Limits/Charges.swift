import HTTPServer
import Storage
import SystemPrimitives

/// What one write is charged for: taken from the buckets of its client where it is decided, given back unless it happened.
///
/// Taken in the job, so that many at once do not pass a limit together, and settled by the writer's thread once it is known
/// what became of the job: trouble of ours (a full disk, a batch that was lost, a COMMIT that failed) is never charged, and
/// a job that is run again is charged once, for what its last run did.
public final class Charges: Sendable {
    private struct Charge {
        let key: RateKey
        /// Whether the newest run of the job wants it.
        var isDue: Bool
        let giveBack: @Sendable () -> Void
    }

    private let limiter: RateLimiter
    private let charges = Guarded<[Charge]>([])

    init(_ limiter: RateLimiter) { self.limiter = limiter }

    /// Called where a run of the job begins, perhaps for the second time: what the one before took is kept for this one.
    func begin() {
        charges.withLock { charges in
            for index in charges.indices { charges[index].isDue = false }
        }
    }

    /// Takes one from a bucket, unless an earlier run of the job did.
    ///
    /// - Throws: `LimitExceeded`.
    func take(_ key: RateKey) throws(LimitExceeded) {
        let isHeld = charges.withLock { charges in
            guard let index = charges.firstIndex(where: { $0.key == key }) else { return false }
            charges[index].isDue = true
            return true
        }
        if isHeld { return }
        guard let giveBack = try limiter.take(key) else { return }
        charges.withLock { $0.append(Charge(key: key, isDue: true, giveBack: giveBack)) }
    }

    /// A job on its way to the writer, which answers with these charges.
    func submission(
        _ job: @escaping WriteJob,
        of origin: Origin,
        for ticket: Ticket
    ) -> APIWriterQueue.Submission {
        APIWriterQueue.Submission(ticket: .request(ticket, self), origin: origin.number) { db in
            self.begin()
            return try job(db, self)
        }
    }

    /// Called once, where it is known whether what the job did is kept.
    func settle(isCommitted: Bool) {
        let settled = charges.withLock { charges in
            defer { charges = [] }
            return charges
        }
        for charge in settled where !isCommitted || !charge.isDue { charge.giveBack() }
    }
}
