package import AppStore
package import Cryptography
package import Licensing

/// A store of our own: a root, an intermediate and a leaf like Apple's, which sign what a test wants signed.
package struct TestStore: Sendable {
    /// 2026-06-01T12:00:00Z.
    package static let now = Timestamp(secondsSinceEpoch: 1_780_315_200)
    package static let bundleID = "com.example.editor"
    package static let appAppleID: Int64 = 1_234_567_890

    package var root: [UInt8]
    package var rootKey: P256.SigningKey
    package var intermediate: [UInt8]
    package var intermediateKey: P256.SigningKey
    package var leaf: [UInt8]
    package let leafKey: P256.SigningKey
    private let signer: OpenedSigner

    package init(
        intermediate: CertificatePlan = .intermediate,
        leaf: CertificatePlan = .leaf,
        under parent: TestStore? = nil,
        leafSPKI: [UInt8]? = nil
    ) throws {
        rootKey = try parent?.rootKey ?? P256.SigningKey.generate()
        root = try parent?.root ?? CertificatePlan.root.certificate(spki: rootKey.publicKey.spki, issuerKey: rootKey)
        intermediateKey = try P256.SigningKey.generate()
        self.intermediate = try intermediate.certificate(spki: intermediateKey.publicKey.spki, issuerKey: rootKey)
        leafKey = try P256.SigningKey.generate()
        signer = try OpenedSigner(leafKey)
        self.leaf = try leaf.certificate(spki: leafSPKI ?? leafKey.publicKey.spki, issuerKey: intermediateKey)
    }

    /// One for all tests that need nothing special.
    package static let standard = Result { try TestStore() }

    package var chain: [[UInt8]] { [leaf, intermediate, root] }

    package static func header(_ chain: [[UInt8]], algorithm: String = "ES256", more: String = "") -> String {
        let certificates = chain.map { "\"\(Base64.string($0))\"" }.joined(separator: ",")
        return #"{"alg":"\#(algorithm)",\#(more)"x5c":[\#(certificates)]}"#
    }

    /// A compact JWS of `payload`.
    package func sign(_ payload: String, header: String? = nil, key: P256.SigningKey? = nil) throws -> [UInt8] {
        let header = Base64URL.encode(Array((header ?? Self.header(chain)).utf8))
        let signed = header + Array(".".utf8) + Base64URL.encode(Array(payload.utf8))
        let signature = try key.map { try P256.Signer.open($0).sign(signed) } ?? signer.sign(signed)
        return signed + Array(".".utf8) + Base64URL.encode(signature)
    }

    package func sign(_ payload: Members, header: String? = nil, key: P256.SigningKey? = nil) throws -> [UInt8] {
        try sign(payload.json, header: header, key: key)
    }

    /// A connection that pins this store's root and names the products of the tests.
    package func connection(
        _ environment: StoreEnvironment = .production,
        _ change: (inout StoreConnection) -> Void = { _ in }
    ) throws -> StoreConnection {
        var connection = try makeConnection(environment, change)
        connection.rootDigests = [try require(Digest256(bytes: SHA256.digest(of: root)))]
        return connection
    }
}

/// A connection for tests of rules, where nothing is signed.
package func makeConnection(
    _ environment: StoreEnvironment = .production,
    _ change: (inout StoreConnection) -> Void = { _ in }
) throws -> StoreConnection {
    let pro = try FeatureCode("pro")
    var connection = StoreConnection(
        id: StoreConnectionID(high: 1, low: 1),
        product: Identifier<Product>(high: 1, low: 2),
        environment: environment,
        bundleID: TestStore.bundleID,
        appAppleID: TestStore.appAppleID,
        renewalLeeway: .zero,
        products: ["unlock", "monthly", "yearly", "season", "tokens"].map { StoreProduct(id: $0, features: [pro]) }
    )
    change(&connection)
    return connection
}

/// The members of a JSON object, in order, each value as JSON text.
package struct Members: ExpressibleByDictionaryLiteral {
    private var members: [(name: String, value: String)]

    package init(dictionaryLiteral members: (String, any CustomStringConvertible)...) {
        self.members = members.map { ($0, Self.json($1)) }
    }

    private static func json(_ value: any CustomStringConvertible) -> String {
        if let text = value as? String { return "\"\(text)\"" }
        return value.description
    }

    package var json: String { "{" + members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}" }

    /// The same with one member set, or without it.
    package func with(_ name: String, _ value: (any CustomStringConvertible)?) -> Members {
        var copy = self
        copy.members.removeAll { $0.name == name }
        if let value { copy.members.append((name, Self.json(value))) }
        return copy
    }
}

package let day: Int64 = 86_400
package let hour: Int64 = 3600
package let nowMilliseconds = TestStore.now.secondsSinceEpoch * 1000

package func unlockMembers() -> Members {
    [
        "transactionId": "2000000001", "originalTransactionId": "2000000001", "bundleId": TestStore.bundleID,
        "productId": "unlock", "purchaseDate": nowMilliseconds - 10 * day * 1000,
        "originalPurchaseDate": nowMilliseconds - 10 * day * 1000, "quantity": 1, "type": "Non-Consumable",
        "inAppOwnershipType": "PURCHASED", "signedDate": nowMilliseconds - hour * 1000, "environment": "Production",
        "price": 19_990, "currency": "USD",
    ]
}

package func monthlyMembers() -> Members {
    unlockMembers().with("type", "Auto-Renewable Subscription").with("productId", "monthly")
        .with("webOrderLineItemId", "3000000001").with("expiresDate", nowMilliseconds + 20 * day * 1000)
}

package func renewalMembers() -> Members {
    [
        "originalTransactionId": "2000000001", "autoRenewProductId": "monthly", "productId": "monthly",
        "autoRenewStatus": 1, "signedDate": nowMilliseconds - hour * 1000, "environment": "Production",
    ]
}

/// The refusal that `body` throws, `nil` where it does not.
package func refusal<Value>(_ body: () throws(StoreRefusal) -> Value) -> StoreRefusal? {
    do throws(StoreRefusal) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
