import Testing

@testable import countersign

@Suite("Configuration file") struct ConfigurationSyntaxTests {
    typealias Member = ConfigurationSyntax.Member

    @Test("comments, plain names, single quotes, trailing commas and hexadecimal numbers are fine")
    func everything() throws {
        let text = """
            // one
            {
              a: 1, /* two
              lines */ 'b': "x", "c.d": [true, null, 0xFF,],
              e: { f: { g: -1.5e3, $h_1: +.5 } },
            }
            // end
            """

        #expect(
            try ConfigurationSyntax.members(of: text) == [
                Member(path: "a", value: .number("1"), line: 3),
                Member(path: "b", value: .text("x"), line: 4),
                Member(path: "c.d", value: .list([.bool(true), .null, .number("255")]), line: 4),
                Member(path: "e.f.g", value: .number("-1.5e3"), line: 5),
                Member(path: "e.f.$h_1", value: .number("+.5"), line: 5),
            ]
        )
    }

    @Test("strings have JSON5's escapes")
    func escapes() throws {
        let text = #"{a: "\n\t\"\\\/\x41\u00e9\ud83d\ude00\q"# + "\\\n" + #"z", b: '"\''}"#

        #expect(
            try ConfigurationSyntax.members(of: text) == [
                Member(path: "a", value: .text("\n\t\"\\/Aé😀qz"), line: 1),
                Member(path: "b", value: .text("\"'"), line: 2),
            ]
        )
    }

    @Test(
        "what is no JSON5 is refused with its line",
        arguments: [
            ("", 1, "must be an object"), ("[]", 1, "must be an object"), ("{", 1, "ends where"),
            ("{a", 1, "':' after a"),
            ("{a:}", 1, "'}' stands where a value"), ("{a:1\nb:2}", 2, "',' or '}'"), ("{a:1}}", 1, "text after"),
            ("{a:[1", 1, "',' or ']'"), ("{a:yes}", 1, "quotation marks"), ("{\n'a: 1}", 2, "does not end"),
            ("{a:'x\n'}", 1, "does not end on its line"), ("{/* a", 1, "comment that does not end"),
            ("{,}", 1, "a name"), ("{a:'\\ud800'}", 1, "surrogate"), ("{a:'\\udc00\\ud800'}", 1, "surrogate"),
            ("{a:'\\xg0'}", 1, "hexadecimal"), ("{a:[{}]}", 1, "an object cannot stand in a list"),
            ("{a:1,\na:2}", 2, "a is there twice"), ("{a:{b:1},'a.b':2}", 1, "a.b is there twice"),
            ("{1.5:2}", 1, "':' after 1"),
            (String(repeating: "{a:", count: 20), 1, "too many objects"),
            ("{a:" + String(repeating: "[", count: 100_000), 1, "too many lists"),
        ]
    )
    func refused(text: String, line: Int, words: String) {
        do throws(ConfigurationSyntax.Failure) {
            let members = try ConfigurationSyntax.members(of: text)
            Issue.record("read as \(members)")
        } catch {
            #expect(error.line == line)
            #expect(error.words.contains(words))
        }
    }

    @Test("every cut of a good file is refused and none ends the process")
    func cuts() throws {
        let text = Array(#"{a:[1,'x\u00e9'],/*c*/b:{c:"y"},d:null}"#)

        for end in 0..<text.count {
            #expect(throws: ConfigurationSyntax.Failure.self) {
                try ConfigurationSyntax.members(of: String(text[..<end]))
            }
        }
    }
}
