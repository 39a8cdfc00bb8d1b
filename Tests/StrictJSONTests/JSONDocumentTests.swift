import StrictJSON
import Testing

/// Why a text is refused, `nil` when it is taken.
func refusal(of text: String, maximumDepth: Int = 64) -> JSONSyntaxError.Reason? {
    refusal(of: Array(text.utf8), maximumDepth: maximumDepth)
}

func refusal(of bytes: [UInt8], maximumDepth: Int = 64) -> JSONSyntaxError.Reason? {
    do throws(JSONSyntaxError) {
        _ = try JSONDocument(parsing: bytes, maximumDepth: maximumDepth)
        return nil
    } catch {
        return error.reason
    }
}

@Suite("Strict JSON: what is taken and what is refused") struct JSONDocumentTests {
    @Test(
        "RFC 8259 §2: a text is one value of any kind, with blanks around it",
        arguments: [
            "{}", "[]", "null", "true", "false", "\"\"", "0", "-0.1", " {} ", "\t\r\n {}\t\r\n ", "[ ]", "{ }", "[1\n]",
            "[1,null,true,false,\"a\",{},[]]", "{\"a\":1,\"b\":{\"c\":[{}]}}", "{ \"a\" : 1 , \"b\" : [ 1 , 2 ] }",
            "[[[[[[]]]]]]", "{\"\":0}", "[[],[[]],{}]",
        ]
    )
    func values(text: String) {
        #expect(refusal(of: text) == nil)
    }

    @Test(
        "RFC 8259 §2, §4, §5: structure",
        arguments: [
            ("", .empty), (" \n", .empty), ("{", .unexpectedEnd), ("[", .unexpectedEnd), ("}", .unexpectedByte),
            ("{]", .unexpectedByte), ("[}", .unexpectedByte), ("[]]", .trailingContent), ("{}{}", .trailingContent),
            ("{}\u{0}", .trailingContent), ("1 1", .trailingContent), ("[1,]", .unexpectedByte),
            ("[,1]", .unexpectedByte), ("[1,,2]", .unexpectedByte), ("[1 2]", .unexpectedByte),
            ("[1:2]", .unexpectedByte),
            ("[1", .unexpectedEnd), ("[1,", .unexpectedEnd), ("[\"a\"", .unexpectedEnd), ("{\"a\"", .unexpectedEnd),
            ("{\"a\":", .unexpectedEnd), ("{\"a\":1", .unexpectedEnd), ("{\"a\":1,", .unexpectedEnd),
            ("{\"a\":1,}", .unexpectedByte), ("{,}", .unexpectedByte), ("{\"a\" 1}", .unexpectedByte),
            ("{\"a\"::1}", .unexpectedByte), ("{\"a\":}", .unexpectedByte), ("{:1}", .unexpectedByte),
            ("{a:1}", .unexpectedByte), ("{'a':1}", .unexpectedByte), ("{1:1}", .unexpectedByte),
            ("{\"a\":1 \"b\":2}", .unexpectedByte), ("{\"a\":1]", .unexpectedByte), ("[1}", .unexpectedByte),
            ("/**/{}", .unexpectedByte), ("{}//c", .trailingContent), ("[\u{C}]", .unexpectedByte),
            ("\u{A0}{}", .unexpectedByte), ("[\u{2060}]", .unexpectedByte), ("(1)", .unexpectedByte),
        ] as [(String, JSONSyntaxError.Reason)]
    )
    func structure(text: String, reason: JSONSyntaxError.Reason) {
        #expect(refusal(of: text) == reason)
    }

    @Test(
        "RFC 8259 §3: literals are lower case and whole",
        arguments: [
            "True", "nul", "tru", "fals", "truee", "nulll", "NaN", "nan", "Infinity", "undefined", "None", "[nul]",
        ]
    )
    func literals(text: String) {
        #expect(refusal(of: text) != nil)
    }

    @Test(
        "RFC 8259 §6: numbers that are none",
        arguments: [
            "+1", "-", "--1", "01", "-01", "00", "-00.5", "1.", "-1.", ".5", "-.5", "1.e3", "1e", "1e+", "1e-", "1E",
            "0e",
            "1ee2", "1e1.5", "1.2.3", "0x10", "1_000", "1 000", "1a", "-a", "- 1", "1+2", "-NaN", "\u{FF11}", "12e",
            "1d",
        ]
    )
    func notNumbers(text: String) {
        #expect(refusal(of: text) != nil)
        #expect(refusal(of: "{\"key\":\(text)}") != nil)
    }

    @Test(
        "RFC 8259 §6: numbers of any length and worth",
        arguments: [
            "0", "-0", "-0.0", "0e0", "0E+1", "0e-1", "1E22", "-123.456e+7", "1e400", "1e-9999999999",
            "9223372036854775808",
            String(repeating: "9", count: 5000), "0." + String(repeating: "1", count: 5000),
        ]
    )
    func numbers(text: String) {
        #expect(refusal(of: text) == nil)
        #expect(refusal(of: "[\(text) , \(text)]") == nil)
    }

    @Test(
        "RFC 8259 §7: escapes and control characters",
        arguments: [
            ("\"\\x41\"", .invalidEscape), ("\"\\a\"", .invalidEscape), ("\"\\'\"", .invalidEscape),
            ("\"\\U0041\"", .invalidEscape), ("\"\\u12G4\"", .invalidEscape), ("\"\\u+123\"", .invalidEscape),
            ("\"\\u 123\"", .invalidEscape), ("\"\\\n\"", .invalidEscape), ("\"\\é\"", .invalidEscape),
            ("\"\\u{41}\"", .invalidEscape), ("\"\\u12", .unexpectedEnd), ("\"\\", .unexpectedEnd),
            ("\"\\\"", .unexpectedEnd), ("\"a", .unexpectedEnd), ("\"", .unexpectedEnd),
            ("\"a\nb\"", .controlCharacter),
            ("\"a\tb\"", .controlCharacter), ("\"a\u{0}b\"", .controlCharacter),
            ("\"12345678\u{1F}\"", .controlCharacter),
            ("\"\\uD800\"", .loneSurrogate), ("\"\\uDFFF\"", .loneSurrogate), ("\"\\uD800\\n\"", .loneSurrogate),
            ("\"\\uD800\\u0041\"", .loneSurrogate), ("\"\\uDd1e\\uD834\"", .loneSurrogate),
            ("\"\\uD834\\uD834\\uDD1E\"", .loneSurrogate), ("\"\\uD800abc\"", .loneSurrogate),
            ("{\"\\uDFAA\":0}", .loneSurrogate), ("\"\\uD834\\u1x\"", .invalidEscape),
        ] as [(String, JSONSyntaxError.Reason)]
    )
    func strings(text: String, reason: JSONSyntaxError.Reason) {
        #expect(refusal(of: text) == reason)
    }

    @Test(
        "RFC 3629 §3, §4: bytes that are not UTF-8",
        arguments: [
            [0xFF], [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0xAF], [0xE0, 0x9F, 0xBF],
            [0xF0, 0x80, 0x80, 0xAF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0xC3],
            [0xF0, 0x9F, 0x98], [0xC3, 0x28], [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x98, 0x28], [0xFE, 0xFF],
        ] as [[UInt8]]
    )
    func notUTF8(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")

        #expect(refusal(of: [quote] + bytes + [quote]) == .invalidUTF8)
        #expect(refusal(of: Array("{\"12345678".utf8) + bytes + Array("\":1}".utf8)) == .invalidUTF8)
        #expect(refusal(of: [quote] + bytes) == .invalidUTF8)
        #expect(refusal(of: bytes) == .unexpectedByte)
    }

    @Test(
        "the edges of UTF-8 are taken",
        arguments: [
            "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FEFF}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
            "\u{7F}",
        ]
    )
    func utf8Edges(text: String) throws {
        let document = try JSONDocument(parsing: Array("\"\(text)\"".utf8))

        #expect(document.root.string.map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test("RFC 8259 §8.1: no byte order mark, no UTF-16")
    func byteOrderMarks() {
        #expect(refusal(of: [0xEF, 0xBB, 0xBF] + Array("{}".utf8)) == .byteOrderMark)
        #expect(refusal(of: [0xEF, 0xBB, 0xBF]) == .byteOrderMark)
        #expect(refusal(of: [0xEF, 0xBB] + Array("{}".utf8)) == .unexpectedByte)
        #expect(refusal(of: [0xFF, 0xFE, 0x7B, 0, 0x7D, 0]) == .unexpectedByte)
        #expect(refusal(of: [0, 0x7B, 0, 0x7D]) == .unexpectedByte)
        #expect(refusal(of: [0x7B, 0xEF, 0xBB, 0xBF, 0x7D]) == .unexpectedByte)
    }

    @Test(
        "a name twice in one object is refused, however it is escaped",
        arguments: [
            "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "{\"\\/\":1,\"/\":2}", "{\"\":1,\"b\":2,\"\":3}",
            "{\"\\uD834\\uDD1E\":1,\"\u{1D11E}\":2}", "[{\"x\":{\"a\":1,\"b\":[],\"a\":{}}}]",
        ]
    )
    func duplicates(text: String) {
        #expect(refusal(of: text) == .duplicateMember)
    }

    @Test(
        "names are compared as bytes, object by object",
        arguments: [
            "{\"é\":1,\"e\u{301}\":2}", "{\"K\":1,\"\u{212A}\":2}", "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
            "{\"a\":1,\"A\":2}", "{\"\\n\":1,\"n\":2}", "{\"ab\":1,\"a\":2}",
        ]
    )
    func notDuplicates(text: String) {
        #expect(refusal(of: text) == nil)
    }

    @Test("among thousands of names the one that comes again is found, where it comes again")
    func manyNames() throws {
        let names = (0..<5000).map { "\"k\($0)\":\($0)" }
        let unique = "{" + names.joined(separator: ",") + "}"
        let doubled = "{" + (names + ["\"\\u006b7\":0", "\"k8\":0"]).joined(separator: ",") + "}"

        #expect(refusal(of: unique) == nil)
        let error = try #require(throws: JSONSyntaxError.self) { try JSONDocument(parsing: Array(doubled.utf8)) }
        #expect(error.reason == .duplicateMember)
        #expect(error.offset == unique.utf8.count)
    }

    @Test("up to 64 open arrays and objects, and no deeper", arguments: [("[", "]"), ("{\"a\":", "}")])
    func depth(open: String, close: String) {
        func nested(_ depth: Int) -> String {
            String(repeating: open, count: depth) + "[]" + String(repeating: close, count: depth)
        }

        #expect(refusal(of: nested(63)) == nil)
        #expect(refusal(of: nested(64)) == .tooDeep)
        #expect(refusal(of: nested(100_000)) == .tooDeep)
        #expect(refusal(of: String(repeating: open, count: 100_000)) == .tooDeep)
        #expect(refusal(of: "[]", maximumDepth: 0) == .tooDeep)
        #expect(refusal(of: "1", maximumDepth: 0) == nil)
    }

    @Test("many values side by side are not deep")
    func breadth() {
        #expect(refusal(of: "[" + String(repeating: "[],", count: 50_000) + "{}]") == nil)
    }

    @Test(
        "an error says where, in lines and bytes",
        arguments: [
            ("{\n  \"a\": x\n}", 9, 2, 8), ("[1,\n\n 01]", 6, 3, 2), ("\"é\u{1}\"", 3, 1, 4), ("{\"a\":1}\n]", 8, 2, 1),
            ("{\"b\":1,\n\"b\":2}", 8, 2, 1), ("[\n", 2, 2, 1),
        ]
    )
    func places(text: String, offset: Int, line: Int, column: Int) throws {
        let error = try #require(throws: JSONSyntaxError.self) { try JSONDocument(parsing: Array(text.utf8)) }

        #expect(error.offset == offset)
        #expect(error.line == line)
        #expect(error.column == column)
        #expect(error.description.contains("line \(line), column \(column)"))
    }
}
