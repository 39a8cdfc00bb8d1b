/// The secret name of one installed copy, made and kept by the client; folded, so that one copy has one spelling.
///
/// Kept only as a keyed digest. It has no description, so that it does not end up in a log.
public struct InstallID: Hashable, Sendable {
    /// The folded text: what digests are made of. A secret.
    public let folded: String

    /// Shortest id on `/v1`, in bytes.
    public static let shortest = 16
    /// Shortest id that an adapter takes, in bytes.
    public static let shortestInAdapters = 8

    /// Reads an install id: blanks around it trimmed, `shortest` to 200 bytes of printable UTF-8, no placeholder; a UUID
    /// (any case, in braces or not) is folded to lower case without braces, everything else is kept byte for byte.
    ///
    /// - Parameter shortest: The fewest bytes that are taken; `shortestInAdapters` where another contract says so.
    /// - Throws: `ValueFault` where the text is no such id.
    public init(_ text: some StringProtocol, shortest: Int = InstallID.shortest) throws(ValueFault) {
        folded = try SecretName.fold(text, shortest: shortest)
    }
}

extension InstallID: CustomStringConvertible, CustomReflectable {
    /// Tells nothing: the id is a secret.
    public var description: String { "InstallID(secret)" }
    /// Tells nothing: the id is a secret.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// An opaque digest of the machine, made by the client, the same after a reinstall. Never raw serial numbers.
///
/// Kept only as a keyed digest. It has no description, so that it does not end up in a log.
public struct DeviceFingerprint: Hashable, Sendable {
    /// The folded text: what digests are made of. Not for logs.
    public let folded: String

    /// Reads a fingerprint by the rules of `InstallID`, 8 to 200 bytes.
    ///
    /// - Throws: `ValueFault` where the text is no such fingerprint.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        folded = try SecretName.fold(text, shortest: 8)
    }
}

extension DeviceFingerprint: CustomStringConvertible, CustomReflectable {
    /// Tells nothing: the fingerprint names a person's machine.
    public var description: String { "DeviceFingerprint(secret)" }
    /// Tells nothing: the fingerprint names a person's machine.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// The one rule by which ids of installs and machines are read.
enum SecretName {
    static func fold(_ text: some StringProtocol, shortest: Int) throws(ValueFault) -> String {
        // A text far too long is refused before it is walked over more than once.
        guard text.utf8.count <= 4096 else { throw ValueFault("must be \(shortest) to 200 bytes long") }
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ $0 < 0x80 }) { return try foldASCII(bytes, shortest: shortest) }
        return try foldUnicode(text, shortest: shortest)
    }

    /// What `foldUnicode` says, for text in ASCII: nearly all there is, and much faster read.
    static func foldASCII(_ bytes: [UInt8], shortest: Int) throws(ValueFault) -> String {
        var (start, end) = (0, bytes.count)
        while start < end && isBlank(bytes[start]) { start += 1 }
        while start < end && isBlank(bytes[end - 1]) { end -= 1 }
        let name = bytes[start..<end]
        guard (shortest...200).contains(name.count) else {
            throw ValueFault("must be \(shortest) to 200 bytes long")
        }
        guard name.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw ValueFault("must be printable text") }
        guard !isPlaceholder(name) else {
            throw ValueFault("must name this copy or machine alone, not be a placeholder that many share")
        }
        return uuid(in: name) ?? String(decoding: name, as: UTF8.self)
    }

    static func foldUnicode(_ text: some StringProtocol, shortest: Int) throws(ValueFault) -> String {
        let scalars = Array(text.unicodeScalars)
        let start = scalars.firstIndex { !isBlank($0) } ?? scalars.endIndex
        let end = scalars.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
        var trimmed = String.UnicodeScalarView()
        trimmed.append(contentsOf: scalars[start..<end])
        let name = String(trimmed)
        guard (shortest...200).contains(name.utf8.count) else {
            throw ValueFault("must be \(shortest) to 200 bytes long")
        }
        guard trimmed.allSatisfy(isPrintable) else { throw ValueFault("must be printable text") }
        guard !isPlaceholder(name) else {
            throw ValueFault("must name this copy or machine alone, not be a placeholder that many share")
        }
        return uuid(in: Array(name.utf8)[...]) ?? name
    }

    /// The blanks of ASCII by Unicode's White_Space property.
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return false
        default: return !scalar.properties.isNoncharacterCodePoint
        }
    }

    /// The folded form of a UUID, or `nil` where the name is none.
    private static func uuid(in name: ArraySlice<UInt8>) -> String? {
        var bytes = name
        if bytes.first == UInt8(ascii: "{") && bytes.last == UInt8(ascii: "}") && bytes.count == 38 {
            bytes = bytes.dropFirst().dropLast()
        }
        guard bytes.count == 36 else { return nil }
        var folded: [UInt8] = []
        folded.reserveCapacity(36)
        for byte in bytes {
            let isDashDue =
                switch folded.count {
                case 8, 13, 18, 23: true
                default: false
                }
            switch byte {
            case UInt8(ascii: "-"):
                guard isDashDue else { return nil }
                folded.append(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                guard !isDashDue else { return nil }
                folded.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                guard !isDashDue else { return nil }
                folded.append(byte | 0x20)
            default: return nil
            }
        }
        return String(decoding: folded, as: UTF8.self)
    }

    private static let placeholders: Set<String> = [
        "unknown", "none", "null", "02:00:00:00:00:00", "n/a", "undefined", "default", "localhost",
    ]

    /// What a machine says that does not know its own name: many machines say the same.
    private static func isPlaceholder(_ name: String) -> Bool {
        var bare = name.lowercased()
        while bare.utf8.count >= 2 && bare.hasPrefix("{") && bare.hasSuffix("}") {
            bare = String(bare.dropFirst().dropLast())
        }
        if placeholders.contains(bare) { return true }
        let scalars = bare.unicodeScalars
        guard let first = scalars.first else { return true }
        if scalars.allSatisfy({ $0 == first }) { return true }
        // The all-zero UUID, and zeros written in any other grouping.
        return scalars.allSatisfy { $0 == "0" || $0 == "-" || $0 == ":" || $0 == "." }
    }

    /// The same for a name in ASCII.
    private static func isPlaceholder(_ name: ArraySlice<UInt8>) -> Bool {
        var bare = name
        while bare.count >= 2 && bare.first == UInt8(ascii: "{") && bare.last == UInt8(ascii: "}") {
            bare = bare.dropFirst().dropLast()
        }
        guard let first = bare.first.map(lowercased) else { return true }
        if bare.allSatisfy({ lowercased($0) == first }) { return true }
        // The all-zero UUID, and zeros written in any other grouping.
        let isZeros = bare.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0"), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "."): true
            default: false
            }
        }
        return isZeros || placeholders.contains { $0.utf8.elementsEqual(bare.lazy.map(lowercased)) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
