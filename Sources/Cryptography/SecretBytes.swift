internal import COpenSSL

/// Key material: copied in once, wiped when the last owner lets go, and never printed.
public struct SecretBytes: Sendable {
    /// The one place where the bytes lie.
    private final class Storage: Sendable {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        deinit {
            // Nobody else can see this array: it was made by `init(copying:)` and is never handed out, so that writing
            // to it behind Swift's back is writing to memory about to be freed.
            bytes.withUnsafeBytes { bytes in
                OPENSSL_cleanse(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
            }
        }
    }

    private let storage: Storage

    /// How many bytes there are.
    public var count: Int { storage.bytes.count }

    /// Copies `bytes`; the caller answers for wiping its own.
    public init(copying bytes: UnsafeRawBufferPointer) {
        storage = Storage(
            Array(unsafeUninitializedCapacity: bytes.count) { buffer, count in
                UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
                count = bytes.count
            }
        )
    }

    /// Copies `bytes`; the caller's array is not wiped.
    public init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { SecretBytes(copying: $0) } }

    /// `count` fresh random bytes.
    public static func random(count: Int) throws(CryptographyError) -> SecretBytes {
        var bytes = try SystemEntropy().bytes(count)
        defer { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        return SecretBytes(bytes)
    }

    /// Lends the bytes; the pointer must not outlive `body`.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(UnsafeRawBufferPointer(bytes))
        }
    }

    /// A copy as an array, which nothing wipes: for sealing and for the little that has to be written out.
    public func copy() -> [UInt8] { withUnsafeBytes { Array($0) } }
}

extension SecretBytes: Equatable {
    /// Whether both hold the same bytes, in time that depends on their number alone.
    public static func == (one: SecretBytes, other: SecretBytes) -> Bool {
        one.withUnsafeBytes { one in other.withUnsafeBytes { constantTimeEqual(one, $0) } }
    }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The same words for every secret.
    public var description: String { "(secret)" }

    /// The same words for every secret.
    public var debugDescription: String { "(secret)" }

    /// No children, so that `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Whether two runs of bytes are equal; a difference takes as long to find wherever it is. Lengths are no secret.
public func constantTimeEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.withUnsafeBytes { one in other.withUnsafeBytes { constantTimeEqual(one, $0) } }
}

func constantTimeEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
    one.count == other.count && (one.isEmpty || CRYPTO_memcmp(one.baseAddress, other.baseAddress, one.count) == 0)
}

/// Randomness for keys and identifiers, from OpenSSL's generator, which the kernel seeds.
public struct SystemEntropy: Sendable {
    /// Makes a source; all share the generator.
    public init() {}

    /// `count` fresh random bytes.
    public func bytes(_ count: Int) throws(CryptographyError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes_ex(nil, &bytes, count, 0) == 1 else { throw .library("draw random bytes") }
        return bytes
    }
}
