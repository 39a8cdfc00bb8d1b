import Testing

@testable import Cryptography

@Suite("SHA-256, HMAC and HKDF") struct HashTests {
    @Test(
        "FIPS 180-4 examples (csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values)",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func digests(message: String, digest: String) {
        #expect(hex(SHA256.digest(of: Array(message.utf8))) == digest)
    }

    @Test("pieces of any length give the digest of the whole, and a finished hash begins anew")
    func streaming() {
        let message = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        let hash = SHA256()

        for length in [1, 7, 63, 64, 65, 300] {
            for start in stride(from: 0, to: message.count, by: length) {
                hash.update(Array(message[start..<min(start + length, message.count)]))
            }
            #expect(hash.finish() == SHA256.digest(of: message))
        }
    }

    @Test(
        "RFC 4231 §4: HMAC-SHA-256 test cases 1 to 4, 6 and 7",
        arguments: [
            (
                String(repeating: "0b", count: 20), "4869205468657265",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
            ),
            (
                String(repeating: "aa", count: 131),
                "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                String(repeating: "aa", count: 131),
                "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e64"
                    + "2061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f206265"
                    + "20686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e",
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
        ]
    )
    func hmac(key: String, message: String, code: String) {
        let made = HMACSHA256.authenticationCode(for: bytes(hex: message), key: SecretBytes(hex: key))

        #expect(hex(made) == code)
        #expect(HMACSHA256.isValid(made, for: bytes(hex: message), key: SecretBytes(hex: key)))
        #expect(!HMACSHA256.isValid(Array(made.dropLast()), for: bytes(hex: message), key: SecretBytes(hex: key)))
    }

    @Test(
        "RFC 5869 §A.1 to A.3: HKDF-SHA-256",
        arguments: [
            (
                String(repeating: "0b", count: 22), "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9", 42,
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
            ),
            (
                hex((0x00...0x4F).map { $0 }), hex((0x60...0xAF).map { $0 }), hex((0xB0...0xFF).map { $0 }), 82,
                "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
                    + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
            ),
            (
                String(repeating: "0b", count: 22), "", "", 42,
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
            ),
        ]
    )
    func hkdf(secret: String, salt: String, info: String, count: Int, expected: String) {
        let derived = HKDF.derive(
            from: SecretBytes(hex: secret),
            salt: bytes(hex: salt),
            info: bytes(hex: info),
            count: count
        )

        #expect(hex(derived.copy()) == expected)
    }
}

@Suite("AES-256-GCM") struct AESGCMTests {
    /// McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B, test cases 13 to 16.
    static let published: [(key: String, nonce: String, data: String, message: String, sealed: String)] = {
        let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
        let message =
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5"
            + "aa0de657ba637b39"
        let ciphertext =
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e63"
            + "93ba7a0abcc9f662"
        return [
            (
                String(repeating: "00", count: 32), String(repeating: "00", count: 12), "", "",
                "530f8afbc74536b9a963b4f1c4cb738b"
            ),
            (
                String(repeating: "00", count: 32), String(repeating: "00", count: 12), "",
                String(repeating: "00", count: 16),
                "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"
            ),
            (
                key, "cafebabefacedbaddecaf888", "", message + "1aafd255",
                ciphertext + "898015adb094dac5d93471bdec1a502270e3cc6c"
            ),
            (
                key, "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2", message,
                ciphertext + "76fc6ece0f4e1768cddf8853bb2d551b"
            ),
        ]
    }()

    @Test("published test cases", arguments: published)
    func vectors(key: String, nonce: String, data: String, message: String, sealed: String) throws {
        let made = try AESGCM.seal(
            bytes(hex: message),
            key: SecretBytes(hex: key),
            associatedData: bytes(hex: data),
            nonce: bytes(hex: nonce)
        )

        #expect(hex(made) == nonce + sealed)
        let opened = try AESGCM.open(made, key: SecretBytes(hex: key), associatedData: bytes(hex: data))
        #expect(hex(opened.copy()) == message)
    }

    @Test("no changed bit opens, nor a piece, nor another key or place")
    func tampering() throws {
        let key = try SecretBytes.random(count: 32)
        let place = Array("licenses/sealed_key/lic_1".utf8)
        let sealed = try AESGCM.seal(Array("CS-TEST".utf8), key: key, associatedData: place)

        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: CryptographyError.authenticationFailed) {
                    try AESGCM.open(changed, key: key, associatedData: place)
                }
            }
            #expect(throws: CryptographyError.authenticationFailed) {
                try AESGCM.open(Array(sealed[..<index]), key: key, associatedData: place)
            }
        }
        #expect(throws: CryptographyError.authenticationFailed) {
            try AESGCM.open(sealed, key: key, associatedData: place + [0])
        }
        #expect(throws: CryptographyError.authenticationFailed) {
            try AESGCM.open(sealed, key: .random(count: 32), associatedData: place)
        }
        #expect(try AESGCM.open(sealed, key: key, associatedData: place).copy() == Array("CS-TEST".utf8))
    }

    @Test("one message sealed twice looks different")
    func freshNonces() throws {
        let key = try SecretBytes.random(count: 32)

        let sealed = try (0..<100).map { _ in try AESGCM.seal([1], key: key, associatedData: []) }

        #expect(Set(sealed.map { Array($0.prefix(12)) }).count == 100)
        #expect(sealed.allSatisfy { $0.count == 12 + 1 + 16 })
    }
}

@Suite("Secrets and comparison") struct SecretTests {
    @Test("a secret is never printed")
    func description() {
        let secret = SecretBytes(Array("hunter2".utf8))
        var dumped = ""

        dump(secret, to: &dumped)

        #expect("\(secret) \(String(reflecting: secret)) \(dumped)".contains("secret"))
        #expect(!"\(secret) \(String(reflecting: secret)) \(dumped)".contains("104"))
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test("a secret is a copy: wiping it leaves the caller's bytes alone")
    func ownCopy() {
        let bytes: [UInt8] = [1, 2, 3]
        var taken: [UInt8] = []

        do {
            let secret = SecretBytes(bytes)
            taken = secret.copy()
        }

        #expect(bytes == [1, 2, 3])
        #expect(taken == [1, 2, 3])
    }

    @Test(
        "comparison in constant time compares",
        arguments: [([], [], true), ([1], [1], true), ([1], [2], false), ([1], [1, 0], false), ([], [0], false)]
            as [([UInt8], [UInt8], Bool)]
    )
    func comparison(one: [UInt8], other: [UInt8], isEqual: Bool) {
        #expect(constantTimeEqual(one, other) == isEqual)
        #expect((SecretBytes(one) == SecretBytes(other)) == isEqual)
    }

    @Test("random bytes are as many as asked for, and not the same twice")
    func randomness() throws {
        #expect(try SystemEntropy().bytes(0) == [])
        #expect(try SystemEntropy().bytes(32).count == 32)
        #expect(try SystemEntropy().bytes(32) != SystemEntropy().bytes(32))
    }
}

@Suite("Base 64") struct Base64Tests {
    @Test(
        "RFC 4648 §10: test vectors",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
    )
    func vectors(plain: String, encoded: String) {
        let unpadded = String(encoded.prefix { $0 != "=" })

        #expect(Base64.string(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        #expect(Base64URL.string(Array(plain.utf8)) == unpadded)
        #expect(Base64URL.decode(unpadded) == Array(plain.utf8))
        if unpadded != encoded {
            #expect(Base64.decode(unpadded) == nil)
            #expect(Base64URL.decode(encoded) == nil)
        }
    }

    @Test(
        "RFC 7515 §2, RFC 4648 §3.5: no stray bits, blanks, padding or letters of the other alphabet",
        arguments: [
            "A", "AB", "AAB", "AAAAA", "Zg==", "Zg=", "Z g", "Zg\n", " Zg", "Zm9v+w", "Zm9v/w", "Zm9vé", "Zh", "Zm9",
            "=", "Zg\u{0}",
        ]
    )
    func strictURL(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(
        "standard base 64 with its exact padding only",
        arguments: [
            "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm9v=", "Zm9v====", "=Zg=", "Z=g=", "====", "Zm9v\n", "Zm 9v",
            "Zm9-", "Zm9_", "Zg==Zg==",
        ]
    )
    func strictStandard(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("every text that decodes is the one that encodes back")
    func canonical() throws {
        for length in 0..<70 {
            let bytes = try SystemEntropy().bytes(length)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                guard let decoded = Base64URL.decode([first, second]) else { continue }
                #expect(Base64URL.encode(decoded) == [first, second])
            }
        }
    }

    @Test("appending keeps what is there")
    func appending() {
        var text = Array("a.".utf8)

        Base64URL.append([0xFB, 0xFF], to: &text)

        #expect(String(decoding: text, as: UTF8.self) == "a.-_8")
    }
}
