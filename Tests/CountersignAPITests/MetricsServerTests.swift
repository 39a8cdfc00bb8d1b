import HTTPServer
import Testing

@testable import CountersignAPI

@Suite("Metrics server") struct MetricsServerTests {
    @Test("metrics are told on their own listener, with what the server did and what it holds")
    func metrics() throws {
        let live = try LiveServer(loops: 1)
        let metrics = try MetricsServer.start(.loopback(port: 0), for: live.server)
        defer { metrics.stop() }
        let client = try live.connect()
        try client.send(live.activation(live.licenses[0], 1))
        #expect(try client.receive().status == 200)

        let scraper = try LiveClient(port: metrics.addresses[0].port)
        try scraper.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try scraper.receive()
        try scraper.send("GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
        let other = try scraper.receive()
        try client.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        let there = try client.receive()

        #expect(answer.status == 200)
        #expect(answer.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(answer.text.contains(#"countersign_licenses{product="acme/editor",mode="live",standing="active"} 1"#))
        #expect(answer.text.contains(#"countersign_installs{product="acme/editor",mode="live"} 1"#))
        #expect(answer.text.contains("countersign_connections 1"))
        #expect(other.status == 404)
        #expect(there.status == 404)
    }
}
