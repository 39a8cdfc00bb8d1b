import CountersignWire
import HTTPServer
import Licensing
import LicensingServices
import Storage

/// What a request shows to say who is calling.
struct PresentedToken: Sendable {
    /// The token, whoever's it is; nil where the request shows none.
    let bytes: [UInt8]?

    /// Reads the token of a route for apps: `Authorization: Bearer`, or `X-API-Key`.
    ///
    /// A vendor's key in `X-Vendor-API-Key` is read where there is nothing else: it opens none of these routes, and who
    /// holds one is told so. One rule for all routes: a credential of the wrong kind is told that it is, whichever field it
    /// comes in; one of the right kind counts in its own fields alone, elsewhere it is as if there were none.
    ///
    /// - Throws: `Problem` with `MALFORMED_REQUEST` when the request names two.
    static func ofApp(_ request: HTTPRequest) throws -> PresentedToken {
        let authorization = try single("authorization", "Authorization", of: request)
        let key = try single("x-api-key", "X-API-Key", of: request)
        if let authorization, let key {
            guard let token = bearerToken(authorization), token == key else {
                throw Problem(.malformedRequest, "Authorization and X-API-Key name two different credentials.")
            }
            return PresentedToken(bytes: token)
        }
        if let authorization { return PresentedToken(bytes: bearerToken(authorization)) }
        return PresentedToken(bytes: key ?? others("pk_", request.headerBytes("x-vendor-api-key")))
    }

    /// Reads the token of a route of administration: `Authorization: Bearer` alone.
    ///
    /// An app's key in `X-API-Key` is read where there is nothing else, to be told that it opens none of these routes; a
    /// secret one does not belong there and is not looked at.
    ///
    /// - Throws: `Problem` with `MALFORMED_REQUEST` when the request names two.
    static func ofAdministration(_ request: HTTPRequest) throws -> PresentedToken {
        let presented = try ofApp(request)
        if request.headerCount("authorization") > 0 { return presented }
        return PresentedToken(bytes: others("sk_", presented.bytes))
    }

    /// The token, unless it is of the kind whose place this is not.
    private static func others(_ prefix: String, _ token: [UInt8]?) -> [UInt8]? {
        token.flatMap { $0.starts(with: prefix.utf8) ? nil : $0 }
    }

    private static func single(
        _ field: StaticString,
        _ name: StaticString,
        of request: HTTPRequest
    ) throws -> [UInt8]? {
        let count = request.headerCount(field)
        guard count <= 1 else { throw Problem(.malformedRequest, "There is more than one \(name) field.") }
        return count == 0 ? nil : request.headerBytes(field)
    }

    /// The token of `Bearer <token>`, the scheme in any case (RFC 6750 §2.1, RFC 9110 §11.1); nil for another scheme.
    private static func bearerToken(_ value: [UInt8]) -> [UInt8]? {
        guard value.count > 7, value[6] == 0x20 || value[6] == 0x09,
            zip(value, "bearer".utf8).allSatisfy({ $0 | 0x20 == $1 })
        else { return nil }
        let token = value[7...].drop { $0 == 0x20 || $0 == 0x09 }
        return token.isEmpty ? nil : Array(token)
    }
}

extension PresentedToken {
    /// Who the token belongs to, if it is of this kind.
    ///
    /// - Throws: `Problem` with `UNAUTHENTICATED` for none, a wrong, revoked or ended one, and with `FORBIDDEN` for a good
    ///   one of another kind; `StorageError`.
    func principal<DB: Queries & ~Copyable>(
        _ kind: CredentialKind,
        at now: Timestamp,
        in db: borrowing DB
    ) throws -> Principal {
        let bytes = try required()
        guard let principal = try CredentialService.principal(token: bytes, at: now, in: db) else {
            throw Self.unauthenticated("The credential is not valid.")
        }
        guard principal.credential.kind == kind else {
            throw Problem(.forbidden, "This credential is not for this route.")
        }
        return principal
    }

    /// The token, where there is one.
    ///
    /// - Throws: `Problem` with `UNAUTHENTICATED`.
    @discardableResult
    func required() throws -> [UInt8] {
        guard let bytes else { throw Self.unauthenticated("The request carries no credential.") }
        return bytes
    }

    private static func unauthenticated(_ detail: String) -> Problem { Problem(.unauthenticated, detail) }
}

/// An administrator of a vendor, or of one product, over HTTP.
struct AdministrationCaller: Sendable {
    /// Whose administrator.
    let vendor: Vendor
    /// The one product the credential is for; nil: all of the vendor's, and a request names one.
    let product: Product?
    /// Live or test.
    let mode: Mode
    /// For audit and log.
    let credential: CredentialID
    /// The request's one reading of the clock.
    let now: Timestamp

    /// For `Outcome.write`.
    var origin: Origin { Origin(credential) }
}

extension LoopState {
    /// Who calls a route of administration.
    ///
    /// Opens a snapshot of its own: to be called before any other.
    ///
    /// - Parameter counts: false for a request that is not all there: its credential's limit counts it when it is.
    /// - Throws: `Problem` for a missing, wrong or unfit credential, `LimitExceeded`, `ClockUnsure`, `StorageError`.
    mutating func authenticateAdministration(
        _ request: HTTPRequest,
        counts: Bool = true
    ) throws -> AdministrationCaller {
        let token = try PresentedToken.ofAdministration(request)
        try token.required()
        let clock = services.clock
        let (now, principal) = try reader.snapshot { db in
            let now = try clock.now(in: db)
            return (now, try token.principal(.secret, at: now, in: db))
        }
        trace.credential = principal.credential.id
        if counts { try pass(principal.credential.id) }
        return AdministrationCaller(
            vendor: principal.vendor,
            product: principal.product,
            mode: principal.credential.mode,
            credential: principal.credential.id,
            now: now
        )
    }
}

/// Which credential a route takes.
public enum RouteCredential: Sendable {
    /// None.
    case none
    /// An app's, `pk_`.
    case app
    /// An administrator's, `sk_`.
    case administration

    /// What is asked before a body is read.
    var admission: Admission<LoopState>? {
        switch self {
        case .none: nil
        case .app:
            { request, context in
                let token = try PresentedToken.ofApp(request)
                try token.required()
                let clock = context.services.clock
                _ = try context.reader.snapshot { db in
                    try token.principal(.publishable, at: try clock.now(in: db), in: db)
                }
                try Self.checkMediaType(request)
            }
        case .administration:
            { request, context in
                _ = try context.authenticateAdministration(request, counts: false)
                try Self.checkMediaType(request)
                // The handler finds out again; until the body is here, other requests are answered.
                context.trace = RequestTrace()
            }
        }
    }

    /// A body that comes with a GET is not looked at, so its type does not matter.
    private static func checkMediaType(_ request: HTTPRequest) throws {
        if request.method != .get && request.method != .head { try MediaType.check(request) }
    }
}
