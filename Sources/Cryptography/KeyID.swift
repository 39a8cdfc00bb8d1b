/// A public key's name, `kid` on the wire: base64url of its RFC 7638 thumbprint with SHA-256, 43 characters.
public struct KeyID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The name as it is written.
    public let text: String

    /// The name of the key whose thumbprint has these 32 bytes.
    init(thumbprint: [UInt8]) { text = Base64URL.string(thumbprint) }

    /// Reads a name; `nil` unless it is strict base64url of 32 bytes.
    public init?(_ text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == SHA256.byteCount else { return nil }
        self.text = text
    }

    /// By bytes.
    public static func < (left: KeyID, right: KeyID) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// The name as it is written.
    public var description: String { text }
}
