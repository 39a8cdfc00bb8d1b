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
private enum SecretName {
    static func fold(_ text: some StringProtocol, shortest: Int) throws(ValueFault) -> String {
        // A text far too long is refused before it is walked over more than once.
        guard text.utf8.count <= 4096 else { throw ValueFault("must be \(shortest) to 200 bytes long") }
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
        return uuid(in: name) ?? name
    }

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
    private static func uuid(in name: String) -> String? {
        var bytes = Array(name.utf8)[...]
        if bytes.first == UInt8(ascii: "{") && bytes.last == UInt8(ascii: "}") && bytes.count == 38 {
            bytes = bytes.dropFirst().dropLast()
        }
        guard bytes.count == 36 else { return nil }
        var folded: [UInt8] = []
        folded.reserveCapacity(36)
        for (place, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "-"):
                guard [8, 13, 18, 23].contains(place) else { return nil }
                folded.append(byte)
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                guard ![8, 13, 18, 23].contains(place) else { return nil }
                folded.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                guard ![8, 13, 18, 23].contains(place) else { return nil }
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
}
