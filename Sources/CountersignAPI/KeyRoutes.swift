import CountersignWire
import Cryptography
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// The public keys with which bundles are verified.
enum KeyRoutes {
    /// `GET /v1/keys`: those of the credential's vendor and mode.
    static func ofCaller(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let token = try PresentedToken.ofApp(request)
        try token.required()
        let clock = context.services.clock
        let (credential, keys) = try context.reader.snapshot { db in
            let now = try clock.now(in: db)
            let principal = try token.principal(.publishable, at: now, in: db)
            let mode = principal.credential.mode
            return (principal.credential.id, try published(by: principal.vendor.id, mode: mode, at: now, in: db))
        }
        context.trace.credential = credential
        return .reply(.json(.ok, Wire.PublishedKey.set(keys)))
    }

    /// `GET /v1/vendors/{slug}/jwks.json`: a vendor's keys of live mode, for whoever asks.
    static func ofVendor(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        guard let slug = try? Slug(request.pathParameters["slug"] ?? "") else { throw HTTPFailure.notFound }
        let clock = context.services.clock
        let keys = try context.reader.snapshot { db -> [Wire.PublishedKey]? in
            let now = try clock.now(in: db)
            guard let vendor = try VendorStore.find(slug: slug, in: db) else { return nil }
            return try published(by: vendor.id, mode: .live, at: now, in: db)
        }
        guard let keys else { throw HTTPFailure.notFound }
        return .reply(.json(.ok, Wire.PublishedKey.set(keys)))
    }

    /// Active first, then next, then retiring, each newest first.
    private static func published(
        by vendor: Vendor.ID,
        mode: Mode,
        at now: Timestamp,
        in db: borrowing Snapshot
    ) throws -> [Wire.PublishedKey] {
        let keys = try SigningKeyStore.all(of: vendor, in: db)
            .filter { $0.mode == mode && $0.isPublished(at: now) }
        let ordered = [SigningKeyState.active, .next, .retiring].flatMap { state in keys.filter { $0.state == state } }
        return try ordered.map { key in
            let point = try P256.PublicKey(spki: key.spki)
            return Wire.PublishedKey(
                kid: key.kid,
                x: point.x,
                y: point.y,
                spki: Base64.string(key.spki),
                status: key.state.rawValue
            )
        }
    }
}
