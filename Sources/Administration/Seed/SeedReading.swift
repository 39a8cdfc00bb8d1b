internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// Something in a seed document, and where it stands.
protocol SeedNode: Sendable {
    /// Reads one element; what is wrong with it is remembered by the reader.
    init(_ reader: inout MemberReader, at pointer: JSONPointer)

    /// What makes two elements of one list the same thing; `nil` where something is missing.
    var identity: String? { get }

    /// The member that is to be blamed where two are the same.
    static var identifyingMember: String { get }
}

extension MemberReader {
    /// The elements of a list, each read as a node; two of one identity are refused.
    mutating func nodes<Node: SeedNode>(_ name: String, as _: Node.Type = Node.self) -> [Node] {
        var nodes: [Node] = []
        // By bytes, as the database tells them apart.
        var seen: Set<[UInt8]> = []
        for (value, pointer) in elements(name) ?? [] {
            do throws(InvalidMembers) {
                var reader = try MemberReader(value, at: pointer)
                let node = Node(&reader, at: pointer)
                if let identity = node.identity, !seen.insert(Array(identity.utf8)).inserted {
                    reader.refuse(Node.identifyingMember, "is there twice")
                }
                absorb(reader)
                nodes.append(node)
            } catch {
                for member in error.members { refuse(member) }
            }
        }
        return nodes
    }

    /// A text by what reads it; the fault says what is wanted.
    mutating func read<Value>(
        _ name: String,
        isRequired: Bool = false,
        _ parse: (String) throws(ValueFault) -> Value
    ) -> Value? {
        guard let text = isRequired ? requiredText(name) : text(name) else { return nil }
        do {
            return try parse(text)
        } catch {
            refuse(name, error.reason)
            return nil
        }
    }

    /// A word of an enumeration.
    mutating func word<Word: RawRepresentable<String> & CaseIterable>(
        _ name: String,
        isRequired: Bool = false
    ) -> Word? {
        read(name, isRequired: isRequired) { (text) throws(ValueFault) in try CommonParameters.word(text) }
    }

    /// A whole number from 0 to `SeatLimit.highest`, or `unlimited`.
    mutating func seatLimit(_ name: String) -> SeatLimit? {
        guard let value = value(name) else { return nil }
        if value.isString("unlimited") { return .unlimited }
        guard let number = value.int64, let limit = try? SeatLimit(number: number) else {
            refuse(name, SeatLimit.expectation)
            return nil
        }
        return limit
    }

    /// An environment rule.
    mutating func environment(_ name: String) -> EnvironmentRule? {
        guard let value = value(name) else { return nil }
        do throws(ValueFault) {
            return try EnvironmentRule(value)
        } catch {
            refuse(name, error.reason)
            return nil
        }
    }

    /// Codes of features, each once; `nil` where nothing is said.
    mutating func featureCodes(_ name: String) -> [FeatureCode]? {
        guard let elements = elements(name) else { return nil }
        var codes: [FeatureCode] = []
        var seen: Set<FeatureCode> = []
        for (value, pointer) in elements {
            guard let text = value.string, let code = try? FeatureCode(text) else {
                refuse(InvalidMember(pointer, "must be a feature's code"))
                continue
            }
            if !seen.insert(code).inserted { refuse(InvalidMember(pointer, "is there twice")) }
            codes.append(code)
        }
        return codes
    }
}
