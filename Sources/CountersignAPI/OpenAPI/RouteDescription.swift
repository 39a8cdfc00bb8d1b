import CountersignWire

/// What a route takes and answers, beyond what its method, path and credential say.
struct RouteDescription: Sendable {
    /// Under which heading it stands.
    let tag: RouteTag
    /// What the summary does not say.
    var details: String?
    /// Of the path and the query; those that every route takes are added.
    var parameters: [RouteParameter] = []
    /// The body; nil where it takes none.
    var body: SchemaComponent?
    /// A body as it may be sent.
    var example: DocumentValue?
    /// The body of its 200.
    let answer: SchemaComponent
    /// What that says.
    let outcome: String
    /// Codes of its own, beside those that follow from its credential, its body and HTTP.
    var refusals: [ProblemCode] = []
    /// Codes that it tells as 409, whatever their usual status.
    var conflicts: [ProblemCode] = []
    /// Whether a repeat is recognized by `Idempotency-Key`.
    var isRepeatable = false
    /// Whether it carries a bundle where it answers 402, 409 or 410.
    var refusesWithBundle = false
}

/// A heading of the description.
enum RouteTag: String, CaseIterable, Sendable {
    case licenses
    case trials
    case meters
    case stores
    case keys
    case administration
    case server

    /// What stands under it.
    var words: String {
        switch self {
        case .licenses: "License keys and seats, asked by apps."
        case .trials: "Try-outs without a purchase."
        case .meters: "What is counted, and its limits."
        case .stores: "Purchases in the App Store."
        case .keys: "Public keys and signed settings."
        case .administration: "Administration of licenses by a vendor."
        case .server: "The server itself."
        }
    }
}

/// A parameter of a path or query, or a field.
struct RouteParameter: Hashable, Sendable {
    /// Where it stands.
    enum Place: String, Sendable {
        case path
        case query
        case header
    }

    let place: Place
    let name: String
    let schema: Schema
    let words: String

    static func path(_ name: String, _ schema: Schema, _ words: String) -> RouteParameter {
        RouteParameter(place: .path, name: name, schema: schema, words: words)
    }

    static func query(_ name: String, _ schema: Schema, _ words: String) -> RouteParameter {
        RouteParameter(place: .query, name: name, schema: schema, words: words)
    }

    static func field(_ name: String, _ schema: Schema, _ words: String) -> RouteParameter {
        RouteParameter(place: .header, name: name, schema: schema, words: words)
    }

    /// The parameter as JSON.
    var value: DocumentValue {
        .object([
            DocumentMember("name", .string(name)), DocumentMember("in", .string(place.rawValue)),
            DocumentMember("description", .string(words)), DocumentMember("required", .boolean(place == .path)),
            DocumentMember("schema", schema.value),
        ])
    }
}
