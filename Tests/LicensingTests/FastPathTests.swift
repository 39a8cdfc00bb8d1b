import Testing

@testable import Licensing

/// Text in ASCII is read by a shorter way, which must not be told from the general one.
@Suite("The ways of reading ASCII and all of Unicode agree") struct FastPathTests {
    /// Texts of blanks, controls, braces, digits, letters and what else the rules tell apart, of any length.
    static func texts(_ alphabet: String, longest: Int, seed: UInt64, count: Int) -> [String] {
        let symbols = Array(alphabet.unicodeScalars)
        var state = seed
        func next(_ bound: Int) -> Int {
            // Knuth's MMIX generator; its upper bits are good enough for tests.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        return (0..<count).map { _ in
            var text = String.UnicodeScalarView()
            // Few different symbols in one text, so that runs and placeholders come up.
            let few = (0...next(4)).map { _ in symbols[next(symbols.count)] }
            let isFew = next(2) == 0
            for _ in 0..<next(longest + 1) { text.append(isFew ? few[next(few.count)] : symbols[next(symbols.count)]) }
            return String(text)
        }
    }

    static let ascii = String(String.UnicodeScalarView((0..<128).map { Unicode.Scalar($0 as UInt8) }))

    @Test("install ids", arguments: [8, 16])
    func installID(shortest: Int) throws {
        let known = [
            "", " ", "{}", "{{{{}}}}", "{{{{{{{{}}}}}}}}", "localhost", "LOCALHOST", "{localhost}", "{ localhost }",
            "02:00:00:00:00:00", "undefined", "{undefined}", "00000000-0000-0000-0000-000000000000", "aAaAaAaAaAaAaAaA",
            "A1B2C3D4-E5F6-4711-8899-AABBCCDDEEFF", "{a1b2c3d4-e5f6-4711-8899-AABBCCDDEEFF}",
            " A1B2C3D4-E5F6-4711-8899-AABBCCDDEEFF\r\n", "A1B2C3D4-E5F6-4711-8899-AABBCCDDEEFG",
            "A1B2C3D4E5F6-4711-8899-AABBCCDDEEFF0", "\u{B}\u{C}install-id-of-a-test\t", "a\u{1C}bcdefgh-ijklmnop",
            String(repeating: "x", count: 200) + "y", String(repeating: "xy", count: 100),
        ]
        let random =
            Self.texts(Self.ascii, longest: 24, seed: 1, count: 4000)
            + Self.texts("0-:. {}abcABF", longest: 44, seed: 2, count: 4000)
            + Self.texts("xyz", longest: 230, seed: 3, count: 500)

        for text in known + random {
            let fast = Result { () throws(ValueFault) in
                try SecretName.foldASCII(Array(text.utf8), shortest: shortest)
            }
            let general = Result { () throws(ValueFault) in try SecretName.foldUnicode(text, shortest: shortest) }
            #expect(fast == general, "\(text.debugDescription)")
        }
    }

    @Test("license keys")
    func licenseKey() {
        let random =
            Self.texts(Self.ascii, longest: 128, seed: 4, count: 4000)
            + Self.texts("CSTE-0123456789ABCDEFGHJKMNPQRSTVWXYZoil \t", longest: 40, seed: 5, count: 4000)

        for text in random {
            let fast = String(decoding: LicenseKey.cleanedASCII(Array(text.utf8)), as: UTF8.self)
            #expect(fast == LicenseKey.cleanedUnicode(text), "\(text.debugDescription)")
        }
    }

    @Test("a key is the same with a full-width character and without")
    func fullWidth() throws {
        let key = try LicenseKey.make(prefix: .standard, mode: .test, entropy: CountingEntropy(seed: 7))
        // The digits of the key in full width take the general way.
        let wide = String(
            String.UnicodeScalarView(
                key.text.unicodeScalars.map { ("0"..."9").contains($0) ? Unicode.Scalar($0.value + 0xFEE0) ?? $0 : $0 }
            )
        )

        #expect(wide != key.text)
        #expect(try LicenseKey(wide, prefix: .standard) == LicenseKey(key.text, prefix: .standard))
    }

    @Test("every symbol of base 32 has one value, and no other byte has any")
    func base32() {
        for value in 0..<32 as Range<UInt8> {
            #expect(Base32.symbol(value) == Base32.symbols[Int(value)])
            #expect(Base32.value(of: Base32.symbols[Int(value)]) == value)
        }
        for byte in 0...255 as ClosedRange<UInt8> where !Base32.symbols.contains(byte) {
            #expect(Base32.value(of: byte) == nil)
        }
    }

    @Test("a number of too many digits is no duration, whatever follows it")
    func longNumber() {
        for text in ["P1234567890123T1H", "P1Y1234567890123T1H", "PT1234567890123", "P1M1Y", "PT1H1H", "P1Y2", "P"] {
            #expect(throws: ValueFault.self) { try CalendarDuration(text) }
        }
    }
}
