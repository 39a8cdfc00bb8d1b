import CountersignWire
import HTTPServer

/// The refusals of all routes, each written once where several routes share it.
struct SharedAnswers {
    /// By their names, in the order in which they were first asked for.
    private(set) var answers: [DocumentMember] = []

    /// The answer of this status with one of these codes: a reference where it has a handy name.
    mutating func answer(_ status: Int, _ codes: [ProblemCode], carriesBundle: Bool) -> DocumentValue {
        let answer = Self.refusal(status, codes, carriesBundle: carriesBundle)
        let isUsual = codes.allSatisfy { $0.status == status }
        guard codes.count <= 2, isUsual, !carriesBundle else { return answer }
        let name = codes.map(Self.name).joined(separator: "Or")
        if !answers.contains(where: { $0.name == name }) { answers.append(DocumentMember(name, answer)) }
        return ["$ref": .string("#/components/responses/\(name)")]
    }

    /// `NOT_FOUND` is `NotFound`.
    private static func name(_ code: ProblemCode) -> String {
        code.rawValue.split(separator: "_").map { $0.prefix(1) + $0.dropFirst().lowercased() }.joined()
    }

    private static func refusal(_ status: Int, _ codes: [ProblemCode], carriesBundle: Bool) -> DocumentValue {
        var members: [SchemaMember] = [
            .required("status", .constant(.integer(Int64(status)))),
            .required("code", .words(codes.map(\.rawValue))),
            .required("verdict", .constant(.string(status == 402 || status == 410 ? "rejected" : "unknown"))),
        ]
        if carriesBundle { members.append(.required("bundle", .reference(.bundle))) }
        let schema = Schema.all(of: [.reference(.problem), .object(members)])
        return .object([
            DocumentMember("description", .string(codes.map { "\($0.title)." }.joined(separator: " "))),
            DocumentMember("headers", AnswerField.value(of: fields(status))),
            DocumentMember("content", .object([DocumentMember(Wire.Problem.mediaType, ["schema": schema.value])])),
        ])
    }

    private static func fields(_ status: Int) -> [AnswerField] {
        let always: [AnswerField] = [.requestID, .cacheControl]
        switch status {
        case 401: return always + [.authenticate]
        case 429: return always + [.retryAfter, .limit, .remaining, .reset]
        case 500, 503: return always + [.retryAfter]
        default: return always
        }
    }
}

/// A field of answers.
enum AnswerField: String, CaseIterable, Sendable {
    case requestID = "X-Request-Id"
    case cacheControl = "Cache-Control"
    case authenticate = "WWW-Authenticate"
    case retryAfter = "Retry-After"
    case limit = "RateLimit-Limit"
    case remaining = "RateLimit-Remaining"
    case reset = "RateLimit-Reset"

    /// The field as JSON.
    var value: DocumentValue {
        let (words, schema): (String, Schema) =
            switch self {
            case .requestID: ("The request's id: the client's, where it sent a sane one.", .string(1...128))
            case .cacheControl: ("Nothing is to be kept.", .words(["no-store"]))
            case .authenticate: ("What is asked for.", .words(["Bearer"]))
            case .retryAfter: ("Whole seconds until it is worth another try.", .count)
            case .limit: ("How much there is in a period.", .count)
            case .remaining: ("How much of that is left.", .count)
            case .reset: ("Whole seconds until there is more.", .count)
            }
        return ["description": .string(words), "required": true, "schema": schema.value]
    }

    /// References to fields, by name.
    static func value(of fields: [AnswerField]) -> DocumentValue {
        .object(
            fields.map { DocumentMember($0.rawValue, ["$ref": .string("#/components/headers/\($0.rawValue)")]) }
        )
    }
}

/// Fields of requests that several routes take.
enum SharedFields {
    static let parameters: [(name: String, parameter: RouteParameter, isForRepeats: Bool)] = [
        (
            "IdempotencyKey",
            .field(
                "Idempotency-Key",
                .string(1...IdempotentCall.longestKey),
                "Names the request: a repeat within 24 hours is answered by the same facts and does nothing again."
            ),
            true
        ),
        (
            "RequestId",
            .field("X-Request-Id", .string(), "Comes back where it is 1 to 128 of A-Z, a-z, 0-9, `.`, `_` and `-`."),
            false
        ),
    ]
}
