package import Cryptography
internal import Synchronization

/// A key as OpenSSL holds it, read once for all that it signs: reading it takes longer than a signature.
package final class OpenedSigner: Sendable {
    private let signer: Mutex<P256.Signer>

    package init(_ key: P256.SigningKey) throws {
        signer = Mutex(try P256.Signer.open(key))
    }

    package func sign(_ message: [UInt8]) throws -> [UInt8] {
        try signer.withLock { try $0.sign(message) }
    }
}
