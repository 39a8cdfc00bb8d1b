import COpenSSL
import Cryptography
import Testing

@Suite("Certificate chains") struct CertificateChainTests {
    typealias Plan = CertificateFactory.Plan

    /// Three certificates, of which each may differ from a good one, and what trusts them.
    struct Chain {
        var leaf: [UInt8]
        var intermediate: [UInt8]
        var root: [UInt8]

        static func fixture(
            leaf: Plan = .leaf,
            intermediate: Plan = .intermediate,
            root: Plan = .root,
            leafKey: CertificateFactory.KeyKind = .p256,
            leafSigner: Signer = .intermediate,
            intermediateSigner: Signer = .root
        ) throws -> Chain {
            let rootKey = try CertificateFactory(.p384)
            let intermediateKey = try CertificateFactory()
            let leafOwner = try CertificateFactory(leafKey)
            let stranger = try CertificateFactory()
            func sign(_ plan: Plan, _ owner: borrowing CertificateFactory, by signer: Signer) throws -> [UInt8] {
                switch signer {
                case .root: try owner.certificate(plan, signedBy: rootKey)
                case .intermediate: try owner.certificate(plan, signedBy: intermediateKey)
                case .stranger: try owner.certificate(plan, signedBy: stranger)
                }
            }
            return Chain(
                leaf: try sign(leaf, leafOwner, by: leafSigner),
                intermediate: try sign(intermediate, intermediateKey, by: intermediateSigner),
                root: try sign(root, rootKey, by: .root)
            )
        }

        enum Signer { case root, intermediate, stranger }

        func verify(
            at seconds: Int64? = 1_750_000_000,
            pins: Set<[UInt8]>? = nil
        ) throws(CertificateChain.Failure) -> CertificateChain {
            var known = CertificateChain.KnownIntermediates()
            return try verify(at: seconds, pins: pins, known: &known)
        }

        func verify(
            at seconds: Int64? = 1_750_000_000,
            pins: Set<[UInt8]>? = nil,
            known: inout CertificateChain.KnownIntermediates
        ) throws(CertificateChain.Failure) -> CertificateChain {
            try CertificateChain.verify(
                leaf: leaf,
                intermediate: intermediate,
                root: root,
                policy: CertificateChain.Policy(
                    rootDigests: pins ?? [SHA256.digest(of: root)],
                    leafMarker: "1.2.3.4.1",
                    intermediateMarker: "1.2.3.4.2"
                ),
                at: seconds,
                known: &known
            )
        }

        func failure(at seconds: Int64? = 1_750_000_000, pins: Set<[UInt8]>? = nil) -> CertificateChain.Failure? {
            do throws(CertificateChain.Failure) {
                _ = try verify(at: seconds, pins: pins)
                return nil
            } catch {
                return error
            }
        }

        var isBadChain: Bool {
            if case .badChain = failure() { return true }
            return false
        }
    }

    @Test("three good certificates give the leaf's key and the time in which all are valid")
    func good() throws {
        let chain = try Chain.fixture(
            intermediate: .intermediate.with { $0.notBefore = 1_710_000_000 },
            root: .root.with { $0.notAfter = 1_790_000_000 }
        )

        let verified = try chain.verify()

        #expect(verified.validFrom == 1_710_000_000)
        #expect(verified.validThrough == 1_790_000_000)
        #expect(chain.leaf.contains(verified.leafKey.spki))
    }

    @Test(
        "RFC 5280 §4.1.2.5: both ends of validity are inclusive",
        arguments: [
            (1_699_999_999, false), (1_700_000_000, true), (1_800_000_000, true), (1_800_000_001, false), (0, false),
            (-5_000_000_000, false), (Int64.max, false), (Int64.min, false),
        ] as [(Int64, Bool)]
    )
    func dates(seconds: Int64, isValid: Bool) throws {
        let chain = try Chain.fixture()

        #expect(chain.failure(at: seconds) == (isValid ? nil : .notValidAtDate))
        #expect(chain.failure(at: nil) == nil)
    }

    @Test("a validity that ends before it begins is never valid")
    func reversedValidity() throws {
        let chain = try Chain.fixture(leaf: .leaf.with { $0.notAfter = $0.notBefore - 1 })

        #expect(chain.failure(at: nil) == .notValidAtDate)
    }

    @Test("only a pinned root is trusted, byte for byte")
    func pins() throws {
        let chain = try Chain.fixture()
        let other = try Chain.fixture()

        #expect(chain.failure(pins: []) == .untrustedRoot)
        #expect(chain.failure(pins: [SHA256.digest(of: other.root)]) == .untrustedRoot)
        #expect(chain.failure(pins: [SHA256.digest(of: other.root), SHA256.digest(of: chain.root)]) == nil)
        let foreignRoot = Chain(leaf: chain.leaf, intermediate: chain.intermediate, root: other.root)
        #expect(foreignRoot.failure(pins: [SHA256.digest(of: chain.root)]) == .untrustedRoot)
        #expect(foreignRoot.isBadChain)
    }

    @Test("what is no certificate, or more than one, is told apart")
    func parsing() throws {
        let chain = try Chain.fixture()

        for damaged in [[], [0x30], Array(chain.leaf.dropLast()), Array(repeating: 0x30, count: 700)] as [[UInt8]] {
            let leaf = Chain(leaf: damaged, intermediate: chain.intermediate, root: chain.root)
            #expect(leaf.failure() == .notACertificate)
            let intermediate = Chain(leaf: chain.leaf, intermediate: damaged, root: chain.root)
            #expect(intermediate.failure() == .notACertificate)
            let root = Chain(leaf: chain.leaf, intermediate: chain.intermediate, root: damaged)
            #expect(root.failure() == .notACertificate)
        }
        let trailing = Chain(leaf: chain.leaf + [0], intermediate: chain.intermediate, root: chain.root)
        #expect(trailing.failure() == .trailingBytes)
        let trailingRoot = Chain(leaf: chain.leaf, intermediate: chain.intermediate, root: chain.root + [0])
        #expect(trailingRoot.failure() == .trailingBytes)
    }

    @Test("signatures of strangers, and steps left out, are no path")
    func path() throws {
        #expect(try Chain.fixture(leafSigner: .stranger).isBadChain)
        #expect(try Chain.fixture(intermediateSigner: .stranger).isBadChain)
        #expect(try Chain.fixture(leaf: .leaf.with { $0.issuer = "Root" }, leafSigner: .root).isBadChain)
        #expect(try Chain.fixture(leaf: .leaf.with { $0.issuer = "Other" }).isBadChain)
        let good = try Chain.fixture()
        #expect(Chain(leaf: good.intermediate, intermediate: good.leaf, root: good.root).isBadChain)
        #expect(Chain(leaf: good.leaf, intermediate: good.root, root: good.root).isBadChain)
        #expect(Chain(leaf: good.root, intermediate: good.intermediate, root: good.root).isBadChain)
    }

    @Test("intermediates that their root signed are known, and nothing else is; knowing them takes no chain")
    func knownIntermediates() throws {
        let good = try Chain.fixture()
        let others = try (0..<10).map { _ in try Chain.fixture() }
        var known = CertificateChain.KnownIntermediates()
        func isGood(_ chain: Chain) -> Bool { (try? chain.verify(known: &known)) != nil }

        #expect(!isGood(Chain(leaf: good.leaf, intermediate: others[0].intermediate, root: good.root)))
        #expect(try !isGood(Chain.fixture(intermediateSigner: .stranger)))
        #expect(known.count == 0)
        #expect(!isGood(Chain(leaf: others[0].leaf, intermediate: good.intermediate, root: good.root)))
        #expect(known.count == 0, "a leaf that names another issuer is asked for no signature")
        let forged = good.leaf.dropLast() + [(good.leaf.last ?? 0) ^ 1]
        #expect(!isGood(Chain(leaf: Array(forged), intermediate: good.intermediate, root: good.root)))
        #expect(known.count == 1)
        #expect(isGood(good))
        #expect(!isGood(Chain(leaf: others[0].leaf, intermediate: good.intermediate, root: good.root)))
        // Signed by its root, and no authority for all that.
        #expect(
            try !isGood(Chain.fixture(intermediate: Plan.intermediate.with { $0.extensions = Plan.leaf.extensions }))
        )
        #expect(others.allSatisfy(isGood))
        #expect(known.count == CertificateChain.KnownIntermediates.limit)
        #expect(isGood(good))
    }

    @Test("the intermediate is an authority, the leaf is none and may sign")
    func roles() throws {
        let notAnAuthority = Plan.intermediate.with { $0.extensions = Plan.leaf.extensions }
        #expect(try Chain.fixture(intermediate: notAnAuthority).isBadChain)
        let mayNotIssue = Plan.intermediate.with {
            $0.extensions = [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,cRLSign")]
        }
        #expect(try Chain.fixture(intermediate: mayNotIssue).isBadChain)
        #expect(try Chain.fixture(leaf: .leaf.with { $0.extensions = Plan.authority }).isBadChain)
        let mayNotSign = Plan.leaf.with {
            $0.extensions = [(NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,keyAgreement")]
        }
        #expect(try Chain.fixture(leaf: mayNotSign).isBadChain)
        #expect(try Chain.fixture(leaf: .leaf.with { $0.extensions = [] }).failure() == nil, "a leaf may say nothing")
    }

    @Test("a critical extension that nobody understands is refused")
    func criticalExtensions() throws {
        #expect(try Chain.fixture(leaf: .leaf.with { $0.criticalMarker = true }).isBadChain)
    }

    @Test(
        "each marker is asked for where it belongs",
        arguments: [
            ([], ["1.2.3.4.2"]), (["1.2.3.4.1"], []), (["1.2.3.4.2"], ["1.2.3.4.1"]), (["1.2.3.4.1.1"], ["1.2.3.4.2"]),
        ]
    )
    func markers(leaf: [String], intermediate: [String]) throws {
        let chain = try Chain.fixture(
            leaf: .leaf.with { $0.markers = leaf },
            intermediate: .intermediate.with { $0.markers = intermediate }
        )

        #expect(chain.failure() == .missingMarker)
    }

    @Test("the leaf's key is on P-256")
    func leafKey() throws {
        #expect(try Chain.fixture(leafKey: .p384).failure() == .leafKeyNotP256)
    }

    @Test("no changed byte of a leaf or intermediate passes")
    func changedBytes() throws {
        let chain = try Chain.fixture()

        for index in chain.leaf.indices where index % 3 == 0 {
            var changed = chain
            changed.leaf[index] ^= 0x40
            #expect(changed.failure() != nil, "byte \(index) of the leaf")
        }
        for index in chain.intermediate.indices where index % 3 == 0 {
            var changed = chain
            changed.intermediate[index] ^= 0x40
            #expect(changed.failure() != nil, "byte \(index) of the intermediate")
        }
    }
}

extension CertificateFactory.Plan {
    func with(_ change: (inout Self) -> Void) -> Self {
        var plan = self
        change(&plan)
        return plan
    }
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: part) }
    }
}
