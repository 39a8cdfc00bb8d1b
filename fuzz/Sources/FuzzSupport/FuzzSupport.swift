/// The input of one run as an array.
public func input(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    Array(UnsafeBufferPointer(start: start, count: count))
}

/// A small generator of numbers that follow from the input alone: the same input always runs the same way.
public struct InputRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Begins at what `bytes` say.
    public init(_ bytes: [UInt8]) { state = FuzzSupport.hash(of: bytes) }

    /// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// FNV-1a in 64 bits: a name for an input.
public func hash(of bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
}

/// Ends the run as a find.
public func expect(_ condition: @autoclosure () -> Bool, _ claim: @autoclosure () -> String) {
    if !condition() { preconditionFailure(claim()) }
}
