import AppStore
import Cryptography
import FuzzSupport
import Licensing

private let now = Timestamp(secondsSinceEpoch: TestRoot.second)

private let connection: StoreConnection = {
    guard let digest = Digest256(bytes: SHA256.digest(of: Signing.root)) else { preconditionFailure("no digest") }
    return StoreConnection(
        id: StoreConnectionID(high: 1, low: 1),
        product: Identifier(high: 1, low: 1),
        environment: .production,
        bundleID: "com.example.editor",
        appAppleID: 1_234_567_890,
        rootDigests: [digest]
    )
}()

private let header: [UInt8] = {
    let chain = [Signing.leaf, Signing.intermediate, Signing.root].map { "\"\(Base64.string($0))\"" }
    return Array(#"{"alg":"ES256","x5c":[\#(chain.joined(separator: ","))]}"#.utf8)
}()

private let genuineTransaction = transaction(Array(TestRoot.transaction.utf8))

/// Nothing that the pinned root did not vouch for is ever taken for genuine, and what is, is of this app.
///
/// Input that begins with `{` is a payload, which is signed first; behind line feeds it may have a transaction and renewal
/// information, which are signed and put where it says `@1` and `@2`. After `[` comes a header, signed over a payload that
/// is good. Anything else is a JWS as it comes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = input(start, count)
    switch bytes.first {
    case UInt8(ascii: "{"): payloads(bytes)
    case UInt8(ascii: "["):
        let parts = TestRoot.transaction.utf8.split(separator: UInt8(ascii: "."))
        guard parts.count == 3, let payload = Base64URL.decode(Array(parts[1])) else { return 0 }
        let token = Signing.jws(header: Array(bytes.dropFirst()), payload: payload)
        guard let read = transaction(token) else { return 0 }
        expect(read == genuineTransaction, "a header changes what a transaction says")
    default: raw(bytes)
    }
    return 0
}

private func raw(_ bytes: [UInt8]) {
    expect(genuineTransaction != nil, "the fuzzer's own transaction is not accepted")
    if let read = transaction(bytes) {
        expect(isSigned(bytes, TestRoot.transaction), "a forgery was accepted")
        expect(read == genuineTransaction, "a transaction says something else")
    }
    if notification(bytes) != nil { expect(isSigned(bytes, TestRoot.notification), "a forgery was accepted") }
    expect(appTransaction(bytes) == nil, "a forgery was accepted")
}

private func isSigned(_ token: [UInt8], _ genuine: String) -> Bool {
    Signing.signedPart(of: token).elementsEqual(Signing.signedPart(of: Array(genuine.utf8)))
}

private func payloads(_ bytes: [UInt8]) {
    var parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2).map(Array.init)
    for place in parts.indices.dropFirst() {
        let token = Signing.jws(header: header, payload: parts[place])
        let mark = [UInt8(ascii: "@"), UInt8(ascii: "0") + UInt8(place)]
        parts[0] = replaced(mark, by: token, in: parts[0])
    }
    let token = Signing.jws(header: header, payload: parts[0])
    if let read = transaction(token) {
        expect(read.bundleID == connection.bundleID && read.environment == .production, "a stranger's transaction")
        expect(!read.transactionID.isEmpty && !read.originalTransactionID.isEmpty, "a transaction has no name")
        expect(isPast(read.signedMilliseconds), "a transaction of the future")
        expect(read.type != .autoRenewable || read.expiresAt != nil, "a subscription for ever")
        expect(!read.purchaseKey.text.isEmpty, "a purchase has no key")
        spoil(token)
    }
    if let read = appTransaction(token) {
        expect(read.bundleID == connection.bundleID && read.environment == .production, "a stranger's app")
        expect(isPast(read.signedMilliseconds), "an app transaction of the future")
    }
    if let read = notification(token) {
        expect(isPast(read.signedMilliseconds), "a notification of the future")
        expect(!read.uuid.isEmpty, "a notification has no name")
        if let nested = read.transaction {
            let isOurs = nested.bundleID == connection.bundleID && nested.environment == .production
            expect(isOurs, "a stranger's transaction in a notification")
        }
        if let nested = read.renewal { expect(nested.environment == .production, "a stranger's renewal") }
    }
}

private func isPast(_ milliseconds: Int64) -> Bool { milliseconds <= (now.secondsSinceEpoch + 300) * 1000 }

/// One changed bit, at a place that follows from the document, and it is not accepted.
private func spoil(_ token: [UInt8]) {
    var random = InputRandom(token)
    var other = token
    let place = Int.random(in: other.indices, using: &random)
    other[place] ^= 1 << UInt8.random(in: 0...6, using: &random)
    expect(transaction(other) == nil, "a changed transaction was accepted")
}

private func transaction(_ jws: [UInt8]) -> StoreTransaction? {
    var chains = ChainCache()
    guard let admitted = try? SignedTransaction(jws, admittedBy: [connection], in: .live) else { return nil }
    return try? admitted.verified(at: now, chains: &chains)
}

private func appTransaction(_ jws: [UInt8]) -> AppTransaction? {
    var chains = ChainCache()
    guard let admitted = try? SignedAppTransaction(jws, admittedBy: [connection], in: .live) else { return nil }
    return try? admitted.verified(at: now, chains: &chains)
}

private func notification(_ jws: [UInt8]) -> StoreNotification? {
    var chains = ChainCache()
    guard let admitted = try? SignedNotification(jws, for: connection) else { return nil }
    return try? admitted.verified(at: now, chains: &chains)
}

private func replaced(_ mark: [UInt8], by text: [UInt8], in bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    var isOpen = true
    while index < bytes.count {
        // Once: a payload full of marks would grow beyond every limit.
        if isOpen, bytes[index...].starts(with: mark) {
            result += text
            index += mark.count
            isOpen = false
        } else {
            result.append(bytes[index])
            index += 1
        }
    }
    return result
}
