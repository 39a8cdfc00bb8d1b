import CountersignWire
import HTTPServer
import StrictJSON

/// The description of the interface: OpenAPI 3.1, made from the table that requests are served by.
enum OpenAPIDocument {
    /// The text.
    ///
    /// - Parameter baseURL: the URL that clients use, without a slash at its end; nil: that of the document.
    static func text(of endpoints: [Endpoint], baseURL: String?) -> [UInt8] {
        var shared = SharedAnswers()
        let paths = paths(of: endpoints, &shared)
        let document: DocumentValue = .object([
            DocumentMember("openapi", "3.1.0"),
            DocumentMember("info", info),
            DocumentMember("servers", [["url": .string(baseURL ?? "/")]]),
            DocumentMember(
                "tags",
                .array(
                    RouteTag.allCases.map { ["name": .string($0.rawValue), "description": .string($0.words)] }
                )
            ),
            DocumentMember("paths", paths),
            DocumentMember(
                "components",
                [
                    "schemas": .object(
                        SchemaComponent.allCases.map { DocumentMember($0.rawValue, $0.schema.value) }
                    ),
                    "responses": .object(shared.answers),
                    "parameters": .object(
                        SharedFields.parameters.map { DocumentMember($0.name, $0.parameter.value) }
                    ),
                    "headers": .object(
                        AnswerField.allCases.map { DocumentMember($0.rawValue, $0.value) }
                    ),
                    "securitySchemes": securitySchemes,
                ]
            ),
        ])
        var json = JSONWriter(capacity: 128 * 1024)
        document.write(to: &json)
        return json.finish()
    }

    private static let info: DocumentValue = [
        "title": "Countersign", "version": "1", "summary": "A licensing server: it signs what an app's user may do.",
        "description": .string(
            """
            Clients decide on `code` and `verdict`. 402 and 410 alone mean that the server decided no with proof in \
            hand (`rejected`); every other refusal and all trouble is `unknown` and takes nothing away. Members that a body \
            has beyond its schema mean nothing, in either direction. In requests `null` counts as absent, and integers \
            are written without fraction and exponent. Every path with a GET answers HEAD, and other methods with 405 \
            and `Allow`.
            """
        ),
    ]

    private static let securitySchemes: DocumentValue = [
        "appKey": [
            "type": "http", "scheme": "bearer", "description": "An app's key, `pk_`: names product and mode.",
        ],
        "appKeyField": [
            "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same in a field of its own.",
        ],
        "secretKey": [
            "type": "http", "scheme": "bearer", "description": "An administrator's key, `sk_`.",
        ],
    ]

    // MARK: Paths

    private static func paths(of endpoints: [Endpoint], _ shared: inout SharedAnswers) -> DocumentValue {
        var paths: [(path: String, operations: [DocumentMember])] = []
        for endpoint in endpoints {
            let member = DocumentMember(
                endpoint.method.rawValue.lowercased(),
                endpoint.operation(&shared)
            )
            if let index = paths.firstIndex(where: { $0.path == endpoint.path }) {
                paths[index].operations.append(member)
            } else {
                paths.append((endpoint.path, [member]))
            }
        }
        return .object(paths.map { DocumentMember($0.path, .object($0.operations)) })
    }
}

extension Endpoint {
    /// The route's name as programs write names: `admin.licenses.release-seat` is `adminLicensesReleaseSeat`.
    var operationID: String {
        let words = name.split { $0 == "." || $0 == "-" }
        return words.dropFirst().reduce(words.first.map(String.init) ?? "") { text, word in
            text + word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    fileprivate func operation(_ shared: inout SharedAnswers) -> DocumentValue {
        var members = [
            DocumentMember("tags", [.string(description.tag.rawValue)]),
            DocumentMember("summary", .string(summary)),
        ]
        if let details = description.details { members.append(DocumentMember("description", .string(details))) }
        members.append(DocumentMember("operationId", .string(operationID)))
        members.append(DocumentMember("security", security))
        let fields = SharedFields.parameters.filter { !$0.isForRepeats || description.isRepeatable }
        members.append(
            DocumentMember(
                "parameters",
                .array(
                    description.parameters.map(\.value)
                        + fields.map { ["$ref": .string("#/components/parameters/\($0.name)")] }
                )
            )
        )
        if let body = description.body {
            var content = [DocumentMember("schema", Schema.reference(body).value)]
            if let example = description.example { content.append(DocumentMember("example", example)) }
            members.append(
                DocumentMember("requestBody", ["required": true, "content": ["application/json": .object(content)]])
            )
        }
        members.append(DocumentMember("responses", responses(&shared)))
        return .object(members)
    }

    private var security: DocumentValue {
        switch credential {
        case .none: []
        case .app: [["appKey": []], ["appKeyField": []]]
        case .administration: [["secretKey": []]]
        }
    }

    // MARK: Answers

    private func responses(_ shared: inout SharedAnswers) -> DocumentValue {
        let success: DocumentValue = .object([
            DocumentMember("description", .string(description.outcome)),
            DocumentMember("headers", AnswerField.value(of: [.requestID, .cacheControl])),
            DocumentMember(
                "content",
                ["application/json": ["schema": Schema.reference(description.answer).value]]
            ),
        ])
        let refusals = refusals.map { status, codes in
            let carriesBundle = description.refusesWithBundle && [402, 409, 410].contains(status)
            return DocumentMember(String(status), shared.answer(status, codes, carriesBundle: carriesBundle))
        }
        return .object([DocumentMember("200", success)] + refusals)
    }

    /// Every code that the route may answer, by status.
    var refusals: [(status: Int, codes: [ProblemCode])] {
        var codes = Set(description.refusals)
        // What HTTP itself may refuse, and what may happen to anyone.
        codes.formUnion([
            .malformedRequest, .requestTimeout, .bodyTooLarge, .uriTooLong, .expectationFailed, .headersTooLarge,
            .internalError, .notImplemented, .unavailable, .versionNotSupported,
        ])
        if !Routes.isHealthCheck(name) { codes.insert(.rateLimited) }
        if description.body != nil { codes.formUnion([.malformedJSON, .validation, .unsupportedMediaType]) }
        // Not every text is a segment of a path that there is.
        if path.contains("{") { codes.insert(.notFound) }
        switch credential {
        case .app, .administration: codes.formUnion([.unauthenticated, .forbidden, .clockUnsure])
        case .none:
            if description.tag != .server { codes.insert(.clockUnsure) }
        }
        let conflicts = Set(description.conflicts)
        let byStatus = Dictionary(
            grouping: ProblemCode.allCases.filter { codes.contains($0) || conflicts.contains($0) }
        ) {
            conflicts.contains($0) ? 409 : $0.status
        }
        return byStatus.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
