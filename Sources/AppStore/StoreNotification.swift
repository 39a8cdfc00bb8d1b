public import Licensing
internal import StrictJSON

/// An App Store Server Notification, version 2, and what was nested in it, all of it genuine.
///
/// A row of `store_notifications` keeps ``uuid``, unique with its connection, ``type``, ``subtype``,
/// ``signedMilliseconds`` and the JWS as it came; the state follows from ``transaction`` and ``renewal`` alone, so
/// types that do not exist yet need no rule.
public struct StoreNotification: Hashable, Sendable {
    /// Names the notification; a resent one keeps it.
    public var uuid: String
    /// Apple's word for what happened.
    public var type: String
    /// Apple's word for which kind of it.
    public var subtype: String?
    /// When it was signed, in milliseconds since 1970.
    public var signedMilliseconds: Int64
    /// The state of the subscription when it was signed: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked.
    public var status: Int64?
    /// The transaction it is about.
    public var transaction: StoreTransaction?
    /// How the subscription goes on.
    public var renewal: RenewalInfo?

    /// Whether it says that an earlier period was refunded, while the current one stays.
    ///
    /// No rule needs it, since each period is a purchase of its own; it is for people who read the audit log.
    public var refundsEarlierPeriod: Bool { type == "REFUND" && (status == 1 || status == 4) }
}

/// A notification as it arrives, `signedPayload`; otherwise as ``SignedTransaction``.
public struct SignedNotification: Sendable {
    private let connection: StoreConnection
    private let document: SignedDocument
    private let certificates: Certificates

    /// Takes the JWS apart.
    ///
    /// - Parameters:
    ///   - jws: the compact JWS, with nothing around it.
    ///   - connection: the one in the path.
    /// - Throws: the first reason to refuse it that needs no signature: that the connection is switched off, size,
    ///   form, header, root, bundle identifier and environment, in this order. Unsigned environments never get
    ///   notifications: whoever knew the path could send them.
    public init(_ jws: [UInt8], for connection: StoreConnection) throws(StoreRefusal) {
        guard connection.isEnabled else { throw .connectionDisabled }
        let document = try SignedDocument(jws, byteLimit: SignedDocument.notificationByteLimit)
        let certificates = try document.certificates()
        guard connection.rootDigests.contains(certificates.rootDigest) else { throw .untrustedRoot }
        let subject = try Subject(document)
        guard subject.bundleID?.utf8.elementsEqual(connection.bundleID.utf8) == true else { throw .wrongBundle }
        guard connection.environment.isSigned, subject.environment == connection.environment else {
            throw .wrongEnvironment
        }
        self.connection = connection
        self.document = document
        self.certificates = certificates
    }

    /// The notification, once it and all that is nested in it are found right.
    public func verified(at now: Timestamp, chains: inout ChainCache) throws(StoreRefusal) -> StoreNotification {
        let members = PayloadReader(document.payload.root)
        let signed = try members.requiredMilliseconds("signedDate")
        try document.verify(certificates, signedMilliseconds: signed, chains: &chains)
        try SignedDocument.checkClock(signedMilliseconds: signed, at: now)

        let subject = try Subject(document)
        try members.check(texts: ["version"])
        let type = try members.requiredText("notificationType")
        let subtype = try members.text("subtype")
        let uuid = try members.requiredText("notificationUUID")
        if connection.environment == .production, let expected = connection.appAppleID {
            guard subject.appAppleID == expected else { throw .wrongAppID }
        }
        var transaction: StoreTransaction?
        if let jws = subject.signedTransaction {
            let signed = try SignedTransaction(nestedIn: connection, Array(jws.utf8))
            transaction = try signed.verified(at: now, chains: &chains)
        }
        var renewal: RenewalInfo?
        if let jws = subject.signedRenewal {
            let signed = try SignedRenewalInfo(nestedIn: connection, Array(jws.utf8))
            renewal = try signed.verified(at: now, chains: &chains)
        }
        return StoreNotification(
            uuid: uuid,
            type: type,
            subtype: subtype,
            signedMilliseconds: signed,
            status: subject.status,
            transaction: transaction,
            renewal: renewal
        )
    }
}

/// The member of a notification that says which app it is about: one of four.
private struct Subject {
    var bundleID: String?
    var environment: StoreEnvironment?
    var appAppleID: Int64?
    var status: Int64?
    var signedTransaction: String?
    var signedRenewal: String?

    init(_ document: SignedDocument) throws(StoreRefusal) {
        let notification = PayloadReader(document.payload.root)
        var found: (name: String, object: JSONValue)?
        for name in ["data", "summary", "externalPurchaseToken", "appData"] {
            guard let object = try notification.object(name), found == nil else { continue }
            found = (name, object)
        }
        guard let found else { throw .badPayload }
        let members = PayloadReader(found.object)
        bundleID = try members.text("bundleId")
        appAppleID = try members.integer("appAppleId")
        switch found.name {
        case "externalPurchaseToken":
            let isSandbox = try members.requiredText("externalPurchaseId").hasPrefix("SANDBOX")
            environment = isSandbox ? .sandbox : .production
        default:
            environment = try members.text("environment").flatMap { StoreEnvironment(rawValue: $0) }
        }
        guard found.name == "data" else { return }
        try members.check(texts: ["bundleVersion", "consumptionRequestReason"])
        status = try members.integer("status")
        signedTransaction = try members.text("signedTransactionInfo")
        signedRenewal = try members.text("signedRenewalInfo")
    }
}
