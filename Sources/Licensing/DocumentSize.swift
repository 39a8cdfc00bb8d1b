// A client refuses a signed document of more than 256 KiB, and with it all that it grants. What many rows of one may carry
// is therefore bounded where it is written down, so that the document stays well below.

extension EnvironmentRule {
    /// The most bytes that the rule of one plan or license may have on all of its grants together: each carries it.
    public static let mostBytesOnGrants = 64 * 1024

    /// The most bytes that the rule has as JSON.
    public var byteCount: Int {
        let texts = hosts + spki + attributes.keys + attributes.values
        // {"hosts":[],"spki":[],"attributes":{}}, and two quotes and a comma or colon for each text.
        return texts.reduce(40) { $0 + jsonByteCount($1) + 3 }
    }

    /// Refuses the rule where so many features cannot carry it.
    ///
    /// - Throws: `ValueFault`, with how long it may be.
    public func requireRoom(on features: Int) throws(ValueFault) {
        let most = Self.mostBytesOnGrants / max(1, features)
        guard byteCount <= most else {
            throw ValueFault(
                "is too long for \(features) features: each carries it, so it may have \(most) bytes as JSON, and has "
                    + "\(byteCount)"
            )
        }
    }
}

extension Offer {
    /// The most bytes that the offers of a product may have together.
    public static let mostBytesInProduct = 128 * 1024

    /// The most bytes that the offer has as JSON.
    public var byteCount: Int {
        let texts = [id.text, plan?.text, storeProductID, url, trialDuration?.iso8601]
        // Twelve names with their quotes, and the numbers.
        return texts.compactMap { $0 }.reduce(256) { $0 + jsonByteCount($1) + 3 }
    }
}

/// The most bytes that the text has in JSON, without the quotes.
private func jsonByteCount(_ text: String) -> Int {
    text.utf8.reduce(0) { count, byte in
        switch byte {
        case 0x22, 0x5C: count + 2
        case ..<0x20: count + 6
        default: count + 1
        }
    }
}
