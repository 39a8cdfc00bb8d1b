public import Licensing
internal import StrictJSON

/// A transaction as a device presents it, `jwsRepresentation` in StoreKit 2: refused cheaply where that can be, not
/// verified yet.
///
/// Made on an event loop in a few dozen microseconds; ``verified(at:chains:)`` belongs on a worker.
public struct SignedTransaction: Sendable {
    /// The connection that the transaction is for, if it is genuine.
    public let connection: StoreConnection

    private let document: AdmittedDocument

    /// Takes the JWS apart and finds its connection.
    ///
    /// - Parameters:
    ///   - jws: the compact JWS, with nothing around it.
    ///   - connections: all connections of the credential's product to the App Store.
    ///   - mode: the credential's.
    /// - Throws: the first reason to refuse it that needs no signature: its size, form, header, root, bundle
    ///   identifier and environment, in this order.
    public init(_ jws: [UInt8], admittedBy connections: [StoreConnection], in mode: Mode) throws(StoreRefusal) {
        document = try AdmittedDocument(jws, names: .transaction, connections: connections) { $0.takes($1, in: mode) }
        connection = document.connection
    }

    /// The transaction nested in a notification of `connection`.
    init(nestedIn connection: StoreConnection, _ jws: [UInt8]) throws(StoreRefusal) {
        document = try AdmittedDocument(jws, names: .transaction, connections: [connection]) {
            $0.environment == $1
        }
        self.connection = connection
    }

    /// The transaction, once its chain, signature, clock and members are found right.
    ///
    /// Takes two to three milliseconds with a new chain, whose upper certificates are on P-384, and about a third of
    /// one with a chain that `chains` knows.
    public func verified(at now: Timestamp, chains: inout ChainCache) throws(StoreRefusal) -> StoreTransaction {
        try StoreTransaction(document.verified(at: now, chains: &chains))
    }
}

/// Proof of who got the app itself, `AppTransaction.jwsRepresentation` in StoreKit 2; otherwise as
/// ``SignedTransaction``.
public struct SignedAppTransaction: Sendable {
    /// The connection that it is for, if it is genuine.
    public let connection: StoreConnection

    private let document: AdmittedDocument

    /// Takes the JWS apart and finds its connection, as ``SignedTransaction/init(_:admittedBy:in:)`` does.
    public init(_ jws: [UInt8], admittedBy connections: [StoreConnection], in mode: Mode) throws(StoreRefusal) {
        document = try AdmittedDocument(jws, names: .appTransaction, connections: connections) {
            $0.takes($1, in: mode)
        }
        connection = document.connection
    }

    /// The app transaction, once its chain, signature, clock and members are found right.
    public func verified(at now: Timestamp, chains: inout ChainCache) throws(StoreRefusal) -> AppTransaction {
        try AppTransaction(document.verified(at: now, chains: &chains))
    }
}

/// Renewal information as it is nested in a notification; it names no app.
struct SignedRenewalInfo: Sendable {
    private let document: AdmittedDocument

    init(nestedIn connection: StoreConnection, _ jws: [UInt8]) throws(StoreRefusal) {
        document = try AdmittedDocument(jws, names: .renewalInfo, connections: [connection]) { $0.environment == $1 }
    }

    func verified(at now: Timestamp, chains: inout ChainCache) throws(StoreRefusal) -> RenewalInfo {
        try RenewalInfo(document.verified(at: now, chains: &chains))
    }
}

/// A document whose payload names its own environment, and the connection that takes it.
private struct AdmittedDocument: Sendable {
    /// What a kind of payload calls the members that admission looks at.
    struct Names: Sendable {
        let bundleID: String?
        let environment: String
        let signedDate: String

        static let transaction = Names(bundleID: "bundleId", environment: "environment", signedDate: "signedDate")
        static let renewalInfo = Names(bundleID: nil, environment: "environment", signedDate: "signedDate")
        static let appTransaction = Names(
            bundleID: "bundleId",
            environment: "receiptType",
            signedDate: "receiptCreationDate"
        )
    }

    let connection: StoreConnection
    private let document: SignedDocument
    /// `nil` for what nobody signs.
    private let certificates: Certificates?
    private let signedDateName: String

    init(
        _ jws: [UInt8],
        names: Names,
        connections: [StoreConnection],
        takes: (StoreConnection, StoreEnvironment) -> Bool
    ) throws(StoreRefusal) {
        let document = try SignedDocument(jws, byteLimit: SignedDocument.transactionByteLimit)
        let members = PayloadReader(document.payload.root)
        let environment = (try? members.text(names.environment)).flatMap { StoreEnvironment(rawValue: $0) }
        var candidates = connections.filter { connection in environment.map { takes(connection, $0) } ?? false }

        var certificates: Certificates?
        if environment?.isSigned == false {
            // One certificate that Xcode made for itself: there is nothing to check it against.
            if candidates.isEmpty { throw .wrongEnvironment }
        } else {
            let presented = try document.certificates()
            // Without a connection that could take it the root still speaks first.
            if candidates.isEmpty {
                guard connections.contains(where: { $0.rootDigests.contains(presented.rootDigest) }) else {
                    throw .untrustedRoot
                }
            } else {
                candidates.removeAll { !$0.rootDigests.contains(presented.rootDigest) }
                if candidates.isEmpty { throw .untrustedRoot }
            }
            certificates = presented
        }

        if let name = names.bundleID {
            let bundleID = try members.requiredText(name)
            let isTheirs = { (connection: StoreConnection) in connection.bundleID.utf8.elementsEqual(bundleID.utf8) }
            guard connections.contains(where: isTheirs) else { throw .wrongBundle }
            if !candidates.isEmpty {
                candidates.removeAll { !isTheirs($0) }
                if candidates.isEmpty { throw .wrongBundle }
            }
        }
        _ = try members.requiredText(names.environment)
        if candidates.isEmpty { throw .wrongEnvironment }
        guard let connection = candidates.first(where: \.isEnabled) else { throw .connectionDisabled }
        self.connection = connection
        self.document = document
        self.certificates = certificates
        signedDateName = names.signedDate
    }

    /// The members of the payload, believed.
    func verified(at now: Timestamp, chains: inout ChainCache) throws(StoreRefusal) -> PayloadReader {
        let members = PayloadReader(document.payload.root, takesFractions: certificates == nil)
        let signed = try members.requiredMilliseconds(signedDateName)
        if let certificates { try document.verify(certificates, signedMilliseconds: signed, chains: &chains) }
        try SignedDocument.checkClock(signedMilliseconds: signed, at: now)
        return members
    }
}
