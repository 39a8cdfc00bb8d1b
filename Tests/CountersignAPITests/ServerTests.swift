import Bundles
import CountersignWire
import Diagnostics
import Licensing
import LicensingServices
import Storage
import StrictJSON
import Testing

@testable import CountersignAPI
@testable import HTTPServer

@Suite("API server over sockets") struct ServerTests {
    /// Every seat of a license without leases, one by one.
    private func seats(of license: License.ID, in db: borrowing Snapshot) throws -> [Activation] {
        try ActivationStore.latestSeen(of: license, leaseSeconds: nil, at: Catalog.start, limit: .max, in: db)
    }

    @Test("of 50 parallel activations of one free seat exactly one succeeds, in 20 rounds")
    func lastSeat() throws {
        let live = try LiveServer(licenses: 20) { $0.seatLimit = .limited(1) }
        let clients = try (0..<50).map { _ in try live.connect() }

        for (round, license) in live.licenses.enumerated() {
            for (number, client) in clients.enumerated() {
                try client.send(live.activation(license, round * 100 + number, nonce: "\(number)"))
            }
            let answers = try clients.map { try $0.receive() }

            #expect(answers.count { $0.status == 200 } == 1, "round \(round)")
            #expect(answers.count { $0.code == "NO_SEATS_AVAILABLE" } == 49, "round \(round)")
            for (number, answer) in answers.enumerated() {
                let token = try #require(answer["bundle"]?.string)
                let bundle = try live.catalog.verify(token, for: round * 100 + number, nonce: "\(number)")
                #expect(bundle.claims.licenses.count == (answer.status == 200 ? 1 : 0))
            }
        }
        live.server.stop()
        let held = try live.catalog.database.openReader().snapshot { db in
            try live.licenses.map { license in try seats(of: license.id, in: db).count }
        }
        #expect(held == Array(repeating: 1, count: 20))
    }

    @Test("20 parallel activations of a device that is bound keep its one seat")
    func boundInParallel() throws {
        let live = try LiveServer()
        let clients = try (0..<20).map { _ in try live.connect() }
        let first = try live.connect()
        try first.send(live.activation(live.licenses[0], 1))
        let activation = try first.receive()["activation", "id"]?.string

        for client in clients { try client.send(live.activation(live.licenses[0], 1)) }
        let answers = try clients.map { try $0.receive() }

        #expect(answers.allSatisfy { $0.status == 200 && $0["activation", "id"]?.string == activation })
        #expect(answers.allSatisfy { $0["seats", "used"]?.int64 == 1 })
    }

    @Test("every answer has a request id and is not to be kept; a problem quotes the id")
    func commonFields() throws {
        let live = try LiveServer()
        let client = try live.connect()

        try client.send(live.request("/v1/sync", "{}", fields: ["X-Request-Id: mine-1"]))
        let problem = try client.receive()
        try client.send("GET /v1/nowhere HTTP/1.1\r\nHost: h\r\n\r\n")
        let nowhere = try client.receive()

        #expect(problem.field("X-Request-Id") == "mine-1" && problem["request_id"]?.string == "mine-1")
        #expect(problem.field("Cache-Control") == "no-store" && problem.field("Date") != nil)
        #expect(problem.contentType == "application/problem+json")
        #expect(nowhere.status == 404 && nowhere.code == "NOT_FOUND")
        #expect(nowhere["request_id"]?.string == nowhere.field("X-Request-Id"))
    }

    @Test(
        "what the server refuses by itself is a problem like any other",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400, "MALFORMED_REQUEST"),
            ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: h\r\n\r\n", 414, "URI_TOO_LONG"),
            (
                "GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "a", count: 17_000))\r\n\r\n", 431,
                "HEADERS_TOO_LARGE"
            ),
            ("BREW /v1/activate HTTP/1.1\r\nHost: h\r\n\r\n", 405, "METHOD_NOT_ALLOWED"),
            ("BREW /v1/coffee HTTP/1.1\r\nHost: h\r\n\r\n", 404, "NOT_FOUND"),
            ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505, "VERSION_NOT_SUPPORTED"),
            ("GET / HTTP/1.1\r\nHost: h\r\nExpect: nonsense\r\n\r\n", 417, "EXPECTATION_FAILED"),
            ("GET /v1/activate HTTP/1.1\r\nHost: h\r\n\r\n", 405, "METHOD_NOT_ALLOWED"),
            ("OPTIONS /v1/activate HTTP/1.1\r\nHost: h\r\n\r\n", 405, "METHOD_NOT_ALLOWED"),
            ("GET /v1/ HTTP/1.1\r\nHost: h\r\n\r\n", 404, "NOT_FOUND"),
        ]
    )
    func framing(text: String, status: Int, code: String) throws {
        let live = try LiveServer()
        let client = try live.connect()

        try client.send(text)

        let answer = try client.receive()
        #expect(answer.status == status && answer.code == code && answer.verdict == "unknown")
        #expect((answer.field("Allow") == "POST") == (status == 405))
    }

    @Test("a request that does not arrive in time is told so")
    func timeout() throws {
        let live = try LiveServer(options: { $0.headerSeconds = 1 })

        // One that this machine kept from sending anything within its second is cut as silent; another tries.
        var answer: Received?
        for _ in 0..<20 where answer == nil {
            let client = try live.connect()
            try? client.send("GET / HTTP/1.1\r\n")
            answer = try? client.receive()
        }

        #expect(answer?.status == 408 && answer?.code == "REQUEST_TIMEOUT")
    }

    @Test("who may not ask is told so before the body is wanted, and so is a wrong type; then the size counts")
    func admission() throws {
        let live = try LiveServer()
        let token = "Authorization: Bearer \(live.catalog.appToken)"
        let json = "Content-Type: application/json"
        let cases: [([String], Int, String?)] = [
            (["Expect: 100-continue", "Content-Length: 1500000", json], 401, "UNAUTHENTICATED"),
            (["Authorization: Bearer wrong", "Content-Length: 70000", json], 401, "UNAUTHENTICATED"),
            (["X-API-Key: \(live.catalog.secretToken)", "Content-Length: 70000", json], 403, "FORBIDDEN"),
            ([token, token, "Content-Length: 70000", json], 400, "MALFORMED_REQUEST"),
            ([token, "Content-Length: 100", "Content-Type: text/plain"], 415, "UNSUPPORTED_MEDIA_TYPE"),
            ([token, "Content-Length: 70000", json], 413, "BODY_TOO_LARGE"),
            ([token, "Expect: 100-continue", "Content-Length: 1500000", json], 413, "BODY_TOO_LARGE"),
            ([token, "Expect: 100-continue", "Content-Length: 2000", json], 100, nil),
        ]

        for (fields, status, code) in cases {
            let client = try live.connect()
            try client.send(
                "POST /v1/activate HTTP/1.1\r\nHost: h\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
            )
            let answer = try client.receive()
            #expect(answer.status == status && answer.code == code, "\(fields)")
        }
    }

    @Test("a client that waits for 100 Continue is answered like any other")
    func continues() throws {
        let live = try LiveServer()
        let client = try live.connect()
        let whole = live.activation(live.licenses[0], 1)
        let parts = whole.split(separator: "\r\n\r\n", maxSplits: 1)

        try client.send(parts[0] + "\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.receive().status == 100)
        try client.send(String(parts[1]))

        #expect(try client.receive().status == 200)
    }

    @Test("requests of one connection are answered in their order, those that wait for the writer too")
    func pipelined() throws {
        let live = try LiveServer(licenses: 1) { $0.seatLimit = .unlimited }
        let client = try live.connect()

        for number in 0..<20 {
            try client.send(live.activation(live.licenses[0], number))
            try client.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n")
        }

        for number in 0..<20 {
            #expect(try client.receive()["seats", "used"]?.int64 == Int64(number + 1))
            #expect(try client.receive()["status"]?.string == "ok")
        }
    }

    @Test("a server says that it is there and ready, and what it is; HEAD works where GET does")
    func about() throws {
        let live = try LiveServer()
        let client = try live.connect()
        func get(_ path: String) throws -> Received {
            try client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
            return try client.receive()
        }

        for path in ["/health", "/v1/health"] { #expect(try get(path).text == #"{"status":"ok"}"#) }
        for path in ["/ready", "/v1/ready"] {
            #expect(try get(path).text == #"{"status":"ready","warnings":[]}"#)
        }
        let root = try get("/")
        #expect(root["name"]?.string == "Countersign" && root["links", "health"]?.string == "/health")
        let head = try live.connect()
        try head.send("HEAD /health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        #expect(throws: LiveClient.Ended.self) { try head.receive() }
    }

    @Test("the log names rows and codes, never a key, an id or a token; health checks are not in it")
    func log() throws {
        let live = try LiveServer()
        let client = try live.connect()
        let key = live.licenses[0].key
        for text in [
            live.activation(live.licenses[0], 1, nonce: "nonce-of-a-client"),
            live.request("/v1/validate", #"{"license_key":"\#(key)","install_id":"\#(installID(1))"}"#),
            live.request("/v1/activate", #"{"license_key":"\#(key)","install_id":"x"}"#),
            "GET /health HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\(key) HTTP/1.1\r\nHost: h\r\n\r\n",
        ] {
            try client.send(text)
            _ = try client.receive()
        }
        live.server.stop()

        let text = String(decoding: live.catalog.log.drain(), as: UTF8.self)

        let lines = try text.split(separator: "\n").map { try JSONDocument(parsing: Array($0.utf8)).root }
            .filter { $0["event"]?.string == "request" }
        #expect(lines.map { $0["route"]?.string } == ["activate", "validate", "activate", "none"])
        #expect(lines.map { $0["status"]?.int64 } == [200, 200, 400, 404])
        #expect(lines.map { $0["code"]?.string } == ["", "", "VALIDATION", "NOT_FOUND"])
        #expect(lines.allSatisfy { $0["microseconds"]?.int64 != nil && $0["request_id"]?.string != nil })
        let last = live.licenses[0].id.text.suffix(4)
        #expect(lines[0]["license"]?.string == "lic_…\(last)" && lines[1]["license"]?.string == "lic_…\(last)")
        #expect(lines[0]["credential"]?.string?.hasPrefix("crd_…") == true)
        #expect(lines[1]["install"]?.string?.hasPrefix("ins_…") == true)
        for secret in [key, installID(1), live.catalog.appToken, "nonce-of-a-client"] {
            #expect(!text.contains(secret))
        }
    }

    @Test("requests are counted by route and status, refusals by code, signatures and commits too")
    func metrics() throws {
        let live = try LiveServer()
        let client = try live.connect()
        for text in [
            live.activation(live.licenses[0], 1), live.request("/v1/activate", "{}"),
            "GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n",
        ] {
            try client.send(text)
            _ = try client.receive()
        }
        live.server.stop()

        let text = String(decoding: live.server.metricsText(), as: UTF8.self)

        for line in [
            #"countersign_requests_total{route="/v1/activate",status="200"} 1"#,
            #"countersign_requests_total{route="/v1/activate",status="400"} 1"#,
            #"countersign_requests_total{route="none",status="404"} 1"#,
            #"countersign_refusals_total{code="VALIDATION"} 1"#, "countersign_signatures_total 1",
            #"countersign_request_duration_seconds_count{route="/v1/activate"} 2"#,
            "countersign_accepted_connections_total 1", "countersign_batch_jobs_count 1",
        ] { #expect(text.contains(line), "\(line)") }
    }

    @Test("what was gathered is written at the end, after everything that was accepted")
    func stop() throws {
        let live = try LiveServer()
        let client = try live.connect()
        try client.send(live.activation(live.licenses[0], 1))
        _ = try client.receive()
        live.catalog.clock.advance(by: 500)
        let key = live.licenses[0].key
        try client.send(live.request("/v1/validate", #"{"license_key":"\#(key)","install_id":"\#(installID(1))"}"#))
        _ = try client.receive()

        live.server.stop()
        live.server.stop()

        let seat = try live.catalog.database.openReader().snapshot { db in
            try seats(of: live.licenses[0].id, in: db).first
        }
        #expect(seat?.lastSeenAt == Catalog.start.adding(seconds: 500))
    }

    @Test("a port that is taken stops the start, and nothing is left running")
    func takenPort() throws {
        let live = try LiveServer()

        #expect(throws: ListenError.self) {
            _ = try LiveServer(options: { $0.addresses = live.server.addresses })
        }
    }

    @Test("one credential fills a quarter of the writer's queue; what does not fit stays behind to be answered 503")
    func fullQueue() throws {
        let opened = try Catalog.open(queueCapacity: 8)
        var context = try LoopState.open(opened.catalog.services, opened.catalog.shared)
        let other = try CredentialID.fresh()
        func submission(_ slot: UInt32, _ credential: CredentialID) -> Submission<Job> {
            Submission(
                ticket: Ticket(loop: 0, slot: slot, generation: 1),
                job: Job(origin: Origin(credential), work: .write { _, _ in { _ in HTTPResponse(.noContent) } })
            )
        }
        let credential = opened.catalog.credential
        var submissions = (0..<4).map { submission($0, credential) } + [submission(9, other)]

        context.submit(&submissions)

        #expect(submissions.map(\.ticket.slot) == [2, 3])
        let problem = Problem(HTTPFailure.unavailable(retryAfterSeconds: 1))
        #expect(problem.body.code == .unavailable && problem.response().field("Retry-After") == "1")
    }

    @Test("while the writer does not write, reads go on and writes are 503")
    func writerTrouble() throws {
        let opened = try Catalog.open()
        let catalog = opened.catalog
        let license = try opened.writer.write { db in try catalog.sell(catalog.editor, in: db) }
        var context = try LoopState.open(catalog.services, catalog.shared)
        let body = #"{"license_key":"\#(license.key)"}"#
        let text = request("POST", "/v1/validate", token: catalog.appToken, body: body)
        let failure = StorageError(.full, "database or disk is full")

        let outcome = try Routes.router.outcome(of: Array(text.utf8), in: &context)
        let response = context.response(to: failure, for: .test())

        guard case .reply(let answer) = outcome else {
            Issue.record("a question without an install needs no writer")
            return
        }
        #expect(Received(answer, wrote: false).code == "VALID")
        let problem = Received(response, wrote: false)
        #expect(problem.status == 503 && problem.code == "UNAVAILABLE" && problem.verdict == "unknown")
        #expect(problem.field("Retry-After") == "1")
    }
}
