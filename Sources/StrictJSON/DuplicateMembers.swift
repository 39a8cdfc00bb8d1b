/// Where the bytes of one member's name are: in the text or, where it had escapes, among the unescaped ones.
private struct Name {
    let place: Int
    let range: Range<Int>
    let isUnescaped: Bool
}

extension Parser {
    /// Refuses the object at `place` if two of its names are the same bytes once unescaped.
    ///
    /// Few names are compared pair by pair; many are sorted, which no choice of names can slow down as it could
    /// a hash table. Bytes are compared, never `String`s, to which `é` and `e` + U+0301 are one.
    func refuseDuplicates(inObjectAt place: Int) throws(JSONSyntaxError) {
        let count = tape[place].count
        guard count > 1 else { return }
        var hasEscapes = false
        var index = place + 1
        for _ in 0..<count {
            hasEscapes = hasEscapes || tape[index].isEscaped
            index = Int(tape[index + 1].next)
        }
        let duplicate =
            count <= 12 && !hasEscapes
            ? firstDuplicateByPairs(of: count, from: place + 1) : firstDuplicateBySorting(count, from: place + 1)
        if let duplicate { throw JSONSyntaxError(.duplicateMember, at: Int(tape[duplicate].start) - 1, in: text) }
    }

    private func firstDuplicateByPairs(of count: Int, from first: Int) -> Int? {
        var later = Int(tape[first + 1].next)
        for position in 1..<count {
            let name = tape[later]
            var earlier = first
            for _ in 0..<position {
                if order(tape[earlier].range, in: text, name.range, in: text) == 0 { return later }
                earlier = Int(tape[earlier + 1].next)
            }
            later = Int(tape[later + 1].next)
        }
        return nil
    }

    private func firstDuplicateBySorting(_ count: Int, from first: Int) -> Int? {
        // Unescaped names gather in `unescaped`, at most as long as the text; others stay where they are.
        var unescaped: [UInt8] = []
        var names: [Name] = []
        names.reserveCapacity(count)
        var index = first
        for _ in 0..<count {
            let token = tape[index]
            if token.isEscaped {
                let start = unescaped.count
                appendUnescaped(text[token.range], to: &unescaped)
                names.append(Name(place: index, range: start..<unescaped.count, isUnescaped: true))
            } else {
                names.append(Name(place: index, range: token.range, isUnescaped: false))
            }
            index = Int(tape[index + 1].next)
        }
        return unescaped.withUnsafeBufferPointer { unescaped in
            func compare(_ one: Name, _ other: Name) -> Int {
                order(
                    one.range,
                    in: one.isUnescaped ? unescaped : text,
                    other.range,
                    in: other.isUnescaped ? unescaped : text
                )
            }
            names.sort { one, other in
                let order = compare(one, other)
                return order == 0 ? one.place < other.place : order < 0
            }
            var duplicate: Int?
            for (one, next) in zip(names, names.dropFirst()) where compare(one, next) == 0 {
                duplicate = min(duplicate ?? next.place, next.place)
            }
            return duplicate
        }
    }

    /// Below, at or above zero, as the bytes of one range sort against another's.
    private func order(
        _ one: Range<Int>,
        in oneText: UnsafeBufferPointer<UInt8>,
        _ other: Range<Int>,
        in otherText: UnsafeBufferPointer<UInt8>
    ) -> Int {
        // By length first: any total order will do.
        guard one.count == other.count else { return one.count - other.count }
        for offset in 0..<one.count {
            let difference = Int(oneText[one.lowerBound + offset]) - Int(otherText[other.lowerBound + offset])
            if difference != 0 { return difference }
        }
        return 0
    }
}

/// Appends what the inside of a JSON string, already known to be correct, stands for, in UTF-8.
func appendUnescaped(_ inside: Slice<UnsafeBufferPointer<UInt8>>, to bytes: inout [UInt8]) {
    _ = unescape(inside) { byte in
        bytes.append(byte)
        return true
    }
}

/// Hands over, byte by byte, what the inside of a JSON string, already known to be correct, stands for, in UTF-8.
///
/// - Parameter take: says whether there is to be more.
/// - Returns: whether all was taken.
@inline(__always)
func unescape(_ inside: Slice<UnsafeBufferPointer<UInt8>>, _ take: (UInt8) -> Bool) -> Bool {
    var index = inside.startIndex
    func codeUnit() -> UInt32 {
        // `index` is at the backslash.
        inside[index + 2..<index + 6].reduce(0) { $0 << 4 | (hexadecimalValue($1) ?? 0) }
    }
    while index < inside.endIndex {
        guard inside[index] == UInt8(ascii: "\\") else {
            guard take(inside[index]) else { return false }
            index += 1
            continue
        }
        let byte: UInt8
        switch inside[index + 1] {
        case UInt8(ascii: "b"): byte = 0x08
        case UInt8(ascii: "f"): byte = 0x0C
        case UInt8(ascii: "n"): byte = 0x0A
        case UInt8(ascii: "r"): byte = 0x0D
        case UInt8(ascii: "t"): byte = 0x09
        case UInt8(ascii: "u"):
            var scalar = codeUnit()
            index += 6
            if scalar & 0xFC00 == 0xD800 {
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + (codeUnit() & 0x3FF)
                index += 6
            }
            guard let scalar = Unicode.Scalar(scalar) else { continue }
            for byte in Unicode.UTF8.encode(scalar) ?? .init() where !take(byte) { return false }
            continue
        case let other: byte = other
        }
        guard take(byte) else { return false }
        index += 2
    }
    return true
}
