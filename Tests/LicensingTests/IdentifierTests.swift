import Licensing
import Testing

@Suite("Identifiers") struct IdentifierTests {
    @Test("the time part is that of the ULID specification's example")
    func timePart() throws {
        // github.com/ulid/spec: ulid(1469918176385) begins with 01ARYZ6S41.
        let id = try License.ID(milliseconds: 1_469_918_176_385, entropy: FixedEntropy(pattern: [0]))

        #expect(id.text == "lic_01ARYZ6S410000000000000000")
    }

    @Test("all random bits are in the text and read back")
    func roundTrip() throws {
        for seed in 0..<500 as Range<UInt64> {
            let id = try Activation.ID(milliseconds: Int64(seed) * 7_919_000_003, entropy: CountingEntropy(seed: seed))

            #expect(id.text.utf8.count == 30)
            #expect(Activation.ID(id.text) == id)
        }
        let all = try License.ID(milliseconds: 0xFFFF_FFFF_FFFF, entropy: FixedEntropy(pattern: [0xFF]))
        #expect(all.text == "lic_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
        #expect(License.ID(all.text) == all)
    }

    @Test(
        "anything but the strict form is none",
        arguments: [
            "", "lic_", "01ARYZ6S410000000000000000", "act_01ARYZ6S410000000000000000", "lic_01ARYZ6S41000000000000000",
            "lic_01ARYZ6S4100000000000000000", "lic_01aryz6s410000000000000000", "lic_81ARYZ6S410000000000000000",
            "lic_01ARYZ6S41000000000000000I", "lic_01ARYZ6S41000000000000000U", " lic_01ARYZ6S410000000000000000",
            "LIC_01ARYZ6S410000000000000000", "lic_01ARYZ6S41000000000000000é",
        ]
    )
    func refusal(text: String) {
        #expect(License.ID(text) == nil)
    }

    @Test("the order is that of the text")
    func order() throws {
        let older = try License.ID(milliseconds: 1, entropy: FixedEntropy(pattern: [0xFF]))
        let newer = try License.ID(milliseconds: 2, entropy: FixedEntropy(pattern: [0]))

        #expect(older < newer)
        #expect(older.text < newer.text)
    }

    @Test("an identifier made at a moment has its milliseconds, and a wild moment does not trap")
    func moment() throws {
        let entropy = FixedEntropy(pattern: [9])

        #expect(try License.ID(at: .noon, entropy: entropy).high >> 16 == 1_800_000_000_000)
        #expect(try License.ID(at: Timestamp(secondsSinceEpoch: .min), entropy: entropy).high >> 16 == 0)
        _ = try License.ID(at: Timestamp(secondsSinceEpoch: .max), entropy: entropy)
    }

    @Test("every kind of thing has a prefix of its own")
    func prefixes() {
        let prefixes = [
            Vendor.identifierPrefix, Product.identifierPrefix, Plan.identifierPrefix, License.identifierPrefix,
            Activation.identifierPrefix, Install.identifierPrefix, Customer.identifierPrefix,
            PurchaseEntity.identifierPrefix, GiftEntity.identifierPrefix, TrialEntity.identifierPrefix,
            StoreConnectionEntity.identifierPrefix, CredentialEntity.identifierPrefix,
            SigningKeyEntity.identifierPrefix,
            MeterEntity.identifierPrefix, OfferEntity.identifierPrefix, SpendTierEntity.identifierPrefix,
        ]

        #expect(Set(prefixes).count == prefixes.count)
        #expect(prefixes.allSatisfy { $0.count == 4 && $0.hasSuffix("_") })
    }
}

@Suite("Digests") struct DigestTests {
    @Test("32 bytes go in and come out, any other number does not")
    func bytes() throws {
        let bytes = (0..<32).map { UInt8($0 * 7) }

        #expect(try #require(Digest256(bytes: bytes)).bytes == bytes)
        #expect(Digest256(bytes: Array(bytes.dropLast())) == nil)
        #expect(Digest256(bytes: bytes + [0]) == nil)
        #expect(Digest256(bytes: []) == nil)
    }
}

@Suite("Names") struct NameTests {
    @Test("slugs", arguments: ["a", "0", "acme", "a-b_c9", String(repeating: "a", count: 63)])
    func slug(text: String) throws {
        #expect(try Slug(text).text == text)
    }

    @Test(
        "what is no slug",
        arguments: ["", "-a", "_a", "A", "a.b", "a b", "ä", "a/b", String(repeating: "a", count: 64), "a\n"]
    )
    func noSlug(text: String) {
        #expect(throws: ValueFault.self) { try Slug(text) }
    }

    @Test("codes of features and plans take a dot", arguments: ["a", "a.b-c_d", String(repeating: "9", count: 64)])
    func code(text: String) throws {
        #expect(try FeatureCode(text).text == text)
        #expect(try PlanCode(text).text == text)
    }

    @Test("what is no code", arguments: ["", ".a", "-", "Pro", "a:b", String(repeating: "9", count: 65)])
    func noCode(text: String) {
        #expect(throws: ValueFault.self) { try FeatureCode(text) }
        #expect(throws: ValueFault.self) { try PlanCode(text) }
    }

    @Test("key prefixes", arguments: ["CS", "ACME", "A1B2C3D4", "TESTER", "TES"])
    func prefix(text: String) throws {
        #expect(try KeyPrefix(text).text == text)
    }

    @Test("what is no key prefix", arguments: ["", "A", "ABCDEFGHI", "acme", "A-B", "TEST", "MYTEST", "ÄB"])
    func noPrefix(text: String) {
        #expect(throws: ValueFault.self) { try KeyPrefix(text) }
    }

    @Test("what a device tells is cut to 128 scalars, and empty is not told")
    func device() {
        let long = String(repeating: "é", count: 200)
        let pile = "e" + String(repeating: "\u{301}", count: 500)
        let device = DeviceInfo(name: long, platform: "", model: pile)

        #expect(device.name == String(repeating: "é", count: 128))
        #expect(device.platform == nil)
        #expect(device.model?.unicodeScalars.count == 128)
    }

    @Test("news about a device replace what they name and nothing else")
    func deviceNews() {
        let old = DeviceInfo(name: "Old", platform: "macos")

        let updated = old.updated(by: DeviceInfo(name: "New", appVersion: "2.0"))

        #expect(updated == DeviceInfo(name: "New", platform: "macos", appVersion: "2.0"))
    }
}
