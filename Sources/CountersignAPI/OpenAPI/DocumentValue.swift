import StrictJSON

/// A JSON value whose members keep their order: what a description is put together from.
indirect enum DocumentValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case string(String)
    case array([DocumentValue])
    case object([DocumentMember])

    /// A list of texts.
    static func strings(_ texts: [String]) -> DocumentValue { .array(texts.map(DocumentValue.string)) }

    /// Writes the value.
    func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .boolean(let value): json.value(value)
        case .integer(let value): json.value(value)
        case .string(let value): json.value(value)
        case .array(let elements):
            json.array { json in
                for element in elements { element.write(to: &json) }
            }
        case .object(let members):
            json.object { json in
                for member in members {
                    json.name(dynamic: member.name)
                    member.value.write(to: &json)
                }
            }
        }
    }
}

/// A member of an object.
struct DocumentMember: Hashable, Sendable {
    let name: String
    let value: DocumentValue

    init(_ name: String, _ value: DocumentValue) {
        self.name = name
        self.value = value
    }
}

extension DocumentValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(arrayLiteral elements: DocumentValue...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, DocumentValue)...) {
        self = .object(elements.map { DocumentMember($0.0, $0.1) })
    }
    init(nilLiteral: ()) { self = .null }
}
