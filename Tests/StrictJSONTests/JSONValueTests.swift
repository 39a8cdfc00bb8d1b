import StrictJSON
import Testing

func parse(_ text: String) throws -> JSONValue { try JSONDocument(parsing: Array(text.utf8)).root }

@Suite("Strict JSON: asking values") struct JSONValueTests {
    @Test(
        "an integer is digits with an optional minus, within Int64",
        arguments: [
            ("0", .value(0)), ("-0", .value(0)), ("-1", .value(-1)), ("42", .value(42)),
            ("9223372036854775807", .value(.max)), ("-9223372036854775808", .value(.min)),
            ("9223372036854775808", .outOfRange), ("-9223372036854775809", .outOfRange),
            ("18446744073709551616", .outOfRange), ("99999999999999999999", .outOfRange),
            ("99999999999999999999.5", .notInteger), ("1.0", .notInteger), ("1e2", .notInteger), ("-0.0", .notInteger),
            ("99999999999999999999e1", .notInteger), ("\"1\"", .notInteger), ("true", .notInteger),
            ("null", .notInteger),
        ] as [(String, JSONValue.Integer)]
    )
    func integers(text: String, expected: JSONValue.Integer) throws {
        let value = try parse("[\(text)]").elements?.first { _ in true }

        #expect(value?.integer == expected)
        if case .value(let number) = expected { #expect(value?.int64 == number) } else { #expect(value?.int64 == nil) }
    }

    @Test("missing, null and of another type are three things")
    func absence() throws {
        let body = try parse(#"{"null":null,"text":"a","number":1,"list":[],"map":{},"yes":true}"#)

        #expect(body["missing"] == nil)
        #expect(body["null"]?.isNull == true)
        #expect(body["text"]?.isNull == false)
        #expect(body["text"]?.kind == .string)
        #expect(body["text"]?.int64 == nil)
        #expect(body["number"]?.kind == .number)
        #expect(body["number"]?.string == nil)
        #expect(body["number"]?.bool == nil)
        #expect(body["list"]?.kind == .array)
        #expect(body["list"]?.members == nil)
        #expect(body["map"]?.kind == .object)
        #expect(body["map"]?.elements == nil)
        #expect(body["yes"]?.kind == .boolean)
        #expect(body["yes"]?.bool == true)
        #expect(try parse("[1]")["a"] == nil)
    }

    @Test("members and elements come in the order of the text, whatever lies inside them")
    func order() throws {
        let body = try parse(#"{"b":[1,[2,{"x":[]}],3],"a":{"c":{"d":null}},"\u0063":"z"}"#)
        let members = try #require(body.members)

        #expect(members.map(\.name) == ["b", "a", "c"])
        #expect(body.count == 3)
        let list = try #require(body["b"]?.elements)
        #expect(list.map(\.kind) == [.number, .array, .number])
        #expect(body["b"]?.count == 3)
        #expect(body["a"]?["c"]?["d"]?.isNull == true)
        #expect(body["c"]?.string == "z")
    }

    @Test("a name is found byte for byte once unescaped")
    func lookUp() throws {
        let body = try parse("{\"e\u{301}\":1,\"\\u00e9\":2,\"a\\nb\":3}")

        #expect(body["e\u{301}"]?.int64 == 1)
        #expect(body["\u{E9}"]?.int64 == 2)
        #expect(body["a\nb"]?.int64 == 3)
        #expect(body["a\\nb"] == nil)
    }

    @Test(
        "a name with escapes is found by what they stand for, and by nothing else",
        arguments: [
            (#"\u0061"#, "a"), (#"\u0061bc"#, "abc"), (#"ab\u0063"#, "abc"), (#"\u00e9"#, "\u{E9}"),
            (#"\u20AC"#, "\u{20AC}"), (#"\uD834\uDD1E"#, "\u{1D11E}"), (#"\""#, "\""), (#"\\"#, "\\"),
            (#"\/"#, "/"), (#"\b\f\n\r\t"#, "\u{8}\u{C}\n\r\t"), (#"\u0000"#, "\u{0}"),
            (#"\u0061\u0061\u0061"#, "aaa"),
        ]
    )
    func escapedNames(inside: String, name: String) throws {
        let body = try parse("{\"\(inside)\":1}")
        let value = try parse("\"\(inside)\"")

        #expect(body[name]?.int64 == 1)
        #expect(value.isString(name))
        for other in [name + "a", "a" + name, String(name.dropLast()), inside, name.uppercased() + "Z", ""] {
            #expect(body[other] == nil)
            #expect(!value.isString(other))
        }
    }

    @Test("escapes are decoded")
    func escapes() throws {
        let value = try parse(#""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\uD834\uDD1E\uDBFF\uDFFF\u0000é""#)
        let expected = "\"\\/\u{8}\u{C}\n\r\tA\u{E9}\u{20AC}\u{1D11E}\u{10FFFF}\u{0}é"

        #expect(value.string.map { Array($0.utf8) } == Array(expected.utf8))
        #expect(value.utf8.map { Array($0) } == Array(expected.utf8))
        #expect(value.isString(expected))
    }

    @Test("a string is compared byte for byte")
    func comparison() throws {
        #expect(try parse("\"K\"").isString("K"))
        #expect(try !parse("\"\u{212A}\"").isString("K"))
        #expect(try parse("\"\\u004b\"").isString("K"))
        #expect(try !parse("\"K \"").isString("K"))
        #expect(try !parse("[\"K\"]").isString("K"))
    }

    @Test("the source of a value is a text of its own")
    func source() throws {
        let body = try parse(#"{"a": {"x" : [ 1 ]} ,"b":"q\"","c":-1.50,"d":[ ]}"#)

        #expect(body["a"].map { String(decoding: $0.source, as: UTF8.self) } == #"{"x" : [ 1 ]}"#)
        #expect(body["b"].map { String(decoding: $0.source, as: UTF8.self) } == #""q\"""#)
        #expect(body["c"].map { String(decoding: $0.source, as: UTF8.self) } == "-1.50")
        #expect(body["d"].map { String(decoding: $0.source, as: UTF8.self) } == "[ ]")
    }

    @Test("RFC 6901 §3: a pointer escapes ~ and /")
    func pointers() {
        #expect(JSONPointer.root.description == "")
        #expect(JSONPointer("meters").appending(0).appending("amount").description == "/meters/0/amount")
        #expect(JSONPointer("a/b").appending("m~n").appending("").description == "/a~1b/m~0n/")
    }
}
