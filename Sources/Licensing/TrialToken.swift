/// What stands for one trial in contracts that know no install: `tt_` and 32 hexadecimal digits, 128 random bits.
///
/// Kept as a keyed digest, and sealed. It has no description, so that it does not end up in a log.
public struct TrialToken: Hashable, Sendable {
    /// The token as a client sends it. A secret.
    public let text: String

    /// A new token.
    ///
    /// - Throws: What `entropy` throws.
    public init(entropy: some Entropy) throws {
        let random = try entropy.bytes(16)
        precondition(random.count == 16, "a source of entropy must give as many bytes as it was asked for")
        let digits = Array("0123456789abcdef".utf8)
        text = "tt_" + String(decoding: random.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Reads a token; `nil` for what is none, and so no trial's.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        let isHexadecimal = bytes.dropFirst(3).allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard bytes.count == 35, bytes.starts(with: "tt_".utf8), isHexadecimal else { return nil }
        self.text = String(text)
    }
}

extension TrialToken: CustomStringConvertible, CustomReflectable {
    /// Tells nothing: the token is a secret.
    public var description: String { "TrialToken(secret)" }
    /// Tells nothing: the token is a secret.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
