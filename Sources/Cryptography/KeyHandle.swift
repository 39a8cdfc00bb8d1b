internal import COpenSSL

/// Sole owner of one `EVP_PKEY *`.
struct KeyHandle: ~Copyable {
    let pointer: OpaquePointer

    init(taking pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Reads a DER SubjectPublicKeyInfo (RFC 5280 §4.1) with nothing behind it; for a caller who watches for trouble.
    static func publicKey(spki: [UInt8]) throws(CryptographyError) -> KeyHandle {
        guard let key = parse(spki, with: { d2i_PUBKEY(nil, &$0, $1) }, free: EVP_PKEY_free) else {
            throw .malformedKey
        }
        return KeyHandle(taking: key)
    }

    /// Reads a DER PKCS#8 PrivateKeyInfo (RFC 5208 §5) with nothing behind it; for a caller who watches for trouble.
    static func privateKey(pkcs8: SecretBytes) throws(CryptographyError) -> KeyHandle {
        let info = pkcs8.withUnsafeBytes { bytes in
            parse(bytes, with: { d2i_PKCS8_PRIV_KEY_INFO(nil, &$0, $1) }, free: PKCS8_PRIV_KEY_INFO_free)
        }
        guard let info else { throw .malformedKey }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        guard let key = EVP_PKCS82PKEY(info) else { throw .malformedKey }
        return KeyHandle(taking: key)
    }

    borrowing func spki() throws(CryptographyError) -> [UInt8] {
        try encoded("encode a public key") { i2d_PUBKEY(pointer, &$0) }
    }

    borrowing func pkcs8() throws(CryptographyError) -> SecretBytes {
        guard let info = EVP_PKEY2PKCS8(pointer) else { throw .library("encode a private key") }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        var bytes = try encoded("encode a private key") { i2d_PKCS8_PRIV_KEY_INFO(info, &$0) }
        defer { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        return SecretBytes(bytes)
    }

    borrowing func isOnP256() -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        return EVP_PKEY_get_id(pointer) == EVP_PKEY_EC
            && EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1
            && name.prefix(while: { $0 != 0 }).elementsEqual("prime256v1".utf8.lazy.map { CChar(bitPattern: $0) })
    }
}

/// Reads one DER structure that is all of `bytes`; `nil` when it is not, or when something follows it.
func parse(
    _ bytes: UnsafeRawBufferPointer,
    with read: (inout UnsafePointer<UInt8>?, Int) -> OpaquePointer?,
    free: (OpaquePointer?) -> Void
) -> OpaquePointer? {
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    var position = start
    guard let start, let result = read(&position, bytes.count) else { return nil }
    guard position == start + bytes.count else {
        free(result)
        return nil
    }
    return result
}

func parse(
    _ bytes: [UInt8],
    with read: (inout UnsafePointer<UInt8>?, Int) -> OpaquePointer?,
    free: (OpaquePointer?) -> Void
) -> OpaquePointer? {
    bytes.withUnsafeBytes { parse($0, with: read, free: free) }
}

/// The DER that `write`, one of OpenSSL's `i2d_` functions, makes.
private func encoded(
    _ operation: String,
    _ write: (inout UnsafeMutablePointer<UInt8>?) -> CInt
) throws(CryptographyError) -> [UInt8] {
    // A null pointer asks the function to allocate.
    var output: UnsafeMutablePointer<UInt8>?
    let count = Int(write(&output))
    guard count > 0, let output else { throw .library(operation) }
    defer { CRYPTO_clear_free(output, count, #fileID, CInt(#line)) }
    return Array(UnsafeBufferPointer(start: output, count: count))
}
