import Cryptography

/// The bytes of hexadecimal text; blanks are skipped.
func bytes(hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}

extension SecretBytes {
    init(hex: String) { self.init(bytes(hex: hex)) }
}

/// RFC 6979 §A.2.5: the key on P-256 and its signatures with SHA-256.
enum RFC6979 {
    static let privateKey = "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721"
    static let x = bytes(hex: "60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6")
    static let y = bytes(hex: "7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
    static let sampleSignature = bytes(
        hex: "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
            + "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8"
    )
    static let testSignature = bytes(
        hex: "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367"
            + "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083"
    )
    /// PKCS#8 around the private key alone, without the public key that RFC 5915 makes optional.
    static let pkcs8 = SecretBytes(
        hex: "3041020100301306072A8648CE3D020106082A8648CE3D030107042730250201010420" + privateKey
    )

    static func publicKey() throws -> P256.PublicKey {
        try P256.PublicKey(x: Base64URL.string(x), y: Base64URL.string(y))
    }
}

/// The order n of P-256 (SEC 2 §2.4.2).
let order = bytes(hex: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")
