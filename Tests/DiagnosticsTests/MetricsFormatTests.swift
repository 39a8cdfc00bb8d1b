import Diagnostics
import Testing

/// Reads Prometheus' text format as strictly as `promtool check metrics`, by
/// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
public struct MetricsFormat {
    /// What is wrong, one sentence each.
    public private(set) var faults: [String] = []
    private var types: [String: String] = [:]
    private var helps: Set<String> = []
    private var series: Set<String> = []
    private var finished: Set<String> = []
    private var current: String?
    private var buckets: [String: [(bound: Double, count: Double)]] = [:]
    private var counts: [String: Double] = [:]

    /// Reads a whole answer.
    public init(_ text: String) {
        if !text.hasSuffix("\n") { faults.append("the last line has no end") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: true) { read(String(line)) }
        for (name, list) in buckets {
            if list.map(\.bound) != list.map(\.bound).sorted() { faults.append("bounds of \(name) do not rise") }
            if list.map(\.count) != list.map(\.count).sorted() {
                faults.append("buckets of \(name) are not cumulative")
            }
            if list.last?.bound != .infinity { faults.append("\(name) has no bucket +Inf") }
            if list.last?.count != counts[name] { faults.append("+Inf of \(name) is not its count") }
        }
    }

    private mutating func read(_ line: String) {
        if line.hasPrefix("# HELP ") || line.hasPrefix("# TYPE ") {
            let words = line.dropFirst(7).split(separator: " ", maxSplits: 1)
            guard words.count == 2 else {
                faults.append("incomplete: \(line)")
                return
            }
            let name = String(words[0])
            if line.hasPrefix("# HELP ") {
                if !helps.insert(name).inserted { faults.append("a second HELP of \(name)") }
            } else {
                if types.updateValue(String(words[1]), forKey: name) != nil {
                    faults.append("a second TYPE of \(name)")
                }
                if !["counter", "gauge", "histogram"].contains(words[1]) { faults.append("no such type: \(line)") }
                if words[1] == "counter" && !name.hasSuffix("_total") {
                    faults.append("\(name) does not end in _total")
                }
            }
            begin(name)
            return
        }
        if line.hasPrefix("#") { return }
        sample(line)
    }

    private mutating func begin(_ name: String) {
        guard current != name else { return }
        if finished.contains(name) { faults.append("\(name) is not in one piece") }
        if let current { finished.insert(current) }
        current = name
    }

    private mutating func sample(_ line: String) {
        guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
            faults.append("no number: \(line)")
            return
        }
        let key = String(line[..<space])
        if !series.insert(key).inserted { faults.append("twice: \(key)") }
        let name = String(key.prefix { $0 != "{" })
        if name.isEmpty || !name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == ":" }) {
            faults.append("no name: \(line)")
        }
        guard let labels = labels(key.dropFirst(name.count)) else {
            faults.append("labels: \(line)")
            return
        }
        var family = name
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix(suffix) {
            let base = String(name.dropLast(suffix.count))
            if types[base] == "histogram" { family = base }
        }
        if types[family] == nil || !helps.contains(family) { faults.append("no TYPE or HELP before \(line)") }
        begin(family)
        guard types[family] == "histogram" else {
            if types[family] == "counter" && value < 0 { faults.append("a counter below zero: \(line)") }
            return
        }
        let id = family + labels.filter { $0.0 != "le" }.map { "\($0.0)=\($0.1)" }.sorted().joined(separator: ",")
        if name.hasSuffix("_count") { counts[id] = value }
        guard name.hasSuffix("_bucket") else { return }
        guard let text = labels.first(where: { $0.0 == "le" })?.1, let bound = Double(text == "+Inf" ? "inf" : text)
        else {
            faults.append("a bucket without a bound: \(line)")
            return
        }
        buckets[id, default: []].append((bound, value))
    }

    /// The labels of `{a="b",c="d"}`; nil where they are not well-formed.
    private func labels(_ text: Substring) -> [(String, String)]? {
        if text.isEmpty { return [] }
        guard text.first == "{", text.last == "}" else { return nil }
        var rest = text.dropFirst().dropLast()
        var labels: [(String, String)] = []
        while !rest.isEmpty {
            let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            rest = rest.dropFirst(name.count)
            guard !name.isEmpty, rest.hasPrefix("=\"") else { return nil }
            rest = rest.dropFirst(2)
            var value = ""
            while let character = rest.first, character != "\"" {
                rest = rest.dropFirst()
                guard character == "\\" else {
                    value.append(character)
                    continue
                }
                guard let escaped = rest.popFirst(), ["\\", "\"", "n"].contains(escaped) else { return nil }
                value.append(escaped)
            }
            guard rest.popFirst() == "\"" else { return nil }
            if labels.contains(where: { $0.0 == name }) { return nil }
            labels.append((String(name), value))
            if rest.first == "," { rest = rest.dropFirst() } else if !rest.isEmpty { return nil }
        }
        return labels
    }
}

@Suite("Format of the metrics") struct MetricsFormatTests {
    @Test("all numbers of the server are told in the format that Prometheus reads")
    func serverMetrics() {
        let metrics = ServerMetrics(routes: ["/v1/validate", "/v1/vendors/{slug}/jwks.json"], codes: ["VALIDATION"])
        let shard = metrics.metrics.shard()
        for status in [200, 429, 599] {
            metrics.count(route: 0, status: status, microseconds: UInt64(status) * 7, in: shard)
            metrics.count(route: nil, status: status, microseconds: 9_000_000, in: shard)
        }
        for jobs in [1, 3, 300] as [UInt64] { shard.observe(metrics.batchJobs, jobs) }
        shard.add(metrics.refusals["VALIDATION"])
        let licenses = MetricFamily(
            "countersign_licenses",
            "Licenses.\nBy product.",
            .gauge,
            [.init([("product", "a\"b\\c/d")], 1), .init([("product", "e/f")], 2)]
        )

        let text = String(decoding: metrics.metrics.text(adding: [licenses]), as: UTF8.self)

        #expect(MetricsFormat(text).faults == [])
        #expect(text.contains(#"countersign_requests_total{route="/v1/validate",status="429"} 1"#))
        #expect(text.contains(#"countersign_refusals_total{code="VALIDATION"} 1"#))
    }

    @Test(
        "the reader of these tests finds what is wrong",
        arguments: [
            "a 1\n", "# HELP a A.\n# TYPE a gauge\na 1\na 1\n", "# HELP a A.\n# TYPE a gauge\na x\n",
            "# HELP a A.\n# TYPE a counter\na 1\n", "# HELP a A.\n# TYPE a gauge\na{b=\"c} 1\n",
            "# HELP a A.\n# TYPE a gauge\na 1",
            "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n",
            "# HELP a A.\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n",
        ]
    )
    func faults(text: String) {
        #expect(MetricsFormat(text).faults != [])
    }
}
