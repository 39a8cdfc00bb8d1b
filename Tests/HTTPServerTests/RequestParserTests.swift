import Testing

@testable import HTTPServer

@Suite("Request head") struct RequestParserTests {
    let parser = ServerOptions().parser

    private func parse(_ text: String) throws -> RequestHead? {
        var head = RequestHead()
        let isComplete = try Array(text.utf8).withUnsafeBytes { try parser.parse($0, into: &head) }
        return isComplete ? head : nil
    }

    @Test(
        "a head cut anywhere is incomplete, never an error, and the whole of it is complete",
        arguments: [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "\r\n\r\nPOST /v1/x?a=b HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 5\r\nX-A:\t v \r\n\r\n",
            "OPTIONS * HTTP/1.0\r\n\r\n",
            "PUT http://a.example/x HTTP/1.1\r\nhost:\r\nTransfer-Encoding: chunked\r\nConnection: x, close\r\n\r\n",
        ]
    )
    func everyCut(text: String) throws {
        let bytes = Array(text.utf8)

        for cut in 0..<bytes.count {
            var head = RequestHead()
            let isComplete = try bytes[..<cut].withUnsafeBytes { try parser.parse($0, into: &head) }
            #expect(!isComplete, "cut at \(cut)")
        }

        #expect(try parse(text)?.count == bytes.count)
    }

    @Test("the parts of a request are where they were written")
    func parts() throws {
        let text = "POST /a/b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 0012\r\nExpect: 100-Continue\r\n\r\nbody"

        let head = try #require(try parse(text))

        let bytes = Array(text.utf8)
        #expect(head.method == .post)
        #expect(bytes[head.path].elementsEqual("/a/b".utf8))
        #expect(bytes[try #require(head.query)].elementsEqual("c=d".utf8))
        #expect(head.contentLength == 12)
        #expect(head.expectsContinue)
        #expect(head.allowsKeepAlive)
        #expect(bytes[head.fields[1].name].elementsEqual("Content-Length".utf8))
        #expect(bytes[head.fields[1].value].elementsEqual("0012".utf8))
        #expect(bytes[head.count...].elementsEqual("body".utf8))
    }

    @Test(
        "a connection persists as RFC 9112 §9.3 says",
        arguments: [
            ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.1", "Connection: a , CLOSE\r\n", false),
            ("1.1", "Connection: keep-alive\r\nConnection: close\r\n", false), ("1.0", "", false),
            ("1.0", "Connection: Keep-Alive\r\n", true), ("1.2", "", true),
        ]
    )
    func persistence(version: String, fields: String, isKept: Bool) throws {
        let head = try #require(try parse("GET / HTTP/\(version)\r\nHost: h\r\n\(fields)\r\n"))

        #expect(head.allowsKeepAlive == isKept)
    }

    @Test(
        "a request line that is not one is malformed",
        arguments: [
            " GET / HTTP/1.1", "GET  / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / HTTP/1.1 ", "GET / x HTTP/1.1", "GET /",
            "GET", "GET / http/1.1", "GET / HTTP/1.1x", "GET / HTTP/1.10", "GET / HTTP/+1.1", "GET / HTTPS/1.1",
            "G(T / HTTP/1.1", "GET a HTTP/1.1", "GET * HTTP/1.1", "GET /#f HTTP/1.1", "GET /\u{7F} HTTP/1.1",
            "GET /é HTTP/1.1", "GET ftp://a/ HTTP/1.1", "GET http://u@a/ HTTP/1.1", "GET http:/// HTTP/1.1",
            "GET / \rHTTP/1.1",
        ]
    )
    func malformedLine(line: String) {
        #expect { try parse("\(line)\r\nHost: h\r\n\r\n") } throws: { error in
            if case .malformedRequest = error as? HTTPFailure { true } else { false }
        }
    }

    @Test(
        "a field line that two readers could read differently is malformed",
        arguments: [
            "X-A : b", " X-A: b", "X-A: b\r\n folded", "X A: b", ": b", "junk", "X-A: a\rb", "X-A: a\u{0}b",
            "X-A: \u{7F}",
            "X(A): b", "Host: h", "Content-Length: +5", "Content-Length: 5, 5", "Content-Length:",
            "Content-Length: 0x5",
            "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding:", "X-A: b\n",
        ]
    )
    func malformedField(field: String) {
        #expect { try parse("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n") } throws: { error in
            if case .malformedRequest = error as? HTTPFailure { true } else { false }
        }
    }

    @Test(
        "Host is a host with an optional port, once",
        arguments: [
            ("Host: a.example:8080\r\n", true), ("Host: [::1]\r\n", true), ("Host:\r\n", true), ("", false),
            ("Host: a b\r\n", false), ("Host: a/b\r\n", false), ("Host: u@a\r\n", false), ("Host: a:8x\r\n", false),
            ("Host: [::1\r\n", false), ("Host: :80\r\n", false),
        ]
    )
    func host(field: String, isValid: Bool) {
        let parsed = try? parse("GET / HTTP/1.1\r\n\(field)\r\n")

        #expect((parsed != nil) == isValid)
    }

    @Test(
        "other versions, codings and lengths have their own failures",
        arguments: [
            ("GET / HTTP/2.0\r\n\r\n", .versionNotSupported),
            ("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .transferCodingNotImplemented),
            ("GET /\(String(repeating: "a", count: 8 << 10)) HTTP/1.1\r\n\r\n", .uriTooLong),
            ("GET /\(String(repeating: "a", count: 9 << 10))", .uriTooLong),
            ("GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 16 << 10))", .headersTooLarge),
            ("GET / HTTP/1.1\r\n\(String(repeating: "X: v\r\n", count: 101))", .headersTooLarge),
            // However much of it is there.
            (String(repeating: "A", count: 40), .methodNotImplemented),
            (String(repeating: "A", count: 40) + " /p", .methodNotImplemented),
            (String(repeating: "A", count: 40) + " /p HTTP/1.1\r\nHost: h\r\n\r\n", .methodNotImplemented),
        ] as [(String, HTTPFailure)]
    )
    func otherFailures(text: String, failure: HTTPFailure) {
        #expect(throws: failure) { try parse(text) }
    }

    @Test("a length beyond every limit does not wrap around")
    func hugeLength() throws {
        let text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551621\r\n\r\n"

        let head = try #require(try parse(text))

        #expect(try #require(head.contentLength) > 1 << 50)
    }
}
