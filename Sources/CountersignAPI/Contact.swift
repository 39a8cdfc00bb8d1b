import HTTPServer
import Licensing
import LicensingServices
import Storage

/// One call of an app: on whose behalf, by which install, and when. Carried from the request to the job and back.
struct Contact: Sendable {
    let caller: Caller
    let credential: CredentialID
    /// The request's one reading of the clock.
    let now: Timestamp
    /// The install that calls; nil where the question named none.
    let install: InstallClaim?
    /// Comes back in the bundle.
    let nonce: String?
    let services: Services
    /// Whom limits are counted for; nil where the caller's address is not limited.
    let client: ClientKey?
    /// The buckets of all clients.
    let limiter: RateLimiter

    /// For `Outcome.write`.
    var origin: Origin { Origin(credential) }

    /// The install's row; nil before its first contact was recorded, or where the question named none.
    func row<DB: Queries & ~Copyable>(in db: borrowing DB) throws -> Install? {
        guard let install else { return nil }
        return try services.installs.find(install, of: caller, in: db)
    }

    /// Whether the contact must be written before it is answered, whatever the answer is.
    func mustBeRecorded(_ row: Install?) -> Bool {
        guard let install else { return false }
        return services.installs.mustRecord(install, known: row, for: caller)
    }

    /// Whether it would be the first contact of the install, as far as `row` tells.
    func isFirst(_ row: Install?) -> Bool { install != nil && row == nil }

    /// The client's bucket of this kind at the caller's vendor; nil where the client is not limited.
    func bucket(_ kind: RateKey.Kind) -> RateKey? { client?.rateKey(kind, at: caller.vendor.id) }

    /// Charges what the client does for the first time.
    ///
    /// - Throws: `LimitExceeded`.
    func pass(_ kind: RateKey.Kind, _ charges: Charges) throws(LimitExceeded) {
        guard let bucket = bucket(kind) else { return }
        try charges.take(bucket)
    }

    /// Looks whether the client may do another thing of this kind.
    ///
    /// - Throws: `LimitExceeded`.
    func look(_ kind: RateKey.Kind) throws(LimitExceeded) {
        guard let bucket = bucket(kind) else { return }
        try limiter.pass(bucket, under: limiter.current, takes: false)
    }

    /// Charges the first contact of an install where it really is one: of several calls in flight, one.
    ///
    /// - Throws: `LimitExceeded`: nothing is written then.
    func passFirstContact(_ charges: Charges, in db: borrowing WriteTransaction) throws {
        if isFirst(try row(in: db)) { try pass(.firstContacts, charges) }
    }

    /// The same call after a write: the caller's settings are those of this snapshot, as `seq` of the bundle says.
    func renewed(in db: borrowing Snapshot) throws -> Contact {
        guard let product = try ProductStore.find(caller.product.id, in: db),
            let vendor = try VendorStore.find(caller.vendor.id, in: db)
        else { return self }
        return Contact(
            caller: Caller(vendor: vendor, product: product, mode: caller.mode),
            credential: credential,
            now: now,
            install: install,
            nonce: nonce,
            services: services,
            client: client,
            limiter: limiter
        )
    }

    /// What the bundle for the calling install will say; nil where the question named none.
    func state<DB: Queries & ~Copyable>(of row: Install?, in db: borrowing DB) throws -> InstallState? {
        guard let install else { return nil }
        return try services.bundles.state(
            of: row,
            subject: install.subject,
            nonce: nonce,
            for: caller,
            at: now,
            in: db
        )
    }
}

extension LoopState {
    /// Signs the bundle for an install as the database is now: after a write, what was committed is in it.
    mutating func currentBundle(for contact: Contact) throws -> (token: [UInt8], state: InstallState) {
        let state = try reader.snapshot { db in
            let contact = try contact.renewed(in: db)
            return try contact.state(of: try contact.row(in: db), in: db)
        }
        guard let state else { preconditionFailure("a bundle is for an install") }
        return (try bundle(for: state, at: contact.now), state)
    }
}
