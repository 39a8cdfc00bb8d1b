import Cryptography
import Licensing
import Synchronization

/// SplitMix64 (Steele, Lea, Flood, 2014): small, and the same on every machine.
struct Randomness: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True once in `times`.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}

/// Identifiers that grow in the order of their making within one millisecond; everything else is random.
final class CountingEntropy: Entropy {
    private let count = Mutex<UInt64>(0)

    func bytes(_ count: Int) throws -> [UInt8] {
        // An identifier takes ten.
        guard count == 10 else { return try SystemEntropy().bytes(count) }
        let number = self.count.withLock { number in
            number += 1
            return number
        }
        return (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } + [0, 0]
    }
}
