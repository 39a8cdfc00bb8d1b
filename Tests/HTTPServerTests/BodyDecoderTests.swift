import Testing

@testable import HTTPServer

@Suite("Body decoding") struct BodyDecoderTests {
    private func decoder(chunked: Bool = true, length: Int? = nil, limit: Int = 100) -> BodyDecoder {
        var head = RequestHead()
        head.isChunked = chunked
        head.contentLength = length
        return BodyDecoder(head, limit: limit)
    }

    @Test(
        "a chunked body gives the same content however it is cut in two",
        arguments: [
            "5\r\nhello\r\n0\r\n\r\n", "2;a=b;c\r\nhe\r\n003\r\nllo\r\n000\r\nX-T: v\r\nY:\r\n\r\n",
            "5;a=\"b;c\"\r\nhello\r\n0;last\r\n\r\n",
        ]
    )
    func everyCut(text: String) throws {
        let bytes = Array((text + "NEXT").utf8)

        for cut in 0...bytes.count {
            var decoder = decoder()
            var content: [UInt8] = []
            var used = try bytes[..<cut].withUnsafeBytes { try decoder.decode($0, into: &content) }
            if used == cut {
                used += try bytes[cut...].withUnsafeBytes { try decoder.decode($0, into: &content) }
            }
            #expect(decoder.isComplete)
            #expect(content.elementsEqual("hello".utf8))
            #expect(used == text.utf8.count, "cut at \(cut)")
        }
    }

    @Test("a sized body ends where its length says")
    func sized() throws {
        var decoder = decoder(chunked: false, length: 5)
        var content: [UInt8] = []

        let used = try Array("helloNEXT".utf8).withUnsafeBytes { try decoder.decode($0, into: &content) }

        #expect(used == 5)
        #expect(decoder.isComplete)
        #expect(content.elementsEqual("hello".utf8))
    }

    @Test(
        "malformed chunks are refused",
        arguments: [
            "5\nhello\r\n", "5\r\nhelloX", "5\r\nhello\n", "5\r\nhelloX\r\n", "-5\r\n", "+5\r\n", "0x5\r\n", " 5\r\n",
            "5 \r\n", "5 ;a\r\n", "\r\n", ";a\r\n", "zz\r\n", "5\rhello", "5;a\rb\r\n", "5;\u{0}\r\n",
            "00000000000000005\r\n",
            "0\r\njunk\r\n\r\n", "0\r\n X: v\r\n", "0\r\nX: a\u{0}\r\n",
        ]
    )
    func malformed(text: String) {
        #expect(throws: HTTPFailure.malformedRequest(reason: "The chunked body is malformed.")) {
            var decoder = decoder()
            var content: [UInt8] = []
            _ = try Array(text.utf8).withUnsafeBytes { try decoder.decode($0, into: &content) }
        }
    }

    @Test(
        "content over the limit is refused when it is announced",
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", 5, true), ("5\r\nhello\r\n1\r\n", 5, false), ("6\r\n", 5, false),
            ("7fffffffffffffff\r\n", 5, false), ("ffffffffffffffff\r\n", 5, false),
        ]
    )
    func limit(text: String, limit: Int, isAccepted: Bool) {
        var decoder = decoder(limit: limit)
        var content: [UInt8] = []

        let used = try? Array(text.utf8).withUnsafeBytes { try decoder.decode($0, into: &content) }

        #expect((used != nil) == isAccepted)
    }

    @Test(
        "extensions and trailers are bounded in total",
        arguments: [
            (
                String(repeating: "1;\(String(repeating: "e", count: 100))\r\nx\r\n", count: 50),
                HTTPFailure.malformedRequest(
                    reason: "The chunked body is malformed."
                )
            ),
            ("0\r\nX: \(String(repeating: "t", count: 9000))\r\n", HTTPFailure.headersTooLarge),
        ]
    )
    func bounds(text: String, failure: HTTPFailure) {
        #expect(throws: failure) {
            var decoder = decoder()
            var content: [UInt8] = []
            _ = try Array(text.utf8).withUnsafeBytes { try decoder.decode($0, into: &content) }
        }
    }
}
