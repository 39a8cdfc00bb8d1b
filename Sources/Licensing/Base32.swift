/// Crockford's base 32 alphabet, which identifiers and license keys are written in (crockford.com/base32.html).
enum Base32 {
    /// The 32 symbols by value: digits, then letters without `I`, `L`, `O` and `U`.
    static let symbols: [UInt8] = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The symbol of a value below 32. Sums instead of branches: random values foretell none.
    static func symbol(_ value: UInt8) -> UInt8 {
        let letters: UInt8 = value > 9 ? 7 : 0
        let withoutI: UInt8 = value > 17 ? 1 : 0
        let withoutL: UInt8 = value > 19 ? 1 : 0
        let withoutO: UInt8 = value > 21 ? 1 : 0
        let withoutU: UInt8 = value > 26 ? 1 : 0
        return UInt8(ascii: "0") &+ value &+ letters &+ withoutI &+ withoutL &+ withoutO &+ withoutU
    }

    /// The value of an upper-case symbol, or `nil` where the byte is none.
    static func value(of byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "H"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "J"), UInt8(ascii: "K"): byte - UInt8(ascii: "J") + 18
        case UInt8(ascii: "M"), UInt8(ascii: "N"): byte - UInt8(ascii: "M") + 20
        case UInt8(ascii: "P")...UInt8(ascii: "T"): byte - UInt8(ascii: "P") + 22
        case UInt8(ascii: "V")...UInt8(ascii: "Z"): byte - UInt8(ascii: "V") + 27
        default: nil
        }
    }
}
