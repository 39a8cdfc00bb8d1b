import Cryptography
import Testing

@Suite("P-256 keys") struct P256KeyTests {
    @Test("RFC 6979 §A.2.5: the public key follows from the private one")
    func derivation() throws {
        let key = try P256.SigningKey(pkcs8: RFC6979.pkcs8)

        #expect(Base64URL.decode(key.publicKey.x) == RFC6979.x)
        #expect(Base64URL.decode(key.publicKey.y) == RFC6979.y)
    }

    @Test("a key comes back from its own PKCS#8, SPKI and JWK")
    func roundTrip() throws {
        let key = try P256.SigningKey.generate()

        let again = try P256.SigningKey(pkcs8: key.pkcs8)
        let publicKey = try P256.PublicKey(spki: key.publicKey.spki)
        let fromJWK = try P256.PublicKey(x: publicKey.x, y: publicKey.y)

        #expect(again.pkcs8 == key.pkcs8)
        #expect(again.publicKey == key.publicKey)
        #expect(publicKey == key.publicKey)
        #expect(fromJWK == key.publicKey)
        #expect(publicKey.spki.count == 91)
        #expect(try P256.SigningKey.generate().publicKey != publicKey)
    }

    @Test("RFC 9449 §6.1: a key's name is its RFC 7638 thumbprint")
    func thumbprint() throws {
        let key = try P256.PublicKey(
            x: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"
        )

        #expect(key.keyID.text == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        #expect(KeyID(key.keyID.text) == key.keyID)
    }

    @Test(
        "a key's name is strict base64url of 32 bytes",
        arguments: [
            "", "abc", String(repeating: "A", count: 42), String(repeating: "A", count: 44),
            String(repeating: "A", count: 42) + "B", String(repeating: "A", count: 43) + "=",
        ]
    )
    func keyNames(text: String) {
        #expect(KeyID(text) == nil)
    }

    @Test(
        "private keys of other curves, of explicit curves, and pairs that do not match are refused",
        arguments: [
            (ForeignKeys.p384PKCS8, .unsupportedKey), (ForeignKeys.secp256k1PKCS8, .unsupportedKey),
            (ForeignKeys.ed25519PKCS8, .unsupportedKey), (ForeignKeys.explicitPKCS8, .unsupportedKey),
            (ForeignKeys.mismatchedPKCS8, .mismatchedKey), ([], .malformedKey), ([0x30, 0x00], .malformedKey),
            (ForeignKeys.p384SPKI, .malformedKey),
        ] as [([UInt8], CryptographyError)]
    )
    func foreignPrivateKeys(der: [UInt8], error: CryptographyError) {
        #expect(throws: error) { try P256.SigningKey(pkcs8: SecretBytes(der)) }
    }

    @Test("a private key with a byte more or less is refused")
    func privateKeyLength() throws {
        let der = RFC6979.pkcs8.copy()

        #expect(throws: CryptographyError.malformedKey) { try P256.SigningKey(pkcs8: SecretBytes(der + [0])) }
        for count in 0..<der.count {
            #expect(throws: CryptographyError.self) { try P256.SigningKey(pkcs8: SecretBytes(Array(der[..<count]))) }
        }
    }

    @Test(
        "public keys of other curves and in other encodings are refused",
        arguments: [
            ForeignKeys.p384SPKI, ForeignKeys.secp256k1SPKI, ForeignKeys.ed25519SPKI, ForeignKeys.compressedSPKI,
            ForeignKeys.explicitSPKI, [],
        ]
    )
    func foreignPublicKeys(der: [UInt8]) {
        #expect(throws: CryptographyError.unsupportedKey) { try P256.PublicKey(spki: der) }
    }

    @Test("no bit of a public key can be changed to give another key in the same encoding but on the curve")
    func changedPublicKey() throws {
        let spki = try RFC6979.publicKey().spki

        for index in spki.indices {
            for bit in 0..<8 {
                var changed = spki
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: CryptographyError.self) { try P256.PublicKey(spki: changed) }
            }
        }
        #expect(throws: CryptographyError.unsupportedKey) { try P256.PublicKey(spki: spki + [0]) }
        #expect(throws: CryptographyError.malformedKey) {
            try P256.PublicKey(x: Base64URL.string(RFC6979.x), y: Base64URL.string(RFC6979.x))
        }
        #expect(throws: CryptographyError.malformedKey) {
            try P256.PublicKey(x: Base64URL.string([0] + RFC6979.x), y: Base64URL.string(RFC6979.y))
        }
    }
}

@Suite("ES256 signatures") struct P256SignatureTests {
    @Test(
        "RFC 6979 §A.2.5: published signatures verify",
        arguments: [("sample", RFC6979.sampleSignature), ("test", RFC6979.testSignature)]
    )
    func publishedSignatures(message: String, signature: [UInt8]) throws {
        let key = try RFC6979.publicKey()

        #expect(try key.isValid(signature, for: Array(message.utf8)))
        #expect(try !key.isValid(signature, for: Array((message + " ").utf8)))
    }

    @Test("RFC 7515 §A.3: the example JWS verifies")
    func exampleJWS() throws {
        let key = try P256.PublicKey(
            x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
        )
        let input =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
            + "Ijp0cnVlfQ"
        let signature = try #require(
            Base64URL.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
        )

        #expect(try key.isValid(signature, for: Array(input.utf8)))
    }

    @Test("3,000 signatures and more are 64 bytes each, all different, and verify")
    func manySignatures() throws {
        let key = try P256.SigningKey.generate()
        let signer = try P256.Signer.open(key)
        let verifier = try P256.Verifier.open(key.publicKey)
        var seen: Set<[UInt8]> = []
        // Integers that DER would shorten: one in 256 of each, so that they come sooner or later.
        var hasShort = (r: false, s: false)
        var number = 0

        while number < 3000 || number < 100_000 && !(hasShort.r && hasShort.s) {
            let message = Array("message \(number / 2)".utf8)
            let signature = try signer.sign(message)
            #expect(signature.count == 64)
            let isValid = try verifier.isValid(signature, for: message)
            #expect(isValid)
            seen.insert(signature)
            hasShort = (hasShort.r || signature[0] == 0, hasShort.s || signature[32] == 0)
            number += 1
        }

        #expect(seen.count == number && hasShort.r && hasShort.s)
    }

    @Test("no changed bit of a signature or message verifies")
    func changedBits() throws {
        let verifier = try P256.Verifier.open(RFC6979.publicKey())
        let message = Array("sample".utf8)

        for index in 0..<64 {
            for bit in 0..<8 {
                var changed = RFC6979.sampleSignature
                changed[index] ^= 1 << UInt8(bit)
                let isValid = try verifier.isValid(changed, for: message)
                #expect(!isValid)
            }
        }
        for index in message.indices {
            var changed = message
            changed[index] ^= 1
            let isValid = try verifier.isValid(RFC6979.sampleSignature, for: changed)
            #expect(!isValid)
        }
        let isValid = try verifier.isValid(RFC6979.sampleSignature, for: message)
        #expect(isValid, "a refusal leaves nothing behind")
    }

    /// The edges that project Wycheproof's `ecdsa_secp256r1_sha256_p1363` tries, made here for this key.
    static let edgeCases: [(name: String, signature: [UInt8])] = {
        let r = Array(RFC6979.sampleSignature[..<32])
        let s = Array(RFC6979.sampleSignature[32...])
        let zero = [UInt8](repeating: 0, count: 32)
        let one: [UInt8] = zero[..<31] + [1]
        let ones = [UInt8](repeating: 0xFF, count: 32)
        let belowOrder: [UInt8] = order[..<31] + [order[31] - 1]
        return [
            ("empty", []), ("r alone", r), ("a byte short", r + s.dropLast()), ("a byte long", r + s + [0]),
            ("padded", [0] + r + [0] + s), ("r = 0", zero + s), ("s = 0", r + zero), ("both 0", zero + zero),
            ("r = n", order + s), ("s = n", r + order), ("both n", order + order), ("r = 1", one + s),
            ("s = 1", r + one),
            ("both 1", one + one), ("r = n - 1", belowOrder + s), ("s = n - 1", r + belowOrder),
            ("r = 0, s = 1", zero + one),
            ("r = 1, s = 0", one + zero), ("r too large", ones + s), ("s too large", r + ones),
            ("all bits", ones + ones),
            ("swapped", s + r),
            ("DER", bytes(hex: "3046022100") + r + bytes(hex: "022100") + s),
        ]
    }()

    @Test("r and s are both in 1…n−1 and exactly 32 bytes", arguments: edgeCases)
    func edges(name: String, signature: [UInt8]) throws {
        #expect(try !RFC6979.publicKey().isValid(signature, for: Array("sample".utf8)))
    }

    @Test("a signature by another key does not verify")
    func anotherKey() throws {
        let signature = try P256.Signer.open(.generate()).sign([1, 2, 3])

        #expect(try !P256.SigningKey.generate().publicKey.isValid(signature, for: [1, 2, 3]))
    }

    @Test("messages of any length are signed", arguments: [0, 1, 55, 56, 63, 64, 65, 100_000])
    func lengths(count: Int) throws {
        let key = try P256.SigningKey(pkcs8: RFC6979.pkcs8)
        let message = [UInt8](repeating: 7, count: count)

        #expect(try key.publicKey.isValid(try P256.Signer.open(key).sign(message), for: message))
    }
}

@Suite("Ed25519") struct Ed25519Tests {
    @Test(
        "RFC 8032 §7.1: published keys and signatures",
        arguments: [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                    + "d25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                    + "387b2eaeb4302aeeb00d291612bb0c00"
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                    + "4a7c15e9716ed28dc027beceea1ec40a"
            ),
        ]
    )
    func published(seed: String, publicKey: String, message: String, signature: String) throws {
        let key = try Ed25519.SigningKey(seed: SecretBytes(hex: seed))

        let made = try key.sign(bytes(hex: message))

        #expect(hex(key.publicKey.bytes) == publicKey)
        #expect(hex(made) == signature)
        #expect(try key.publicKey.isValid(made, for: bytes(hex: message)))
        #expect(try !key.publicKey.isValid(made, for: bytes(hex: message + "00")))
        #expect(try !key.publicKey.isValid(made + [0], for: bytes(hex: message)))
    }

    @Test("keys have 32 bytes")
    func lengths() throws {
        #expect(throws: CryptographyError.malformedKey) { try Ed25519.SigningKey(seed: SecretBytes([1, 2])) }
        #expect(Ed25519.PublicKey([1, 2]) == nil)
        let key = try Ed25519.SigningKey.generate()
        #expect(try key.publicKey.isValid(try key.sign([9]), for: [9]))
    }
}
