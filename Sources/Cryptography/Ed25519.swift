internal import COpenSSL

/// Ed25519 (RFC 8032), for contracts that ask for it; Countersign's own documents are signed with ``P256``.
public enum Ed25519 {
    /// Bytes of a signature.
    public static let signatureByteCount = 64

    /// A private key.
    public struct SigningKey: Sendable {
        /// The 32 bytes that RFC 8032 §5.1.5 calls the private key.
        public let seed: SecretBytes

        /// The public half.
        public let publicKey: PublicKey

        /// Makes a new key.
        public static func generate() throws(CryptographyError) -> SigningKey {
            try SigningKey(seed: .random(count: 32))
        }

        /// Takes a private key from its 32 bytes.
        ///
        /// - Throws: ``CryptographyError/malformedKey`` when there are not 32 of them.
        public init(seed: SecretBytes) throws(CryptographyError) {
            let raw = try CryptographyError.unlessTroubled("derive a public key") { () throws(CryptographyError) in
                let key = try Self.handle(seed)
                var raw = [UInt8](repeating: 0, count: 32)
                var count = raw.count
                guard EVP_PKEY_get_raw_public_key(key.pointer, &raw, &count) == 1, count == 32 else {
                    throw .library("derive a public key")
                }
                return raw
            }
            self.seed = seed
            publicKey = PublicKey(checked: raw)
        }

        /// The signature of `message`, 64 bytes, the same each time.
        public func sign(_ message: [UInt8]) throws(CryptographyError) -> [UInt8] {
            let key = try Self.handle(seed)
            guard let context = EVP_MD_CTX_new() else { throw .library("sign") }
            defer { EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: signatureByteCount)
            var count = signature.count
            guard EVP_DigestSignInit(context, nil, nil, nil, key.pointer) == 1,
                EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signatureByteCount
            else {
                throw .library("sign")
            }
            return signature
        }

        private static func handle(_ seed: SecretBytes) throws(CryptographyError) -> KeyHandle {
            let pointer = seed.withUnsafeBytes { seed in
                EVP_PKEY_new_raw_private_key(
                    EVP_PKEY_ED25519,
                    nil,
                    seed.assumingMemoryBound(to: UInt8.self).baseAddress,
                    seed.count
                )
            }
            guard let pointer else { throw .malformedKey }
            return KeyHandle(taking: pointer)
        }
    }

    /// A public key.
    public struct PublicKey: Hashable, Sendable {
        /// The encoded point, 32 bytes.
        public let bytes: [UInt8]

        fileprivate init(checked bytes: [UInt8]) { self.bytes = bytes }

        /// Takes a public key of 32 bytes; `nil` when there are not 32 of them.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }

        /// Whether `signature` is this key's for `message`; `false` also when the key is no point of the curve.
        ///
        /// - Throws: ``CryptographyError/library(operation:reason:)`` when that could not be found out.
        public func isValid(_ signature: [UInt8], for message: [UInt8]) throws(CryptographyError) -> Bool {
            guard signature.count == signatureByteCount else { return false }
            return try CryptographyError.unlessTroubled("verify a signature") { () throws(CryptographyError) in
                guard let pointer = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count),
                    case let key = KeyHandle(taking: pointer), let context = EVP_MD_CTX_new()
                else {
                    throw .library("prepare to verify")
                }
                defer { EVP_MD_CTX_free(context) }
                guard EVP_DigestVerifyInit(context, nil, nil, nil, key.pointer) == 1 else {
                    throw .library("prepare to verify")
                }
                return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
            }
        }
    }
}
