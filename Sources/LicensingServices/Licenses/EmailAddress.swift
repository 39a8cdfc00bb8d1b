public import Licensing

/// An e-mail address as customers are recognized by it.
///
/// Blanks around it are cut off and ASCII letters are lower-cased, on both sides of the `@`: RFC 5321 §2.4 lets a host
/// tell `Bob@` from `bob@`, but none that sells to people does, and two customers where there is one are two sets of
/// licenses that nobody finds together. Nothing else is folded: `+tags` and dots stay.
public struct EmailAddress: Hashable, Sendable {
    /// As it is kept, looked up and shown.
    public let text: String

    /// The most bytes of an address (RFC 5321 §4.5.3.1.3, erratum 1690).
    public static let longest = 254

    /// Reads an address: something, an `@`, something, without blanks or control characters inside.
    ///
    /// - Throws: `ValueFault`.
    public init(_ text: some StringProtocol) throws(ValueFault) {
        let scalars = trimmed(text)
        var folded = String.UnicodeScalarView()
        for scalar in scalars {
            guard !scalar.properties.isWhitespace, scalar.properties.generalCategory != .control else {
                throw ValueFault("must be one e-mail address")
            }
            let isUpper = (0x41...0x5A).contains(scalar.value)
            folded.append(isUpper ? Unicode.Scalar(UInt8(scalar.value) + 0x20) : scalar)
        }
        let address = String(folded)
        guard let at = address.utf8.lastIndex(of: UInt8(ascii: "@")), at > address.startIndex,
            address.utf8.index(after: at) < address.endIndex
        else { throw ValueFault("must be an e-mail address, like person@example.com") }
        guard address.utf8.count <= Self.longest else { throw ValueFault("must have at most \(Self.longest) bytes") }
        self.text = address
    }
}

/// The text without blanks at its ends.
func trimmed(_ text: some StringProtocol) -> Substring.UnicodeScalarView {
    var scalars = Substring(text).unicodeScalars
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return scalars
}
