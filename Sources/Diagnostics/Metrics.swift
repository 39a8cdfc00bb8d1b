import SystemPrimitives

/// The numbers of a whole process: each thread counts in a shard of its own, and who asks gets the sum of this moment.
public final class Metrics: Sendable {
    private struct Totals {
        /// Of the shards that are gone, and what was counted without one.
        var counts: [UInt64]
        var gauges: [Int64]
        var shards: [MetricCells] = []
    }

    /// What is counted.
    public let catalog: MetricsCatalog
    private let totals: Guarded<Totals>

    /// Numbers that all start at zero.
    public init(_ catalog: MetricsCatalog) {
        self.catalog = catalog
        totals = Guarded(
            Totals(
                counts: Array(repeating: 0, count: catalog.slots),
                gauges: Array(repeating: 0, count: catalog.gauges)
            )
        )
    }

    /// A shard for one thread. What it counted stays when it is gone.
    public func shard() -> MetricShard {
        let cells = MetricCells(Array(repeating: 0, count: catalog.slots))
        totals.withLock { $0.shards.append(cells) }
        return MetricShard(cells, of: self)
    }

    /// Keeps what a shard counted that is about to end.
    fileprivate func retire(_ cells: MetricCells) {
        totals.withLock { totals in
            totals.shards.removeAll { $0 === cells }
            Self.add(cells, to: &totals.counts)
        }
    }

    private static func add(_ cells: MetricCells, to counts: inout [UInt64]) {
        let more = cells.withLock { $0 }
        for index in counts.indices { counts[index] &+= more[index] }
    }

    /// Adds to one counter without a shard; for what is rare.
    public func add(_ counter: Counter, _ count: UInt64 = 1) {
        totals.withLock { $0.counts[counter.index] &+= count }
    }

    /// Counts one observation without a shard; for what is rare.
    public func observe(_ histogram: Histogram, _ value: UInt64) {
        let bucket = catalog.bucket(of: value, in: histogram)
        totals.withLock { totals in
            totals.counts[histogram.index + bucket] &+= 1
            totals.counts[histogram.index + histogram.bounds.count + 1] &+= value
        }
    }

    /// Sets one gauge.
    public func set(_ gauge: Gauge, _ value: some BinaryInteger) {
        let value = Int64(clamping: value)
        totals.withLock { $0.gauges[gauge.index] = value }
    }

    /// Adds to one gauge, or takes away from it.
    public func change(_ gauge: Gauge, by difference: Int64) {
        totals.withLock { $0.gauges[gauge.index] &+= difference }
    }

    /// What one counter came to; of use in tests and in `/ready`.
    public func value(of counter: Counter) -> UInt64 {
        totals.withLock { totals in
            totals.shards.reduce(totals.counts[counter.index]) { sum, cells in
                sum &+ cells.withLock { $0[counter.index] }
            }
        }
    }

    /// What one gauge stands at.
    public func value(of gauge: Gauge) -> Int64 {
        totals.withLock { $0.gauges[gauge.index] }
    }

    /// All numbers in Prometheus' text format, version 0.0.4; `Content-Type` is `MetricsText.contentType`.
    ///
    /// - Parameter more: families that are made for this answer alone, such as counts read from the database.
    public func text(adding more: [MetricFamily] = []) -> [UInt8] {
        let (counts, gauges) = totals.withLock { totals in
            var counts = totals.counts
            for cells in totals.shards { Self.add(cells, to: &counts) }
            return (counts, totals.gauges)
        }
        var text = MetricsText()
        for family in catalog.families {
            text.append(family, counts: counts, gauges: gauges, bounds: catalog.bounds)
        }
        for family in more {
            text.append(family)
        }
        return text.bytes
    }
}

/// One thread's counts. The lock is nobody else's but for the moment of a scrape, so that taking it costs next to nothing.
private typealias MetricCells = Guarded<[UInt64]>

/// Where one thread counts.
public struct MetricShard: ~Copyable, Sendable {
    private let cells: MetricCells
    private let metrics: Metrics

    fileprivate init(_ cells: MetricCells, of metrics: Metrics) {
        self.cells = cells
        self.metrics = metrics
    }

    deinit { metrics.retire(cells) }

    /// Counts `count` more.
    public func add(_ counter: Counter, _ count: UInt64 = 1) {
        cells.withLock { $0[counter.index] &+= count }
    }

    /// Counts one observation, in the unit its histogram was declared with.
    public func observe(_ histogram: Histogram, _ value: UInt64) {
        let bucket = metrics.catalog.bucket(of: value, in: histogram)
        cells.withLock { counts in
            counts[histogram.index + bucket] &+= 1
            counts[histogram.index + histogram.bounds.count + 1] &+= value
        }
    }
}
