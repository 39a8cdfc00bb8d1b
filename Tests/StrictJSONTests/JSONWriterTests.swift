import StrictJSON
import Testing

private func written(_ body: (inout JSONWriter) -> Void) -> String {
    var json = JSONWriter()
    body(&json)
    return String(decoding: json.finish(), as: UTF8.self)
}

@Suite("JSON writer") struct JSONWriterTests {
    @Test("writes members in the order of the calls, without blanks")
    func order() {
        let text = written { json in
            json.object { json in
                json.member("z", "a")
                json.member("number", -5)
                json.member("big", Int64.min)
                json.member("yes", true)
                json.member("none", orNull: String?.none)
                json.member("some", orNull: Int64(7))
                json.member("left out", ifPresent: String?.none)
                json.member("there", ifPresent: Int64(8))
                json.member("list") { json in
                    json.array { json in
                        json.value(0)
                        json.null()
                        json.array { _ in }
                        json.object { _ in }
                        json.value(json: [0x5B, 0x31, 0x5D])
                    }
                }
                json.name(dynamic: "é\"")
                json.value(ascii: Array("e30".utf8))
            }
        }

        #expect(
            text == #"{"z":"a","number":-5,"big":-9223372036854775808,"yes":true,"none":null,"some":7,"there":8,"#
                + #""list":[0,null,[],{},[1]],"é\"":"e30"}"#
        )
    }

    @Test(
        "RFC 8259 §7: escapes what must be, and nothing else",
        arguments: [
            ("", "\"\""), ("a/b", "\"a/b\""), ("\"", "\"\\\"\""), ("\\", "\"\\\\\""),
            ("\u{8}\u{C}\n\r\t", "\"\\b\\f\\n\\r\\t\""),
            ("\u{0}\u{1}\u{F}\u{10}\u{1B}\u{1F}", "\"\\u0000\\u0001\\u000f\\u0010\\u001b\\u001f\""),
            ("\u{7F}é€𝄞", "\"\u{7F}é€𝄞\""),
            ("a\nb", "\"a\\nb\""), ("\u{2028}", "\"\u{2028}\""),
        ]
    )
    func escapes(value: String, expected: String) {
        #expect(written { $0.value(value) } == expected)
    }

    @Test("the reader takes back every scalar that the writer wrote")
    func roundTrip() throws {
        var all = ""
        for scalar in (0...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap(Unicode.Scalar.init)
        where scalar.value < 0x3000 || scalar.value % 251 == 0 || scalar.value > 0x10FF00 {
            all.unicodeScalars.append(scalar)
        }

        let document = try JSONDocument(parsing: Array(written { $0.value(all) }.utf8))

        #expect(document.root.string.map { Array($0.utf8) } == Array(all.utf8))
    }

    @Test(
        "the reader takes back every integer that the writer wrote",
        arguments: [0, 1, -1, 9, 10, 99, 100, .max, .min, .max - 1, .min + 1] as [Int64]
    )
    func integers(value: Int64) throws {
        #expect(try parse(written { $0.value(value) }).int64 == value)
    }

    @Test("64 containers can be open, as the reader takes")
    func depth() {
        func nest(_ json: inout JSONWriter, _ depth: Int) {
            json.array { json in if depth > 1 { nest(&json, depth - 1) } }
        }

        #expect(refusal(of: written { nest(&$0, 64) }) == nil)
    }

    @Test("a value without a name in an object stops the program")
    func valueWithoutName() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.object { $0.value(true) }
        }
    }

    @Test("a name without a value stops the program")
    func nameWithoutValue() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.object { $0.name("a") }
        }
    }

    @Test("two roots stop the program")
    func twoRoots() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.null()
            json.null()
        }
    }

    @Test("an empty text stops the program")
    func nothing() async {
        await #expect(processExitsWith: .failure) { _ = JSONWriter().finish() }
    }
}
