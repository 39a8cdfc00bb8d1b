/// A source of random bytes that nobody can predict.
///
/// Randomness enters the rules as a parameter, so that a test can say which bytes it wants.
public protocol Entropy: Sendable {
    /// Fresh random bytes.
    ///
    /// - Parameter count: How many; not negative.
    /// - Throws: What the system says when it has no randomness to give.
    func bytes(_ count: Int) throws -> [UInt8]
}
