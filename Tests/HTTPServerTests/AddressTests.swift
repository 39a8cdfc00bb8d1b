import Testing

@testable import HTTPServer

@Suite("Addresses") struct AddressTests {
    @Test(
        "an address reads and writes as usual",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("2001:DB8:0:0::1", "2001:db8::1"), ("[::1]", "::1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
        ]
    )
    func text(text: String, canonical: String) throws {
        #expect(try #require(PeerAddress(parsing: text)).description == canonical)
    }

    @Test(
        "what is no address is none",
        arguments: ["", "1.2.3", "1.2.3.4:80", "localhost", "[1.2.3.4]", "1.2.3.256", "::g"]
    )
    func noAddress(text: String) {
        #expect(PeerAddress(parsing: text) == nil)
    }

    @Test(
        "nothing hides behind a NUL, where C would stop to read",
        arguments: [
            "192.0.2.1\u{0}", "192.0.2.1\u{0}.evil.example", "2001:db8::1\u{0}:2", "[2001:db8::1\u{0}]", "\u{0}",
        ]
    )
    func nul(text: String) {
        #expect(PeerAddress(parsing: text) == nil)
        #expect(NetworkPrefix(parsing: text) == nil)
        #expect(NetworkPrefix(parsing: "\(text)/32") == nil)
        #expect(ListenAddress(parsing: "\(text):80") == nil)
        let client = ClientAddress(peer: .loopback, trusting: NetworkPrefix(parsing: "127.0.0.1").map { [$0] } ?? []) {
            [text]
        }
        #expect(client == .known(.loopback))
    }

    @Test(
        "addresses of nobody in particular are local",
        arguments: [
            ("127.0.0.1", true), ("127.255.0.1", true), ("10.0.0.1", true), ("172.16.0.1", true),
            ("172.31.255.255", true),
            ("192.168.1.1", true), ("169.254.1.1", true), ("100.64.0.1", true), ("100.127.255.255", true),
            ("::1", true),
            ("fd00::1", true), ("fe80::1", true), ("172.32.0.1", false), ("100.128.0.0", false), ("192.169.0.1", false),
            ("8.8.8.8", false), ("2001:db8::1", false), ("::2", false),
        ]
    )
    func local(text: String, isLocal: Bool) throws {
        #expect(try #require(PeerAddress(parsing: text)).isLocal == isLocal)
    }

    @Test(
        "a prefix contains its addresses and no others",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false), ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::", false),
            ("::/0", "2001:db8::1", true), ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.8", false),
            ("2001:db8::/65", "2001:db8::7fff:0:0:1", true), ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
        ]
    )
    func prefix(block: String, address: String, isContained: Bool) throws {
        let prefix = try #require(NetworkPrefix(parsing: block))

        #expect(prefix.contains(try #require(PeerAddress(parsing: address))) == isContained)
    }

    @Test(
        "a prefix with bits behind it, or none at all, is a slip",
        arguments: [
            "10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "x/8", "2001:db8::1/64",
        ]
    )
    func brokenPrefix(text: String) {
        #expect(NetworkPrefix(parsing: text) == nil)
    }

    @Test(
        "a listen address reads and writes as configured",
        arguments: [
            "127.0.0.1:8080", "[::1]:80", "*:0", "localhost:8080", "0.0.0.0:65535", "[::]:1",
        ]
    )
    func listenAddress(text: String) throws {
        #expect(try #require(ListenAddress(parsing: text)).description == text)
    }

    @Test(
        "what is no listen address is none",
        arguments: [
            "8080", ":8080", "::1:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "example.com:80",
            "[::1]",
        ]
    )
    func noListenAddress(text: String) {
        #expect(ListenAddress(parsing: text) == nil)
    }

    @Test("connections are counted in total and for each address, local ones only in total")
    func ledger() throws {
        var options = ServerOptions()
        options.connections = 3
        options.connectionsPerAddress = 1
        options.trustedProxies = [try #require(NetworkPrefix(parsing: "198.51.100.0/24"))]
        let ledger = ConnectionLedger(options)
        let stranger = try #require(PeerAddress(parsing: "2001:db8::1"))
        let neighbor = try #require(PeerAddress(parsing: "2001:db8::2"))
        let proxy = try #require(PeerAddress(parsing: "198.51.100.7"))

        #expect(ledger.admit(stranger) == .counted)
        #expect(ledger.admit(neighbor) == .refused, "one site: the same /64")
        #expect(ledger.admit(proxy) == .uncounted)
        #expect(ledger.admit(proxy) == .uncounted, "a proxy stands for many")
        #expect(ledger.admit(.loopback) == .uncounted)
        #expect(ledger.crowd == 1, "the total is reached: whoever comes now must find an idle one that gives way")
        let beyond = (0..<100).count { _ in ledger.admit(.loopback) != .refused }
        #expect(ledger.crowd == 1 + beyond && (1..<100).contains(beyond))
        for _ in 0...beyond { ledger.refuse(.loopback, wasCounted: false) }
        ledger.release(stranger, wasCounted: true)
        #expect(ledger.admit(neighbor) == .counted)

        #expect(ledger.crowd == 0)
        #expect(ledger.statistics == ConnectionStatistics(open: 3, accepted: 0, refused: 102))
    }

    @Test("a connection leaves as it was counted, whoever is trusted meanwhile")
    func ledgerWhoseProxiesChange() throws {
        var options = ServerOptions()
        options.connectionsPerAddress = 1
        let ledger = ConnectionLedger(options)
        let address = try #require(PeerAddress(parsing: "198.51.100.7"))

        #expect(ledger.admit(address) == .counted)
        ledger.trust([try #require(NetworkPrefix(parsing: "198.51.100.0/24"))])
        #expect(ledger.admit(address) == .uncounted)
        ledger.release(address, wasCounted: true)
        ledger.trust([])

        #expect(ledger.admit(address) == .counted)
        #expect(ledger.admit(address) == .refused)
    }
}

@Suite("Responses") struct ResponseTests {
    private func text(
        _ response: HTTPResponse,
        method: HTTPMethod = .get,
        minorVersion: Int = 1,
        keepsAlive: Bool = true
    ) -> String {
        var output: [UInt8] = []
        ResponseWriter(nil).append(
            response,
            for: Exchange(
                outline: RequestOutline(route: nil, method: method, requestID: "id", peer: .loopback),
                keepsAlive: keepsAlive,
                minorVersion: minorVersion,
                origin: nil,
                startedAt: 0
            ),
            to: &output
        )
        return String(decoding: output, as: UTF8.self)
    }

    @Test("a response says what it is, and ends in its content")
    func content() {
        let text = text(.json(.created, Array("{}".utf8)))

        #expect(text.hasPrefix("HTTP/1.1 201 Created\r\nDate: "))
        #expect(text.contains("\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Request-Id: id\r\n"))
        #expect(text.contains("\r\nCache-Control: no-store\r\n"))
        #expect(text.hasSuffix("\r\n\r\n{}"))
        #expect(!text.contains("Connection"))
    }

    @Test("HEAD has the length and not the content; 204 has neither")
    func noContent() {
        let head = text(.json(.ok, Array("{}".utf8)), method: .head)
        let none = text(HTTPResponse(.noContent))

        #expect(head.contains("Content-Length: 2\r\n") && head.hasSuffix("\r\n\r\n"))
        #expect(!none.contains("Content-Length"))
    }

    @Test("the end of a connection is announced, its persistence only to HTTP/1.0")
    func connection() {
        #expect(text(HTTPResponse(.ok), keepsAlive: false).contains("\r\nConnection: close\r\n"))
        #expect(text(HTTPResponse(.ok), minorVersion: 0).contains("\r\nConnection: keep-alive\r\n"))
    }

    @Test("a response that says how long it may be kept is taken at its word")
    func cacheControl() {
        let text = text(HTTPResponse(.ok, fields: [HTTPField("cache-control", "max-age=60")]))

        #expect(text.contains("cache-control: max-age=60\r\n") && !text.contains("no-store"))
    }

    @Test(
        "dates are those of RFC 9110 §5.6.7 and of leap days",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ]
    )
    func date(seconds: Int, text: String) {
        #expect(String(decoding: DateField.format(secondsSinceEpoch: seconds), as: UTF8.self) == text)
    }

    @Test("request ids differ, and need no allocation")
    func identifiers() {
        var generator = SystemRandomNumberGenerator()
        var identifiers = RequestIdentifiers(using: &generator)

        let ids = (0..<1000).map { _ in identifiers.next() }

        #expect(Set(ids).count == 1000)
        #expect(ids.allSatisfy { $0.utf8.count == 15 })
    }

    @Test("an idle connection costs little memory")
    func slotSize() {
        #expect(MemoryLayout<Slot>.stride <= 104)
    }
}
