extension Digest256 {
    /// 64 hexadecimal digits, lower case.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The digest of 64 hexadecimal digits in either case, without or with a colon between each two bytes; `nil` for
    /// anything else.
    public init?(hexadecimal text: String) {
        let characters = Array(text.utf8)
        let step = characters.count == 95 ? 3 : 2
        guard characters.count == 64 || characters.count == 95 else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: characters.count, by: step) {
            guard let high = Self.digit(characters[start]), let low = Self.digit(characters[start + 1]) else {
                return nil
            }
            let isLast = start + 2 == characters.count
            if step == 3, !isLast, characters[start + 2] != UInt8(ascii: ":") { return nil }
            bytes.append(high << 4 | low)
        }
        self.init(bytes: bytes)
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
