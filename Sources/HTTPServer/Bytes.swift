#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Whether `byte` may stand in a token (RFC 9110 §5.6.2).
package func isToken(_ byte: UInt8) -> Bool {
    // One bit a character: !#$%&'*+-.0-9 below 64; A-Z^_`a-z|~ above.
    if byte < 64 { return (0x03FF_6CFA_0000_0000 as UInt64) >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return (0x57FF_FFFF_C7FF_FFFE as UInt64) >> UInt64(byte - 64) & 1 == 1 }
    return false
}

/// Whether `byte` may stand in a field value: visible, obs-text, space or tab (RFC 9110 §5.5).
func isFieldContent(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F || byte == 0x09
}

/// Whether `byte` needs no percent-encoding anywhere (RFC 3986 §2.3).
func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        true
    default: false
    }
}

/// Whether `byte` may stand in the name of a host: unreserved, a sub-delimiter or a percent sign (RFC 3986 §3.2.2).
func isHostCharacter(_ byte: UInt8) -> Bool {
    // One bit a character, as above.
    if byte < 64 { return (0x2BFF_7FF2_0000_0000 as UInt64) >> UInt64(byte) & 1 == 1 }
    if byte < 128 { return (0x47FF_FFFE_87FF_FFFE as UInt64) >> UInt64(byte - 64) & 1 == 1 }
    return false
}

/// The value of a hexadecimal digit in either case.
func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
    default: nil
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes of `range`, which must lie within.
    func slice(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// The offset of the first `byte` at or after `start`.
    func firstOffset(of byte: UInt8, from start: Int = 0) -> Int? {
        guard let baseAddress, start < count else { return nil }
        guard let found = memchr(baseAddress + start, Int32(byte), count - start) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }

    /// Whether these are exactly the bytes of `text`.
    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        guard let baseAddress else { return true }
        return memcmp(baseAddress, text.utf8Start, count) == 0
    }

    /// Whether these are the bytes of `lowercase`, ASCII letters in any case.
    func equalsIgnoringCase(_ lowercase: StaticString) -> Bool {
        guard count == lowercase.utf8CodeUnitCount else { return false }
        let other = lowercase.utf8Start
        for index in 0..<count {
            var byte = self[index]
            if byte &- UInt8(ascii: "A") < 26 { byte |= 0x20 }
            if byte != other[index] { return false }
        }
        return true
    }

    /// The range without spaces and tabs at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, self[lower] == 0x20 || self[lower] == 0x09 { lower += 1 }
        while lower < upper, self[upper - 1] == 0x20 || self[upper - 1] == 0x09 { upper -= 1 }
        return lower..<upper
    }
}
