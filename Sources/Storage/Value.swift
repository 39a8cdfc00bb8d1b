/// What a parameter of a statement may be bound to: the four types this schema uses.
public enum Value: Hashable, Sendable {
    /// SQL's NULL.
    case null
    /// A 64-bit integer: numbers, instants in seconds, booleans as 0 and 1.
    case integer(Int64)
    /// UTF-8 text; may hold NUL.
    case text(String)
    /// Bytes.
    case blob([UInt8])

    /// Text, or NULL for `nil`.
    public static func textOrNull(_ text: String?) -> Value { text.map(Value.text) ?? .null }

    /// An integer, or NULL for `nil`.
    public static func integerOrNull(_ integer: Int64?) -> Value { integer.map(Value.integer) ?? .null }

    /// An `Int` as an integer.
    public static func int(_ integer: Int) -> Value { .integer(Int64(integer)) }

    /// An `Int` as an integer, or NULL for `nil`.
    public static func intOrNull(_ integer: Int?) -> Value { integer.map(Value.int) ?? .null }

    /// Bytes, or NULL for `nil`.
    public static func blobOrNull(_ bytes: [UInt8]?) -> Value { bytes.map(Value.blob) ?? .null }

    /// 1 for true and 0 for false.
    public static func bool(_ flag: Bool) -> Value { .integer(flag ? 1 : 0) }
}
