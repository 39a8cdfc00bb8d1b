import Diagnostics
import Testing

@Suite("Metrics") struct MetricsTests {
    private func lines(_ metrics: Metrics, adding more: [MetricFamily] = []) -> [String] {
        String(decoding: metrics.text(adding: more), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test("a shard's counts are there at once, and stay when its thread is gone")
    func shards() {
        var catalog = MetricsCatalog()
        let signed = catalog.counter("signed_total", "Documents signed.")
        let metrics = Metrics(catalog)
        let shard = metrics.shard()
        do {
            let other = metrics.shard()
            other.add(signed)
            #expect(metrics.value(of: signed) == 1)
        }

        shard.add(signed, 3)
        metrics.add(signed, 10)

        #expect(metrics.value(of: signed) == 14)

        #expect(
            lines(metrics) == [
                "# HELP signed_total Documents signed.", "# TYPE signed_total counter", "signed_total 14",
            ]
        )
    }

    @Test("a gauge goes up and down")
    func gauge() {
        var catalog = MetricsCatalog()
        let open = catalog.gauge("open", "Open now.")
        let metrics = Metrics(catalog)

        metrics.set(open, 5)
        metrics.change(open, by: -7)

        #expect(lines(metrics).last == "open -2")
        #expect(metrics.value(of: open) == -2)
    }

    @Test("buckets are cumulative, bounds are included, microseconds are shown as seconds")
    func histogram() {
        var catalog = MetricsCatalog()
        let latency = catalog.histogram(
            "took_seconds",
            "Took.",
            labels: [("route", "/")],
            unit: .microseconds,
            bounds: [50, 2_500, 1_000_000]
        )
        let metrics = Metrics(catalog)
        let shard = metrics.shard()

        for value in [0, 50, 51, 2_500, 1_000_000, 1_000_001] as [UInt64] {
            shard.observe(latency, value)
        }

        #expect(
            lines(metrics) == [
                "# HELP took_seconds Took.", "# TYPE took_seconds histogram",
                #"took_seconds_bucket{route="/",le="0.00005"} 2"#, #"took_seconds_bucket{route="/",le="0.0025"} 4"#,
                #"took_seconds_bucket{route="/",le="1"} 5"#, #"took_seconds_bucket{route="/",le="+Inf"} 6"#,
                #"took_seconds_sum{route="/"} 2.002602"#, #"took_seconds_count{route="/"} 6"#,
            ]
        )
    }

    @Test("HELP and TYPE stand once before all series of a family; labels and help are escaped")
    func escaping() {
        var catalog = MetricsCatalog()
        let first = catalog.counter("x_total", "A\nB\\C\"", labels: [("a", "1\"2\\3\n4"), ("b", "é")])
        _ = catalog.gauge("y", "Y.")
        _ = catalog.counter("x_total", "ignored", labels: [("a", "z")])
        let metrics = Metrics(catalog)
        metrics.add(first)

        let family = MetricFamily("z", "Z.", .gauge, [.init([("product", "acme/\"e\"")], 7)])

        #expect(
            lines(metrics, adding: [family]) == [
                #"# HELP x_total A\nB\\C""#, "# TYPE x_total counter", #"x_total{a="1\"2\\3\n4",b="é"} 1"#,
                #"x_total{a="z"} 0"#, "# HELP y Y.", "# TYPE y gauge", "y 0", "# HELP z Z.", "# TYPE z gauge",
                #"z{product="acme/\"e\""} 7"#,
            ]
        )
    }

    @Test("requests are counted by route and status, refusals by code, what is unknown as none and other")
    func server() {
        let server = ServerMetrics(routes: ["/v1/validate", "/health"], codes: ["VALIDATION"])
        let shard = server.metrics.shard()

        server.count(route: 0, status: 200, microseconds: 30, in: shard)
        server.count(route: 0, status: 200, microseconds: 60, in: shard)
        server.count(route: 1, status: 503, microseconds: 1, in: shard)
        server.count(route: 1, status: 299, microseconds: 1, in: shard)
        server.count(route: nil, status: 404, microseconds: 1, in: shard)
        shard.add(server.refusals["VALIDATION"])
        shard.add(server.refusals["NEW_CODE"])

        let lines = lines(server.metrics)
        #expect(
            lines.filter { $0.hasPrefix("countersign_requests_total{") } == [
                #"countersign_requests_total{route="/v1/validate",status="200"} 2"#,
                #"countersign_requests_total{route="/health",status="503"} 1"#,
                #"countersign_requests_total{route="/health",status="other"} 1"#,
                #"countersign_requests_total{route="none",status="404"} 1"#,
            ]
        )
        #expect(lines.contains(#"countersign_request_duration_seconds_bucket{route="/v1/validate",le="0.00005"} 1"#))
        #expect(lines.contains(#"countersign_request_duration_seconds_sum{route="/v1/validate"} 0.00009"#))
        #expect(lines.contains(#"countersign_refusals_total{code="VALIDATION"} 1"#))
        #expect(lines.contains(#"countersign_refusals_total{code="other"} 1"#))
    }
}
