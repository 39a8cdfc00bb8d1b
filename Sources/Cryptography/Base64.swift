/// Base 64 with the alphabet for URLs and file names, without padding (RFC 4648 §5, RFC 7515 §2).
public enum Base64URL {
    /// The text of `bytes`, as ASCII.
    public static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        append(bytes, to: &text)
        return text
    }

    /// The text of `bytes`.
    public static func string(_ bytes: [UInt8]) -> String { String(decoding: encode(bytes), as: UTF8.self) }

    /// Appends the text of `bytes`, as ASCII, to `text`.
    public static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        appendEncoded(bytes, alphabet: urlAlphabet, isPadded: false, to: &text)
    }

    /// The bytes that `text` stands for; `nil` with a character too many, padding, or bits that stand for nothing.
    public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? { decodeStrictly(text, values: urlValues) }

    /// The bytes that `text` stands for; `nil` as above.
    public static func decode(_ text: [UInt8]) -> [UInt8]? { decode(text[...]) }

    /// The bytes that `text` stands for; `nil` as above.
    public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }
}

/// Base 64 with the standard alphabet and its padding (RFC 4648 §4).
public enum Base64 {
    /// The text of `bytes`, as ASCII.
    public static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        appendEncoded(bytes, alphabet: standardAlphabet, isPadded: true, to: &text)
        return text
    }

    /// The text of `bytes`.
    public static func string(_ bytes: [UInt8]) -> String { String(decoding: encode(bytes), as: UTF8.self) }

    /// The bytes that `text` stands for; `nil` without its exact padding, with blanks or line ends, or with bits that
    /// stand for nothing.
    public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var body = text
        for _ in 0..<2 where body.last == UInt8(ascii: "=") { body = body.dropLast() }
        return decodeStrictly(body, values: standardValues)
    }

    /// The bytes that `text` stands for; `nil` as above.
    public static func decode(_ text: [UInt8]) -> [UInt8]? { decode(text[...]) }

    /// The bytes that `text` stands for; `nil` as above.
    public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8)) }
}

private let standardAlphabet = alphabet(endingIn: "+/")
private let urlAlphabet = alphabet(endingIn: "-_")
private let standardValues = values(of: standardAlphabet)
private let urlValues = values(of: urlAlphabet)
private let noValue: UInt8 = 0xFF

private func alphabet(endingIn last: StaticString) -> [UInt8] {
    Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(last)".utf8)
}

/// For each byte the six bits it stands for, or `noValue`.
private func values(of alphabet: [UInt8]) -> [UInt8] {
    var values = [UInt8](repeating: noValue, count: 256)
    for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
    return values
}

private func appendEncoded(_ bytes: [UInt8], alphabet: [UInt8], isPadded: Bool, to text: inout [UInt8]) {
    let rest = bytes.count % 3
    let count = bytes.count / 3 * 4 + (rest == 0 ? 0 : isPadded ? 4 : rest + 1)
    let start = text.count
    text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: count))
    text.withUnsafeMutableBufferPointer { text in
        bytes.withUnsafeBufferPointer { bytes in
            alphabet.withUnsafeBufferPointer { alphabet in
                func digit(_ bits: UInt32) -> UInt8 { alphabet[Int(bits & 63)] }
                var index = 0
                var place = start
                while index + 2 < bytes.count {
                    let bits = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
                    text[place] = digit(bits >> 18)
                    text[place + 1] = digit(bits >> 12)
                    text[place + 2] = digit(bits >> 6)
                    text[place + 3] = digit(bits)
                    index += 3
                    place += 4
                }
                guard rest > 0 else { return }
                let bits = UInt32(bytes[index]) << 16 | (rest == 2 ? UInt32(bytes[index + 1]) << 8 : 0)
                text[place] = digit(bits >> 18)
                text[place + 1] = digit(bits >> 12)
                if rest == 2 { text[place + 2] = digit(bits >> 6) }
            }
        }
    }
}

private func decodeStrictly(_ text: ArraySlice<UInt8>, values: [UInt8]) -> [UInt8]? {
    // One character alone carries six bits: no byte.
    guard text.count % 4 != 1 else { return nil }
    var isStrict = true
    let bytes = text.withUnsafeBufferPointer { text in
        values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 2) { output, count in
                var bits: UInt32 = 0
                var pending = 0
                var seen: UInt8 = 0
                for byte in text {
                    let value = values[Int(byte)]
                    seen |= value
                    bits = bits << 6 | UInt32(value)
                    pending += 6
                    if pending >= 8 {
                        pending -= 8
                        output.initializeElement(at: count, to: UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
                        count += 1
                    }
                }
                // Every value is below 64, so the high bit tells that one byte had none.
                isStrict = seen & 0x80 == 0 && bits & (1 << UInt32(pending) - 1) == 0
            }
        }
    }
    return isStrict ? bytes : nil
}
