public import StrictJSON

/// Reads the members of one JSON object and collects what is wrong with them, so that a client hears of all at once.
///
/// `null` counts as absent. A member of another type or out of its bounds reads as `nil` and is remembered; `finish()`
/// throws when anything was. An integer is digits with an optional minus within Int64: `1.0`, `1e2` and `"1"` are not.
public struct MemberReader {
    private let object: JSONValue
    private let pointer: JSONPointer
    /// What was found so far, in the order it was asked for.
    ///
    /// At most `mostInvalid`: an answer must not be many times as long as the question.
    public private(set) var invalid: [InvalidMember] = []

    /// The most faults that are told of.
    public static let mostInvalid = 32

    /// The most members an object may have, known and unknown: each is walked over for every name that is asked for.
    public static let mostMembers = 256

    /// Takes the object to read, or throws when the value is no object, or one with too many members.
    public init(_ value: JSONValue, at pointer: JSONPointer = .root) throws(InvalidMembers) {
        guard value.kind == .object else { throw InvalidMembers(pointer, "must be a JSON object") }
        guard value.count <= Self.mostMembers else {
            throw InvalidMembers(pointer, "must have at most \(Self.mostMembers) members")
        }
        object = value
        self.pointer = pointer
    }

    /// The names of all members, in their order.
    public var names: [String] { object.members.map { members in members.map(\.name) } ?? [] }

    /// The member's value; `nil` when it is absent or null.
    public func value(_ name: String) -> JSONValue? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    /// Remembers that the member is invalid.
    public mutating func refuse(_ name: String, _ detail: String) {
        refuse(InvalidMember(pointer.appending(name), detail))
    }

    /// Remembers an error found elsewhere in the same document.
    public mutating func refuse(_ member: InvalidMember) {
        if invalid.count < Self.mostInvalid { invalid.append(member) }
    }

    /// A text of at most `maximum` characters, or `nil` when absent.
    public mutating func text(_ name: String, maximum: Int = 8192) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else {
            refuse(name, "must be a string")
            return nil
        }
        // A character has at least one byte: short text needs no count of them.
        guard text.utf8.count <= maximum || text.unicodeScalars.count <= maximum else {
            refuse(name, "must have at most \(maximum) characters")
            return nil
        }
        return text
    }

    /// A text that must be there; an empty one is as good as none.
    public mutating func requiredText(_ name: String, maximum: Int = 8192) -> String? {
        guard value(name) != nil else {
            refuse(name, "is required")
            return nil
        }
        guard let text = text(name, maximum: maximum) else { return nil }
        guard !text.isEmpty else {
            refuse(name, "must not be empty")
            return nil
        }
        return text
    }

    /// An integer within `range` (both ends included), or `nil` when absent.
    public mutating func integer(_ name: String, in range: ClosedRange<Int64> = .min ... .max) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .value(let number) = value.integer else {
            refuse(name, "must be an integer within 64 bits, without fraction or exponent")
            return nil
        }
        guard range.contains(number) else {
            refuse(name, "must be from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// A truth value, or `nil` when absent.
    public mutating func bool(_ name: String) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let bool = value.bool else {
            refuse(name, "must be true or false")
            return nil
        }
        return bool
    }

    /// A nested object to read on its own, or `nil` when absent; its findings go to this reader by `absorb(_:)`.
    public mutating func object(_ name: String) -> MemberReader? {
        guard let value = value(name) else { return nil }
        do {
            return try MemberReader(value, at: pointer.appending(name))
        } catch {
            for member in error.members { refuse(member) }
            return nil
        }
    }

    /// The elements of an array with their pointers, or `nil` when absent.
    public mutating func elements(_ name: String) -> [(value: JSONValue, pointer: JSONPointer)]? {
        guard let value = value(name) else { return nil }
        guard let elements = value.elements else {
            refuse(name, "must be an array")
            return nil
        }
        let base = pointer.appending(name)
        return elements.enumerated().map { ($0.element, base.appending($0.offset)) }
    }

    /// Takes over what a nested reader found.
    public mutating func absorb(_ nested: MemberReader) { for member in nested.invalid { refuse(member) } }

    /// Parses a text by `parse`, which answers `nil` for what it does not take; `expectation` then says what it wants.
    public mutating func parsed<Parsed>(
        _ name: String,
        _ expectation: String,
        maximum: Int = 8192,
        _ parse: (String) -> Parsed?
    ) -> Parsed? {
        guard let text = text(name, maximum: maximum) else { return nil }
        guard let parsed = parse(text) else {
            refuse(name, expectation)
            return nil
        }
        return parsed
    }

    /// Refuses every member whose name is not in `known`: where a typing error must not mean a default.
    public mutating func refuseUnknown(except known: Set<String>) {
        guard let members = object.members else { return }
        for (name, _) in members where !known.contains(name) { refuse(name, "is not a known member") }
    }

    /// Throws all that was found, if anything was.
    public func finish() throws(InvalidMembers) {
        if !invalid.isEmpty { throw InvalidMembers(invalid) }
    }
}
