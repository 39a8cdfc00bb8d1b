import Dispatch
import SystemPrimitives
import SystemTestSupport
import Testing

@testable import HTTPServer

@Suite("The end of a server over sockets", .timeLimit(.minutes(30))) struct ServerEndTests {
    @Test("stopping ends idle connections at once and waits for running requests")
    func gracefulStop() throws {
        // No other test listens there: a port that is free again may be anybody's at once.
        let host: (UInt8, UInt8, UInt8, UInt8) = (127, 83, 79, 80)
        let address = try #require(ListenAddress(parsing: "127.83.79.80:0"))
        // One loop: that it let the idle one go says that it knows of the end.
        let server = try TestServer(loops: 1) { $0.addresses = [address] }
        let port = server.server.addresses[0].port
        let idle = try TestConnection(host, port: port)
        let busy = try TestConnection(host, port: port)
        try idle.send(request("GET", "/health"))
        _ = try idle.receive()
        try busy.send(request("GET", "/health") + request("POST", "/gated", body: "x"))
        _ = try busy.receive()

        server.server.stop()
        #expect(try idle.isClosed())
        server.stage.gate.signal()

        let answer = try #require(try busy.receive())
        #expect(answer.body == "gated" && answer.head.contains("Connection: close"))
        server.end()
        #expect(server.server.connections.open == 0)
        // A process that another test starts at this moment may have the listening socket for a moment longer.
        var isRefused = false
        for _ in 0..<10_000 where !isRefused { isRefused = (try? TestConnection(host, port: port)) == nil }
        #expect(isRefused)
    }

    @Test(
        "stopping waits for a request whose body is under way, also where the loop had nothing to do",
        arguments: 0..<4
    )
    func stopWithBodyUnderWay(phase: Int) throws {
        let server = try TestServer { $0.shutdownGraceSeconds = 600 }
        let client = try server.connect()
        try client.send(request("POST", "/echo", ["Content-Length: 10"]) + "hello")
        try client.awaitDelivery()
        // Idle for a while, so that the wake-up that learns of the stop is also one that looks for what is overdue;
        // for several whiles, since it looks four times a second.
        #expect(try client.isSilent(milliseconds: 200 + 60 * Int32(phase)))

        server.server.stop()
        #expect(try client.isSilent(milliseconds: 50))
        try client.send("again")

        #expect(try client.receive()?.body == "helloagain")
        #expect(try client.isClosed())
        server.end()
    }

    /// A server whose loops all wait, so that they learn at once of what comes and of the end.
    private func stalled(_ loops: Int, _ change: (inout ServerOptions) -> Void = { _ in }) throws -> (
        server: TestServer, stalling: [TestConnection], known: [TestConnection]
    ) {
        let server = try TestServer(loops: loops) { options in
            options.shutdownGraceSeconds = 600
            change(&options)
        }
        // Each loop gets one of both, since they take turns.
        let stalling = try (0..<loops).map { _ in try server.connect() }
        let known = try (0..<loops).map { _ in try server.connect() }
        for client in known {
            try client.send(request("GET", "/health"))
            #expect(try client.receive()?.status == 200)
        }
        for client in stalling {
            try client.send(request("GET", "/stalled"))
            server.stage.isStalled.wait()
        }
        return (server, stalling, known)
    }

    @Test(
        "whoever asked before the end was asked for is answered, also where the loops learn of all at once",
        arguments: [1, 2, 3]
    )
    func stopWithUnreadRequests(loops: Int) throws {
        let (server, stalling, known) = try stalled(loops)
        // More than are accepted at once, and of one the request is not all here.
        let comers = try (0..<150).map { _ in try server.connect() }
        for (number, client) in (known + comers.dropLast()).enumerated() {
            try client.send(request("POST", number.isMultiple(of: 2) ? "/echo" : "/job", body: "asked"))
        }
        try comers[149].send(request("POST", "/echo", ["Content-Length: 5"]) + "as")
        let silent = try server.connect()
        for client in comers + known { try client.awaitDelivery() }

        server.server.stop()
        for _ in stalling { server.stage.gate.signal() }
        #expect(try silent.isClosed() && !silent.wasReset)
        try comers[149].send("ked")

        for client in known + comers {
            #expect(try client.receive()?.body == "asked")
            #expect(try client.isClosed() && !client.wasReset)
        }
        for client in stalling { #expect(try client.receive()?.status == 200) }
        server.end()
    }

    @Test("in a full house whoever asked is answered at the end, before those who did not ask", arguments: [1, 2, 3])
    func stopInAFullHouse(loops: Int) throws {
        let (server, stalling, known) = try stalled(loops) { $0.connections = 3 * loops }
        // They come first, so that room is made for them before anybody looks at what was asked.
        let silent = try (0..<20 * loops).map { _ in try server.connect() }
        for client in known {
            try client.send(request("POST", "/echo", body: "asked"))
            try client.awaitDelivery()
        }

        server.server.stop()
        for _ in stalling { server.stage.gate.signal() }

        for client in known { #expect(try client.receive()?.body == "asked") }
        // Turned away, or let go: none keeps the server from ending.
        for client in silent { while try client.receive() != nil {} }
        for client in stalling { #expect(try client.receive()?.status == 200) }
        server.end()
        #expect(server.server.connections.open == 0)
    }

    @Test(
        "stopping waits for part of a request a quarter of the time, and for what runs all of it",
        arguments: [
            "GET /hea", request("POST", "/echo", ["Content-Length: 10"]) + "hello",
            request("POST", "/nowhere", ["Content-Length: 10"]) + "hello",
        ]
    )
    func stopWithPartOfRequest(part: String) throws {
        let server = try TestServer { options in
            options.shutdownGraceSeconds = 24
            // Only the end of the server ends what is not all here.
            options.headerSeconds = 600
            options.bodySeconds = 600
            options.outputBytes = 1 << 20
        }
        let slow = try server.connect()
        let busy = try server.connect()
        let reader = try TestConnection(port: server.server.addresses[0].port, receiveBuffer: 4096)
        // It has an answer to read, and the next request is not all here.
        try reader.send(request("GET", "/large") + request("POST", "/echo", ["Content-Length: 10"]) + "hello")
        try busy.send(request("GET", "/health") + request("POST", "/gated", body: "x"))
        _ = try busy.receive()
        try slow.send(part)
        try reader.awaitDelivery()
        try slow.awaitDelivery()

        server.server.stop()
        // The next answers come once the quarter is over, or this ends when all of the time is.
        var last: Int?
        while let answer = try slow.receive() { last = answer.status }
        server.stage.gate.signal()

        #expect(last == (part.contains("nowhere") ? 404 : 408))
        #expect(try reader.receive()?.body.utf8.count == 300_000)
        #expect(try busy.receive()?.body == "gated")
        server.end()
    }
}
