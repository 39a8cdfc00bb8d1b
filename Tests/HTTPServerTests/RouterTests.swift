import Testing

@testable import HTTPServer

@Suite("Router") struct RouterTests {
    private let router = Router<EchoContext>([
        Route("root", .get, "/") { _, _ in .reply(HTTPResponse(.ok, body: Array("root".utf8))) },
        Route("health", .get, "/health") { request, _ in
            .reply(HTTPResponse(.ok, body: Array("health \(request.method.rawValue) \(request.path)".utf8)))
        },
        Route("list", .get, "/items") { _, _ in .reply(HTTPResponse(.ok, body: Array("list".utf8))) },
        Route("add", .post, "/items") { request, _ in .reply(HTTPResponse(.created, body: request.bodyBytes())) },
        Route("item", .get, "/items/{id}") { request, _ in
            .reply(HTTPResponse(.ok, body: Array("item \(request.pathParameters["id"] ?? "-")".utf8)))
        },
        Route("part", .delete, "/items/{id}/parts/{part}") { request, _ in
            let id = request.pathParameters["id"] ?? "-"
            return .reply(HTTPResponse(.ok, body: Array("part \(id) \(request.pathParameters["part"] ?? "-")".utf8)))
        },
        Route("fixed", .get, "/items/{id}/fixed") { _, _ in .reply(HTTPResponse(.ok, body: Array("fixed".utf8))) },
    ])

    private func answer(_ method: String, _ path: String, body: String = "") throws -> String {
        var context = EchoContext()
        let text = "\(method) \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        guard case .reply(let response) = try router.outcome(of: Array(text.utf8), in: &context) else { return "job" }
        return String(decoding: response.body, as: UTF8.self)
    }

    @Test(
        "a path finds its route and its parameters",
        arguments: [
            ("GET", "/", "root"), ("GET", "/?x", "root"), ("GET", "/health", "health GET /health"),
            ("HEAD", "/health", "health HEAD /health"), ("GET", "/%68ealt%68", "health GET /health"),
            ("GET", "/items", "list"), ("GET", "/items/7", "item 7"), ("GET", "/items/a%2Db~%5F", "item a-b~_"),
            ("DELETE", "/items/7/parts/8", "part 7 8"), ("GET", "/items/7/fixed", "fixed"),
            ("GET", "http://h/items", "list"), ("GET", "http://h", "root"), ("GET", "HTTPS://h:1?x=/items", "root"),
            ("HEAD", "http://h", "root"),
        ]
    )
    func found(method: String, path: String, body: String) throws {
        #expect(try answer(method, path) == body)
    }

    @Test("content reaches the handler")
    func content() throws {
        #expect(try answer("POST", "/items", body: "abc") == "abc")
    }

    @Test(
        "no other spelling of a path is a path",
        arguments: [
            "/nowhere", "/health/", "//health", "/./health", "/items/../health", "/items/", "/items//parts/8",
            "/items/.",
            "/items/%2e%2E", "/items/a%2Fb", "/items/a%20b", "/health%", "/health%zz", "/health%00", "/HEALTH",
            "/items/7/", "/items/7/parts", String(repeating: "/", count: 8_000),
            "/items" + String(repeating: "/x", count: 4_000),
        ]
    )
    func notFound(path: String) {
        #expect(throws: HTTPFailure.notFound) { try answer("GET", path) }
    }

    @Test(
        "a known path names its methods when it is asked for another",
        arguments: [
            ("POST", "/health", "GET, HEAD"), ("DELETE", "/items", "GET, HEAD, POST"),
            ("GET", "/items/7/parts/8", "DELETE"), ("OPTIONS", "/health", "GET, HEAD"),
            ("BREW", "/health", "GET, HEAD"), ("BREW", "http://h/health", "GET, HEAD"),
            ("BREW", "http://h", "GET, HEAD"),
            ("OPTIONS", "http://h?", "GET, HEAD"),
        ]
    )
    func otherMethod(method: String, path: String, allow: String) {
        #expect(throws: HTTPFailure.methodNotAllowed(allow: allow)) { try answer(method, path) }
    }
}

@Suite("Request view") struct HTTPRequestTests {
    private let bytes = Array(
        "GET /p?a=1&b=%C3%A9+x&a=&c HTTP/1.1\r\nHost: h\r\nX-Two: one\r\nx-two:  two \r\nX-Request-Id: abc.1\r\n\r\n"
            .utf8
    )

    @Test("fields are found by name in any case, all of them")
    func fields() throws {
        try HTTPRequest.parsing(bytes) { request in
            #expect(request.header("x-two") == "one")
            #expect(request.headerLines("x-two") == [Array("one".utf8), Array("two".utf8)])
            #expect(request.headerCount("x-two") == 2)
            #expect(request.headerBytes("host") == [UInt8(ascii: "h")])
            #expect(request.header("x-three") == nil)
            #expect(request.requestID == "abc.1")
        }
    }

    @Test(
        "text that is no UTF-8 is no text: it is never repaired, and its bytes are there as they were sent",
        arguments: [[0xFC], [0x4D, 0xFC, 0x2D, 0x31], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xFF, 0xFE]]
            as [[UInt8]]
    )
    func brokenText(value: [UInt8]) throws {
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nX-One: ".utf8) + value + Array("\r\nX-Two: é\r\n\r\n".utf8)

        try HTTPRequest.parsing(bytes) { request in
            #expect(request.header("x-one") == nil)
            #expect(request.headerBytes("x-one") == value)
            #expect(request.headerLines("x-one") == [value])
            #expect(request.header("x-two") == "é")
        }
    }

    @Test("the query is a list of pairs in order")
    func query() throws {
        try HTTPRequest.parsing(bytes) { request in
            let pairs = try request.queryParameters()
            #expect(pairs.map(\.name) == ["a", "b", "a", "c"])
            #expect(pairs.map(\.value) == ["1", "é+x", "", ""])
        }
    }

    @Test("a query that does not decode is refused", arguments: ["a=%", "a=%4", "a=%zz", "=b", "a=%FF", "%=1"])
    func brokenQuery(query: String) throws {
        try HTTPRequest.parsing(Array("GET /?\(query) HTTP/1.1\r\nHost: h\r\n\r\n".utf8)) { request in
            let pairs = try? request.queryParameters()
            #expect(pairs == nil)
        }
    }

    @Test(
        "only a sane request id is echoed",
        arguments: [
            ("abc", true), ("A-b_c.9", true), (String(repeating: "a", count: 128), true),
            (String(repeating: "a", count: 129), false), ("", false), ("a b", false), ("a~b", false), ("a/b", false),
        ]
    )
    func requestID(id: String, isEchoed: Bool) throws {
        try HTTPRequest.parsing(Array("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: \(id)\r\n\r\n".utf8)) { request in
            #expect((request.requestID == id) == isEchoed)
        }
    }
}
