internal import Licensing
internal import LicensingServices
internal import Storage
internal import StrictJSON

extension Workspace {
    /// What administers the catalog.
    var catalog: CatalogService { CatalogService(keys: keys, entropy: entropy) }

    /// What issues and extends trials.
    var trials: TrialService { TrialService(keys: keys, entropy: entropy) }

    /// What administers offers.
    var offers: OfferService { OfferService(keys: keys, entropy: entropy) }

    /// The vendor of a slug.
    borrowing func vendor(_ slug: Slug) throws -> Vendor {
        try read { db in try CatalogFinder.vendor(slug, in: db) }
    }

    /// The vendor and the product of a name.
    borrowing func product(_ name: ProductName) throws -> (vendor: Vendor, product: Product) {
        try read { db in try CatalogFinder.product(name.product, of: name.vendor, in: db) }
    }

    /// A report of one noun, which says when nothing was kept.
    borrowing func report(
        _ name: StaticString,
        notes: [String] = [],
        _ write: (inout JSONWriter) throws -> Void
    ) rethrows -> Report {
        try .one(name, notes: notes, isDryRun: isDryRun, write)
    }
}
