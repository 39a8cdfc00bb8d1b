internal import Cryptography
internal import Licensing

/// Certificate chains that verified: paths are checked once, afterwards only their dates.
///
/// A value that the thread which verifies owns. It keeps 32 chains; of more, the one unused for longest gives way.
/// Which roots are pinned is asked anew each time, since connections differ.
public struct ChainCache: Sendable {
    /// The most chains that are kept.
    public static let limit = 32

    /// Least recently used first.
    private var entries: [(name: Digest256, chain: CertificateChain)] = []

    /// An empty cache.
    public init() {}

    /// How many chains are kept.
    public var count: Int { entries.count }

    /// The chain of these certificates, whose root the caller has found among its pins.
    mutating func chain(_ certificates: Certificates) throws(StoreRefusal) -> CertificateChain {
        let hash = SHA256()
        hash.update(certificates.leaf)
        hash.update(certificates.intermediate)
        hash.update(certificates.root)
        guard let name = Digest256(bytes: hash.finish()) else { throw .badChain }
        if let index = entries.lastIndex(where: { $0.name == name }) {
            let entry = entries.remove(at: index)
            entries.append(entry)
            return entry.chain
        }
        let chain = try verify(certificates)
        if entries.count == Self.limit { entries.removeFirst() }
        entries.append((name, chain))
        return chain
    }

    private func verify(_ certificates: Certificates) throws(StoreRefusal) -> CertificateChain {
        let policy = CertificateChain.Policy(
            rootDigests: [certificates.rootDigest.bytes],
            leafMarker: "1.2.840.113635.100.6.11.1",
            intermediateMarker: "1.2.840.113635.100.6.2.1"
        )
        do throws(CertificateChain.Failure) {
            return try CertificateChain.verify(
                leaf: certificates.leaf,
                intermediate: certificates.intermediate,
                root: certificates.root,
                policy: policy,
                at: nil
            )
        } catch {
            throw StoreRefusal(error)
        }
    }
}

/// The three certificates of an `x5c`, as DER.
struct Certificates: Hashable, Sendable {
    let leaf: [UInt8]
    let intermediate: [UInt8]
    let root: [UInt8]
    let rootDigest: Digest256
}

extension StoreRefusal {
    fileprivate init(_ failure: CertificateChain.Failure) {
        switch failure {
        case .notACertificate, .trailingBytes: self = .badCertificate
        case .untrustedRoot: self = .untrustedRoot
        case .badChain: self = .badChain
        case .notValidAtDate: self = .certificateNotValidAtDate
        case .missingMarker: self = .missingMarker
        // `ES256` is P-256 by definition (RFC 7518 §3.4): no other key can have made such a signature.
        case .leafKeyNotP256: self = .badSignature
        }
    }
}
