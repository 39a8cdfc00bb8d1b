import CountersignWire
import HTTPServer
import Licensing
import StrictJSON
import Testing

@testable import CountersignAPI

@Suite("Description of the interface") struct OpenAPIDocumentTests {
    private let interface: DescribedInterface

    init() throws { interface = try #require(DescribedInterface.ours) }

    @Test("every route is described, and nothing else")
    func routes() {
        let described = interface.operations.map { "\($0.method.uppercased()) \($0.path)" }

        #expect(described.sorted() == Routes.all.map { "\($0.method.rawValue) \($0.path)" }.sorted())
    }

    @Test("it is served to whoever asks, by GET and HEAD, and linked from the root")
    func served() throws {
        var api = try TestAPI.open()

        let answer = api.send(request("GET", "/v1/openapi.json", token: nil))
        let head = api.send(request("HEAD", "/v1/openapi.json", token: nil))
        let root = api.send(request("GET", "/", token: nil))

        #expect(answer.status == 200 && answer.contentType == "application/json")
        #expect(answer["openapi"]?.string == "3.1.0")
        #expect(head.status == 200)
        #expect(root["links", "openapi"]?.string == "/v1/openapi.json")
    }

    @Test("it names the URL that is configured, in its own links too")
    func baseURL() throws {
        let text = OpenAPIDocument.text(of: Routes.all, baseURL: "https://licenses.example.com")

        let servers = try JSONDocument(parsing: text).root["servers"]?.list

        #expect(servers?.map { $0["url"]?.string } == ["https://licenses.example.com"])
    }

    @Test("operations have names of their own, which programs can write")
    func operationIDs() {
        let names = interface.operations.compactMap { $0.operation["operationId"]?.string }

        #expect(names.count == Routes.all.count && Set(names).count == names.count)
        for name in names { #expect(name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }, "\(name)") }
    }

    @Test("every reference leads somewhere, and every shared schema is used")
    func references() {
        var used: Set<String> = []
        func walk(_ value: JSONValue) {
            if let reference = value["$ref"]?.string {
                used.insert(reference)
                #expect(interface.checker.resolved(value)?.kind == .object, "\(reference)")
            }
            for element in value.list { walk(element) }
            for (_, member) in value.pairs { walk(member) }
        }

        walk(interface.root)

        let components = interface.root["components"]
        for kind in ["schemas", "responses", "parameters", "headers"] {
            for (name, _) in components?[kind]?.pairs ?? [] {
                #expect(used.contains("#/components/\(kind)/\(name)"), "\(kind) \(name)")
            }
        }
    }

    @Test("the parameters of a path are its own")
    func pathParameters() {
        for (path, method, operation) in interface.operations {
            let named = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            let described = (operation["parameters"]?.list ?? [])
                .filter { $0["in"]?.string == "path" }
            #expect(described.compactMap { $0["name"]?.string } == named, "\(method) \(path)")
            #expect(described.allSatisfy { $0["required"]?.bool == true })
        }
    }

    @Test("every example keeps to its schema")
    func examples() throws {
        var count = 0
        func walk(_ value: JSONValue, _ place: String) {
            for example in value["examples"]?.list ?? [] {
                count += 1
                #expect(interface.checker.faults(in: example, by: value, isClosed: true) == [], "\(place)")
            }
            if let example = value["example"], let schema = value["schema"] {
                count += 1
                #expect(interface.checker.faults(in: example, by: schema, isClosed: true) == [], "\(place)")
            }
            for element in value.list { walk(element, place) }
            for (name, member) in value.pairs { walk(member, "\(place)/\(name)") }
        }

        walk(interface.root, "")

        #expect(count >= Routes.all.count { $0.description.body != nil })
    }

    @Test("every body that is described as an example is read by its route")
    func exampleBodies() throws {
        for (path, _, operation) in interface.operations {
            let content = operation["requestBody"]?["content"]?["application/json"]
            guard content != nil else { continue }
            var api = try TestAPI.open()
            let example = try #require(content?["example"], "\(path) has no example")
            let isAdministration = path.hasPrefix("/v1/admin")

            let answer = api.post(
                path.replacing("{license}", with: "4711").replacing(
                    "{connection}",
                    with: "con_01J9Z3K4M5N6P7Q8R9S0T1V2W3"
                ),
                String(decoding: example.source, as: UTF8.self),
                token: isAdministration ? api.catalog.secretToken : nil
            )

            // A purchase needs a connection; nothing else is to be found wanting in what was sent.
            #expect(answer.pointers.filter { $0 != "/store" } == [], "\(path): \(answer.text)")
            #expect(![401, 403, 415].contains(answer.status) && answer.code != "LICENSE_KEY_MALFORMED", "\(path)")
        }
    }

    @Test("a route says what credential it takes, and refuses as that demands")
    func credentials() throws {
        let schemes = interface.root["components"]?["securitySchemes"]
        var api = try TestAPI.open()

        for endpoint in Routes.all {
            let method = endpoint.method.rawValue
            let operation = try #require(interface.root["paths"]?[endpoint.path]?[method.lowercased()])
            let names = (operation["security"]?.list ?? [])
                .flatMap { $0.pairs.map(\.name) }
            for name in names { #expect(schemes?[name] != nil, "\(name)") }
            switch endpoint.credential {
            case .none: #expect(names.isEmpty)
            case .app: #expect(names == ["appKey", "appKeyField"])
            case .administration: #expect(names == ["secretKey"])
            }

            let path = endpoint.path.replacing("{license}", with: "4711")
            let answer = api.send(request(method, path, token: nil, body: endpoint.method == .post ? "{}" : nil))

            #expect((answer.status == 401) == !names.isEmpty, "\(method) \(path)")
        }
    }

    @Test("every code is answered somewhere, but those that commands or other methods alone are told")
    func codes() {
        let elsewhere: Set<ProblemCode> = [
            .methodNotAllowed, .customerNotFound, .alreadyExists, .affectsExisting,
        ]
        let described = Set(Routes.all.flatMap { $0.refusals.flatMap(\.codes) })

        #expect(described.union(elsewhere) == Set(ProblemCode.allCases))
        #expect(described.isDisjoint(with: elsewhere))
    }
}
