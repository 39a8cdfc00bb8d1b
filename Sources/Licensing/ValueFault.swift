/// Why a text or number is not the value it was read as.
///
/// The reason is written for the person who sent it and never repeats what was sent: inputs may be secrets.
public struct ValueFault: Error, Hashable, Sendable {
    /// A short sentence without a final stop, such as "must be 8 to 200 bytes long".
    public let reason: String

    /// - Parameter reason: A short sentence that does not repeat the input.
    public init(_ reason: String) {
        self.reason = reason
    }
}
