import Licensing
import Testing

@Suite("Digests in hexadecimal") struct HexadecimalTests {
    /// Each byte of its own.
    let bytes = (0..<32).map { UInt8($0 * 8 + 7) }

    @Test("are read as they are written, in either case, and with a colon between each two bytes")
    func readBack() throws {
        let digest = try #require(Digest256(bytes: bytes))
        let text = digest.hexadecimal
        let pairs = stride(from: 0, to: 64, by: 2).map { String(text.dropFirst($0).prefix(2)) }

        #expect(text == bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
        #expect(Digest256(hexadecimal: text) == digest)
        #expect(Digest256(hexadecimal: text.uppercased()) == digest)
        #expect(Digest256(hexadecimal: pairs.joined(separator: ":")) == digest)
    }

    @Test("no other text is one")
    func refused() throws {
        let text = try #require(Digest256(bytes: bytes)).hexadecimal
        let pairs = stride(from: 0, to: 64, by: 2).map { String(text.dropFirst($0).prefix(2)) }
        let colons = pairs.joined(separator: ":")

        let others = [
            "", ":", String(text.dropLast()), text + "0", "\(text.dropLast())g", "0x\(text)", " \(text)",
            "\(text.dropLast(2)) 0",
            String(colons.dropLast()), colons + ":", ":" + colons, colons.replacingOccurrences("07:", "07-"),
            "\(text.prefix(2)):\(text.dropFirst(2))", String(repeating: ":", count: 64),
            String(repeating: ":", count: 95),
            pairs.joined(separator: "::"),
        ]

        for other in others { #expect(Digest256(hexadecimal: other) == nil, "\(other)") }
    }
}

extension String {
    fileprivate func replacingOccurrences(_ old: String, _ new: String) -> String {
        split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
    }
}
