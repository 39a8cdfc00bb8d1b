/// Makes the ids of requests: 15 characters, which Swift keeps without allocating.
struct RequestIdentifiers {
    /// Crockford's base 32, lower case: no letter is taken for a digit.
    private static let digits: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"

    /// 35 bits drawn when the loop started, so that ids of two loops or two runs differ.
    private let prefix: UInt64
    private var count: UInt64 = 0

    init(using generator: inout some RandomNumberGenerator) {
        prefix = generator.next() >> 29
    }

    /// The next id.
    mutating func next() -> String {
        count &+= 1
        return String(unsafeUninitializedCapacity: 15) { text in
            var rest = prefix
            for index in 0..<7 {
                text[index] = RequestIdentifiers.digits.utf8Start[Int(rest & 31)]
                rest >>= 5
            }
            rest = count
            for index in stride(from: 14, through: 7, by: -1) {
                text[index] = RequestIdentifiers.digits.utf8Start[Int(rest & 31)]
                rest >>= 5
            }
            return 15
        }
    }

    /// The client's own id, if it is a sane one: 1 to 128 of `A-Z a-z 0-9 . _ -`.
    static func given(_ bytes: UnsafeRawBufferPointer, _ head: RequestHead) -> String? {
        guard let index = head.requestID else { return nil }
        let value = bytes.slice(head.fields[index].value)
        guard (1...128).contains(value.count), value.allSatisfy({ isUnreserved($0) && $0 != UInt8(ascii: "~") }) else {
            return nil
        }
        return String(decoding: value, as: UTF8.self)
    }
}
