import Cryptography

/// The keys of `TestRoot`, and what can be signed with them.
public enum Signing {
    /// The leaf's certificate, DER.
    public static let leaf = bytes(TestRoot.leaf)
    /// The intermediate's certificate, DER.
    public static let intermediate = bytes(TestRoot.intermediate)
    /// The root's certificate, DER.
    public static let root = bytes(TestRoot.root)

    /// The leaf's key.
    public static let leafKey = key(TestRoot.leafKey)
    /// The intermediate's key.
    public static let intermediateKey = key(TestRoot.intermediateKey)
    /// The root's key.
    public static let rootKey = key(TestRoot.rootKey)

    private static func bytes(_ text: String) -> [UInt8] {
        guard let bytes = Base64.decode(text) else { preconditionFailure("a constant of the fuzzer is damaged") }
        return bytes
    }

    private static func key(_ text: String) -> P256.SigningKey {
        guard let key = try? P256.SigningKey(pkcs8: SecretBytes(bytes(text))) else {
            preconditionFailure("a key of the fuzzer is damaged")
        }
        return key
    }

    private static func sign(_ message: [UInt8], by key: P256.SigningKey) -> [UInt8] {
        guard let signer = try? P256.Signer.open(key), let signature = try? signer.sign(message) else {
            preconditionFailure("OpenSSL does not sign")
        }
        return signature
    }

    /// A compact JWS by the leaf's key.
    public static func jws(header: [UInt8], payload: [UInt8]) -> [UInt8] {
        let text = Base64URL.encode(header) + [UInt8(ascii: ".")] + Base64URL.encode(payload)
        return text + [UInt8(ascii: ".")] + Base64URL.encode(sign(text, by: leafKey))
    }

    /// Header and payload of a compact JWS as they stand, which is what is signed; the whole where there are no two dots.
    public static func signedPart(of token: [UInt8]) -> ArraySlice<UInt8> {
        guard let dot = token.lastIndex(of: UInt8(ascii: ".")) else { return token[...] }
        return token[..<dot]
    }

    /// A certificate of the part that is signed (RFC 5280 §4.1), signed by `key` with ECDSA and SHA-256.
    public static func certificate(_ part: [UInt8], by key: P256.SigningKey) -> [UInt8] {
        let signature = sign(part, by: key)
        let numbers = DER.integer(Array(signature[..<32])) + DER.integer(Array(signature[32...]))
        // ecdsa-with-SHA256 (RFC 5758 §3.2)
        let algorithm: [UInt8] = [0x30, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
        return DER.element(0x30, part + algorithm + DER.element(0x03, [0] + DER.element(0x30, numbers)))
    }
}

/// Just enough of the Distinguished Encoding Rules (X.690) to write a signature.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length = content.count
        guard length >= 0x80 else { return [tag, UInt8(length)] + content }
        var digits: [UInt8] = []
        while length > 0 {
            digits.insert(UInt8(length & 0xFF), at: 0)
            length >>= 8
        }
        return [tag, 0x80 | UInt8(digits.count)] + digits + content
    }

    /// A number that is not negative.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return element(0x02, (digits.first ?? 0x80) >= 0x80 ? [0] + digits : digits)
    }
}
