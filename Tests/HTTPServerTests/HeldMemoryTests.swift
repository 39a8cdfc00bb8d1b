import SystemPrimitives
import SystemTestSupport
import Testing

@testable import HTTPServer

/// One loop, of which each half holds a mebibyte, or so much more that no client can fill it alone.
@Suite("Memory held for slow clients", .timeLimit(.minutes(30))) struct HeldMemoryTests {
    private func server(_ change: (inout ServerOptions) -> Void = { _ in }) throws -> TestServer {
        try TestServer(loops: 1) { options in
            options.heldBytes = 2 << 20
            change(&options)
        }
    }

    /// Tells that the server has seen what was sent before on other connections.
    private func pass(_ server: TestServer, times: Int = 3) throws {
        for _ in 0..<times {
            let client = try server.connect()
            try client.send(request("GET", "/health"))
            #expect(try client.receive()?.status == 200)
        }
    }

    @Test("of bodies that do not come to their end, the oldest give way, and a new one is served")
    func bodies() throws {
        let server = try server()
        defer { server.end() }
        let part = String(repeating: "x", count: 60_000)

        let clients = try (0..<40).map { _ in
            let client = try server.connect()
            try client.send(request("POST", "/echo", ["Content-Length: 60001"]) + part)
            try client.awaitDelivery()
            return client
        }
        try pass(server)
        let newest = try #require(clients.last)
        try newest.send("y")

        #expect(try clients[0].receive()?.status == 408)
        #expect(try clients[0].isClosed())
        #expect(try newest.receive()?.body == part + "y")
    }

    @Test("a head that began after a body outlives it, though its own time would be over first")
    func newerHead() throws {
        let server = try server { options in
            options.headerSeconds = 600
            options.bodySeconds = 1_200
        }
        defer { server.end() }
        let part = String(repeating: "x", count: 60_000)
        func begin(_ count: Int) throws -> [TestConnection] {
            try (0..<count).map { _ in
                let client = try server.connect()
                try client.send(request("POST", "/echo", ["Content-Length: 60001"]) + part)
                try client.awaitDelivery()
                return client
            }
        }

        // Ten are more than have to give way, and all together are more than fit.
        let older = try begin(10)
        try pass(server)
        let head = try server.connect()
        try head.send("GET /health HTTP/1.1\r\nX-Part: ")
        try head.awaitDelivery()
        try pass(server)
        let newer = try begin(10)
        try pass(server)
        try head.send("y\r\nHost: h\r\n\r\n")
        try newer[9].send("y")

        #expect(try older[0].receive()?.status == 408)
        #expect(try head.receive()?.status == 200)
        #expect(try newer[9].receive()?.body == part + "y")
    }

    @Test("nobody gives way where all bodies fit, however many connections there are")
    func fittingBodies() throws {
        let server = try server()
        defer { server.end() }
        let part = String(repeating: "x", count: 2_000)

        let clients = try (0..<60).map { _ in
            let client = try server.connect()
            try client.send(request("POST", "/echo", ["Content-Length: 2001"]) + part)
            return client
        }
        for client in clients { try client.send("y") }

        for client in clients { #expect(try client.receive()?.status == 200) }
    }

    @Test("a body held back holds no more memory than has come of it, whatever the loop has read before")
    func heldContent() throws {
        let server = try server { options in
            options.heldBytes = 8 << 20
            options.bodyBytes = 800_000
        }
        defer { server.end() }
        let large = String(repeating: "x", count: 700_000)
        let chunked = "\(String(700_000, radix: 16))\r\n\(large)\r\n0\r\n\r\n"
        let first = try server.connect()
        try first.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked)
        #expect(try first.receive()?.body == large)

        let clients = try (0..<60).map { _ in
            let client = try server.connect()
            try client.send(request("POST", "/echo", ["Content-Length: 11"]) + "0123456789")
            return client
        }
        try pass(server)
        for client in clients { try client.send("y") }

        for client in clients { #expect(try client.receive()?.status == 200) }
    }

    @Test("of clients that ask and do not read, the slowest are cut off, and one that reads gets all it asked for")
    func answers() throws {
        let server = try server { options in
            options.heldBytes = 8 << 20
            options.outputBytes = 1 << 18
        }
        defer { server.end() }
        let asked = 60

        let deaf = try (0..<40).map { _ in
            let client = try TestConnection(port: server.server.addresses[0].port, receiveBuffer: 4096)
            try client.send(String(repeating: request("GET", "/large"), count: asked))
            try client.awaitDelivery()
            return client
        }
        try pass(server)
        let reader = try server.connect()
        try reader.send(String(repeating: request("GET", "/large"), count: asked))

        for _ in 0..<asked { #expect(try reader.receive()?.body.utf8.count == 300_000) }
        var isCut = false
        for client in deaf where !isCut {
            var answers = 0
            while try client.receive() != nil { answers += 1 }
            isCut = answers < asked
        }
        #expect(isCut)
    }

    @Test("what a slow client has read must come to its due: a byte now and then gains no time", arguments: [1, 60])
    func readingDue(seconds: Int) {
        let bytes = seconds * ReadingDue.leastBytesPerSecond
        var due = ReadingDue(by: 100, order: 1)

        let paid = (1...bytes).map { _ in due.isPaid(by: 1, for: seconds) }

        #expect(paid.firstIndex(of: true) == bytes - 1)
        #expect(due.deadline == 100)
    }
}
