public import Licensing
public import StrictJSON

extension Offer {
    /// Writes the object as the command line shows it, with the names that the seed document has too.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id.text)
            writer.member("plan", orNull: plan?.text)
            writer.member("kind", kind.rawValue)
            writer.member("price_milliunits", orNull: priceMilliunits)
            writer.member("currency", orNull: currency)
            writer.member("store_product_id", orNull: storeProductID)
            writer.member("trial_duration", orNull: trialDuration?.iso8601)
            writer.member("url", orNull: url)
            writer.member("from", orNull: from?.rfc3339)
            writer.member("until", orNull: until?.rfc3339)
        }
    }
}
