public import Cryptography

/// The 32-byte key outside the database that wraps the data keys in it.
public struct MasterKey: Sendable {
    private let secret: SecretBytes

    /// Bytes of a master key.
    public static let byteCount = 32

    /// A fresh random key.
    ///
    /// - Throws: `CryptographyError` without randomness.
    public static func random() throws(CryptographyError) -> MasterKey {
        MasterKey(secret: try .random(count: byteCount))
    }

    private init(secret: SecretBytes) { self.secret = secret }

    /// Reads the text of a key file: the key in base64url, on one line.
    public init?(fileText bytes: [UInt8]) {
        var text = bytes[...]
        while let last = text.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { text.removeLast() }
        guard let key = Base64URL.decode(text), key.count == Self.byteCount else { return nil }
        secret = SecretBytes(key)
    }

    /// The text of the key's file. A secret.
    public var fileText: [UInt8] { Base64URL.encode(secret.copy()) + [UInt8(ascii: "\n")] }

    /// Wraps one data key; the result is bound to its purpose.
    ///
    /// - Throws: `CryptographyError` without randomness or memory.
    func wrap(_ key: SecretBytes, purpose: String) throws(CryptographyError) -> [UInt8] {
        try AESGCM.seal(key.copy(), key: wrappingKey, associatedData: Array("data_keys/wrapped/\(purpose)".utf8))
    }

    /// Unwraps what `wrap` made.
    ///
    /// - Throws: `CryptographyError.authenticationFailed` when this is another key or the bytes were changed.
    func unwrap(_ wrapped: [UInt8], purpose: String) throws(CryptographyError) -> SecretBytes {
        try AESGCM.open(wrapped, key: wrappingKey, associatedData: Array("data_keys/wrapped/\(purpose)".utf8))
    }

    private var wrappingKey: SecretBytes {
        HKDF.derive(from: secret, info: Array("countersign/wrap/v1".utf8), count: 32)
    }
}
