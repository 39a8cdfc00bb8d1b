import AppStore
import Cryptography
import HTTPServer
import Licensing
import LicensingServices
import Storage
import Testing

@testable import CountersignAPI

@Suite("Bodies that are still on their way", .timeLimit(.minutes(30))) struct UnfinishedBodyTests {
    private static let paths = Routes.all.filter { $0.method == .post }.map(\.path)

    /// Limits addresses that a proxy on this machine names.
    private static func limits(_ perMinute: Int) throws -> RateLimits {
        var limits = RateLimits()
        limits.addressPerMinute = perMinute
        limits.trustedProxies = [try #require(NetworkPrefix(parsing: "127.0.0.1"))]
        return limits
    }

    private static let address = "X-Forwarded-For: 198.51.100.1"

    /// The head of a request whose body does not come with it.
    private func head(_ path: String, token: String?, type: String = "application/json", length: Int = 60_000) -> String
    {
        var text = "POST \(path) HTTP/1.1\r\nHost: h\r\n\(Self.address)\r\nExpect: 100-continue\r\n"
        if let token { text += "Authorization: Bearer \(token)\r\n" }
        return text + "Content-Type: \(type)\r\nContent-Length: \(length)\r\n\r\n"
    }

    /// A server with a connection to the store that is on, and one that is off.
    private func connected(_ limits: RateLimits = RateLimits()) throws -> (LiveServer, on: String, off: String) {
        let (on, off) = (try StoreConnectionID.fresh(), try StoreConnectionID.fresh())
        let setUp: @Sendable (borrowing WriteTransaction, Catalog) throws -> Void = { db, catalog in
            let service = StoreConnectionService(keys: catalog.services.keys)
            for (id, product) in [(on, catalog.editor), (off, catalog.viewer)] {
                var changes = StoreConnectionChanges()
                changes.rootDigests = [try #require(Digest256(bytes: SHA256.digest(of: [1])))]
                changes.isEnabled = id == on
                _ = try service.connect(
                    id,
                    .production,
                    bundleID: "com.example.\(product.slug.text)",
                    with: changes,
                    of: product,
                    by: Actor(name: "test", now: Catalog.start),
                    in: db
                )
            }
        }
        let server = try LiveServer(loops: 1, limits: limits, setUp: setUp)
        return (server, "/v1/store/apple/notifications/\(on.text)", "/v1/store/apple/notifications/\(off.text)")
    }

    @Test("a notification is refused by its head where the connection is unknown or off, or the type is another")
    func notification() throws {
        let (server, on, off) = try connected()
        func answer(_ path: String, type: String = "application/json") throws -> Received {
            let client = try server.connect()
            try client.send(head(path, token: nil, type: type, length: 300_000))
            return try client.receive()
        }

        #expect(try answer("/v1/store/apple/notifications/con_unknown").status == 404)
        #expect(try answer("/v1/store/apple/notifications/\(try StoreConnectionID.fresh().text)").status == 404)
        #expect(try answer(off).status == 503)
        #expect(try answer(on, type: "text/plain").status == 415)
        #expect(try answer(on).status == 100)
    }

    @Test("one that never comes counts against its address, on every route", arguments: paths)
    func neverComes(path: String) throws {
        let (server, on, _) = try connected(try Self.limits(2))
        let path = path.contains("/notifications/") ? on : path.replacing("{id}", with: "lic_x")
        let catalog = server.catalog
        let token =
            path == on ? nil : path.hasPrefix("/v1/admin/") ? catalog.secretToken : catalog.appToken

        let answers = try (0..<3).map { _ in
            let client = try server.connect()
            try client.send(head(path, token: token))
            return try client.receive().status
        }

        #expect(answers == [100, 100, 429])
    }

    @Test("one that comes in pieces counts once")
    func pieces() throws {
        let server = try LiveServer(loops: 1, limits: try Self.limits(2))
        let client = try server.connect()
        let body = #"{"install_id":"\#(installID(1))"}"#

        let answers = try (0..<3).map { _ in
            try client.send(head("/v1/sync", token: server.catalog.appToken, length: body.utf8.count))
            var answer = try client.receive()
            if answer.status == 100 {
                try client.send(body)
                answer = try client.receive()
            }
            return answer.status
        }

        #expect(answers == [200, 200, 429])
    }

    @Test(
        "one that is too long or breaks its framing counts too",
        arguments: ["Content-Length: 900000", "Transfer-Encoding: chunked"]
    )
    func broken(framing: String) throws {
        let server = try LiveServer(loops: 1, limits: try Self.limits(2))

        let answers = try (0..<3).map { _ in
            let client = try server.connect()
            var text = "POST /v1/sync HTTP/1.1\r\nHost: h\r\n\(Self.address)\r\nContent-Type: application/json\r\n"
            text += "Authorization: Bearer \(server.catalog.appToken)\r\n\(framing)\r\n\r\nzz\r\n"
            try client.send(text)
            return try client.receive().status
        }

        #expect(answers[2] == 429 && !answers[..<2].contains(429))
    }
}
