internal import CountersignWire
internal import Licensing
internal import LicensingServices
internal import StrictJSON

/// What should be there, as an operator wrote it down.
struct SeedDocument: Sendable {
    let vendors: [SeedVendor]
    /// Whether plans may take rights from licenses that there are.
    let affectsExisting: Bool

    /// Reads a document to its end.
    ///
    /// - Throws: `JSONSyntaxError`; `InvalidMembers` with everything that is wrong, each with its JSON pointer.
    init(parsing bytes: [UInt8]) throws {
        var reader = try MemberReader(try JSONDocument(parsing: bytes).root)
        vendors = reader.nodes("vendors")
        affectsExisting = reader.bool("affects_existing") ?? false
        reader.refuseUnknown(except: ["vendors", "affects_existing"])
        try reader.finish()
    }
}

/// A vendor of a seed document.
struct SeedVendor: SeedNode {
    let pointer: JSONPointer
    let slug: Slug?
    let changes: VendorChanges
    let products: [SeedProduct]
    let credentials: [SeedCredential]

    static let identifyingMember = "slug"
    var identity: String? { slug?.text }

    init(_ reader: inout MemberReader, at pointer: JSONPointer) {
        self.pointer = pointer
        slug = reader.read("slug", isRequired: true) { (text) throws(ValueFault) in try Slug(text) }
        var changes = VendorChanges()
        changes.name = reader.read("name") { (text) throws(ValueFault) in try CatalogLimits.checkedName(text) }
        changes.issuer = reader.read("issuer") { (text) throws(ValueFault) in try CatalogLimits.checkedIssuer(text) }
            .map { .set($0) }
        changes.validationQuota = reader.integer("validation_quota", in: 0 ... .max).map { .set($0) }
        self.changes = changes
        products = reader.nodes("products")
        credentials = reader.nodes("credentials")
        for credential in credentials where credential.kind == .publishable {
            reader.refuse(
                InvalidMember(credential.pointer.appending("kind"), "pk belongs to a product: list it there")
            )
        }
        if reader.value("adapters") != nil {
            reader.refuse(
                "adapters",
                "cannot be enabled: this version (\(ProgramVersion.text)) has no adapters for other clients' contracts; "
                    + "leave the member out"
            )
        }
        reader.refuseUnknown(
            except: ["slug", "name", "issuer", "validation_quota", "products", "credentials", "adapters"]
        )
    }
}
