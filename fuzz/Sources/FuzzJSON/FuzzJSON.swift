import StrictJSON

/// Whatever is taken as JSON can be walked over to its end, and written again it reads the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let document = try? JSONDocument(parsing: bytes) else { return 0 }
    var writer = JSONWriter()
    copy(document.root, to: &writer)
    let written = writer.finish()
    guard let again = try? JSONDocument(parsing: written) else {
        preconditionFailure("what was written is no JSON")
    }
    precondition(again.root.kind == document.root.kind && again.root.count == document.root.count)
    return 0
}

private func copy(_ value: JSONValue, to writer: inout JSONWriter) {
    switch value.kind {
    case .null: writer.null()
    case .boolean: writer.value(value.bool == true)
    case .number: writer.value(json: value.source)
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
                precondition(value[name] != nil, "a member is found by its name")
                writer.name(dynamic: name)
                copy(member, to: &writer)
            }
        }
    }
}
