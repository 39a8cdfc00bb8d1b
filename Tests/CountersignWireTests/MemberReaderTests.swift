import StrictJSON
import Testing

@testable import CountersignWire

@Suite("Reading members") struct MemberReaderTests {
    private func reader(_ text: String) throws -> MemberReader {
        try MemberReader(JSONDocument(parsing: Array(text.utf8)).root)
    }

    @Test("JSON that is no object is invalid as a whole", arguments: ["[]", "1", "\"x\"", "null", "true"])
    func noObject(text: String) throws {
        let failure = #expect(throws: InvalidMembers.self) { _ = try reader(text) }

        #expect(failure?.members.map(\.pointer.description) == [""])
    }

    @Test(
        "an integer is digits with an optional minus, within 64 bits",
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min),
            ("9007199254740993", 9_007_199_254_740_993), ("1e999", nil), ("-1e999", nil), ("9223372036854775808", nil),
            ("1.5", nil), ("1.0", nil), ("1e2", nil), ("\"1\"", nil), ("true", nil), ("[]", nil),
            (String(repeating: "9", count: 10_000), nil),
        ] as [(String, Int64?)]
    )
    func integers(text: String, value: Int64?) throws {
        var reader = try reader(#"{"n":\#(text)}"#)

        #expect(reader.integer("n") == value)
        #expect(reader.invalid.map(\.pointer.description) == (value == nil ? ["/n"] : []))
    }

    @Test("an object of more members than any request has is invalid as a whole", arguments: ["m", #"\u006d"#])
    func tooManyMembers(name: String) throws {
        func members(_ count: Int) -> String {
            "{" + (1...count).map { "\"\(name)\($0)\":\($0)" }.joined(separator: ",") + "}"
        }

        var most = try reader(members(MemberReader.mostMembers))
        let tooMany = #expect(throws: InvalidMembers.self) { _ = try reader(members(MemberReader.mostMembers + 1)) }
        var outer = try reader("{\"inner\":\(members(MemberReader.mostMembers + 1))}")

        #expect(most.integer("m256") == 256)
        #expect(tooMany?.members.map(\.pointer.description) == [""])
        #expect(outer.object("inner") == nil)
        #expect(outer.invalid.map(\.pointer.description) == ["/inner"])
    }

    @Test("null is as good as absent, an unknown member is ignored")
    func absent() throws {
        var reader = try reader(#"{"a":null,"other":{}}"#)

        #expect(reader.text("a") == nil && reader.text("b") == nil && reader.integer("a") == nil)
        #expect(reader.bool("a") == nil && reader.object("a") == nil && reader.elements("a") == nil)
        try reader.finish()
    }

    @Test("all that is wrong is told at once, nested places too")
    func everything() throws {
        var reader = try reader(#"{"a":1,"b":"","device":{"name":2},"list":[1,"x"]}"#)

        _ = reader.text("a")
        _ = reader.requiredText("b")
        _ = reader.requiredText("c")
        let nested = reader.object("device")
        var device = try #require(nested)
        _ = device.text("name")
        reader.absorb(device)
        let elements = reader.elements("list")
        for (value, pointer) in try #require(elements) where value.string == nil {
            reader.refuse(InvalidMember(pointer, "must be a string"))
        }

        let failure = #expect(throws: InvalidMembers.self) { try reader.finish() }
        #expect(failure?.members.map(\.pointer.description) == ["/a", "/b", "/c", "/device/name", "/list/0"])
    }

    @Test("each place is told once, with what was found first")
    func once() throws {
        var reader = try reader(#"{"a":1,"b":2}"#)

        for name in ["a", "b", "a"] { reader.refuse(name, "is wrong") }
        reader.refuse("b", "is required")

        let failure = #expect(throws: InvalidMembers.self) { try reader.finish() }
        #expect(failure?.members.map(\.pointer.description) == ["/a", "/b"])
        #expect(failure?.members.map(\.detail) == ["is wrong", "is wrong"])
    }

    @Test("lengths are counted in Unicode scalars, the longest is taken")
    func lengths() throws {
        var fits = try reader(#"{"t":"\#(String(repeating: "é", count: 64))"}"#)
        var isLonger = try reader(#"{"t":"\#(String(repeating: "é", count: 65))"}"#)

        #expect(fits.text("t", maximum: 64) != nil)
        #expect(isLonger.text("t", maximum: 64) == nil && isLonger.invalid.count == 1)
    }
}
