import Testing

@testable import Diagnostics

@Suite("Masking text in ASCII and any text agree") struct MaskedFastPathTests {
    @Test("random text", arguments: ["_abcXYZ019", "_a", "_-. \u{0}\u{7F}/`{[@:9zZ"])
    func random(alphabet: String) {
        let symbols = Array(alphabet.unicodeScalars)
        var state: UInt64 = 1
        for _ in 0..<3000 {
            // Knuth's MMIX generator; its upper bits are good enough for tests.
            func next(_ bound: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % bound
            }
            let text = String(String.UnicodeScalarView((0..<next(30)).map { _ in symbols[next(symbols.count)] }))

            #expect(Masked.identifier(text) == Masked.unicode(text), "\(text.debugDescription)")
        }
    }

    @Test("text beyond ASCII is masked by characters")
    func beyond() {
        #expect(Masked.identifier("lic_ééééééééàèìò") == "lic_…àèìò")
    }
}
