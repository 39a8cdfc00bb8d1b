/// Crockford's base 32 alphabet, which identifiers and license keys are written in (crockford.com/base32.html).
enum Base32 {
    /// The 32 symbols by value: digits, then letters without `I`, `L`, `O` and `U`.
    static let symbols: [UInt8] = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The value of an upper-case symbol, or `nil` where the byte is none.
    static func value(of byte: UInt8) -> UInt8? {
        let value = values[Int(byte)]
        return value < 32 ? value : nil
    }

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, symbol) in symbols.enumerated() {
            values[Int(symbol)] = UInt8(value)
        }
        return values
    }()
}
