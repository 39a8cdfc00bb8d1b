internal import Cryptography
internal import Licensing

/// Certificate chains that were looked at: paths are checked once, afterwards only their dates.
///
/// A value that the thread which verifies owns. It keeps 32 chains that verified and 32 that did not; of more, the one
/// unused for longest gives way. What failed is kept apart, so that no number of forgeries pushes a good one out.
///
/// What is kept follows from the certificates alone: dates are compared at each use, and which roots are pinned is asked
/// anew each time, since connections differ. Where we could not look, nothing is kept.
///
/// Forgeries that are met in practice are one and the same in many hands; they cost a digest. Whoever makes a new leaf for
/// each costs one signature each time: `CertificateChain.KnownIntermediates`.
public struct ChainCache: Sendable {
    /// The most chains of either kind that are kept.
    public static let limit = 32

    private var verified = RecentChains<CertificateChain>()
    private var failed = RecentChains<StoreRefusal>()
    private var intermediates = CertificateChain.KnownIntermediates()

    /// An empty cache.
    public init() {}

    /// How many chains that verified are kept.
    public var count: Int { verified.count }

    /// How many chains that failed are kept.
    public var failedCount: Int { failed.count }

    /// The chain of these certificates, whose root the caller has found among its pins.
    mutating func chain(_ certificates: Certificates) throws(StoreRefusal) -> CertificateChain {
        // A digest of each: the same bytes cut elsewhere are another chain, whose failure must not count for this one.
        let hash = SHA256()
        hash.update(SHA256.digest(of: certificates.leaf))
        hash.update(SHA256.digest(of: certificates.intermediate))
        hash.update(certificates.rootDigest.bytes)
        guard let name = Digest256(bytes: hash.finish()) else { throw .badChain }
        if let chain = verified.take(name) { return chain }
        if let refusal = failed.take(name) { throw refusal }
        do throws(StoreRefusal) {
            let chain = try verify(certificates)
            verified.keep(chain, as: name)
            return chain
        } catch {
            if error != .notChecked { failed.keep(error, as: name) }
            throw error
        }
    }

    private mutating func verify(_ certificates: Certificates) throws(StoreRefusal) -> CertificateChain {
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
                at: nil,
                known: &intermediates
            )
        } catch {
            throw StoreRefusal(error)
        }
    }
}

/// What was found out about chains, by their digests; the least recently used first.
private struct RecentChains<Finding: Sendable>: Sendable {
    private var entries: [(name: Digest256, finding: Finding)] = []

    var count: Int { entries.count }

    mutating func take(_ name: Digest256) -> Finding? {
        guard let index = entries.lastIndex(where: { $0.name == name }) else { return nil }
        let entry = entries.remove(at: index)
        entries.append(entry)
        return entry.finding
    }

    mutating func keep(_ finding: Finding, as name: Digest256) {
        if entries.count == ChainCache.limit { entries.removeFirst() }
        entries.append((name, finding))
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
        case .notChecked: self = .notChecked
        }
    }
}
