import Licensing
import Testing

@Suite("License keys") struct LicenseKeyTests {
    static let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    let prefix = KeyPrefix.standard

    func made(_ seed: UInt64 = 1, mode: Mode = .live) throws -> LicenseKey {
        try LicenseKey.make(prefix: prefix, mode: mode, entropy: CountingEntropy(seed: seed))
    }

    @Test("a made key has the product's form, a test key says so, and both read back")
    func form() throws {
        let live = try made()
        let test = try made(mode: .test)

        #expect(live.text.wholeMatch(of: /CS(-[0-9A-HJKMNP-TV-Z]{4}){4}/) != nil)
        #expect(test.text.wholeMatch(of: /CS-TEST(-[0-9A-HJKMNP-TV-Z]{4}){4}/) != nil)
        #expect(try LicenseKey(live.text, prefix: prefix) == live)
        #expect(try LicenseKey(test.text, prefix: prefix) == test)
        #expect(live.lastFour == String(live.text.suffix(4)))
        #expect(live.canonical == live.text.filter { $0 != "-" })
    }

    @Test("the check is the one of the published formula")
    func check() throws {
        // All random symbols 0 but the last, s_15 = 1: s_16 = α^15/α^16 = α^-1 = α^30 = 18 in GF(32) with x^5+x^2+1.
        let key = try LicenseKey.make(
            prefix: prefix,
            mode: .live,
            entropy: FixedEntropy(pattern: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        )

        #expect(key.text == "CS-0000-0000-0000-001J")
    }

    @Test("every single wrong symbol is caught", arguments: 1...20 as ClosedRange<UInt64>)
    func wrongSymbol(seed: UInt64) throws {
        let key = Array(try made(seed).canonical)
        var passed = 0
        for place in 2..<18 {
            for symbol in Self.symbols where symbol != key[place] {
                var wrong = key
                wrong[place] = symbol
                if (try? LicenseKey(String(wrong), prefix: prefix)) != nil { passed += 1 }
            }
        }
        #expect(passed == 0)
    }

    @Test("every swap of two neighbors is caught", arguments: 1...200 as ClosedRange<UInt64>)
    func swap(seed: UInt64) throws {
        let key = Array(try made(seed).canonical)
        for place in 2..<17 where key[place] != key[place + 1] {
            var wrong = key
            wrong.swapAt(place, place + 1)
            #expect(throws: LicenseKey.Fault.malformed) { try LicenseKey(String(wrong), prefix: prefix) }
        }
    }

    @Test("every swap of every two neighbors is caught, whatever they are")
    func everyPair() throws {
        var passed = 0
        for place in 0..<14 {
            for first in 0..<32 as Range<UInt8> {
                for second in 0..<32 as Range<UInt8> where first != second {
                    var bytes = [UInt8](repeating: 7, count: 15)
                    bytes[place] = first
                    bytes[place + 1] = second
                    var key = Array(
                        try LicenseKey.make(prefix: prefix, mode: .live, entropy: FixedEntropy(pattern: bytes))
                            .canonical
                    )
                    key.swapAt(place + 2, place + 3)
                    if (try? LicenseKey(String(key), prefix: prefix)) != nil { passed += 1 }
                }
            }
        }
        #expect(passed == 0)
    }

    @Test("a key is read as people type and paste it")
    func forgiving() throws {
        let key = try LicenseKey.make(
            prefix: prefix,
            mode: .live,
            entropy: FixedEntropy(pattern: [0, 1, 10, 17, 0, 1, 30, 31, 5])
        )
        let plain = key.canonical
        let dashed = key.text
        let spellings = [
            dashed, plain, dashed.lowercased(), " \t\(dashed)\r\n", dashed.replacing("-", with: "--"),
            dashed.replacing("-", with: " "), dashed.replacing("-", with: "\u{2013}"),
            dashed.replacing("-", with: "\u{2014}"), dashed.replacing("-", with: "\u{2212}"),
            dashed.replacing("-", with: "\u{00A0}"), dashed.replacing("-", with: "\u{200B}"),
            dashed.replacing("-", with: "\u{3000}"), dashed.replacing("-", with: "\u{00AD}"),
            "\u{FEFF}" + dashed + "\u{0}", plain.map { "\($0)" }.joined(separator: " "),
            "CS" + plain.dropFirst(2).replacing("0", with: "O").replacing("1", with: "I"),
            "cs" + plain.dropFirst(2).replacing("0", with: "o").replacing("1", with: "l"),
            fullWidth(dashed), fullWidth(dashed.lowercased()), dashed.replacing("-", with: "\u{FF0D}"),
        ]

        for spelling in spellings {
            #expect(try LicenseKey(spelling, prefix: prefix) == key, "\(Array(spelling.unicodeScalars))")
        }
    }

    func fullWidth(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.compactMap { Unicode.Scalar($0.value + 0xFEE0) }))
    }

    @Test(
        "the product's prefix and 16 letters or digits that are no key are malformed",
        arguments: [
            "CS-0000-0000-0000-0001", "CS-TEST-0000-0000-0000-0001", "cs0000000000000001", "CS-UUUU-UUUU-UUUU-UUUU",
            "CS-0000-0000-0000-000U",
        ]
    )
    func malformed(text: String) {
        #expect(throws: LicenseKey.Fault.malformed) { try LicenseKey(text, prefix: prefix) }
    }

    @Test(
        "any other form is looked up as it stands, O, I and L included",
        arguments: [
            ("0000-0000-0000-0001", "0000000000000001"), ("AB-OIL-1234", "ABOIL1234"), ("x", "X"),
            ("ACME-0000-0000-0000-0001", "ACME0000000000000001"), ("CS-0000-0000-0000-000", "CS000000000000000"),
            ("CS-0000-0000-0000-0000-1", "CS00000000000000001"), ("CS-0000-0000-0000-00_1", "CS00000000000000_1"),
            ("CS-LIVE-0000-0000-0000-0001", "CSLIVE0000000000000001"), ("straße-é", "STRASSEÉ"), ("key/+=", "KEY/+="),
        ]
    )
    func foreign(text: String, canonical: String) throws {
        let key = try LicenseKey(text, prefix: prefix)

        #expect(key.canonical == canonical)
        #expect(!key.isProductForm)
    }

    @Test(
        "a key in letters that grow in upper case is as long as what is kept of it, which reads the same",
        arguments: [("\u{FB01}", 64), ("\u{FB03}", 42), ("\u{DF}", 64), ("\u{1F80}", 64), ("\u{FF41}", 128)]
    )
    func growing(letter: String, most: Int) throws {
        let key = try LicenseKey(String(repeating: letter, count: most), prefix: prefix)

        #expect(try LicenseKey(key.text, prefix: prefix) == key)
        #expect(throws: LicenseKey.Fault.tooLong) {
            try LicenseKey(String(repeating: letter, count: most + 1), prefix: prefix)
        }
    }

    @Test("what is longer than 128 characters or empty once cleaned is neither looked up nor malformed")
    func limits() throws {
        #expect(throws: LicenseKey.Fault.tooLong) { try LicenseKey(String(repeating: "A", count: 129), prefix: prefix) }
        #expect(throws: LicenseKey.Fault.tooLong) { try LicenseKey(String(repeating: " ", count: 129), prefix: prefix) }
        #expect(throws: LicenseKey.Fault.tooLong) {
            try LicenseKey("e" + String(repeating: "\u{301}", count: 128), prefix: prefix)
        }
        #expect(try LicenseKey(String(repeating: "A", count: 128), prefix: prefix).canonical.count == 128)
        for text in ["", " ", "----", "\u{200B}\u{FEFF}", "\r\n\t", "\u{2014}"] {
            #expect(throws: LicenseKey.Fault.empty) { try LicenseKey(text, prefix: prefix) }
        }
    }

    @Test("the prefix decides what is the product's own form")
    func otherPrefix() throws {
        let acme = try KeyPrefix("ACME")
        let key = try made()

        let elsewhere = try LicenseKey(key.text, prefix: acme)

        #expect(!elsewhere.isProductForm)
        #expect(elsewhere.canonical == key.canonical)
    }

    @Test("a key tells nothing about itself when printed or dumped")
    func secrecy() throws {
        let key = try made()
        var dumped = ""
        dump(key, to: &dumped)

        for text in ["\(key)", String(reflecting: key), "\([key])", dumped] {
            #expect(!text.contains(key.lastFour))
        }
    }
}

@Suite("Install ids and fingerprints") struct InstallIDTests {
    @Test(
        "a UUID is folded in any case, in braces or not",
        arguments: [
            "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
            "{F81D4FAE-7dec-11D0-A765-00A0C91E6BF6}", " \n{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}\t",
        ]
    )
    func uuid(text: String) throws {
        #expect(try InstallID(text).folded == "f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
        #expect(try DeviceFingerprint(text).folded == "f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
    }

    @Test(
        "anything else is kept byte for byte",
        arguments: [
            "ABCDEFGHIJKLMNOP", "F81D4FAE7DEC11D0A76500A0C91E6BF6", "F81D4FAE-7DEC-11D0-A765-00A0C91E6BFG",
            "{F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6", "Grüße vom Rechner 7", "{ABCDEFGHIJKLMNOP}",
        ]
    )
    func kept(text: String) throws {
        #expect(try InstallID(text).folded == text)
    }

    @Test("an install id has 16 to 200 bytes once trimmed, 8 where an adapter takes it, a fingerprint 8")
    func lengths() throws {
        #expect(throws: ValueFault.self) { try InstallID("abcdefghijklmno") }
        #expect(try InstallID("abcdefghijklmno", shortest: InstallID.shortestInAdapters).folded == "abcdefghijklmno")
        #expect(throws: ValueFault.self) { try InstallID("abcdefg", shortest: InstallID.shortestInAdapters) }
        #expect(throws: ValueFault.self) { try InstallID("abcdefghijklmno   ") }
        #expect(try DeviceFingerprint("abcdefgh").folded == "abcdefgh")
        #expect(throws: ValueFault.self) { try DeviceFingerprint("abcdefg") }
        let longest = String(repeating: "ab", count: 100)
        #expect(try InstallID(" " + longest + " ").folded == longest)
        #expect(throws: ValueFault.self) { try InstallID(longest + "c") }
        #expect(throws: ValueFault.self) { try InstallID(String(repeating: "éa", count: 67)) }
        #expect(throws: ValueFault.self) { try InstallID(String(repeating: " ", count: 5000) + longest) }
    }

    @Test(
        "what cannot be printed is refused",
        arguments: [
            "abcdefgh\u{0}ijklmnop", "abcdefgh\nijklmnop", "abcdefgh\u{200B}ijklmnop", "abcdefgh\u{85}ijklmnop",
            "abcdefgh\u{2028}ijklmnop",
        ]
    )
    func unprintable(text: String) {
        #expect(throws: ValueFault.self) { try InstallID(text) }
        #expect(throws: ValueFault.self) { try DeviceFingerprint(text) }
    }

    @Test(
        "placeholders are refused in braces and any case",
        arguments: [
            "00000000-0000-0000-0000-000000000000", "{00000000-0000-0000-0000-000000000000}", "unknown", "{UNKNOWN}",
            "none", "null", "{null}", "02:00:00:00:00:00", "{02:00:00:00:00:00}", "undefined", "Undefined", "default",
            "localhost", "LOCALHOST", "{localhost}", "n/a", "0000000000000000", "aaaaaaaaaaaaaaaa", "{{xxxxxxxxxxxx}}",
            "----------------", "00:00:00:00:00:00",
        ]
    )
    func placeholder(text: String) {
        #expect(throws: ValueFault.self) { try DeviceFingerprint(text) }
        #expect(throws: ValueFault.self) { try InstallID(text, shortest: 8) }
    }

    @Test("an id tells nothing about itself when printed or dumped")
    func secrecy() throws {
        let id = try InstallID("secret-install-id-1")
        var dumped = ""
        dump([id], to: &dumped)

        #expect(!"\(id)".contains("install-id-1"))
        #expect(!dumped.contains("install-id-1"))
        #expect(!"\(try DeviceFingerprint("secret-machine"))".contains("machine"))
    }
}
