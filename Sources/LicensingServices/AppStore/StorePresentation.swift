public import AppStore
public import Licensing

/// Which of the documents that an app presented is not taken, and why.
public struct PresentationRefusal: Error, Hashable, Sendable {
    /// A document, by the name it has in the request.
    public enum Member: String, Sendable {
        /// A transaction.
        case transaction = "signed_transaction"
        /// Who got the app itself.
        case appTransaction = "signed_app_transaction"
    }

    /// Which.
    public let member: Member
    /// Why.
    public let refusal: StoreRefusal

    fileprivate static func naming<Value>(
        _ member: Member,
        _ work: () throws(StoreRefusal) -> Value
    ) throws(PresentationRefusal) -> Value {
        do throws(StoreRefusal) {
            return try work()
        } catch {
            throw PresentationRefusal(member: member, refusal: error)
        }
    }
}

/// What an app presents to `/v1/store/verify`: refused cheaply where that can be, not verified yet.
///
/// Made on an event loop; ``verified(at:chains:)`` belongs on a worker.
public struct StorePresentation: Sendable {
    private let transaction: (signed: SignedTransaction, jws: [UInt8])?
    private let appTransaction: (signed: SignedAppTransaction, jws: [UInt8])?

    /// Takes what was presented apart and finds its connections.
    ///
    /// - Parameters:
    ///   - transaction: A transaction's JWS.
    ///   - appTransaction: The JWS that says who got the app itself.
    ///   - connections: All connections of the credential's product, configured pins included.
    ///   - mode: The credential's.
    /// - Throws: The first reason to refuse it that needs no signature.
    public init(
        transaction: [UInt8]?,
        appTransaction: [UInt8]?,
        admittedBy connections: [StoreConnection],
        in mode: Mode
    ) throws(PresentationRefusal) {
        if let transaction {
            let signed = try PresentationRefusal.naming(.transaction) { () throws(StoreRefusal) in
                try SignedTransaction(transaction, admittedBy: connections, in: mode)
            }
            self.transaction = (signed, transaction)
        } else {
            self.transaction = nil
        }
        if let appTransaction {
            let signed = try PresentationRefusal.naming(.appTransaction) { () throws(StoreRefusal) in
                try SignedAppTransaction(appTransaction, admittedBy: connections, in: mode)
            }
            self.appTransaction = (signed, appTransaction)
        } else {
            self.appTransaction = nil
        }
    }

    /// The evidence, once all of it is found right.
    ///
    /// - Parameter chains: The worker's.
    public func verified(at now: Timestamp, chains: inout ChainCache) throws(PresentationRefusal) -> StoreEvidence {
        var evidence = StoreEvidence()
        if let transaction {
            let value = try PresentationRefusal.naming(.transaction) { () throws(StoreRefusal) in
                try transaction.signed.verified(at: now, chains: &chains)
            }
            evidence.transaction = StoreEvidence.Genuine(
                value: value,
                connection: transaction.signed.connection.id,
                jws: transaction.jws
            )
        }
        if let appTransaction {
            let value = try PresentationRefusal.naming(.appTransaction) { () throws(StoreRefusal) in
                try appTransaction.signed.verified(at: now, chains: &chains)
            }
            evidence.appTransaction = StoreEvidence.Genuine(
                value: value,
                connection: appTransaction.signed.connection.id,
                jws: appTransaction.jws
            )
        }
        return evidence
    }
}

/// What an app presented, genuine.
public struct StoreEvidence: Sendable {
    /// A value that a store signed.
    struct Genuine<Value: Sendable>: Sendable {
        let value: Value
        let connection: StoreConnectionID
        /// As it came.
        let jws: [UInt8]
    }

    var transaction: Genuine<StoreTransaction>?
    var appTransaction: Genuine<AppTransaction>?
}

/// What became of what an app presented.
public struct StoreVerification: Sendable {
    /// The install that presented it.
    public let install: Install
    /// What is told about the purchase; `nil` where only the purchase of the app was presented.
    public let purchase: PresentedPurchase?
    /// The answer.
    public let outcome: StoreOutcome
}
