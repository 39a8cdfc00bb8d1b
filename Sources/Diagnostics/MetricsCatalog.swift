/// A number that only grows: the name of one series in a catalog.
public struct Counter: Sendable, Hashable {
    let index: Int
}

/// Counters of one family that differ in the value of one label, known beforehand.
public struct CounterSet: Sendable {
    let first: Int
    /// The label's values in order; anything else counts under the last one, `other`.
    let values: [String: Int]

    /// The counter of `value`.
    public subscript(value: String) -> Counter {
        Counter(index: first + (values[value] ?? values.count))
    }
}

/// A number that goes up and down.
public struct Gauge: Sendable, Hashable {
    let index: Int
}

/// How often a measured number fell below each of some bounds.
public struct Histogram: Sendable, Hashable {
    let index: Int
    let bounds: Range<Int>
}

/// What a server counts, declared once at the start; afterwards every series is an index into one flat array.
public struct MetricsCatalog: Sendable {
    /// The unit of a histogram's observations, and so what they are divided by when shown.
    public enum Unit: Sendable {
        /// Shown as they are.
        case one
        /// Observed in microseconds, shown in seconds as Prometheus wants them.
        case microseconds
    }

    enum Shape: Sendable {
        case counter(Int)
        case gauge(Int)
        case histogram(Histogram, Unit)
    }

    struct Series: Sendable {
        let labels: [(String, String)]
        let shape: Shape
        /// Whether it is left out as long as it is zero.
        let isSparse: Bool
    }

    struct Family: Sendable {
        let name: String
        let help: String
        let type: String
        var series: [Series]
    }

    private(set) var families: [Family] = []
    private(set) var slots = 0
    private(set) var gauges = 0
    private(set) var bounds: [UInt64] = []

    /// A catalog without series.
    public init() {}

    /// Declares a counter; its name ends in `_total`.
    public mutating func counter(
        _ name: String,
        _ help: String,
        labels: [(String, String)] = [],
        isSparse: Bool = false
    ) -> Counter {
        let counter = Counter(index: take(1))
        add(Series(labels: labels, shape: .counter(counter.index), isSparse: isSparse), to: name, help, "counter")
        return counter
    }

    /// Declares a counter for each of `values` of `label`, and one for `other`; shown once they are above zero.
    public mutating func counters(
        _ name: String,
        _ help: String,
        label: String,
        values: [String]
    ) -> CounterSet {
        let first = slots
        var indexes: [String: Int] = [:]
        for value in values where indexes[value] == nil {
            indexes[value] = indexes.count
            _ = counter(name, help, labels: [(label, value)], isSparse: true)
        }
        _ = counter(name, help, labels: [(label, "other")], isSparse: true)
        return CounterSet(first: first, values: indexes)
    }

    /// Declares a gauge.
    public mutating func gauge(_ name: String, _ help: String, labels: [(String, String)] = []) -> Gauge {
        let gauge = Gauge(index: gauges)
        gauges += 1
        add(Series(labels: labels, shape: .gauge(gauge.index), isSparse: false), to: name, help, "gauge")
        return gauge
    }

    /// Declares a histogram.
    ///
    /// - Parameter bounds: upper bounds, each included, rising, in the unit of the observations; `+Inf` is added.
    public mutating func histogram(
        _ name: String,
        _ help: String,
        labels: [(String, String)] = [],
        unit: Unit,
        bounds: [UInt64],
        isSparse: Bool = false
    ) -> Histogram {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "the bounds of a histogram rise")
        let start = self.bounds.count
        self.bounds += bounds
        // One slot a bucket, one for what lies above all bounds, one for the sum.
        let histogram = Histogram(index: take(bounds.count + 2), bounds: start..<self.bounds.count)
        let series = Series(labels: labels, shape: .histogram(histogram, unit), isSparse: isSparse)
        add(series, to: name, help, "histogram")
        return histogram
    }

    /// Which bucket of `histogram` a value belongs to; as many as there are bounds: above all of them.
    func bucket(of value: UInt64, in histogram: Histogram) -> Int {
        var bucket = 0
        while bucket < histogram.bounds.count && value > bounds[histogram.bounds.lowerBound + bucket] {
            bucket += 1
        }
        return bucket
    }

    private mutating func take(_ count: Int) -> Int {
        defer { slots += count }
        return slots
    }

    private mutating func add(_ series: Series, to name: String, _ help: String, _ type: String) {
        if let known = families.firstIndex(where: { $0.name == name }) {
            precondition(families[known].type == type, "a family has one type: \(name)")
            families[known].series.append(series)
        } else {
            families.append(Family(name: name, help: help, type: type, series: [series]))
        }
    }
}
