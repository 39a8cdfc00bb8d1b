import Licensing

// Texts that have a form.

extension Schema {
    /// An instant in an answer: UTC, whole seconds.
    static let instant = string(pattern: #"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"#, format: "date-time")

    /// An instant in a request, or a day of which the start or the end is meant.
    static let moment = any(of: [string(format: "date-time"), string(format: "date")])

    /// A signed document: a JWS in compact form.
    static let signed = string(pattern: #"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$"#)

    /// The id of an entity.
    static func identifier<Entity: IdentifiedEntity>(of _: Entity.Type) -> Schema {
        string(pattern: "^\(Entity.identifierPrefix)[0-7][0-9A-HJKMNP-TV-Z]{25}$")
            .examples(.string("\(Entity.identifierPrefix)01J9Z3K4M5N6P7Q8R9S0T1V2W3"))
    }

    /// The name of a vendor or product.
    static let slug = string(pattern: "^[a-z0-9][a-z0-9_-]{0,62}$").examples("acme")

    /// `vendor/product`.
    static let productName = string(pattern: "^[a-z0-9][a-z0-9_-]{0,62}/[a-z0-9][a-z0-9_-]{0,62}$")
        .examples("acme/editor")

    /// The name of a feature, meter or plan.
    static let code = string(pattern: "^[a-z0-9][a-z0-9._-]{0,63}$")

    /// A length of time, as ISO 8601 writes it.
    static let duration = string(
        pattern: #"^P(\d{1,12}Y)?(\d{1,12}M)?(\d{1,12}W)?(\d{1,12}D)?(T(\d{1,12}H)?(\d{1,12}M)?(\d{1,12}S)?)?$"#
    )

    /// An e-mail address, before blanks around it are cut off.
    static let emailAddress = string(1...8192, pattern: ".@.").examples("ada@example.com")

    /// A text of an administrator's request, before blanks around it are cut off.
    static let line = string(1...8192)
}
