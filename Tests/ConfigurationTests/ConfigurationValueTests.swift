import Administration
import Foundation
import HTTPServer
import Testing

@testable import countersign

@Suite("Addresses in the configuration") struct ConfigurationAddressTests {
    @Test(
        "a block holds the addresses that share its prefix, never those of the other family",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("192.168.1.128/25", "192.168.1.128", true), ("192.168.1.128/25", "192.168.1.127", false),
            ("172.16.0.0/12", "172.31.255.255", true), ("172.16.0.0/12", "172.32.0.0", false),
            ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false), ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false), ("::/0", "8.8.8.8", false), ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false), ("2001:db8::/33", "2001:db8:7fff::", true),
            ("2001:db8::/33", "2001:db8:8000::", false), ("::1", "::1", true), ("::1/128", "::2", false),
        ]
    )
    func contains(block: String, address: String, isInside: Bool) throws {
        let address = try #require(PeerAddress(parsing: address))

        #expect(try SettingType.addressBlock.read(.text(block)).contains(address) == isInside)
    }

    @Test(
        "what is no block is refused",
        arguments: [
            "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0/8", "::/129", "10.0.0.1/8",
            "fd00::1/64", "localhost", "1.2.3.4:80", "fe80::1%eth0", "010.0.0.1", " 10.0.0.0/8", "10.0.0.0/+8",
        ]
    )
    func noBlock(text: String) {
        #expect(throws: SettingProblem.self) { try SettingType.addressBlock.read(.text(text)) }
    }

    @Test("blocks are written as they are read", arguments: ["10.0.0.0/8", "127.0.0.1", "fd00::/8", "::1", "::/0"])
    func written(text: String) throws {
        #expect(try SettingType.addressBlock.read(.text(text)).description == text)
    }

    @Test(
        "an address to listen on is written as it is read, and is reached from its own machine",
        arguments: [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"), ("[::1]:1", "http://[::1]:1"),
            ("localhost:8080", "http://127.0.0.1:8080"), ("*:65535", "http://127.0.0.1:65535"),
            ("0.0.0.0:80", "http://127.0.0.1:80"), ("[::]:80", "http://[::1]:80"),
            ("10.0.0.7:80", "http://10.0.0.7:80"),
        ]
    )
    func listenAddress(text: String, url: String) throws {
        let address = try SettingType.listenAddress.read(.text(text))

        #expect(address.description == text)
        #expect(address.localURL == url)
    }

    @Test(
        "what is no address with a port is refused",
        arguments: [
            "", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[127.0.0.1:80", "example.com:80",
            "127.0.0.1:+1", "[::1]", "http://127.0.0.1:80",
        ]
    )
    func noListenAddress(text: String) {
        #expect(throws: SettingProblem.self) { try SettingType.listenAddress.read(.text(text)) }
    }
}

@Suite("Durations and URLs in the configuration") struct ConfigurationFormTests {
    @Test(
        "a duration of fixed length reads and writes",
        arguments: [
            ("PT0S", 0), ("PT10S", 10), ("PT1M", 60), ("PT1H30M", 5_400), ("P1D", 86_400), ("P2DT1S", 172_801),
        ]
    )
    func duration(text: String, seconds: Int) {
        #expect(ISODuration.seconds(text) == seconds)
        #expect(ISODuration.text(seconds) == text)
    }

    @Test("other forms of the same length read", arguments: [("PT60S", 60), ("P0DT10S", 10), ("PT90M", 5_400)])
    func otherForms(text: String, seconds: Int) {
        #expect(ISODuration.seconds(text) == seconds)
    }

    @Test(
        "what is no such duration is refused",
        arguments: [
            "", "P", "PT", "P1", "PT1", "10S", "P1Y", "P1M", "P1W", "PT1D", "P1H", "PT1S1M", "PT1S2S", "P1DT", "PT-1S",
            "PT1.5S", "pt1s", "PT9999999999S", "PTT1S", "PT１S",
        ]
    )
    func noDuration(text: String) {
        #expect(ISODuration.seconds(text) == nil)
    }

    @Test(
        "a URL has a scheme, a host and perhaps a port and a path",
        arguments: [
            ("https://Example.COM", "https://example.com", ""), ("http://x:80/", "http://x", ""),
            ("http://x:443", "http://x:443", ""), ("https://x:443/a/b//", "https://x", "/a/b"),
            ("http://[::1]:8080/a", "http://[::1]:8080", "/a"), ("http://127.0.0.1", "http://127.0.0.1", ""),
        ]
    )
    func url(text: String, origin: String, path: String) throws {
        let url = try #require(WebAddress(text))

        #expect(url.origin == origin)
        #expect(url.path == path)
    }

    @Test(
        "what is more or less than that is refused",
        arguments: [
            "", "x", "//x", "ftp://x", "https://", "https:///a", "https://u@x", "https://u:p@x", "https://x?a",
            "https://x/?a", "https://x/#a", "https://x:0", "https://x:65536", "https://x:", "https://[::1",
            "https://[x]", "https://[::1]x", "https://a b", "https://x/ä", "https://x:80:80",
        ]
    )
    func noURL(text: String) {
        #expect(WebAddress(text) == nil)
    }

    @Test("the nearest name is found, and none where none is near")
    func nearest() {
        let names = ["limits.body_bytes", "limits.header_bytes", "loops"]

        #expect(Spelling.nearest(to: "limit.body_byte", in: names) == "limits.body_bytes")
        #expect(Spelling.nearest(to: "lops", in: names) == "loops")
        #expect(Spelling.nearest(to: "data", in: names) == nil)
    }
}

@Suite("Server options") struct ServerOptionsTests {
    @Test("every limit of the server comes from its setting")
    func limits() throws {
        let environment = [
            "HEADER_SECONDS": "1", "BODY_SECONDS": "2", "IDLE_SECONDS": "3", "CONNECTIONS": "4",
            "CONNECTIONS_PER_ADDRESS": "5", "HEADER_BYTES": "2006", "HEADER_FIELDS": "17", "TARGET_BYTES": "508",
            "BODY_BYTES": "2009", "OUT_BUFFER_BYTES": "70000", "KEEPALIVE_REQUESTS": "11",
        ]
        let prefixed = Dictionary(uniqueKeysWithValues: environment.map { ("COUNTERSIGN_LIMITS_" + $0.key, $0.value) })

        let options = try ServerOptions(Configuration.load(environment: prefixed).configuration)

        #expect(options.headerSeconds == 1)
        #expect(options.bodySeconds == 2)
        #expect(options.idleSeconds == 3)
        #expect(options.connections == 4)
        #expect(options.connectionsPerAddress == 5)
        #expect(options.headerBytes == 2_006)
        #expect(options.headerFields == 17)
        #expect(options.targetBytes == 508)
        #expect(options.bodyBytes == 2_009)
        #expect(options.outputBytes == 70_000)
        #expect(options.requestsPerConnection == 11)
        #expect(options.cors == nil)
    }

    @Test("CORS is on where an origin is allowed")
    func cors() throws {
        let environment = [
            "COUNTERSIGN_CORS_ALLOWED_ORIGINS": "https://App.example:443,http://localhost:3000",
            "COUNTERSIGN_CORS_ALLOWED_HEADERS": "X-A", "COUNTERSIGN_CORS_MAX_AGE": "60",
        ]

        let options = try ServerOptions(Configuration.load(environment: environment).configuration)

        #expect(options.cors?.allowedOrigins == ["https://app.example", "http://localhost:3000"])
        #expect(options.cors?.allowedHeaders == ["X-A"])
        #expect(options.cors?.maxAgeSeconds == 60)
    }
}

@Suite("Environment") struct ProcessEnvironmentTests {
    @Test("the process's variables are read as they are")
    func all() {
        let variables = ProcessEnvironment.all()

        #expect(variables == ProcessInfo.processInfo.environment)
        #expect(variables["PATH"]?.isEmpty == false)
    }
}
