import AppStore
import CountersignWire
import Diagnostics
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StrictJSON

/// `POST /v1/store/verify`: takes what an app shows of the App Store, and grants what that gives.
struct VerifyPurchase: AppProof {
    private let install: InstallClaim
    private let transaction: [UInt8]?
    private let appTransaction: [UInt8]?

    init(reading reader: inout AppRequestReader) throws {
        let install = reader.requiredInstall()
        reader.store()
        transaction = reader.signedDocument("signed_transaction")
        appTransaction = reader.signedDocument("signed_app_transaction")
        // Who bought the app before there was anything to buy in it has no transaction to show.
        if transaction == nil && appTransaction == nil { reader.refuse("signed_transaction", "is required") }
        guard let install, reader.isValid else { throw reader.failure }
        self.install = install
    }

    func presentation(for contact: Contact, in db: borrowing Snapshot) throws -> StorePresentation {
        let connections = try contact.services.store.connections(of: contact.caller.product.id, in: db)
        guard !connections.isEmpty else {
            throw InvalidMembers(JSONPointer("store"), "is not connected to this product: ask its vendor")
        }
        do {
            return try StorePresentation(
                transaction: transaction,
                appTransaction: appTransaction,
                admittedBy: connections,
                in: contact.caller.mode
            )
        } catch {
            throw Problem(error.refusal, of: error.member, at: contact.now)
        }
    }

    func evidence(
        _ presentation: StorePresentation,
        for contact: Contact,
        chains: inout ChainCache
    ) throws -> StoreEvidence {
        do {
            return try presentation.verified(at: contact.now, chains: &chains)
        } catch {
            throw Problem(error.refusal, of: error.member, at: contact.now)
        }
    }

    func perform(
        _ evidence: StoreEvidence,
        for contact: Contact,
        in db: borrowing WriteTransaction
    ) throws -> StoreVerification {
        do {
            return try contact.services.store.verify(
                evidence,
                by: install,
                for: contact.caller,
                at: contact.now,
                in: db
            )
        } catch let refusal as StoreRefusal {
            throw Problem(refusal, at: contact.now)
        }
    }

    func response(
        to result: StoreVerification,
        for contact: Contact,
        in context: inout LoopState
    ) throws -> HTTPResponse {
        context.trace.install = result.install.id
        let (bundle, state) = try context.currentBundle(for: contact)
        switch result.outcome {
        case .granted, .unchanged:
            let answer = Wire.VerifyAnswer(
                verdict: WireVerdict(result.outcome.verdict),
                purchase: result.purchase.map(Wire.Purchase.init),
                entitlements: state.entitlements.map(Wire.Entitlement.init),
                bundle: bundle,
                serverTime: contact.now.rfc3339
            )
            return .json(.ok, answer.body())
        case .noLinkFree(let limit):
            var problem = Problem(
                .noSeatsAvailable,
                "As many installs as may share this purchase, \(limit), have it already."
            )
            problem.body.seats = Wire.Seats(used: limit, limit: limit)
            throw problem.carrying(bundle, at: contact.now)
        case .rejected(let code):
            var problem =
                code == .purchaseRevoked
                ? Problem(.purchaseRevoked, "The store refunded or revoked this purchase.")
                : Problem(.purchaseExpired, "This purchase has expired.")
            problem.body.purchase = result.purchase.map(Wire.Purchase.init)
            throw problem.carrying(bundle, at: contact.now)
        }
    }
}

/// `POST /v1/store/apple/notifications/{connection}`: what the App Store tells by itself.
enum StoreNotificationRoute {
    /// Asked before the body is read: nobody shows a credential here, and it may be 320 KiB.
    static func admit(_ request: HTTPRequest, _ context: inout LoopState) throws {
        _ = try connection(of: request, in: context)
        try MediaType.check(request)
    }

    /// The id that the path names, if it is one.
    static func connectionID(of request: HTTPRequest) -> StoreConnectionID? {
        StoreConnectionID(request.pathParameters["connection"] ?? "")
    }

    /// The connection that the path names, and the time.
    private static func connection(
        of request: HTTPRequest,
        in context: borrowing LoopState
    ) throws -> (StoreConnection, at: Timestamp) {
        let services = context.services
        guard let id = connectionID(of: request) else { throw HTTPFailure.notFound }
        let (now, connection) = try context.reader.snapshot { db in
            (try services.clock.now(in: db), try services.store.connection(id, in: db))
        }
        guard let connection else { throw HTTPFailure.notFound }
        guard connection.isEnabled else { throw Problem(notification: .connectionDisabled) }
        return (connection, now)
    }

    static func receive(_ request: HTTPRequest, _ context: inout LoopState) throws -> Outcome<Job> {
        let services = context.services
        let (connection, now) = try connection(of: request, in: context)
        let id = connection.id
        try MediaType.check(request)
        let document = try JSONDocument(parsing: request.bodyBytes())
        var reader = try MemberReader(document.root)
        let text = reader.requiredText("signedPayload", maximum: .max)
        try reader.finish()
        let jws = Array((text ?? "").utf8)
        let requestID = request.requestID
        let bucket = context.client?.notifications(for: id)

        let signed: SignedNotification
        do throws(StoreRefusal) {
            signed = try SignedNotification(jws, for: connection)
        } catch {
            throw Problem(notification: error)
        }
        return .compute(for: Origin(id), bytes: request.body.byteCount) { chains in
            let notification: StoreNotification
            do throws(StoreRefusal) {
                notification = try signed.verified(at: now, chains: &chains)
            } catch {
                throw Problem(notification: error)
            }
            return .write { db, _ in
                let isNew: Bool
                do {
                    isNew = try services.store.record(
                        notification,
                        jws: jws,
                        under: id,
                        requestID: requestID,
                        at: now,
                        in: db
                    )
                } catch let refusal as StoreRefusal {
                    throw Problem(notification: refusal)
                }
                return { context in
                    // Genuine, and told for the first time: strangers have nothing of it, and it is not to shut out the
                    // next one. One that comes again stays counted, or whoever caught one could send it for ever.
                    if isNew, let bucket { context.shared.limiter.giveBack(bucket) }
                    var json = JSONWriter()
                    json.object { $0.member("status", isNew ? "recorded" : "known") }
                    return .json(.ok, json.finish())
                }
            }
        }
    }
}

extension AppRequestReader {
    /// The store, of which there is one so far.
    fileprivate mutating func store() {
        guard let store = requiredText("store") else { return }
        if store != "apple" { refuse("store", "must be \"apple\"") }
    }

    fileprivate mutating func signedDocument(_ name: String) -> [UInt8]? {
        guard let text = text(name) else { return nil }
        if text.isEmpty {
            refuse(name, "must not be empty")
            return nil
        }
        return Array(text.utf8)
    }
}

extension Problem {
    /// Why what an app shows is not taken. Never a rejection: it may be our clock, our pins or our map that is wrong.
    fileprivate init(
        _ refusal: StoreRefusal,
        of member: PresentationRefusal.Member? = nil,
        at now: Timestamp
    ) {
        switch refusal {
        case .connectionDisabled:
            self = Problem(.unavailable, "The vendor has switched this store off for a while.").retrying(after: 300)
        case .notChecked: self = .trouble
        default:
            let what = member.map { "The member /\($0.rawValue)" } ?? "What was signed"
            self.init(.storeUnverified, "\(what) could not be verified: \(refusal.rawValue).")
        }
        body.serverTime = now.rfc3339
        report = Report(
            level: refusal == .notChecked ? .error : .warning,
            reason: "store: \(refusal.rawValue)\(member.map { " (\($0.rawValue))" } ?? "")"
        )
    }

    /// Why a notification is not taken: for good, or for the time being.
    fileprivate init(notification refusal: StoreRefusal) {
        if refusal == .notChecked {
            self = .trouble
        } else if refusal.wantsRetry {
            let detail = "The notification cannot be judged now (\(refusal.rawValue)); send it again."
            self = Problem(.unavailable, detail).retrying(after: 300)
        } else {
            self.init(.storeUnverified, "The member /signedPayload could not be verified: \(refusal.rawValue).")
        }
        report = Report(level: refusal == .notChecked ? .error : .warning, reason: "notification: \(refusal.rawValue)")
    }

    fileprivate func carrying(_ bundle: [UInt8], at now: Timestamp) -> Problem {
        var problem = self
        problem.body.bundle = bundle
        problem.body.serverTime = now.rfc3339
        return problem
    }
}

extension Wire.Purchase {
    init(_ purchase: PresentedPurchase) {
        self.init(
            id: purchase.id.text,
            product: purchase.productID,
            state: purchase.condition.rawValue,
            environment: purchase.environment.rawValue,
            expiresAt: purchase.expiresAt?.rfc3339
        )
    }
}
