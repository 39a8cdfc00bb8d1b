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

    /// The issuer of a vendor's bundles: an http or https URL without blanks. `countersign:` is kept for vendors
    /// without one, so that none can pass for another.
    ///
    /// - Throws: `ValueFault`.
    public static func checkedIssuer(_ text: String) throws(ValueFault) -> String {
        let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
        guard let rest, !rest.isEmpty, isPlain, text.utf8.count <= 255 else {
            throw ValueFault("must be a URL like https://licenses.example.com, at most 255 bytes long")
        }
        return text
    }
}
