/// A JSON Schema (2020-12) as OpenAPI 3.1 uses it, as far as our bodies need one.
///
/// What a schema of a request excludes, the server refuses; it may refuse more, which the words then say. What a schema
/// of an answer says, every answer keeps to.
struct Schema: Hashable, Sendable {
    /// The keywords, in the order in which they are written.
    private(set) var keywords: [DocumentMember]

    private init(_ keywords: [DocumentMember?]) { self.keywords = keywords.compactMap { $0 } }

    /// The schema as JSON.
    var value: DocumentValue { .object(keywords) }

    /// The value of a keyword.
    subscript(_ keyword: String) -> DocumentValue? { keywords.first { $0.name == keyword }?.value }

    // MARK: Values

    /// A text; `characters` counts Unicode scalars.
    static func string(
        _ characters: ClosedRange<Int>? = nil,
        pattern: String? = nil,
        format: String? = nil
    ) -> Schema {
        Schema([
            DocumentMember("type", "string"),
            characters.flatMap {
                $0.lowerBound > 0 ? DocumentMember("minLength", .integer(Int64($0.lowerBound))) : nil
            },
            characters.map { DocumentMember("maxLength", .integer(Int64($0.upperBound))) },
            pattern.map { DocumentMember("pattern", .string($0)) },
            format.map { DocumentMember("format", .string($0)) },
        ])
    }

    /// A text that is not empty.
    static var someString: Schema { Schema([DocumentMember("type", "string"), DocumentMember("minLength", 1)]) }

    /// One of these words.
    static func words(_ words: [String]) -> Schema {
        Schema([DocumentMember("type", "string"), DocumentMember("enum", .strings(words))])
    }

    /// One of an enumeration's words.
    static func words<Words: CaseIterable & RawRepresentable>(of type: Words.Type) -> Schema
    where Words.RawValue == String { words(type.allCases.map(\.rawValue)) }

    /// An integer, written without fraction and exponent.
    static func integer(_ range: ClosedRange<Int64>) -> Schema {
        Schema([
            DocumentMember("type", "integer"), DocumentMember("format", "int64"),
            DocumentMember("minimum", .integer(range.lowerBound)),
            DocumentMember("maximum", .integer(range.upperBound)),
        ])
    }

    /// A count.
    static var count: Schema { integer(0 ... .max) }

    static let boolean = Schema([DocumentMember("type", "boolean")])

    /// Exactly this value.
    static func constant(_ value: DocumentValue) -> Schema { Schema([DocumentMember("const", value)]) }

    // MARK: Containers

    /// An array.
    static func list(of element: Schema, atLeast least: Int64? = nil) -> Schema {
        Schema([
            DocumentMember("type", "array"), least.map { DocumentMember("minItems", .integer($0)) },
            DocumentMember("items", element.value),
        ])
    }

    /// An object with these members; there may be others, which mean nothing.
    static func object(_ members: [SchemaMember]) -> Schema {
        let required = members.filter(\.isRequired).map(\.name)
        return Schema([
            DocumentMember("type", "object"),
            required.isEmpty ? nil : DocumentMember("required", .strings(required)),
            members.isEmpty
                ? nil
                : DocumentMember("properties", .object(members.map { DocumentMember($0.name, $0.schema.value) })),
        ])
    }

    /// An object with members of any names, all of this schema.
    static func map(of element: Schema) -> Schema {
        Schema([DocumentMember("type", "object"), DocumentMember("additionalProperties", element.value)])
    }

    /// The shared schema of this name.
    static func reference(_ component: SchemaComponent) -> Schema {
        Schema([DocumentMember("$ref", .string("#/components/schemas/\(component.rawValue)"))])
    }

    // MARK: Choices

    static func any(of choices: [Schema]) -> Schema {
        Schema([DocumentMember("anyOf", .array(choices.map(\.value)))])
    }

    static func one(of choices: [Schema]) -> Schema {
        Schema([DocumentMember("oneOf", .array(choices.map(\.value)))])
    }

    static func all(of parts: [Schema]) -> Schema {
        Schema([DocumentMember("allOf", .array(parts.map(\.value)))])
    }

    /// The same, or null.
    var orNull: Schema {
        guard case .string(let type)? = self["type"] else { return .any(of: [self, Schema([.init("type", "null")])]) }
        var schema = self
        schema.keywords = keywords.map { keyword in
            switch (keyword.name, keyword.value) {
            case ("type", _): DocumentMember("type", .strings([type, "null"]))
            case ("enum", .array(let words)): DocumentMember("enum", .array(words + [.null]))
            default: keyword
            }
        }
        return schema
    }

    /// Nothing but null, which counts as absent.
    static let null = Schema([DocumentMember("type", "null")])

    // MARK: Words

    /// The same, explained.
    func described(_ text: String) -> Schema {
        var schema = self
        schema.keywords.insert(DocumentMember("description", .string(text)), at: 0)
        return schema
    }

    /// The same, with values as they may be.
    func examples(_ values: DocumentValue...) -> Schema {
        var schema = self
        schema.keywords.append(DocumentMember("examples", .array(values)))
        return schema
    }
}

/// A member that an object has.
struct SchemaMember: Hashable, Sendable {
    let name: String
    let schema: Schema
    let isRequired: Bool

    /// One that is always there.
    static func required(_ name: String, _ schema: Schema) -> SchemaMember {
        SchemaMember(name: name, schema: schema, isRequired: true)
    }

    /// One that may be left out.
    static func optional(_ name: String, _ schema: Schema) -> SchemaMember {
        SchemaMember(name: name, schema: schema, isRequired: false)
    }

    /// One of a request that may be left out or null, which is the same.
    static func free(_ name: String, _ schema: Schema) -> SchemaMember { optional(name, schema.orNull) }
}
