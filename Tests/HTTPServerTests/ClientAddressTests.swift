import Testing

@testable import HTTPServer

@Suite("Client addresses") struct ClientAddressTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let rule: String
        let peer: String
        let proxies: [String]
        let lines: [String]
        let client: String

        init(_ rule: String, _ peer: String, _ proxies: [String], _ lines: [String], _ client: String) {
            self.rule = rule
            self.peer = peer
            self.proxies = proxies
            self.lines = lines
            self.client = client
        }

        var testDescription: String { rule }
    }

    static let cases = [
        Case("a stranger is itself", "203.0.113.5", [], [], "203.0.113.5"),
        Case("a stranger's own words do not count", "203.0.113.5", [], ["198.51.100.1"], "203.0.113.5"),
        Case("nor where others are trusted", "203.0.113.5", ["10.0.0.0/8"], ["198.51.100.1"], "203.0.113.5"),
        Case("a loopback peer without proxies is local", "127.0.0.1", [], ["198.51.100.1"], "local"),
        Case("a private peer without proxies is local", "10.1.2.3", [], [], "local"),
        Case("a private IPv6 peer without proxies is local", "fd00::1", [], [], "local"),
        Case("a private peer is a client where proxies are others", "10.1.2.3", ["127.0.0.1"], [], "10.1.2.3"),
        Case("a trusted proxy names its client", "127.0.0.1", ["127.0.0.1"], ["198.51.100.1"], "198.51.100.1"),
        Case(
            "the right-most untrusted hop counts, not what it claims",
            "127.0.0.1",
            ["127.0.0.1"],
            ["1.1.1.1, 198.51.100.1"],
            "198.51.100.1"
        ),
        Case(
            "trusted hops are walked over",
            "127.0.0.1",
            ["127.0.0.1", "10.0.0.0/8"],
            ["1.1.1.1, 198.51.100.1, 10.0.0.7"],
            "198.51.100.1"
        ),
        Case(
            "several lines are one list",
            "127.0.0.1",
            ["127.0.0.1", "10.0.0.0/8"],
            ["1.1.1.1", "198.51.100.1 ,\t10.0.0.7"],
            "198.51.100.1"
        ),
        Case("empty elements are ignored", "127.0.0.1", ["127.0.0.1"], ["198.51.100.1, ,", ""], "198.51.100.1"),
        Case("a proxy that names nobody", "127.0.0.1", ["127.0.0.1"], [], "unnamed"),
        Case("a proxy whose field is empty", "127.0.0.1", ["127.0.0.1"], ["", " , "], "unnamed"),
        Case("garbage answers to the hop that wrote it", "127.0.0.1", ["127.0.0.1"], ["1.1.1.1, unknown"], "127.0.0.1"),
        Case(
            "garbage further left too",
            "127.0.0.1",
            ["127.0.0.1", "10.0.0.0/8"],
            ["_hidden, 10.0.0.7"],
            "10.0.0.7"
        ),
        Case(
            "where all are trusted the left-most is the client",
            "127.0.0.1",
            ["127.0.0.1", "10.0.0.0/8"],
            ["10.0.0.8, 10.0.0.7"],
            "10.0.0.8"
        ),
        Case(
            "of proxies behind one another sixteen are walked over",
            "127.0.0.1",
            ["127.0.0.1", "10.0.0.0/8"],
            [(1...20).map { "10.0.0.\($0)" }.joined(separator: ",")],
            "10.0.0.5"
        ),
        Case(
            "what stands left of the client is not looked at, however long it is",
            "127.0.0.1",
            ["127.0.0.1"],
            [
                String(repeating: "1,", count: 7_000), String(repeating: "\u{301}", count: 7_000),
                String(repeating: " ", count: 14_000) + "x, 198.51.100.1 ,,\t" + String(repeating: ",", count: 9_000),
            ],
            "198.51.100.1"
        ),
        Case(
            "what is far too long is no address",
            "127.0.0.1",
            ["127.0.0.1"],
            ["198.51.100.1, " + String(repeating: "0", count: 15_000) + "1.1.1.1"],
            "127.0.0.1"
        ),
        Case("a port is dropped", "127.0.0.1", ["127.0.0.1"], ["198.51.100.1:4711"], "198.51.100.1"),
        Case("a port of an IPv6 address too", "::1", ["::1"], ["[2001:db8::1]:4711"], "2001:db8::1"),
        Case("brackets are dropped", "::1", ["::1"], ["[2001:db8::1]"], "2001:db8::1"),
        Case("an IPv6 address may end in digits", "::1", ["::1"], ["2001:db8::1:4711"], "2001:db8::1:4711"),
        Case("a mapped address is the IPv4 one", "::1", ["::1"], ["::ffff:198.51.100.1"], "198.51.100.1"),
        Case("no port, no address", "127.0.0.1", ["127.0.0.1"], ["198.51.100.1:"], "127.0.0.1"),
        Case("a port has digits", "127.0.0.1", ["127.0.0.1"], ["198.51.100.1:http"], "127.0.0.1"),
    ]

    @Test("who a request comes from", arguments: cases)
    func client(_ given: Case) throws {
        let peer = try #require(PeerAddress(parsing: given.peer))
        let proxies = try given.proxies.map { try #require(NetworkPrefix(parsing: $0)) }

        let client = ClientAddress(peer: peer, trusting: proxies) { given.lines }

        switch client {
        case .local: #expect(given.client == "local")
        case .unnamed: #expect(given.client == "unnamed")
        case .known(let address): #expect(address == PeerAddress(parsing: given.client))
        }
    }

    @Test("the lines of a request are read where its peer is trusted")
    func request() throws {
        let bytes = Array(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\nx-forwarded-for: 192.0.2.9\r\n\r\n".utf8
        )
        let proxies = [try #require(NetworkPrefix(parsing: "127.0.0.0/8"))]

        let behind = try HTTPRequest.parsing(bytes) { $0.client(trusting: proxies) }
        let alone = try HTTPRequest.parsing(bytes) { $0.client(trusting: []) }

        #expect(behind == .known(try #require(PeerAddress(parsing: "192.0.2.9"))))
        #expect(alone == .local)
    }
}
