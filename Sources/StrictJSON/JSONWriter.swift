/// Writes one JSON text into bytes, in the order of the calls, compact and with no more escapes than RFC 8259 §7 asks.
///
///     var json = JSONWriter()
///     json.object { json in
///         json.member("verdict", "granted")
///         json.member("seats") { $0.object { $0.member("used", 3) } }
///     }
///     let body = json.finish()
///
/// A call that would break the text (a value without a name in an object, two names, a second root) is the caller's
/// bug and stops the program; so are more than 64 open containers, which no strict reader would take back.
public struct JSONWriter {
    /// Deepest nesting, as ``JSONDocument`` reads it.
    public static let maximumDepth = 64

    /// Room for the text; what lies behind `end` is filler.
    private var bytes: [UInt8]
    /// How much of `bytes` is written.
    private var end = 0
    private var depth = 0
    /// One bit for each open container, the innermost lowest: 1 for an object.
    private var objects: UInt64 = 0
    /// Whether the innermost container has something in it, or the root is written.
    private var needsComma = false
    /// Whether a member's name waits for its value.
    private var hasName = false

    /// Makes a writer with room for `capacity` bytes.
    public init(capacity: Int = 512) { bytes = [UInt8](repeating: 0, count: capacity) }

    /// The finished text, in UTF-8.
    public consuming func finish() -> [UInt8] {
        precondition(depth == 0 && needsComma, "a JSON text is one whole value")
        bytes.removeLast(bytes.count - end)
        return bytes
    }

    // MARK: Containers

    /// Writes an object: `body` writes its members.
    public mutating func object<Failure: Error>(
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "{"), isObject: 1)
        try body(&self)
        precondition(objects & 1 == 1 && !hasName, "a member's name without a value")
        close(UInt8(ascii: "}"))
    }

    /// Writes an array: `body` writes its elements.
    public mutating func array<Failure: Error>(
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        open(UInt8(ascii: "["), isObject: 0)
        try body(&self)
        close(UInt8(ascii: "]"))
    }

    private mutating func open(_ bracket: UInt8, isObject: UInt64) {
        precondition(depth < Self.maximumDepth, "JSON nested too deeply")
        startValue()
        append(bracket)
        depth += 1
        objects = objects << 1 | isObject
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        append(bracket)
        depth -= 1
        objects >>= 1
        needsComma = true
    }

    /// Writes the comma where one is due.
    private mutating func startValue() {
        if hasName {
            hasName = false
            return
        }
        precondition(depth == 0 || objects & 1 == 0, "a value without a name in an object")
        if needsComma {
            precondition(depth > 0, "two values where one JSON text is due")
            append(UInt8(ascii: ","))
        }
        needsComma = true
    }

    // MARK: Members

    /// Writes a member's name; its value is the next call.
    public mutating func name(_ name: StaticString) {
        startName()
        name.withUTF8Buffer { appendQuoted($0) }
        append(UInt8(ascii: ":"))
    }

    /// Writes a member's name that is known only at run time; its value is the next call.
    public mutating func name(dynamic name: String) {
        startName()
        appendQuoted(name)
        append(UInt8(ascii: ":"))
    }

    private mutating func startName() {
        precondition(depth > 0 && objects & 1 == 1 && !hasName, "a member's name where none can be")
        if needsComma { append(UInt8(ascii: ",")) }
        needsComma = true
        hasName = true
    }

    /// Writes a member whose value `body` writes in exactly one call.
    public mutating func member<Failure: Error>(
        _ name: StaticString,
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try body(&self)
        precondition(!hasName, "a member's name without a value")
    }

    /// Writes a member with a string.
    public mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member with an integer.
    public mutating func member(_ name: StaticString, _ value: Int64) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member with an integer.
    public mutating func member(_ name: StaticString, _ value: Int) {
        self.name(name)
        self.value(Int64(value))
    }

    /// Writes a member with a boolean.
    public mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.value(value)
    }

    /// Writes a member with a string, or `null`.
    public mutating func member(_ name: StaticString, orNull value: String?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member with an integer, or `null`.
    public mutating func member(_ name: StaticString, orNull value: Int64?) {
        self.name(name)
        if let value { self.value(value) } else { null() }
    }

    /// Writes a member with a string, or nothing.
    public mutating func member(_ name: StaticString, ifPresent value: String?) {
        if let value { member(name, value) }
    }

    /// Writes a member with an integer, or nothing.
    public mutating func member(_ name: StaticString, ifPresent value: Int64?) {
        if let value { member(name, value) }
    }

    // MARK: Values

    /// Writes a string.
    public mutating func value(_ value: String) {
        startValue()
        appendQuoted(value)
    }

    /// Writes an integer.
    public mutating func value(_ value: Int64) {
        startValue()
        appendDecimal(value)
    }

    /// Writes `true` or `false`.
    public mutating func value(_ value: Bool) {
        startValue()
        appendASCII(value ? "true" : "false")
    }

    /// Writes `null`.
    public mutating func null() {
        startValue()
        appendASCII("null")
    }

    /// Writes a string of printable ASCII that needs no escape, such as base64 or a JWS, without a detour by `String`.
    public mutating func value(ascii text: [UInt8]) {
        startValue()
        text.withUnsafeBufferPointer { text in
            precondition(text.allSatisfy { $0 < 0x7F } && !needsEscapes(text), "a text that needs escapes")
            appendPlainQuoted(text)
        }
    }

    /// Writes a value that is JSON text already; the caller answers for its being exactly one value.
    public mutating func value(json text: some Collection<UInt8>) {
        assert((try? JSONDocument(parsing: Array(text))) != nil, "what is inserted must be JSON")
        precondition(!text.isEmpty, "what is inserted must be JSON")
        startValue()
        let isAppended: Void? = text.withContiguousStorageIfAvailable { append($0) }
        if isAppended == nil { Array(text).withUnsafeBufferPointer { append($0) } }
    }

    // MARK: Bytes

    /// Makes room for `count` bytes; `write` fills some and says how many.
    private mutating func append(count: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) {
        if bytes.count - end < count {
            bytes.append(contentsOf: repeatElement(0, count: max(count, bytes.count)))
        }
        bytes.withUnsafeMutableBufferPointer { room in
            if let start = room.baseAddress { end += write(start + end) }
        }
    }

    private mutating func append(_ byte: UInt8) {
        append(count: 1) { start in
            start.pointee = byte
            return 1
        }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress else { return }
        append(count: text.count) { start in
            start.update(from: source, count: text.count)
            return text.count
        }
    }

    private mutating func appendASCII(_ text: StaticString) { text.withUTF8Buffer { append($0) } }

    private mutating func appendDecimal(_ value: Int64) {
        // Written from the last digit backwards into the 20 places that 2⁶³ with its sign needs, then moved to the front.
        let most = 20
        append(count: most) { start in
            var place = most
            var rest = value.magnitude
            while rest >= 10 {
                place -= 1
                start[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            place -= 1
            start[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest)
            if value < 0 {
                place -= 1
                start[place] = UInt8(ascii: "-")
            }
            start.update(from: start + place, count: most - place)
            return most - place
        }
    }

    private mutating func appendQuoted(_ text: String) {
        var text = text
        text.withUTF8 { appendQuoted($0) }
    }

    private mutating func appendQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        needsEscapes(text) ? appendEscaped(text) : appendPlainQuoted(text)
    }

    private mutating func appendPlainQuoted(_ text: UnsafeBufferPointer<UInt8>) {
        append(count: text.count + 2) { start in
            start[0] = UInt8(ascii: "\"")
            if let source = text.baseAddress { (start + 1).update(from: source, count: text.count) }
            start[text.count + 1] = UInt8(ascii: "\"")
            return text.count + 2
        }
    }

    private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
        append(UInt8(ascii: "\""))
        var plain = 0
        for index in text.indices where needsEscape(text[index]) {
            append(UnsafeBufferPointer(rebasing: text[plain..<index]))
            appendEscape(text[index])
            plain = index + 1
        }
        append(UnsafeBufferPointer(rebasing: text[plain...]))
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): appendASCII("\\\"")
        case UInt8(ascii: "\\"): appendASCII("\\\\")
        case 0x08: appendASCII("\\b")
        case 0x0C: appendASCII("\\f")
        case 0x0A: appendASCII("\\n")
        case 0x0D: appendASCII("\\r")
        case 0x09: appendASCII("\\t")
        default:
            appendASCII(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0xF
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

private func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
}

/// Whether any byte needs an escape.
private func needsEscapes(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = text.baseAddress else { return false }
    var index = 0
    while index + 8 <= text.count {
        let word = UnsafeRawPointer(start + index).loadUnaligned(as: UInt64.self)
        if hasSpecialByte(word), text[index..<index + 8].contains(where: needsEscape) { return true }
        index += 8
    }
    while index < text.count {
        if needsEscape(text[index]) { return true }
        index += 1
    }
    return false
}
