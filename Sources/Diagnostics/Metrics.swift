import SystemPrimitives

/// The numbers of a whole process; threads bring theirs by shards, now and then.
public final class Metrics: Sendable {
    private struct Totals {
        var counts: [UInt64]
        var gauges: [Int64]
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

    /// A shard for one thread.
    public func shard() -> MetricShard {
        MetricShard(catalog)
    }

    /// Adds what `shard` counted since the last time, and empties it; about once a second, and when its thread ends.
    public func merge(_ shard: inout MetricShard) {
        guard shard.isDirty else { return }
        totals.withLock { totals in
            for index in totals.counts.indices {
                totals.counts[index] &+= shard.counts[index]
            }
        }
        shard.clear()
    }

    /// Adds to one counter at once; for what is rare.
    public func add(_ counter: Counter, _ count: UInt64 = 1) {
        totals.withLock { $0.counts[counter.index] &+= count }
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
        totals.withLock { $0.counts[counter.index] }
    }

    /// What one gauge stands at.
    public func value(of gauge: Gauge) -> Int64 {
        totals.withLock { $0.gauges[gauge.index] }
    }

    /// All numbers in Prometheus' text format, version 0.0.4; `Content-Type` is `MetricsText.contentType`.
    ///
    /// - Parameter more: families that are made for this answer alone, such as counts read from the database.
    public func text(adding more: [MetricFamily] = []) -> [UInt8] {
        let (counts, gauges) = totals.withLock { ($0.counts, $0.gauges) }
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

/// What one thread counted since it last told: plain integers, no lock, no atomic.
public struct MetricShard: ~Copyable, Sendable {
    fileprivate(set) var counts: [UInt64]
    private let bounds: [UInt64]
    fileprivate private(set) var isDirty = false

    fileprivate init(_ catalog: MetricsCatalog) {
        counts = Array(repeating: 0, count: catalog.slots)
        bounds = catalog.bounds
    }

    /// Counts `count` more.
    public mutating func add(_ counter: Counter, _ count: UInt64 = 1) {
        counts[counter.index] &+= count
        isDirty = true
    }

    /// Counts one observation, in the unit its histogram was declared with.
    public mutating func observe(_ histogram: Histogram, _ value: UInt64) {
        var bucket = 0
        while bucket < histogram.bounds.count && value > bounds[histogram.bounds.lowerBound + bucket] {
            bucket += 1
        }
        counts[histogram.index + bucket] &+= 1
        counts[histogram.index + histogram.bounds.count + 1] &+= value
        isDirty = true
    }

    fileprivate mutating func clear() {
        for index in counts.indices {
            counts[index] = 0
        }
        isDirty = false
    }
}
