import Foundation
import StrictJSON
import Testing

@Suite("Strict JSON: damaged texts") struct MutationTests {
    static let samples = [
        #"{"license_key":"CS-7K2M-9QXA","install_id":"7f0e","device":{"name":"Zoë's Mac","model":null},"nonce":"\u00e9"}"#,
        #"[0,-1.5e+1,"a\"\\\/\b\f\n\r\t\uD834\uDD1E€𝄞",{"a":[true,false,null],"b":{}},[[]], 1234 ]"#,
    ]

    @Test("every text cut short is refused", arguments: samples)
    func truncation(sample: String) {
        let bytes = Array(sample.utf8)

        for count in 0..<bytes.count {
            #expect(refusal(of: Array(bytes[..<count])) != nil, "cut after \(count) bytes")
        }
        #expect(refusal(of: bytes) == nil)
    }

    @Test("no changed byte makes it take what Foundation's parser refuses", arguments: samples)
    func flips(sample: String) {
        let bytes = Array(sample.utf8)
        var taken = 0

        for index in bytes.indices {
            for value in UInt8.min...UInt8.max {
                var changed = bytes
                changed[index] = value
                guard refusal(of: changed) == nil else { continue }
                taken += 1
                let isJSON = (try? JSONSerialization.jsonObject(with: Data(changed), options: .fragmentsAllowed)) != nil
                #expect(isJSON, "byte \(index) changed to \(value)")
            }
        }

        #expect(taken > bytes.count)
    }

    @Test(
        "what is inserted or removed anywhere never makes it take what Foundation's parser refuses",
        arguments: samples
    )
    func insertions(sample: String) {
        let bytes = Array(sample.utf8)

        for index in bytes.indices {
            for piece in ["\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", " ", "\u{0}", "e", "."] {
                let changed = bytes[..<index] + Array(piece.utf8) + bytes[index...]
                guard refusal(of: Array(changed)) == nil else { continue }
                let isJSON = (try? JSONSerialization.jsonObject(with: Data(changed), options: .fragmentsAllowed)) != nil
                #expect(isJSON, "\(piece) before byte \(index)")
            }
        }
    }

    @Test(
        "an end that lies outside of the text is never read past",
        arguments: [0xC3, 0xE2, 0xF0, 0x5C, 0x22] as [UInt8]
    )
    func lastByte(byte: UInt8) {
        for length in 0..<20 {
            let text = [UInt8(ascii: "\"")] + [UInt8](repeating: UInt8(ascii: "a"), count: length) + [byte]
            #expect((refusal(of: text) == nil) == (byte == UInt8(ascii: "\"")))
        }
    }
}
