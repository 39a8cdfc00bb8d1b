internal import Licensing
internal import LicensingServices

/// Parameters that several commands take.
public enum CommonParameters {
    /// `--dry-run`, of every command that writes.
    static let dryRun = Parameter.flag("dry-run", "do everything, then undo it")

    /// `--limit`, of every list.
    static let limit = Parameter<Int>.option("limit", "N", "the most entries, 1 to 1000 (100)") {
        (text) throws(ValueFault) in
        guard let number = integer(text, in: 1...1000) else { throw ValueFault("must be 1 to 1000") }
        return Int(number)
    }

    /// `--cursor`, of every list.
    static let cursor = Parameter<String>.option("cursor", "C", "go on after a page: its \"next\"") {
        (text) throws(ValueFault) in
        guard !text.isEmpty, text.utf8.count <= 256 else { throw ValueFault("is no cursor") }
        return text
    }

    /// `--vendor SLUG`.
    static let vendor = Parameter<Slug>.option("vendor", "SLUG", "the vendor", isRequired: true) {
        (text) throws(ValueFault) in try Slug(text)
    }

    /// `--product VENDOR/PRODUCT`.
    static let product = Parameter<ProductName>.option(
        "product",
        "VENDOR/PRODUCT",
        "the product",
        isRequired: true
    ) { (text) throws(ValueFault) in try ProductName(text) }

    /// `--mode live|test`.
    static let mode = Parameter<Mode>.option("mode", "live|test", "live (the default) or test") {
        (text) throws(ValueFault) in try word(text)
    }

    /// `--reason TEXT`, for the audit log.
    static let reason = Parameter<String>.option("reason", "TEXT", "why, for the audit log", isRequired: true) {
        (text) throws(ValueFault) in try line(text, upTo: 1000)
    }

    /// `--name TEXT`.
    static let name = Parameter<String>.option("name", "TEXT", "for people") {
        (text) throws(ValueFault) in try line(text, upTo: CatalogLimits.longestName)
    }

    // MARK: Reading

    /// A text of one line, not blank.
    static func line(_ text: String, upTo limit: Int) throws(ValueFault) -> String {
        do {
            return try CatalogLimits.checkedName(text, longest: limit)
        } catch {
            throw error
        }
    }

    /// One of the words of an enumeration.
    static func word<Word: RawRepresentable<String> & CaseIterable>(_ text: String) throws(ValueFault) -> Word {
        guard let word = Word(rawValue: text) else {
            throw ValueFault("must be one of " + Word.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return word
    }

    /// `true` or `false`.
    static func truth(_ text: String) throws(ValueFault) -> Bool {
        switch text {
        case "true": return true
        case "false": return false
        default: throw ValueFault("must be true or false")
        }
    }

    /// Digits with an optional minus, within `range`.
    static func integer(_ text: String, in range: ClosedRange<Int64>) -> Int64? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text),
            range.contains(number)
        else { return nil }
        return number
    }

    /// The id that an app sends of its install. Also a short one of another vendor's client, which an adapter takes.
    static func installID(_ text: String) throws(ValueFault) -> InstallID {
        try InstallID(text, shortest: InstallID.shortestInAdapters)
    }

    /// An identifier of one kind of thing.
    static func identifier<Entity>(_ text: String) throws(ValueFault) -> Identifier<Entity> {
        guard let id = Identifier<Entity>(text) else {
            throw ValueFault("must be an id that begins with \(Entity.identifierPrefix)")
        }
        return id
    }

    /// Codes parted by commas, each once; an empty text is none.
    static func featureCodes(_ text: String) throws(ValueFault) -> [FeatureCode] {
        var codes: [FeatureCode] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: !text.contains(",")) {
            codes.append(try FeatureCode(part.filter { $0 != " " }))
        }
        guard Set(codes).count == codes.count else { throw ValueFault("must name a feature once") }
        return codes
    }
}

/// How a product is named from outside: `vendor/product`.
struct ProductName: Hashable, Sendable {
    let vendor: Slug
    let product: Slug

    init(_ text: String) throws(ValueFault) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValueFault("must be VENDOR/PRODUCT, like acme/editor") }
        do {
            vendor = try Slug(parts[0])
            product = try Slug(parts[1])
        } catch {
            throw ValueFault("must be VENDOR/PRODUCT: each \(error.reason)")
        }
    }

    var text: String { "\(vendor)/\(product)" }
}
