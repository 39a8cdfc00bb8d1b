import FuzzSupport
import StrictJSON

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Whether each verdict is printed, for compare_json.py.
private let tellsVerdicts = getenv("FUZZ_VERDICTS") != nil

private func tell(_ verdict: String, of bytes: [UInt8]) {
    // libFuzzer runs some inputs twice: each verdict says of what it is.
    if tellsVerdicts { print(hash(of: bytes), verdict) }
}

/// What is taken as JSON is UTF-8, can be walked over to its end, and reads the same when it is written again, be it by
/// value or by source; cut short it is refused.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    let document: JSONDocument
    do {
        document = try JSONDocument(parsing: bytes)
    } catch {
        tell("refused", of: bytes)
        expect((0...count).contains(error.offset), "a mistake lies within the text")
        expect(error.line >= 1 && error.column >= 1 && error.column <= count + 1, "a mistake has a line and a column")
        return 0
    }
    tell("taken", of: bytes)
    expect(String(validating: bytes, as: UTF8.self) != nil, "what is no UTF-8 was taken")
    var writer = JSONWriter()
    copy(document.root, to: &writer)
    let written = writer.finish()
    guard let again = try? JSONDocument(parsing: written) else { preconditionFailure("what was written is no JSON") }
    expect(areEqual(document.root, again.root), "what was written reads differently")
    guard let source = try? JSONDocument(parsing: Array(document.root.source)) else {
        preconditionFailure("the source of a value is no JSON")
    }
    expect(areEqual(document.root, source.root), "the source of a value reads differently")
    var twice = JSONWriter()
    copy(again.root, to: &twice)
    expect(twice.finish() == written, "writing twice gives two texts")
    // A container or a text that lost its last byte is none.
    if let last = document.root.source.last, [UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "\"")].contains(last) {
        let cut = bytes[..<(document.root.source.endIndex - 1)]
        expect((try? JSONDocument(parsing: Array(cut))) == nil, "a text cut short was taken")
    }
    return 0
}

private func copy(_ value: JSONValue, to writer: inout JSONWriter) {
    switch value.kind {
    case .null: writer.null()
    case .boolean: writer.value(value.bool == true)
    case .number:
        if let integer = value.int64, value.source.elementsEqual("\(integer)".utf8) {
            writer.value(integer)
        } else {
            writer.value(json: value.source)
        }
    case .string:
        guard let text = value.string else { preconditionFailure("a string has text") }
        writer.value(text)
    case .array:
        writer.array { writer in
            if let elements = value.elements { for element in elements { copy(element, to: &writer) } }
        }
    case .object:
        writer.object { writer in
            guard let members = value.members else { return }
            for (name, member) in members {
                writer.name(dynamic: name)
                copy(member, to: &writer)
            }
        }
    }
}

private func areEqual(_ one: JSONValue, _ other: JSONValue) -> Bool {
    guard one.kind == other.kind, one.count == other.count else { return false }
    switch one.kind {
    case .null: return one.isNull && other.isNull
    case .boolean: return one.bool == other.bool
    case .number: return one.source.elementsEqual(other.source) && one.integer == other.integer
    case .string:
        guard let text = one.string, let bytes = other.utf8 else { return false }
        return text.utf8.elementsEqual(bytes) && other.isString(text)
    case .array:
        guard let left = one.elements, let right = other.elements else { return false }
        return zip(left, right).allSatisfy { areEqual($0, $1) }
    case .object:
        guard let members = one.members, let others = other.members else { return false }
        // By name in small ones: a look-up takes time in the number of members.
        if one.count <= 64 {
            return members.allSatisfy { name, value in other[name].map { areEqual(value, $0) } ?? false }
        }
        return zip(members, others).allSatisfy { left, right in
            left.name.utf8.elementsEqual(right.name.utf8) && areEqual(left.value, right.value)
        }
    }
}
