import AppStore
import Cryptography
import Licensing
import StoreTestSupport
import Testing

@Suite("Signed data of the App Store is refused for the first thing that is wrong") struct RefusalTests {
    let store: TestStore

    init() throws { store = try TestStore.standard.get() }

    /// Opens a transaction in live mode under a production connection.
    private func reason(_ jws: [UInt8], of signer: TestStore? = nil, pinning: TestStore? = nil) throws -> StoreRefusal?
    {
        let connection = try (pinning ?? signer ?? store).connection()
        return open(jws, connection)
    }

    private func open(_ jws: [UInt8], _ connection: StoreConnection) -> StoreRefusal? {
        refusal { () throws(StoreRefusal) in
            var chains = ChainCache()
            return try SignedTransaction(jws, admittedBy: [connection], in: .live)
                .verified(at: TestStore.now, chains: &chains)
        }
    }

    @Test("a transaction as Apple signs them is taken, member by member")
    func genuine() throws {
        var chains = ChainCache()
        let jws = try store.sign(monthlyMembers().with("isUpgraded", true).with("revocationDate", nowMilliseconds))
        let transaction = try SignedTransaction(jws, admittedBy: [store.connection()], in: .live)
            .verified(at: TestStore.now, chains: &chains)

        #expect(transaction.transactionID == "2000000001")
        #expect(transaction.webOrderLineItemID == "3000000001")
        #expect(transaction.productID == "monthly")
        #expect(transaction.type == .autoRenewable)
        #expect(transaction.expiresAt == TestStore.now.adding(seconds: 20 * day))
        #expect(transaction.purchasedAt == TestStore.now.adding(seconds: -10 * day))
        #expect(transaction.revokedAt == TestStore.now)
        #expect(transaction.isUpgraded)
        #expect(transaction.signedMilliseconds == nowMilliseconds - hour * 1000)
        #expect(transaction.priceMilliunits == 19_990)
        #expect(transaction.currency == "USD")
    }

    @Test("65,536 bytes are read, one more is too large")
    func size() throws {
        #expect(try reason(Array(repeating: UInt8(ascii: "A"), count: 65_536)) == .malformedJWS)
        #expect(try reason(Array(repeating: UInt8(ascii: "A"), count: 65_537)) == .tooLarge)
    }

    @Test(
        "what is not three segments of strict base64url is malformed",
        arguments: [
            { $0 + ".AAAA" }, { $0 + "=" }, { $0 + "\n" }, { " " + $0 }, { $0.replacingFirst(".", with: "") },
            { _ in "" }, { _ in ".." }, { $0.replacingFirst("e", with: "+") },
        ] as [@Sendable (String) -> String]
    )
    func segments(_ damage: @Sendable (String) -> String) throws {
        let good = String(decoding: try store.sign(unlockMembers()), as: UTF8.self)
        #expect(try reason(Array(damage(good).utf8)) == .malformedJWS)
    }

    @Test(
        "a payload that is not one strict JSON object is malformed",
        arguments: [
            "[]", "1", "", "{", "{}{}", #"{"a":1,"a":2}"#, "\u{FEFF}{}", #"{"a":01}"#,
            #"{"a":"# + String(repeating: "[", count: 64) + String(repeating: "]", count: 64) + "}",
        ]
    )
    func payloadJSON(_ payload: String) throws {
        #expect(try reason(store.sign(payload)) == .malformedJWS)
    }

    @Test("only ES256, spelled so, is an algorithm", arguments: ["none", "HS256", "RS256", "ES384", "es256", ""])
    func algorithm(_ name: String) throws {
        let header = TestStore.header(store.chain, algorithm: name)
        #expect(try reason(store.sign(unlockMembers(), header: header)) == .unsupportedAlgorithm)
    }

    @Test(
        "crit and b64 are refused, whatever their value",
        arguments: [#""crit":["b64"],"#, #""b64":true,"#, #""crit":null,"#]
    )
    func extensions(_ member: String) throws {
        let header = TestStore.header(store.chain, more: member)
        #expect(try reason(store.sign(unlockMembers(), header: header)) == .unsupportedHeader)
    }

    @Test("kid, jwk, jku, x5u and typ are ignored")
    func ignoredHeaders() throws {
        let more = #""kid":"x","jwk":{"kty":"EC"},"jku":"https://k.invalid","x5u":"https://c.invalid","typ":"JWT","#
        #expect(try reason(store.sign(unlockMembers(), header: TestStore.header(store.chain, more: more))) == nil)
    }

    @Test("the chain has three certificates, no other number")
    func chainLength() throws {
        let chain = store.chain
        for wrong in [[], Array(chain[..<1]), Array(chain[..<2]), chain + [chain[2]]] {
            #expect(try reason(store.sign(unlockMembers(), header: TestStore.header(wrong))) == .badChainLength)
        }
        #expect(try reason(store.sign(unlockMembers(), header: #"{"alg":"ES256"}"#)) == .badChainLength)
        #expect(try reason(store.sign(unlockMembers(), header: #"{"alg":"ES256","x5c":"x"}"#)) == .malformedJWS)
    }

    @Test("a certificate is DER in standard base64 with nothing behind it")
    func certificates() throws {
        let chain = store.chain
        let trailing = TestStore.header([chain[0] + [0, 1], chain[1], chain[2]])
        #expect(try reason(store.sign(unlockMembers(), header: trailing)) == .badCertificate)
        let garbage = TestStore.header([[1, 2, 3], chain[1], chain[2]])
        #expect(try reason(store.sign(unlockMembers(), header: garbage)) == .badCertificate)
        let texts = chain.map { Base64.string($0) }
        let unpadded = #"{"alg":"ES256","x5c":["\#(texts[0])\n","\#(texts[1])","\#(texts[2])"]}"#
        #expect(try reason(store.sign(unlockMembers(), header: unpadded)) == .badCertificate)
        let number = #"{"alg":"ES256","x5c":[1,"\#(texts[1])","\#(texts[2])"]}"#
        #expect(try reason(store.sign(unlockMembers(), header: number)) == .badCertificate)
    }

    @Test("the root is a pinned one, byte for byte: not another of the same name and key")
    func root() throws {
        let other = try TestStore()
        #expect(try reason(other.sign(unlockMembers()), pinning: store) == .untrustedRoot)
        var twin = store
        twin.root = try CertificatePlan.root.certificate(spki: store.rootKey.publicKey.spki, issuerKey: store.rootKey)
        #expect(try reason(twin.sign(unlockMembers()), pinning: store) == .untrustedRoot)
    }

    @Test("a pinned root at the end is no path if it did not issue the intermediate")
    func path() throws {
        var ornament = try TestStore()
        ornament.root = store.root
        #expect(try reason(ornament.sign(unlockMembers()), of: ornament) == .badChain)

        let sealed = try TestStore(
            intermediate: .intermediate.with {
                $0.isAuthority = false; $0.usage = "digitalSignature"
            }
        )
        #expect(try reason(sealed.sign(unlockMembers()), of: sealed) == .badChain)
        let authority = try TestStore(
            leaf: .leaf.with {
                $0.isAuthority = true; $0.usage = "keyCertSign"
            }
        )
        #expect(try reason(authority.sign(unlockMembers()), of: authority) == .badChain)
        let header = TestStore.header([store.intermediate, store.leaf, store.root])
        #expect(try reason(store.sign(unlockMembers(), header: header)) == .badChain)
    }

    @Test("leaf and intermediate carry their own markers, whole")
    func markers() throws {
        let wrong: [TestStore] = [
            try TestStore(leaf: .leaf.with { $0.marker = nil }),
            try TestStore(leaf: .leaf.with { $0.marker = "1.2.840.113635.100.6.11.10" }),
            try TestStore(leaf: .leaf.with { $0.marker = "1.2.840.113635.100.6.2.1" }),
            try TestStore(intermediate: .intermediate.with { $0.marker = nil }),
        ]
        for signer in wrong { #expect(try reason(signer.sign(unlockMembers()), of: signer) == .missingMarker) }
    }

    @Test("certificates are judged at the moment of signing: over today is right, over then is wrong")
    func dates() throws {
        let signed = Int(TestStore.now.secondsSinceEpoch - hour)
        // Valid through the second of the signature, and not any more now.
        let over = try TestStore(leaf: .leaf.with { $0.notAfter = signed })
        #expect(try reason(over.sign(unlockMembers()), of: over) == nil)
        let tooLate = try TestStore(leaf: .leaf.with { $0.notAfter = signed - 1 })
        #expect(try reason(tooLate.sign(unlockMembers()), of: tooLate) == .certificateNotValidAtDate)
        let justBegun = try TestStore(leaf: .leaf.with { $0.notBefore = signed })
        #expect(try reason(justBegun.sign(unlockMembers()), of: justBegun) == nil)
        let tooEarly = try TestStore(leaf: .leaf.with { $0.notBefore = signed + 1 })
        #expect(try reason(tooEarly.sign(unlockMembers()), of: tooEarly) == .certificateNotValidAtDate)
        let intermediate = try TestStore(intermediate: .intermediate.with { $0.notAfter = signed - 1 })
        #expect(try reason(intermediate.sign(unlockMembers()), of: intermediate) == .certificateNotValidAtDate)
        // Seconds where milliseconds belong.
        let inSeconds = unlockMembers().with("signedDate", nowMilliseconds / 1000)
        #expect(try reason(store.sign(inSeconds)) == .certificateNotValidAtDate)
    }

    @Test("the signature is the leaf's over the bytes received, 64 bytes, on P-256")
    func signature() throws {
        let good = String(decoding: try store.sign(unlockMembers()), as: UTF8.self)
        let parts = good.split(separator: ".").map(String.init)
        let forged = Base64URL.string(Array(unlockMembers().with("productId", "tokens").json.utf8))
        #expect(try reason(Array("\(parts[0]).\(forged).\(parts[2])".utf8)) == .badSignature)
        let raw = try #require(Base64URL.decode(parts[2]))
        for wrong in [[], Array(raw.dropLast()), raw + [0], [UInt8](repeating: 0, count: 64)] {
            #expect(try reason(Array("\(parts[0]).\(parts[1]).\(Base64URL.string(wrong))".utf8)) == .badSignature)
        }
        #expect(try reason(store.sign(unlockMembers(), key: P256.SigningKey.generate())) == .badSignature)
        let p384 = try TestStore(leafSPKI: makeP384PublicKey())
        #expect(try reason(p384.sign(unlockMembers()), of: p384) == .badSignature)
    }

    @Test(
        "what a transaction must have is there, as text that is not empty or an integer",
        arguments: [
            "transactionId", "originalTransactionId", "productId", "bundleId", "environment", "type", "purchaseDate",
            "originalPurchaseDate", "signedDate", "expiresDate",
        ]
    )
    func required(_ name: String) throws {
        let isText = !name.hasSuffix("Date")
        #expect(try reason(store.sign(monthlyMembers().with(name, nil))) == .badPayload)
        #expect(try reason(store.sign(monthlyMembers().with(name, Raw("null")))) == .badPayload)
        #expect(try reason(store.sign(monthlyMembers().with(name, isText ? Raw("7") : Raw("\"7\"")))) == .badPayload)
        #expect(try reason(store.sign(monthlyMembers().with(name, isText ? Raw("\"\"") : Raw("1.5")))) == .badPayload)
    }

    @Test(
        "a known member of another JSON type is refused",
        arguments: [
            ("revocationDate", "\"1\""), ("isUpgraded", "1"), ("price", "4.99"), ("price", "9223372036854775808"),
            ("currency", "840"), ("webOrderLineItemId", "5"), ("appAccountToken", "{}"), ("quantity", "true"),
            ("offerIdentifier", "[]"), ("inAppOwnershipType", "0"), ("revocationReason", "\"0\""),
        ]
    )
    func types(_ name: String, _ value: String) throws {
        #expect(try reason(store.sign(unlockMembers().with(name, Raw(value)))) == .badPayload)
    }

    @Test("null is absent, and what does not exist yet changes nothing")
    func tolerance() throws {
        let members = unlockMembers().with("revocationDate", Raw("null")).with("isUpgraded", Raw("null"))
            .with("type", "Not Invented Yet").with("inAppOwnershipType", "NEITHER").with("newMember", Raw("[{},[]]"))
        #expect(try reason(store.sign(members)) == nil)
    }

    @Test(
        "bundle identifiers are compared byte for byte",
        arguments: ["com.example.other", "COM.EXAMPLE.EDITOR", "com.example.editor.pro"]
    )
    func bundle(_ bundleID: String) throws {
        #expect(try reason(store.sign(unlockMembers().with("bundleId", bundleID))) == .wrongBundle)
    }

    @Test(
        "another environment, known or not, is refused",
        arguments: ["Sandbox", "Xcode", "LocalTesting", "production", "Moon"]
    )
    func environment(_ name: String) throws {
        #expect(try reason(store.sign(unlockMembers().with("environment", name))) == .wrongEnvironment)
    }

    @Test("five minutes ahead of the clock are taken, a millisecond more is not")
    func clock() throws {
        let limit = nowMilliseconds + 300_000
        #expect(try reason(store.sign(unlockMembers().with("signedDate", limit))) == nil)
        #expect(try reason(store.sign(unlockMembers().with("signedDate", limit + 1))) == .signedInFuture)
        #expect(StoreRefusal.signedInFuture.wantsRetry)
    }

    @Test("no date, however far from the calendar, stops the program", arguments: [Int64.min, -1, 0, Int64.max])
    func extremes(_ date: Int64) throws {
        let members = monthlyMembers().with("expiresDate", date).with("purchaseDate", date).with("revocationDate", date)
        #expect(try reason(store.sign(members)) == nil)
        let signed = try reason(store.sign(members.with("signedDate", date)))
        #expect(signed == .certificateNotValidAtDate)
    }

    @Test("cheap reasons come before dear ones: a wrong bundle is told without asking the signature")
    func cheapFirst() throws {
        let forged = try store.sign(
            unlockMembers().with("bundleId", "com.example.other"),
            key: P256.SigningKey.generate()
        )
        let connection = try store.connection()
        let reason = refusal { () throws(StoreRefusal) in
            try SignedTransaction(forged, admittedBy: [connection], in: .live)
        }
        #expect(reason == .wrongBundle)
    }

    @Test("a chain is verified once, its dates each time, and 32 chains are kept")
    func cache() throws {
        var chains = ChainCache()
        let connection = try store.connection()
        func open(_ jws: [UInt8], _ connection: StoreConnection) -> StoreRefusal? {
            refusal { () throws(StoreRefusal) in
                try SignedTransaction(jws, admittedBy: [connection], in: .live)
                    .verified(at: TestStore.now, chains: &chains)
            }
        }
        #expect(open(try store.sign(unlockMembers()), connection) == nil)
        #expect(open(try store.sign(monthlyMembers()), connection) == nil)
        #expect(chains.count == 1)
        #expect(
            open(try store.sign(unlockMembers().with("signedDate", 1000)), connection) == .certificateNotValidAtDate
        )
        #expect(open(try store.sign(unlockMembers(), key: P256.SigningKey.generate()), connection) == .badSignature)

        // What does not verify is kept apart, a pin is asked each time.
        let unmarked = try TestStore(leaf: .leaf.with { $0.marker = nil }, under: store)
        #expect(open(try unmarked.sign(unlockMembers()), connection) == .missingMarker)
        #expect(chains.count == 1)
        #expect(open(try store.sign(unlockMembers()), try TestStore().connection()) == .untrustedRoot)

        for _ in 0..<40 {
            let sibling = try TestStore(under: store)
            #expect(open(try sibling.sign(unlockMembers()), connection) == nil)
        }
        #expect(chains.count == 32)
        #expect(open(try store.sign(unlockMembers()), connection) == nil)
    }

    @Test("chains that failed are remembered for what they are, 32 of them, and push no good one out")
    func failedChains() throws {
        var chains = ChainCache()
        let connection = try store.connection()
        func open(_ jws: [UInt8]) -> StoreRefusal? {
            refusal { () throws(StoreRefusal) in
                try SignedTransaction(jws, admittedBy: [connection], in: .live)
                    .verified(at: TestStore.now, chains: &chains)
            }
        }
        let stranger = try TestStore()
        let forged = try stranger.sign(
            unlockMembers(),
            header: TestStore.header([stranger.leaf, store.intermediate, store.root])
        )
        let unmarked = try TestStore(leaf: .leaf.with { $0.marker = nil }, under: store).sign(unlockMembers())

        for _ in 1...2 {
            #expect(open(forged) == .badChain)
            #expect(open(unmarked) == .missingMarker)
            #expect(open(try store.sign(unlockMembers())) == nil)
            #expect(chains.failedCount == 2)
            #expect(chains.count == 1)
        }
        // A date is the document's, not the chain's.
        #expect(open(try store.sign(unlockMembers().with("signedDate", 1000))) == .certificateNotValidAtDate)
        #expect(chains.failedCount == 2)

        for _ in 0..<40 {
            let leaf = try TestStore().leaf
            #expect(
                open(try store.sign(unlockMembers(), header: TestStore.header([leaf, store.intermediate, store.root])))
                    == .badChain
            )
        }
        #expect(chains.failedCount == 32)
        #expect(chains.count == 1)
        #expect(open(try store.sign(unlockMembers())) == nil)
    }

    @Test("a good chain whose bytes are cut elsewhere fails by itself alone")
    func cutElsewhere() throws {
        var chains = ChainCache()
        let connection = try store.connection()
        func open(_ jws: [UInt8]) -> StoreRefusal? {
            refusal { () throws(StoreRefusal) in
                try SignedTransaction(jws, admittedBy: [connection], in: .live)
                    .verified(at: TestStore.now, chains: &chains)
            }
        }
        let cut = [store.leaf + store.intermediate.prefix(9), Array(store.intermediate.dropFirst(9)), store.root]

        #expect(open(try store.sign(unlockMembers(), header: TestStore.header(cut))) == .badCertificate)
        #expect(open(try store.sign(unlockMembers())) == nil)
        #expect(open(try store.sign(unlockMembers(), header: TestStore.header(cut))) == .badCertificate)
    }
}

/// JSON text to be written as it is.
struct Raw: CustomStringConvertible {
    let description: String

    init(_ text: String) { description = text }
}

extension String {
    func replacingFirst(_ character: Character, with replacement: String) -> String {
        guard let index = firstIndex(of: character) else { return self }
        return String(self[..<index]) + replacement + String(self[self.index(after: index)...])
    }
}
