import StrictJSON

/// A JSON document as a tree whose parts can be looked at, replaced, added and rendered again.
indirect enum SeedTree: Equatable {
    case object([(name: String, value: SeedTree)])
    case array([SeedTree])
    /// A text, number, truth value or null, as it is written.
    case leaf(String)

    init(_ value: JSONValue) {
        if let members = value.members {
            self = .object(members.map { (name: $0.name, value: SeedTree($0.value)) })
        } else if let elements = value.elements {
            self = .array(elements.map { SeedTree($0) })
        } else {
            self = .leaf(String(decoding: value.source, as: UTF8.self))
        }
    }

    init(parsing text: String) throws { self.init(try JSONDocument(parsing: Array(text.utf8)).root) }

    static func == (left: SeedTree, right: SeedTree) -> Bool {
        switch (left, right) {
        case (.leaf(let left), .leaf(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)):
            left.count == right.count && left.allSatisfy { member in right.contains { $0 == member } }
        default: false
        }
    }

    var text: String {
        switch self {
        case .leaf(let text): text
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members): "{" + members.map { "\"\($0.name)\":\($0.value.text)" }.joined(separator: ",") + "}"
        }
    }

    /// The steps from here to every part below, with the part.
    var parts: [(path: [String], value: SeedTree)] {
        switch self {
        case .leaf: []
        case .array(let elements):
            elements.enumerated().flatMap { index, element in element.parts(below: "\(index)") }
        case .object(let members): members.flatMap { $0.value.parts(below: $0.name) }
        }
    }

    private func parts(below step: String) -> [(path: [String], value: SeedTree)] {
        [([step], self)] + parts.map { (path: [step] + $0.path, value: $0.value) }
    }

    /// The names of an object's members.
    var names: [String] {
        if case .object(let members) = self { return members.map(\.name) }
        return []
    }

    subscript(_ path: some Collection<String>) -> SeedTree? {
        guard let step = path.first else { return self }
        switch self {
        case .leaf: return nil
        case .array(let elements):
            return Int(step).flatMap { elements.indices.contains($0) ? elements[$0][path.dropFirst()] : nil }
        case .object(let members): return members.first { $0.name == step }?.value[path.dropFirst()]
        }
    }

    /// The tree with another part at `path`; a new member of an object, or a new element at an array's end, is added.
    func replacing(_ path: some Collection<String>, by part: SeedTree) -> SeedTree {
        guard let step = path.first else { return part }
        switch self {
        case .leaf: return self
        case .array(var elements):
            guard let index = Int(step) else { return self }
            if index == elements.count { elements.append(.leaf("null")) }
            elements[index] = elements[index].replacing(path.dropFirst(), by: part)
            return .array(elements)
        case .object(var members):
            guard let index = members.firstIndex(where: { $0.name == step }) else {
                return .object(members + [(name: step, value: part)])
            }
            members[index].value = members[index].value.replacing(path.dropFirst(), by: part)
            return .object(members)
        }
    }

    /// Whether everything that `other` says is said here too, in the same lists. No limit is shown as null.
    func says(_ other: SeedTree) -> Bool {
        switch (self, other) {
        case (.object, .object(let members)):
            members.allSatisfy { member in self[[member.name]]?.says(member.value) == true }
        case (.array(let mine), .array(let elements)):
            mine.count == elements.count && zip(mine, elements).allSatisfy { $0.says($1) }
        default: self == other || (self == .leaf("null") && other == .leaf(#""unlimited""#))
        }
    }
}
