/// Crockford's base 32 alphabet, which identifiers and license keys are written in (crockford.com/base32.html).
enum Base32 {
    /// The 32 symbols by value: digits, then letters without `I`, `L`, `O` and `U`.
    static let symbols: [UInt8] = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The symbol of a value below 32.
    static func symbol(_ value: UInt8) -> UInt8 {
        switch value {
        case ..<10: UInt8(ascii: "0") + value
        case ..<18: UInt8(ascii: "A") + (value - 10)
        case ..<20: UInt8(ascii: "J") + (value - 18)
        case ..<22: UInt8(ascii: "M") + (value - 20)
        case ..<27: UInt8(ascii: "P") + (value - 22)
        default: UInt8(ascii: "V") + (value - 27)
        }
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
