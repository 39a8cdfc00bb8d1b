import Bundles
import Cryptography
import Licensing

private let verifier: BundleVerifier? = {
    guard let key = try? P256.SigningKey.generate() else { return nil }
    return BundleVerifier(
        pinnedKeys: [key.publicKey],
        issuer: "countersign:acme",
        audience: "editor",
        mode: .live
    )
}()

/// Nothing that the pinned key did not sign is ever accepted.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let verifier else { preconditionFailure("no key to verify with") }
    let context = BundleVerifier.Context(accepted: nil, clock: .earliest, floor: nil, requestNonce: nil)
    precondition((try? verifier.verify(bytes, subject: "", context: context)) == nil, "a forgery was accepted")
    precondition((try? verifier.verifyConfiguration(bytes)) == nil, "a forgery was accepted")
    return 0
}
