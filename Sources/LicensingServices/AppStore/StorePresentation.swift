public import AppStore
public import Licensing

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
    ) throws(StoreRefusal) {
        if let transaction {
            self.transaction = (
                try SignedTransaction(transaction, admittedBy: connections, in: mode), transaction
            )
        } else {
            self.transaction = nil
        }
        if let appTransaction {
            self.appTransaction = (
                try SignedAppTransaction(appTransaction, admittedBy: connections, in: mode), appTransaction
            )
        } else {
            self.appTransaction = nil
        }
    }

    /// The evidence, once all of it is found right.
    ///
    /// - Parameter chains: The worker's.
    public func verified(at now: Timestamp, chains: inout ChainCache) throws(StoreRefusal) -> StoreEvidence {
        var evidence = StoreEvidence()
        if let transaction {
            evidence.transaction = StoreEvidence.Genuine(
                value: try transaction.signed.verified(at: now, chains: &chains),
                connection: transaction.signed.connection.id,
                jws: transaction.jws
            )
        }
        if let appTransaction {
            evidence.appTransaction = StoreEvidence.Genuine(
                value: try appTransaction.signed.verified(at: now, chains: &chains),
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
