import Dispatch
import SystemTestSupport
import Testing

@testable import HTTPServer

@Suite("A full house", .timeLimit(.minutes(30))) struct FullHouseTests {
    /// A connection that waits for its answer, and has for as long as the server's gate is shut.
    private func busy(_ server: TestServer) throws -> TestConnection {
        let client = try server.connect()
        try client.send(request("GET", "/health") + request("POST", "/gated", body: "x"))
        #expect(try client.receive()?.status == 200)
        return client
    }

    private func idle(_ server: TestServer) throws -> TestConnection {
        let client = try server.connect()
        try client.send(request("GET", "/health"))
        #expect(try client.receive()?.status == 200)
        return client
    }

    @Test("an idle connection gives way to who comes, in whatever loop it is", arguments: 1...3)
    func idleGivesWay(loops: Int) throws {
        let server = try TestServer(loops: loops) { $0.connections = 3 }
        defer { server.end() }
        let old = try (0..<3).map { _ in try idle(server) }

        for _ in 0..<10 { _ = try idle(server) }

        #expect(old.count == 3)
        #expect(server.server.connections.refused == 0 && server.server.connections.open <= 3)
    }

    @Test("of those that are idle, whoever has been longest gives way")
    func longestIdle() throws {
        let server = try TestServer(loops: 1) { $0.connections = 3 }
        defer { server.end() }
        let old = try (0..<3).map { _ in try idle(server) }

        let new = try (0..<3).map { _ in try idle(server) }

        for client in old { #expect(try client.isClosed()) }
        for client in new {
            try client.send(request("GET", "/health"))
            #expect(try client.receive()?.status == 200)
        }
        #expect(server.server.connections == ConnectionStatistics(open: 3, accepted: 6, refused: 0))
    }

    @Test("who has asked and not been answered stays, and who is one too many then is told to come back")
    func busyStays() throws {
        let server = try TestServer { $0.connections = 1 }
        defer { server.end() }
        // Health checks of the same machine find a few places more.
        let waiting = try (0..<9).map { _ in try busy(server) }

        let late = try server.connect()

        let received = try #require(try late.receive())
        #expect(received.status == 503 && received.head.contains("Retry-After: "))
        #expect(try late.isClosed())
        #expect(server.server.connections == ConnectionStatistics(open: 9, accepted: 9, refused: 1))
        for _ in waiting { server.stage.gate.signal() }
        for client in waiting { #expect(try client.receive()?.body == "gated") }
    }
}
