/// One JSON text, checked from its first to its last byte (RFC 8259), and where its values are.
///
/// Stricter than the RFC where it leaves a choice: UTF-8 without byte order mark, no lone surrogates in escapes,
/// no two members of one name, a bounded depth. Numbers may be of any length: what they are worth is asked of
/// ``JSONValue``. Reading never recurses, takes time linear in the text (n log n in the members of one object) and
/// allocates one tape beside the bytes.
public struct JSONDocument: Sendable {
    /// The text as it was given.
    public let bytes: [UInt8]

    let tape: [Token]

    /// Reads `bytes` as exactly one value of any kind.
    ///
    /// - Parameters:
    ///   - bytes: the text.
    ///   - maximumDepth: how many arrays and objects may be open at once; a value alone has depth 0.
    /// - Throws: the first rule that the text breaks.
    public init(parsing bytes: [UInt8], maximumDepth: Int = 64) throws(JSONSyntaxError) {
        tape = try bytes.withUnsafeBufferPointer { (text) throws(JSONSyntaxError) in
            var parser = Parser(text: text, maximumDepth: maximumDepth)
            try parser.parse()
            return parser.tape
        }
        self.bytes = bytes
    }

    /// The value that the text is.
    public var root: JSONValue { JSONValue(document: self, index: 0) }
}

/// One value, or one member's name, on the tape; a container is followed by what it contains.
struct Token: Sendable {
    enum Kind: UInt32 {
        case null, `true`, `false`, number, string, escapedString, array, object
    }

    /// The most that a count, an offset or a place on the tape can be.
    static let limit = (1 << 28) - 1

    /// The first byte; of a string the one after the quotation mark.
    let start: UInt32

    /// The byte after the last; of a string the closing quotation mark.
    var end: UInt32

    /// The place on the tape behind this value; while a container is open, the place of the container around it.
    var next: UInt32

    /// Four bits of kind, and how many elements or members a container has.
    private var kindAndCount: UInt32

    init(_ kind: Kind, start: Int, end: Int, next: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
        self.next = UInt32(truncatingIfNeeded: next)
        kindAndCount = kind.rawValue
    }

    var kind: Kind { Kind(rawValue: kindAndCount & 0xF) ?? .null }
    var isObject: Bool { kindAndCount & 0xF == Kind.object.rawValue }
    var isEscaped: Bool { kindAndCount & 0xF == Kind.escapedString.rawValue }
    var count: Int { Int(kindAndCount >> 4) }
    var range: Range<Int> { Int(start)..<Int(end) }

    mutating func countOneMore() { kindAndCount += 1 << 4 }
}
