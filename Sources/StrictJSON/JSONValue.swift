/// One value of a ``JSONDocument``: a place in it, decoded when asked.
///
/// A reader tells four things apart: a member that is missing (`value["name"]` is `nil`), `null` (``isNull``), a value
/// of another type (its accessor is `nil`, ``kind`` says which it is) and a number that is no integer (``integer``).
public struct JSONValue: Sendable {
    /// The six types of RFC 8259 §3.
    public enum Kind: String, Hashable, Sendable {
        case null, boolean, number, string, array, object
    }

    /// What a value is worth where an integer is wanted.
    public enum Integer: Hashable, Sendable {
        /// Digits with an optional minus, within `Int64`; `-0` is 0.
        case value(Int64)
        /// Not a number, or one with a fraction or an exponent, be it `1.0` or `1e2`.
        case notInteger
        /// An integer below −2⁶³ or above 2⁶³ − 1.
        case outOfRange
    }

    let document: JSONDocument
    let index: Int

    private var token: Token { document.tape[index] }

    /// The type of the value.
    public var kind: Kind {
        switch token.kind {
        case .null: .null
        case .true, .false: .boolean
        case .number: .number
        case .string, .escapedString: .string
        case .array: .array
        case .object: .object
        }
    }

    /// Whether the value is `null`.
    public var isNull: Bool { token.kind == .null }

    /// The boolean, `nil` for every other kind.
    public var bool: Bool? {
        switch token.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The integer, or why it is none; never rounded.
    public var integer: Integer {
        guard token.kind == .number else { return .notInteger }
        var digits = document.bytes[token.range]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        var negated: Int64 = 0
        var overflows = false
        for byte in digits {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return .notInteger }
            if overflows { continue }
            let (product, tooFar) = negated.multipliedReportingOverflow(by: 10)
            let (difference, beyond) = product.subtractingReportingOverflow(Int64(digit))
            overflows = tooFar || beyond
            negated = difference
        }
        // Counted downwards, since −2⁶³ has no positive twin.
        if overflows || (!isNegative && negated == .min) { return .outOfRange }
        return .value(isNegative ? negated : -negated)
    }

    /// The integer, `nil` for everything that ``integer`` does not call a value.
    public var int64: Int64? {
        guard case .value(let value) = integer else { return nil }
        return value
    }

    /// The text, escapes decoded; `nil` for every other kind.
    public var string: String? {
        let token = token
        switch token.kind {
        case .string: return String(decoding: document.bytes[token.range], as: UTF8.self)
        case .escapedString: return String(decoding: unescaped(token.range), as: UTF8.self)
        default: return nil
        }
    }

    /// The text in UTF-8, escapes decoded; `nil` for every other kind. Without escapes it is not copied.
    public var utf8: ArraySlice<UInt8>? {
        let token = token
        switch token.kind {
        case .string: return document.bytes[token.range]
        case .escapedString: return unescaped(token.range)[...]
        default: return nil
        }
    }

    /// Whether the value is the string `text`, byte for byte.
    ///
    /// `string == text` would not do: Swift compares by canonical equivalence, to which U+212A KELVIN SIGN is a `K`.
    public func isString(_ text: String) -> Bool {
        let token = token
        switch token.kind {
        case .string: return matches(token, text)
        case .escapedString: return matchesEscaped(token, text)
        default: return false
        }
    }

    /// How many elements or members there are; 0 for every other kind.
    public var count: Int { token.count }

    /// The elements of an array in order, `nil` for every other kind.
    public var elements: Elements? { token.kind == .array ? Elements(container: self) : nil }

    /// The members of an object in the order of the text, `nil` for every other kind.
    public var members: Members? { token.kind == .object ? Members(container: self) : nil }

    /// The member of that name, byte for byte once unescaped; `nil` when there is none or this is no object.
    ///
    /// Takes time in the number of members: fine for the few of a request.
    public subscript(name: String) -> JSONValue? {
        let token = token
        guard token.kind == .object else { return nil }
        var place = index + 1
        while place < Int(token.next) {
            let member = document.tape[place]
            let isThis = member.isEscaped ? matchesEscaped(member, name) : matches(member, name)
            if isThis { return JSONValue(document: document, index: place + 1) }
            place = Int(document.tape[place + 1].next)
        }
        return nil
    }

    /// The bytes of the text that are this value, as they were written, blanks and all: one JSON text by themselves.
    public var source: ArraySlice<UInt8> {
        let token = token
        switch token.kind {
        case .string, .escapedString: return document.bytes[token.range.lowerBound - 1..<token.range.upperBound + 1]
        default: return document.bytes[token.range]
        }
    }

    private func matches(_ token: Token, _ text: String) -> Bool {
        let utf8 = text.utf8
        guard utf8.count == token.range.count else { return false }
        var place = token.range.lowerBound
        for byte in utf8 {
            guard document.bytes[place] == byte else { return false }
            place += 1
        }
        return true
    }

    /// `matches` for a string with escapes, without a copy of it.
    private func matchesEscaped(_ token: Token, _ text: String) -> Bool {
        let utf8 = text.utf8
        // An escape is longer than what it stands for, and at most six times as long.
        guard token.range.count > utf8.count, token.range.count <= 6 * utf8.count else { return false }
        return document.bytes.withUnsafeBufferPointer { bytes in
            var rest = utf8.makeIterator()
            return unescape(bytes[token.range]) { $0 == rest.next() } && rest.next() == nil
        }
    }

    private func unescaped(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        document.bytes.withUnsafeBufferPointer { appendUnescaped($0[range], to: &bytes) }
        return bytes
    }
}

extension JSONValue {
    /// The elements of an array, in order.
    public struct Elements: Sequence, IteratorProtocol, Sendable {
        private let document: JSONDocument
        private var place: Int
        private let end: Int

        init(container: JSONValue) {
            document = container.document
            place = container.index + 1
            end = Int(container.token.next)
        }

        /// The next element, `nil` behind the last.
        public mutating func next() -> JSONValue? {
            guard place < end else { return nil }
            defer { place = Int(document.tape[place].next) }
            return JSONValue(document: document, index: place)
        }
    }

    /// The members of an object, in the order of the text.
    public struct Members: Sequence, IteratorProtocol, Sendable {
        private var names: Elements

        init(container: JSONValue) { names = Elements(container: container) }

        /// The next member's name, escapes decoded, and its value; `nil` behind the last.
        public mutating func next() -> (name: String, value: JSONValue)? {
            guard let name = names.next(), let value = names.next() else { return nil }
            return (name.string ?? "", value)
        }
    }
}
