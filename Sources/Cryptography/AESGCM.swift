internal import COpenSSL

/// AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce for each message.
///
/// A sealed value is nonce ‖ ciphertext ‖ tag: 12 bytes, as many as the message, 16 bytes. With random nonces one key
/// may seal 2³² messages (SP 800-38D §8.3).
public enum AESGCM {
    /// Bytes of a key.
    public static let keyByteCount = 32
    static let nonceByteCount = 12
    static let tagByteCount = 16

    /// Seals `message` so that it opens only with `key` and the same associated data, which itself is not in it.
    ///
    /// - Throws: ``CryptographyError/library(operation:reason:)`` without randomness or memory.
    public static func seal(
        _ message: [UInt8],
        key: SecretBytes,
        associatedData: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        try seal(message, key: key, associatedData: associatedData, nonce: SystemEntropy().bytes(nonceByteCount))
    }

    /// As above under a nonce that is given: for published vectors. One used twice under a key gives the key away.
    static func seal(
        _ message: [UInt8],
        key: SecretBytes,
        associatedData: [UInt8],
        nonce: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        precondition(nonce.count == nonceByteCount, "an AES-GCM nonce has 12 bytes")
        let context = try Context.start(key: key, nonce: nonce, seals: true)
        try context.authenticate(associatedData)
        let ciphertext = try context.process(message)
        guard let tag = context.finishSealing() else { throw .library("seal") }
        return nonce + ciphertext + tag
    }

    /// Opens what ``seal(_:key:associatedData:)`` made.
    ///
    /// - Throws: ``CryptographyError/authenticationFailed`` when a bit is different anywhere,
    ///   ``CryptographyError/library(operation:reason:)`` when that could not be found out.
    public static func open(
        _ sealed: [UInt8],
        key: SecretBytes,
        associatedData: [UInt8]
    ) throws(CryptographyError) -> SecretBytes {
        guard sealed.count >= nonceByteCount + tagByteCount else { throw .authenticationFailed }
        return try CryptographyError.unlessTroubled("open a sealed value") { () throws(CryptographyError) in
            try opened(sealed, key: key, associatedData: associatedData)
        }
    }

    private static func opened(
        _ sealed: [UInt8],
        key: SecretBytes,
        associatedData: [UInt8]
    ) throws(CryptographyError) -> SecretBytes {
        let context = try Context.start(key: key, nonce: Array(sealed.prefix(nonceByteCount)), seals: false)
        try context.authenticate(associatedData)
        var message = try context.process(Array(sealed.dropFirst(nonceByteCount).dropLast(tagByteCount)))
        defer { message.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard context.finishOpening(tag: Array(sealed.suffix(tagByteCount))) else {
            throw .authenticationFailed
        }
        return SecretBytes(message)
    }
}

/// Sole owner of one `EVP_CIPHER_CTX *`, for one message.
private struct Context: ~Copyable {
    private let context: OpaquePointer

    private init(taking context: OpaquePointer) { self.context = context }

    deinit { EVP_CIPHER_CTX_free(context) }

    static func start(key: SecretBytes, nonce: [UInt8], seals: Bool) throws(CryptographyError) -> Context {
        precondition(key.count == AESGCM.keyByteCount, "an AES-256 key has 32 bytes")
        guard let handle = EVP_CIPHER_CTX_new() else { throw .library("make a cipher context") }
        let context = Context(taking: handle)
        let isReady = key.withUnsafeBytes { key in
            EVP_CipherInit_ex2(
                handle,
                cs_aes256gcm(),
                key.assumingMemoryBound(to: UInt8.self).baseAddress,
                nonce,
                seals ? 1 : 0,
                nil
            ) == 1
        }
        guard isReady else { throw .library("start AES-256-GCM") }
        return context
    }

    borrowing func authenticate(_ data: [UInt8]) throws(CryptographyError) {
        guard !data.isEmpty else { return }
        var count: CInt = 0
        guard let length = CInt(exactly: data.count), EVP_CipherUpdate(context, nil, &count, data, length) == 1 else {
            throw .library("authenticate associated data")
        }
    }

    borrowing func process(_ input: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard !input.isEmpty else { return [] }
        var output = [UInt8](repeating: 0, count: input.count)
        var count: CInt = 0
        guard let length = CInt(exactly: input.count),
            EVP_CipherUpdate(context, &output, &count, input, length) == 1, count == length
        else {
            throw .library("encrypt or decrypt")
        }
        return output
    }

    borrowing func finishSealing() -> [UInt8]? {
        var count: CInt = 0
        var rest = [UInt8](repeating: 0, count: AESGCM.tagByteCount)
        var tag = [UInt8](repeating: 0, count: AESGCM.tagByteCount)
        guard EVP_CipherFinal_ex(context, &rest, &count) == 1, count == 0,
            cs_gcm_get_tag(context, &tag, CInt(AESGCM.tagByteCount)) == 1
        else {
            return nil
        }
        return tag
    }

    borrowing func finishOpening(tag: [UInt8]) -> Bool {
        var count: CInt = 0
        var rest = [UInt8](repeating: 0, count: AESGCM.tagByteCount)
        return cs_gcm_set_tag(context, tag, CInt(AESGCM.tagByteCount)) == 1
            && EVP_CipherFinal_ex(context, &rest, &count) == 1
    }
}
