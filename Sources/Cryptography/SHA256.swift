internal import COpenSSL

/// SHA-256 (FIPS 180-4) of bytes that come in pieces; sole owner of its state.
///
/// Hashing cannot fail: OpenSSL's functions for SHA-256 alone work within the state that they are given. Those that take
/// any digest (`EVP_DigestInit_ex2`) allocate twice for each, and may find no memory.
public struct SHA256: ~Copyable {
    /// Bytes of a digest.
    public static let byteCount = 32

    private let state = UnsafeMutablePointer<SHA256_CTX>.allocate(capacity: 1)

    /// Starts with no bytes.
    public init() {
        state.initialize(to: SHA256_CTX())
        restart()
    }

    deinit {
        // What was hashed may be a secret.
        OPENSSL_cleanse(state, MemoryLayout<SHA256_CTX>.size)
        state.deallocate()
    }

    /// Adds the next bytes.
    public borrowing func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

    borrowing func update(_ bytes: UnsafeRawBufferPointer) {
        _ = SHA256_Update(state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all bytes since the start, 32 bytes; the next `update` begins anew.
    public borrowing func finish() -> [UInt8] {
        let digest = [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            finish(into: buffer.baseAddress)
            count = Self.byteCount
        }
        return digest
    }

    borrowing func finish(into digest: UnsafeMutablePointer<UInt8>?) {
        _ = SHA256_Final(digest, state)
        restart()
    }

    private borrowing func restart() { _ = SHA256_Init(state) }

    /// The digest of `bytes`, 32 bytes.
    public static func digest(of bytes: [UInt8]) -> [UInt8] {
        let hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }
}

/// HMAC with SHA-256 (RFC 2104).
public enum HMACSHA256 {
    /// The authentication code of `message` under `key`, 32 bytes; keys of any length are taken.
    public static func authenticationCode(for message: [UInt8], key: SecretBytes) -> [UInt8] {
        key.withUnsafeBytes { key in message.withUnsafeBytes { authenticationCode(for: $0, key: key) } }
    }

    /// Whether `code` is that of `message` under `key`, compared in constant time.
    public static func isValid(_ code: [UInt8], for message: [UInt8], key: SecretBytes) -> Bool {
        constantTimeEqual(code, authenticationCode(for: message, key: key))
    }

    static func authenticationCode(for message: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> [UInt8] {
        let hash = SHA256()
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { block in
            defer { OPENSSL_cleanse(block.baseAddress, block.count) }
            block.initialize(repeating: 0)
            if key.count <= block.count {
                UnsafeMutableRawBufferPointer(block).copyMemory(from: key)
            } else {
                hash.update(key)
                hash.finish(into: block.baseAddress)
            }
            for index in block.indices { block[index] ^= 0x36 }
            hash.update(UnsafeRawBufferPointer(block))
            hash.update(message)
            let inner = hash.finish()
            for index in block.indices { block[index] ^= 0x36 ^ 0x5C }
            hash.update(UnsafeRawBufferPointer(block))
            hash.update(inner)
            return hash.finish()
        }
    }
}

/// HKDF with SHA-256 (RFC 5869): keys for different purposes from one secret.
public enum HKDF {
    /// Derives `count` bytes (at most 8,160) for the purpose `info` from `secret`.
    public static func derive(from secret: SecretBytes, salt: [UInt8] = [], info: [UInt8], count: Int) -> SecretBytes {
        precondition((1...255 * SHA256.byteCount).contains(count), "HKDF-SHA-256 gives 1 to 8,160 bytes")
        let pseudorandomKey = SecretBytes(
            secret.withUnsafeBytes { secret in
                salt.withUnsafeBytes { HMACSHA256.authenticationCode(for: secret, key: $0) }
            }
        )
        var output: [UInt8] = []
        defer { output.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        output.reserveCapacity(count + SHA256.byteCount)
        var block: [UInt8] = []
        var counter: UInt8 = 0
        while output.count < count {
            counter += 1
            block = HMACSHA256.authenticationCode(for: block + info + [counter], key: pseudorandomKey)
            output += block
        }
        return output.withUnsafeBytes { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
}
