import Cryptography
import Licensing
import LicensingServices
import Storage

@testable import Administration

extension Console {
    /// A first contact of an install of `acme/editor`, as its app makes it and no command can.
    func contact(_ install: String, at instant: String) throws {
        let now = try Timestamp(instant, as: .instant)
        let database = Database(folder: data, options: Database.Options(now: { SystemTime.microseconds() }))
        let connection = try database.openForCommandLine(isMade: false)
        let file = KeyFile(configured: nil, folder: data)
        let keys = try Vault.open(connection, of: database, file: file, clock: GuardedClock()).keys
        let (vendor, product) = try connection.snapshot { db in
            try CatalogFinder.product(try Slug("editor"), of: try Slug("acme"), in: db)
        }
        let claim = InstallClaim(
            digest: keys.digest(of: try InstallID(install), product: product.id),
            fingerprint: nil,
            device: .none,
            subject: ""
        )
        let caller = Caller(vendor: vendor, product: product, mode: .live)
        _ = try connection.write { db in
            try InstallDirectory(entropy: SystemEntropy()).record(claim, of: caller, at: now, in: db)
        }
    }
}
