import StrictJSON
import Testing

@testable import CountersignAPI

/// The description of the interface, by which every answer that a test gets is checked.
struct DescribedInterface: Sendable {
    let root: JSONValue
    let checker: SchemaChecker

    /// That of the table that requests are served by.
    static let ours: DescribedInterface? = try? DescribedInterface(OpenAPIDocument.text(of: Routes.all, baseURL: nil))

    init(_ text: [UInt8]) throws {
        root = try JSONDocument(parsing: text).root
        checker = SchemaChecker(document: root)
    }

    /// Every operation, with its path and method as in the document.
    var operations: [(path: String, method: String, operation: JSONValue)] {
        (root["paths"]?.pairs ?? []).flatMap { path, methods in
            methods.pairs.map { (path, $0.name, $0.value) }
        }
    }

    /// Records an issue where an answer is not as described, or a request was taken that is not.
    func check(_ received: Received, to bytes: [UInt8]) {
        for fault in faults(of: received, to: bytes) {
            let line = String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self)
            Issue.record("\(line) → \(received.status) \(received.code ?? ""): \(fault)")
        }
    }

    /// What of an answer is not as described.
    func faults(of received: Received, to bytes: [UInt8]) -> [String] {
        let words = String(decoding: bytes.prefix { $0 != 0x0D }, as: UTF8.self).split(separator: " ")
        guard words.count == 3 else { return [] }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let method = words[0] == "HEAD" ? "get" : words[0].lowercased()
        guard let (path, methods) = path(of: target[0]) else { return undescribed(received) }
        guard let operation = methods[method] else { return undescribed(received) }
        guard let answer = operation["responses"]?["\(received.status)"].flatMap(checker.resolved) else {
            return ["the status is not described at \(path)"]
        }
        var faults = fieldFaults(of: received, by: answer)
        let content = received.contentType.flatMap { answer["content"]?[$0]?["schema"] }
        if let content, let body = try? JSONDocument(parsing: Array(received.text.utf8)) {
            faults += checker.faults(in: body.root, by: content, isClosed: true)
        } else {
            faults.append("the content is not of a described type")
        }
        guard received.status == 200 else { return faults }
        faults += requestFaults(operation, query: target.dropFirst().first.map(String.init) ?? "", bytes)
        return faults
    }

    /// The path of the description that this one is an instance of.
    private func path(of target: Substring) -> (String, JSONValue)? {
        let segments = target.split(separator: "/", omittingEmptySubsequences: false)
        return root["paths"]?.members?.first { path, _ in
            let pattern = path.split(separator: "/", omittingEmptySubsequences: false)
            return pattern.count == segments.count
                && zip(pattern, segments).allSatisfy { $0.hasPrefix("{") ? !$1.isEmpty : $0 == $1 }
        }
    }

    /// No operation is asked: what is answered is a problem all the same.
    private func undescribed(_ received: Received) -> [String] {
        guard received.status >= 400, let schema = root["components"]?["schemas"]?["Problem"],
            let body = try? JSONDocument(parsing: Array(received.text.utf8))
        else { return [] }
        return checker.faults(in: body.root, by: schema, isClosed: true)
    }

    private func fieldFaults(of received: Received, by answer: JSONValue) -> [String] {
        var faults: [String] = []
        // Those that the server itself adds are not there yet.
        for (name, reference) in answer["headers"]?.pairs ?? []
        where name != "X-Request-Id" && name != "Cache-Control" {
            guard let schema = checker.resolved(reference)?["schema"], let text = received.field(name) else {
                faults.append("there is no field \(name)")
                continue
            }
            faults += parameterFaults(text, schema, "field \(name)")
        }
        return faults
    }

    private func parameterFaults(_ text: String, _ schema: JSONValue, _ name: String) -> [String] {
        let isNumber = schema["type"]?.string == "integer"
        guard let value = try? JSONDocument(parsing: Array((isNumber ? text : "\"\(text)\"").utf8)).root else {
            return ["\(name) is no value"]
        }
        return checker.faults(in: value, by: schema, isClosed: false, at: name)
    }

    /// Why a request that was answered by 200 is not what the description takes.
    private func requestFaults(_ operation: JSONValue, query: String, _ bytes: [UInt8]) -> [String] {
        var faults: [String] = []
        let pairs = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        for parameter in operation["parameters"]?.list ?? []
        where parameter["in"]?.string == "query" {
            guard let name = parameter["name"]?.string, let schema = parameter["schema"],
                let value = pairs.first(where: { $0[0] == name })?.last, !value.contains("%")
            else { continue }
            faults += parameterFaults(String(value), schema, "query \(name)")
        }
        let separator = Array("\r\n\r\n".utf8)
        if let schema = operation["requestBody"]?["content"]?["application/json"]?["schema"],
            let end = bytes.indices.first(where: { bytes[$0...].starts(with: separator) }),
            let body = try? JSONDocument(parsing: Array(bytes[(end + 4)...]))
        {
            faults += checker.faults(in: body.root, by: schema, isClosed: false, at: "request")
        }
        return faults
    }
}
