import AppStore
import Licensing

private let connection = StoreConnection(
    id: StoreConnectionID(high: 1, low: 1),
    product: Identifier(high: 1, low: 1),
    environment: .production,
    bundleID: "com.example.app",
    appAppleID: 1
)

/// Nothing that Apple's root did not vouch for is ever taken for genuine: forms, headers, chains and payloads.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    var chains = ChainCache()
    if let admitted = try? SignedTransaction(bytes, admittedBy: [connection], in: .live) {
        precondition((try? admitted.verified(at: now, chains: &chains)) == nil, "a forgery was accepted")
    }
    if let admitted = try? SignedNotification(bytes, for: connection) {
        precondition((try? admitted.verified(at: now, chains: &chains)) == nil, "a forgery was accepted")
    }
    return 0
}
