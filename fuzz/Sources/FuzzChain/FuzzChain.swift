import Cryptography
import FuzzSupport

private let policy = CertificateChain.Policy(
    rootDigests: [SHA256.digest(of: Signing.root)],
    leafMarker: "1.2.840.113635.100.6.11.1",
    intermediateMarker: "1.2.840.113635.100.6.2.1"
)
private let leafMarker: [UInt8] = [0x06, 0x0A, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01]
private let intermediateMarker: [UInt8] = [0x06, 0x0A, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x02, 0x01]

private let genuine: CertificateChain = {
    guard let chain = verified(Signing.leaf, Signing.intermediate, Signing.root) else {
        preconditionFailure("the fuzzer's own chain is not accepted")
    }
    return chain
}()

/// No chain is accepted but one from the pinned root, signed all the way, with both markers; and it says when it is valid.
///
/// After `C` come three certificates, after `T` what is signed in a leaf and in an intermediate, which the root and the
/// intermediate then do sign: so all that OpenSSL reads of extensions and names is reached. Each part has its length in
/// two bytes before it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    let parts = parts(of: bytes.dropFirst())
    switch bytes.first {
    case UInt8(ascii: "C"):
        guard let chain = verified(parts[0], parts[1], parts[2]) else { return 0 }
        expect(parts[2] == Signing.root, "a chain has another root")
        expect(chain == genuine, "a chain that nobody signed was accepted")
    case UInt8(ascii: "T"):
        let intermediate = Signing.certificate(parts[1], by: Signing.rootKey)
        let leaf = Signing.certificate(parts[0], by: Signing.intermediateKey)
        check(leaf, intermediate)
        // A leaf that is good under an intermediate that is, too: each alone gets further than both.
        check(leaf, Signing.intermediate)
        check(Signing.leaf, intermediate)
        expect(verified(leaf, Signing.intermediate, Signing.leaf) == nil, "a leaf passes for a root")
        let selfMade = Signing.certificate(parts[0], by: Signing.leafKey)
        expect(verified(selfMade, Signing.intermediate, Signing.root) == nil, "a leaf signed by a leaf was accepted")
    default: break
    }
    return 0
}

private func verified(
    _ leaf: [UInt8],
    _ intermediate: [UInt8],
    _ root: [UInt8],
    at seconds: Int64? = nil
) -> CertificateChain? {
    var known = CertificateChain.KnownIntermediates()
    return try? CertificateChain.verify(
        leaf: leaf,
        intermediate: intermediate,
        root: root,
        policy: policy,
        at: seconds,
        known: &known
    )
}

private func check(_ leaf: [UInt8], _ intermediate: [UInt8]) {
    guard let chain = verified(leaf, intermediate, Signing.root) else { return }
    expect(contains(leaf, leafMarker), "a leaf without its marker was accepted")
    expect(contains(intermediate, intermediateMarker), "an intermediate without its marker was accepted")
    let isEver = chain.validFrom <= chain.validThrough
    let isValid = { (seconds: Int64) in verified(leaf, intermediate, Signing.root, at: seconds) != nil }
    expect(isValid(chain.validFrom) == isEver, "a chain is not valid in its first second")
    expect(isValid(chain.validThrough) == isEver, "a chain is not valid in its last second")
    expect(!isValid(chain.validFrom - 1), "a chain is valid before its first second")
    expect(!isValid(chain.validThrough + 1), "a chain is valid after its last second")
    var other = leaf
    other[other.count - 1] ^= 1
    expect(verified(other, intermediate, Signing.root) == nil, "a leaf with another signature was accepted")
    expect(verified(leaf + [0], intermediate, Signing.root) == nil, "a leaf with a byte more was accepted")
}

private func contains(_ bytes: [UInt8], _ piece: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: piece) }
}

/// Three parts, of which later ones may be empty.
private func parts(of bytes: ArraySlice<UInt8>) -> [[UInt8]] {
    var rest = bytes
    var parts: [[UInt8]] = []
    while parts.count < 3 {
        guard let high = rest.popFirst(), let low = rest.popFirst() else {
            parts.append([])
            continue
        }
        let part = rest.prefix(Int(high) << 8 | Int(low))
        rest = rest.dropFirst(part.count)
        parts.append(Array(part))
    }
    return parts
}
