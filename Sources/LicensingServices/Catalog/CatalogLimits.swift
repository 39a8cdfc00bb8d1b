public import Licensing

/// Rules for texts that people type in, wherever they come from.
public enum CatalogLimits {
    /// The most characters of a name.
    public static let longestName = 200

    /// A name as it is kept: one line, without blanks at its ends, not empty.
    ///
    /// - Throws: `ValueFault` for an empty or overlong text, or one with control characters.
    public static func checkedName(_ text: String, longest: Int = longestName) throws(ValueFault) -> String {
        let scalars = text.unicodeScalars
        guard !scalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw ValueFault("must be one line without control characters")
        }
        var kept = scalars[...]
        while let first = kept.first, first.properties.isWhitespace { kept.removeFirst() }
        while let last = kept.last, last.properties.isWhitespace { kept.removeLast() }
        guard !kept.isEmpty else { throw ValueFault("must not be blank") }
        guard kept.count <= longest else { throw ValueFault("must have at most \(longest) characters") }
        return String(kept)
    }
}
