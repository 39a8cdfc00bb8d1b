/// A family of samples made for one answer, such as the licenses of each product.
public struct MetricFamily: Sendable {
    /// Whether its numbers only grow.
    public enum Kind: String, Sendable {
        /// Only grows.
        case counter
        /// Goes up and down.
        case gauge
    }

    /// One number with its labels.
    public struct Sample: Sendable {
        /// Names and values, in order.
        public var labels: [(String, String)]
        /// The number.
        public var value: Int64

        /// A sample.
        public init(_ labels: [(String, String)], _ value: some BinaryInteger) {
            self.labels = labels
            self.value = Int64(clamping: value)
        }
    }

    /// The family's name, for example `countersign_licenses`.
    public var name: String
    /// What it says, in one sentence.
    public var help: String
    /// Counter or gauge.
    public var kind: Kind
    /// Its numbers.
    public var samples: [Sample]

    /// A family.
    public init(_ name: String, _ help: String, _ kind: Kind, _ samples: [Sample]) {
        self.name = name
        self.help = help
        self.kind = kind
        self.samples = samples
    }
}

/// Prometheus' text exposition format, version 0.0.4:
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
public struct MetricsText {
    /// The media type of what `Metrics.text` returns.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var bytes: [UInt8] = []

    mutating func append(_ family: MetricFamily) {
        appendHead(family.name, family.help, family.kind.rawValue)
        for sample in family.samples {
            append(family.name, labels: sample.labels, value: String(sample.value))
        }
    }

    mutating func append(_ family: MetricsCatalog.Family, counts: [UInt64], gauges: [Int64], bounds: [UInt64]) {
        appendHead(family.name, family.help, family.type)
        for series in family.series {
            switch series.shape {
            case .counter(let index):
                if series.isSparse && counts[index] == 0 { continue }
                append(family.name, labels: series.labels, value: String(counts[index]))
            case .gauge(let index):
                append(family.name, labels: series.labels, value: String(gauges[index]))
            case .histogram(let histogram, let unit):
                append(family.name, series, histogram, unit, counts: counts, bounds: bounds)
            }
        }
    }

    private mutating func append(
        _ name: String,
        _ series: MetricsCatalog.Series,
        _ histogram: Histogram,
        _ unit: MetricsCatalog.Unit,
        counts: [UInt64],
        bounds: [UInt64]
    ) {
        let buckets = counts[histogram.index...(histogram.index + histogram.bounds.count)]
        let all = buckets.reduce(0, &+)
        if series.isSparse && all == 0 { return }
        var sum: UInt64 = 0
        for (bucket, bound) in zip(buckets, bounds[histogram.bounds]) {
            sum &+= bucket
            let label = ("le", Self.shown(bound, in: unit))
            append(name + "_bucket", labels: series.labels + [label], value: String(sum))
        }
        append(name + "_bucket", labels: series.labels + [("le", "+Inf")], value: String(all))
        let total = counts[histogram.index + histogram.bounds.count + 1]
        append(name + "_sum", labels: series.labels, value: Self.shown(total, in: unit))
        append(name + "_count", labels: series.labels, value: String(all))
    }

    /// Microseconds as seconds, exactly: `2500` is `0.0025`.
    private static func shown(_ value: UInt64, in unit: MetricsCatalog.Unit) -> String {
        guard unit == .microseconds else { return String(value) }
        var fraction = String(value % 1_000_000 + 1_000_000).dropFirst()
        while fraction.last == "0" {
            fraction.removeLast()
        }
        return fraction.isEmpty ? String(value / 1_000_000) : "\(value / 1_000_000).\(fraction)"
    }

    private mutating func appendHead(_ name: String, _ help: String, _ type: String) {
        append("# HELP \(name) ")
        append(help, escapingQuotes: false)
        append("\n# TYPE \(name) \(type)\n")
    }

    private mutating func append(_ name: String, labels: [(String, String)], value: String) {
        append(name)
        if !labels.isEmpty {
            append("{")
            for (index, label) in labels.enumerated() {
                append((index == 0 ? "" : ",") + label.0 + "=\"")
                append(label.1, escapingQuotes: true)
                append("\"")
            }
            append("}")
        }
        append(" \(value)\n")
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Backslash and newline are escaped everywhere, the quotation mark in label values alone.
    private mutating func append(_ text: String, escapingQuotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case 0x5C: append("\\\\")
            case 0x0A: append("\\n")
            case 0x22 where escapingQuotes: append("\\\"")
            default: bytes.append(byte)
            }
        }
    }
}
