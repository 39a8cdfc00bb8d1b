import Dispatch
import SystemPrimitives
import SystemTestSupport
import Testing

@testable import HTTPServer

@Suite("Server over sockets") struct ServerTests {
    @Test("a connection carries one request after another")
    func keepAlive() throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        for _ in 0..<3 {
            try client.send(request("GET", "/health"))
            #expect(try client.receive()?.body == #"{"status":"ok"}"#)
        }
        try client.send(request("POST", "/job", body: "one"))
        #expect(try client.receive()?.body == "one")
        try client.send(request("HEAD", "/health", ["Connection: close"]))
        let last = try #require(try client.receive(hasBody: false))

        #expect(last.head.contains("Content-Length: 15\r\n") && last.head.contains("Connection: close\r\n"))
        #expect(try client.isClosed())
    }

    @Test("pipelined requests are answered in order, those with jobs too")
    func pipelining() throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()
        let count = 300

        var text = ""
        for index in 0..<count { text += request("POST", ["/echo", "/job", "/broken"][index % 3], body: "\(index)") }
        try client.send(text)

        for index in 0..<count {
            let received = try #require(try client.receive())
            #expect(received.status == [200, 202, 401][index % 3])
            if index % 3 < 2 { #expect(received.body == "\(index)") }
        }
        let summaries = server.stage.summaries.withLock { $0 }
        #expect(summaries.count == count)
        #expect(summaries.map(\.request.route).prefix(3) == ["echo", "job", "broken"])
        #expect(summaries.allSatisfy { $0.responseBytes > 100 && $0.request.peer == .loopback })
    }

    @Test(
        "a request is understood however it is cut",
        arguments: [
            request("POST", "/echo", body: "hello"),
            request("POST", "/echo", ["Transfer-Encoding: chunked"]) + "2;x\r\nhe\r\n3\r\nllo\r\n0\r\nT: v\r\n\r\n",
        ]
    )
    func everyCut(text: String) throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        for cut in 1..<text.utf8.count {
            try client.send(String(decoding: text.utf8.prefix(cut), as: UTF8.self))
            try client.send(String(decoding: text.utf8.dropFirst(cut), as: UTF8.self))
            #expect(try client.receive()?.body == "hello", "cut at \(cut)")
        }
    }

    @Test(
        "who may not ask is told so before the body is wanted, whatever its size",
        arguments: [
            (["Expect: 100-continue", "Content-Length: 5"], 401), (["Content-Length: 5000000"], 401),
            (["Authorization: x", "Content-Length: 11"], 413), (["Transfer-Encoding: chunked"], 401),
        ]
    )
    func admission(fields: [String], status: Int) throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        try client.send(request("POST", "/guarded", fields))

        #expect(try client.receive()?.status == status)
    }

    @Test("who may ask is told to go on")
    func continues() throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        try client.send(
            request("POST", "/guarded", ["Authorization: x", "Expect: 100-continue", "Content-Length: 5"])
        )
        #expect(try client.receive(hasBody: false)?.status == 100)
        try client.send("hello")

        #expect(try client.receive()?.body == "hello")
    }

    @Test(
        "a refused request's short body is skipped, a long one ends the connection",
        arguments: [
            (1000, true), (1_000_000, false),
        ]
    )
    func skippedBody(length: Int, isKept: Bool) throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        try client.send(request("PUT", "/echo", ["Content-Length: \(length)"]))
        #expect(try client.receive()?.status == 405)

        if isKept {
            try client.send(String(repeating: "x", count: length) + request("GET", "/health"))
            #expect(try client.receive()?.status == 200)
        } else {
            #expect(try client.isClosed())
        }
    }

    @Test(
        "a failure names the request, its method's alternatives, and ends what cannot be trusted",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400, "Connection: close"),
            ("DELETE /echo HTTP/1.1\r\nHost: h\r\n\r\n", 405, "Allow: POST"),
            ("GET /nowhere HTTP/1.1\r\nHost: h\r\nX-Request-Id: mine\r\n\r\n", 404, "X-Request-Id: mine"),
            ("BREW /echo HTTP/1.1\r\nHost: h\r\n\r\n", 405, "Allow: POST"),
            ("TRACE /nowhere HTTP/1.1\r\nHost: h\r\n\r\n", 404, "X-Request-Id: "),
            ("\(String(repeating: "A", count: 40)) / HTTP/1.1\r\nHost: h\r\n\r\n", 501, "X-Request-Id: "),
            ("GET /health HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n", 417, "X-Request-Id: "),
            ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 204, "Allow: GET, HEAD, POST"),
        ]
    )
    func failures(text: String, status: Int, field: String) throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        try client.send(text)

        let received = try #require(try client.receive())
        #expect(received.status == status)
        #expect(received.head.contains("\r\n\(field)"))
    }

    @Test("a job the queue does not take is answered 503, and the connection goes on")
    func fullQueue() throws {
        let server = try TestServer(isFull: true)
        defer { server.end() }
        let client = try server.connect()

        try client.send(
            request("POST", "/job", body: "1") + request("POST", "/job", body: "2") + request("GET", "/health")
        )

        for status in [503, 503, 200] {
            let received = try #require(try client.receive())
            #expect(received.status == status)
            #expect(received.head.contains("Retry-After: 1\r\n") == (status == 503))
        }
    }

    @Test(
        "a silent, a stalled and an idle connection each end by themselves",
        arguments: [
            ("", nil), ("GET /he", 408), (request("POST", "/echo", ["Content-Length: 5"]) + "he", 408),
            (request("POST", "/echo", ["Transfer-Encoding: chunked"]) + "5\r\nhe", 408),
            (request("GET", "/health"), 200),
        ] as [(String, Int?)]
    )
    func timeouts(text: String, status: Int?) throws {
        let server = try TestServer { options in
            options.headerSeconds = 1
            options.bodySeconds = 1
            options.idleSeconds = 1
        }
        defer { server.end() }

        // One that this machine kept from sending anything within its second is cut as silent; another tries.
        for _ in 0..<20 {
            let client = try server.connect()
            try? client.send(text)
            let answer = try client.receive()
            if answer == nil && status != nil { continue }
            #expect(answer?.status == status)
            if status != nil { #expect(try client.isClosed()) }
            return
        }
        Issue.record("nobody was answered")
    }

    @Test("a slow reader gets everything, in order, while the server keeps little")
    func slowReader() throws {
        let server = try TestServer { $0.outputBytes = 100_000 }
        defer { server.end() }
        let client = try TestConnection(port: server.server.addresses[0].port, receiveBuffer: 4096)
        let count = 20

        var text = ""
        for _ in 0..<count { text += request("GET", "/large") + request("POST", "/job", body: "j") }
        try client.send(text)

        for _ in 0..<count {
            #expect(try client.receive()?.body.utf8.count == 300_000)
            #expect(try client.receive()?.body == "j")
        }
    }

    @Test(
        "a client that does not read at all is cut, though it goes on asking",
        .timeLimit(.minutes(30)),
        arguments: [(1 << 20, false), (1 << 28, false), (1 << 20, true), (1 << 28, true)]
    )
    func deafReader(outputBytes: Int, asksOn: Bool) throws {
        let server = try TestServer { options in
            options.idleSeconds = 1
            options.outputBytes = outputBytes
        }
        defer { server.end() }
        let client = try TestConnection(port: server.server.addresses[0].port, receiveBuffer: 4096)
        try client.send(String(repeating: request("GET", "/large"), count: 40))

        // Another asks all the while. On a busy machine it may itself have been idle for too long: then the next one does.
        var other = try server.connect()
        func isServed() -> Bool {
            guard (try? other.send(request("GET", "/health"))) != nil else { return false }
            return (try? other.receive())??.status == 200
        }
        var isCut = false
        while !isCut {
            let wasThere = isServed()
            let open = server.server.connections.open
            // Refused once the server has closed.
            if asksOn { try? client.send(request("GET", "/health")) }
            if isServed() { isCut = wasThere && open == 1 } else { other = try server.connect() }
        }

        var count = 0
        while try client.receive() != nil { count += 1 }
        #expect(count < 40)
    }

    @Test("who sends many requests at once lets others have their turn")
    func turns() throws {
        let server = try TestServer(loops: 1)
        defer { server.end() }
        let eager = try server.connect()
        let other = try server.connect()
        try other.send(request("GET", "/health"))
        _ = try other.receive()
        let count = 300

        try eager.send(request("GET", "/stalled") + String(repeating: request("GET", "/health"), count: count - 1))
        server.stage.isStalled.wait()
        try other.send(request("POST", "/echo", body: "x"))
        try eager.awaitDelivery()
        try other.awaitDelivery()
        server.stage.gate.signal()

        #expect(try other.receive()?.body == "x")
        for _ in 0..<count { #expect(try eager.receive()?.status == 200) }
        let routes = server.stage.summaries.withLock { $0.compactMap(\.request.route) }
        let turn = try #require(routes.firstIndex(of: "echo"))
        #expect(turn < count / 2, "it was answered after \(turn) others")
    }

    @Test("a half-closed client gets its answer", arguments: ["/echo", "/job"])
    func halfClosed(path: String) throws {
        let server = try TestServer()
        defer { server.end() }
        let client = try server.connect()

        try client.send(request("POST", path, body: "x"))
        client.finishSending()

        #expect(try client.receive()?.body == "x")
        #expect(try client.isClosed())
    }

    @Test("a connection's requests can be counted out")
    func requestLimit() throws {
        let server = try TestServer { $0.requestsPerConnection = 2 }
        defer { server.end() }
        let client = try server.connect()

        try client.send(String(repeating: request("GET", "/health"), count: 3))

        #expect(try client.receive()?.head.contains("Connection: close") == false)
        #expect(try client.receive()?.head.contains("Connection: close") == true)
        #expect(try client.isClosed())
    }

    @Test("a port that is taken is named with its reason")
    func takenPort() throws {
        let server = try TestServer()
        defer { server.end() }
        let taken = server.server.addresses[0]

        #expect { _ = try TestServer { $0.addresses = [taken] } } throws: { error in
            "\(error)" == "cannot listen on \(taken): Address already in use"
        }
    }

    @Test("several addresses are served, of both families where there are two", arguments: ["*:0", "localhost:0"])
    func addresses(text: String) throws {
        let address = try #require(ListenAddress(parsing: text))
        let server = try TestServer { $0.addresses = [.loopback(port: 0), address] }
        defer { server.end() }

        for address in server.server.addresses where address.description.contains("127.0.0.1") || address.host == .any {
            let client = try TestConnection(port: address.port)
            try client.send(request("GET", "/health"))
            #expect(try client.receive()?.status == 200)
        }
        #expect(server.server.addresses.count >= 2)
    }

    @Test("an allowed origin is answered, preflight and errors too; another is not")
    func cors() throws {
        let server = try TestServer {
            $0.cors = CORSPolicy(allowedOrigins: ["https://app.example"], allowedHeaders: ["Authorization"])
        }
        defer { server.end() }
        let client = try server.connect()
        let good = "Origin: https://app.example"
        let granted = "Access-Control-Allow-Origin: https://app.example\r\n"

        try client.send(request("OPTIONS", "/echo", [good, "Access-Control-Request-Method: POST"]))
        let preflight = try #require(try client.receive())
        try client.send(request("GET", "/nowhere", [good]))
        let missing = try #require(try client.receive())
        try client.send(request("GET", "/health", ["Origin: https://app.example.evil.example"]))
        let stranger = try #require(try client.receive())
        try client.send(
            request("OPTIONS", "/echo", ["Origin: https://evil.example", "Access-Control-Request-Method: POST"])
        )
        let strangerPreflight = try #require(try client.receive())

        #expect(preflight.status == 204 && preflight.head.contains(granted))
        #expect(preflight.head.contains("Access-Control-Allow-Methods: POST\r\n"))
        #expect(preflight.head.contains("Access-Control-Allow-Headers: Authorization\r\n"))
        #expect(preflight.head.contains("Access-Control-Max-Age: 600\r\n"))
        #expect(missing.status == 404 && missing.head.contains(granted))
        #expect(stranger.status == 200 && !stranger.head.contains("Access-Control"))
        #expect(stranger.head.contains("Vary: Origin\r\n"))
        #expect(strangerPreflight.status == 405)
    }
}
