import Diagnostics
import HTTPServer
import Storage

/// What server, writer and log had counted when the metrics were last asked for: they count for themselves, and the
/// metrics are given the difference.
struct GatheredCounts: Sendable {
    private var accepted = 0
    private var refused = 0
    private var commits = 0
    private var failedCommits = 0
    private var batchSizes = [Int](repeating: 0, count: 9)
    private var droppedLines: UInt64 = 0

    /// Adds what was counted since the last look. In batch sizes a batch counts as the upper bound of its bucket.
    mutating func gather(_ connections: ConnectionStatistics, _ shared: ServerShared) {
        let (names, metrics) = (shared.metrics, shared.metrics.metrics)
        metrics.set(names.openConnections, connections.open)
        Self.count(names.acceptedConnections, connections.accepted, since: &accepted, in: metrics)
        Self.count(names.refusedConnections, connections.refused, since: &refused, in: metrics)
        // An idle writer is not asked for a probe, which would be an fsync a scrape.
        let status = shared.queue.status()
        for (bucket, count) in status.batchSizes.enumerated() where bucket < batchSizes.count {
            for _ in 0..<max(0, count - batchSizes[bucket]) { metrics.observe(names.batchJobs, 1 << UInt64(bucket)) }
            batchSizes[bucket] = count
        }
        Self.count(names.commits, status.commits, since: &commits, in: metrics)
        Self.count(names.failedCommits, status.failedCommits, since: &failedCommits, in: metrics)
        Self.count(names.droppedLogLines, shared.log.droppedLines, since: &droppedLines, in: metrics)
        metrics.set(names.queuedJobs, status.waiting)
        metrics.set(names.walBytes, status.walBytes)
        metrics.set(names.queuedWork, shared.worker.count)
    }

    private static func count<Count: FixedWidthInteger>(
        _ counter: Counter,
        _ now: Count,
        since before: inout Count,
        in metrics: Metrics
    ) {
        metrics.add(counter, UInt64(now - min(before, now)))
        before = now
    }
}
