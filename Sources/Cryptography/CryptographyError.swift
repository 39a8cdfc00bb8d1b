internal import COpenSSL

/// What can go wrong between this target and OpenSSL; never carries key material.
public enum CryptographyError: Error, Hashable, Sendable {
    /// Key bytes that are not exactly one DER structure of the wanted kind, or have something behind it.
    case malformedKey
    /// A key of another algorithm, on another curve, or not in the one encoding taken.
    case unsupportedKey
    /// A private key that does not belong to the public key stored with it.
    case mismatchedKey
    /// A sealed value that was changed, cut, or sealed under another key or other associated data.
    case authenticationFailed
    /// OpenSSL refused what should have worked: no memory, no randomness, no such algorithm.
    case library(operation: String, reason: String)
}

extension CryptographyError {
    /// The failure of `operation`, with OpenSSL's first words about it; empties this thread's error queue.
    static func library(_ operation: String) -> CryptographyError {
        let code = ERR_get_error()
        ERR_clear_error()
        let reason = code == 0 ? nil : ERR_reason_error_string(code)
        return .library(operation: operation, reason: reason.map { String(cString: $0) } ?? "no reason given")
    }

    /// `error`, after emptying this thread's error queue, in which OpenSSL left why.
    static func clearing(_ error: CryptographyError) -> CryptographyError {
        ERR_clear_error()
        return error
    }
}

extension CryptographyError: CustomStringConvertible {
    /// One line for a log.
    public var description: String {
        switch self {
        case .malformedKey: "the key is not one whole DER structure"
        case .unsupportedKey: "the key is not of the supported kind and encoding"
        case .mismatchedKey: "the private key does not belong to its public key"
        case .authenticationFailed: "the sealed value does not open with this key and place"
        case .library(let operation, let reason): "OpenSSL could not \(operation): \(reason)"
        }
    }
}
