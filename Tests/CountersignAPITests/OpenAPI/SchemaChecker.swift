import Foundation
import Licensing
import StrictJSON
import Synchronization

/// Checks values by the JSON Schemas of one document, as far as the description of our interface uses them: a keyword
/// that is not known here is a fault too.
struct SchemaChecker: Sendable {
    let document: JSONValue

    /// What is wrong with a value; empty for nothing.
    ///
    /// - Parameter isClosed: whether a member that the schema does not name is a fault.
    func faults(
        in value: JSONValue,
        by schema: JSONValue,
        isClosed: Bool,
        at pointer: String = ""
    ) -> [String] {
        var faults: [String] = []
        if isClosed, let members = value.members, let known = names(of: schema) {
            for (name, _) in members where !known.contains(name) {
                faults.append("\(pointer)/\(name) is not described")
            }
        }
        return faults + check(value, schema, isClosed: isClosed, pointer)
    }

    /// What a reference stands for, or the value itself.
    func resolved(_ value: JSONValue) -> JSONValue? {
        guard let reference = value["$ref"]?.string else { return value }
        guard reference.hasPrefix("#/") else { return nil }
        var target: JSONValue? = document
        for name in reference.dropFirst(2).split(separator: "/") { target = target?[String(name)] }
        return target
    }

    /// The names of all members that a schema knows, or nil where it takes any.
    private func names(of schema: JSONValue) -> Set<String>? {
        guard let schema = resolved(schema) else { return [] }
        if schema["additionalProperties"] != nil { return nil }
        var names = Set((schema["properties"]?.pairs ?? []).map(\.name))
        var isOpen = schema["properties"] == nil
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for part in schema[keyword]?.list ?? [] {
                guard let more = self.names(of: part) else { continue }
                names.formUnion(more)
                isOpen = false
            }
        }
        return isOpen ? nil : names
    }

    private func check(_ value: JSONValue, _ schema: JSONValue, isClosed: Bool, _ pointer: String) -> [String] {
        var faults: [String] = []
        func refuse(_ reason: String) { faults.append("\(pointer) \(reason)") }
        for (keyword, rule) in schema.pairs {
            switch keyword {
            case "$ref":
                guard let target = resolved(schema) else {
                    refuse("has a schema that is not there")
                    continue
                }
                faults += check(value, target, isClosed: isClosed, pointer)
            case "type":
                let types = rule.string.map { [$0] } ?? rule.list.compactMap(\.string)
                if !types.contains(where: { isOf($0, value) }) { refuse("is no \(types.joined(separator: " or "))") }
            case "const": if !isSame(value, rule) { refuse("is not the one value it may be") }
            case "enum":
                if !rule.list.contains(where: { isSame(value, $0) }) { refuse("is none of the words") }
            case "required":
                for name in rule.list.compactMap(\.string) where value.kind == .object && value[name] == nil {
                    refuse("has no \(name)")
                }
            case "properties":
                for (name, rule) in rule.pairs {
                    guard let member = value[name] else { continue }
                    faults += self.faults(in: member, by: rule, isClosed: isClosed, at: "\(pointer)/\(name)")
                }
            case "additionalProperties":
                for (name, member) in value.pairs {
                    faults += self.faults(in: member, by: rule, isClosed: isClosed, at: "\(pointer)/\(name)")
                }
            case "items":
                for (index, element) in value.list.enumerated() {
                    faults += self.faults(in: element, by: rule, isClosed: isClosed, at: "\(pointer)/\(index)")
                }
            case "minItems": if value.kind == .array, value.count < rule.int64 ?? 0 { refuse("is too short") }
            case "minLength":
                if let text = value.string, text.unicodeScalars.count < rule.int64 ?? 0 { refuse("is too short") }
            case "maxLength":
                if let text = value.string, text.unicodeScalars.count > rule.int64 ?? 0 { refuse("is too long") }
            case "minimum": if let number = value.int64, number < rule.int64 ?? 0 { refuse("is too small") }
            case "maximum": if let number = value.int64, number > rule.int64 ?? 0 { refuse("is too great") }
            case "pattern":
                if let text = value.string, !Patterns.matches(text, rule.string ?? "") { refuse("has another form") }
            case "format":
                if let text = value.string, !isFormatted(text, rule.string ?? "") { refuse("has another format") }
            case "allOf":
                for part in rule.list {
                    faults += check(value, part, isClosed: isClosed, pointer)
                }
            case "anyOf", "oneOf":
                let parts = rule.list.map { check(value, $0, isClosed: isClosed, pointer) }
                let fitting = parts.count { $0.isEmpty }
                if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                    refuse("fits \(fitting) choices: \(parts.joined().joined(separator: ", "))")
                }
            case "description", "examples": break
            default: refuse("has a schema with the unknown keyword \(keyword)")
            }
        }
        return faults
    }

    private func isOf(_ type: String, _ value: JSONValue) -> Bool {
        switch type {
        case "integer": value.int64 != nil
        default: value.kind.rawValue == type
        }
    }

    private func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if let text = right.string { return left.isString(text) }
        return left.kind == right.kind && left.int64 == right.int64 && left.bool == right.bool
    }

    private func isFormatted(_ text: String, _ format: String) -> Bool {
        switch format {
        case "date-time": (try? Timestamp(text, as: .instant)) != nil
        case "date": text.utf8.count == 10 && (try? Timestamp(text, as: .start)) != nil
        case "int64", "uri-reference": true
        default: false
        }
    }
}

extension JSONValue {
    /// The elements of an array; none of every other kind.
    var list: [JSONValue] { elements.map { Array($0) } ?? [] }

    /// The members of an object, in their order; none of every other kind.
    var pairs: [(name: String, value: JSONValue)] { members.map { Array($0) } ?? [] }
}

/// Regular expressions, each compiled once.
private enum Patterns {
    private static let compiled = Mutex<[String: NSRegularExpression]>([:])

    static func matches(_ text: String, _ pattern: String) -> Bool {
        compiled.withLock { compiled in
            if compiled[pattern] == nil { compiled[pattern] = try? NSRegularExpression(pattern: pattern) }
            let range = NSRange(text.startIndex..., in: text)
            return compiled[pattern]?.firstMatch(in: text, range: range) != nil
        }
    }
}
