import AppStore
import Cryptography
import Foundation
import Licensing
import StoreTestSupport
import StrictJSON
import Testing

/// Vectors made elsewhere, by a generator that shares no code with this package: run where the environment variable
/// `JUDGES_DIR` names the folder that holds `oracles`.
@Suite("Vectors of an independent generator") struct JudgesTests {
    static let folder = ProcessInfo.processInfo.environment["JUDGES_DIR"]

    @Test(
        "all vectors are taken or refused for a reason that is named, and have the effect that is named",
        .enabled(if: folder != nil, "NOT RUN: JUDGES_DIR is not set, so 181 vectors were not judged")
    )
    func vectors() throws {
        let manifest = try Manifest()
        #expect(manifest.vectors.count == 181)
        for vector in manifest.vectors {
            let outcome = try vector.open()
            #expect(vector.reasons.contains(outcome.reason), "\(vector.id): \(outcome.reason)")
            #expect(vector.accept == (outcome.reason == "OK"), "\(vector.id)")
            try vector.checkEffect(outcome)
        }
        print("JUDGES: \(manifest.vectors.count) vectors run")
    }

    @Test(
        "all sequences end as they should, in every order of delivery",
        .enabled(if: folder != nil, "NOT RUN: JUDGES_DIR is not set, so 16 sequences were not judged")
    )
    func sequences() throws {
        let manifest = try Manifest()
        #expect(manifest.sequences.count == 16)
        for sequence in manifest.sequences {
            let steps = try #require(sequence["steps"]?.elements).compactMap(\.string)
            for order in permutations(steps) {
                var folded = Folded()
                for step in order {
                    let vector = try #require(manifest.vectors.first { $0.id == step })
                    folded.apply(try vector.open())
                }
                for (product, wanted) in try #require(sequence["final"]?.members) {
                    let id = try #require(sequence["id"]?.string)
                    let connection = try #require(manifest.vectors.first?.connection)
                    let state = folded.state(of: product, under: connection, at: manifest.now)
                    #expect(state.isActive == wanted["active"]?.bool, "\(id) in order \(order)")
                    #expect(state.end?.secondsSinceEpoch == wanted["until"]?.int64.map { $0 / 1000 }, "\(id)")
                }
            }
        }
        print("JUDGES: \(manifest.sequences.count) sequences run")
    }
}

/// What a vector became: genuine parts, or the code of its refusal.
private struct Opened {
    var reason = "OK"
    var transaction: StoreTransaction?
    var renewal: RenewalInfo?
}

private struct Folded {
    var histories: [String: PurchaseHistory] = [:]
    private var count: UInt64 = 0

    mutating func apply(_ opened: Opened) {
        count += 1
        if let transaction = opened.transaction {
            let name = transaction.originalTransactionID
            _ = histories[name, default: PurchaseHistory(originalTransactionID: name)]
                .apply(transaction, id: PurchaseID(high: 0, low: count))
        }
        if let renewal = opened.renewal {
            let name = renewal.originalTransactionID
            _ = histories[name, default: PurchaseHistory(originalTransactionID: name)].apply(renewal)
        }
    }

    func state(
        of product: String,
        under connection: StoreConnection,
        at now: Timestamp
    ) -> (isActive: Bool, end: Timestamp?) {
        let isActive = histories.values.contains { $0.isInForce(product, under: connection, in: .live, at: now) }
        let ends = histories.values.flatMap { history in
            history.purchases.filter { $0.transaction.productID == product }
                .map { history.end(of: $0, under: connection) }
        }
        return (isActive, ends.contains(nil) ? nil : ends.compactMap(\.self).max())
    }
}

private struct Vector {
    let id: String
    let json: JSONValue
    let connection: StoreConnection
    let now: Timestamp

    init(_ json: JSONValue) throws {
        self.json = json
        id = try #require(json["id"]?.string)
        let config = try #require(json["config"])
        let root = try #require(config["rootDer"]?.string.flatMap { Base64.decode($0) })
        let digest = try #require(Digest256(bytes: SHA256.digest(of: root)))
        let environment = try #require(StoreEnvironment(rawValue: config["environment"]?.string ?? ""))
        let bundleID = try #require(config["bundleId"]?.string)
        connection = try makeConnection(environment) {
            $0.bundleID = bundleID
            $0.appAppleID = config["appAppleId"]?.int64
            $0.rootDigests = [digest]
            $0.allowsXcode = config["allowUnsignedXcode"]?.bool ?? false
            let products = ["pro_unlock", "pro_monthly", "max_monthly", "season_pass", "tokens_100"]
            $0.products = products.map { StoreProduct(id: $0, features: []) }
        }
        now = Timestamp(secondsSinceEpoch: try #require(config["now"]?.int64) / 1000)
    }

    var accept: Bool { json["expected"]?["accept"]?.bool ?? false }
    var reasons: [String] { json["expected"]?["reasons"]?.elements?.compactMap(\.string) ?? [] }

    func open() throws -> Opened {
        let jws = Array(try #require(json["jws"]?.string).utf8)
        var chains = ChainCache()
        var opened = Opened()
        do throws(StoreRefusal) {
            if json["kind"]?.string == "notification" {
                let notification = try SignedNotification(jws, for: connection).verified(at: now, chains: &chains)
                opened.transaction = notification.transaction
                opened.renewal = notification.renewal
            } else {
                let mode: Mode = connection.environment == .production ? .live : .test
                let signed = try SignedTransaction(jws, admittedBy: [connection], in: mode)
                opened.transaction = try signed.verified(at: now, chains: &chains)
            }
        } catch {
            opened.reason = error.rawValue
        }
        return opened
    }

    func checkEffect(_ opened: Opened) throws {
        let effect = try #require(json["expected"]?["effect"])
        let action = try #require(effect["action"]?.string)
        let conditions: [String: PurchaseCondition] = [
            "grant": .active, "expire": .expired, "revoke": .revoked, "supersede": .upgraded, "consume": .consumable,
        ]
        guard let condition = conditions[action] else {
            if action != "keep" { #expect(opened.transaction == nil, "\(id)") }
            return
        }
        let transaction = try #require(opened.transaction, "\(id)")
        #expect(transaction.productID == effect["productId"]?.string, "\(id)")
        var folded = Folded()
        folded.apply(opened)
        let history = try #require(folded.histories[transaction.originalTransactionID])
        let purchase = try #require(history.purchase(of: transaction))
        #expect(history.condition(of: purchase, under: connection, at: now) == condition, "\(id)")
        if action == "grant" || action == "expire" {
            let end = history.end(of: purchase, under: connection)
            #expect(end?.secondsSinceEpoch == effect["until"]?.int64.map { $0 / 1000 }, "\(id)")
        }
        if action == "revoke" {
            #expect(transaction.revokedAt?.secondsSinceEpoch == effect["at"]?.int64.map { $0 / 1000 }, "\(id)")
        }
    }
}

private struct Manifest {
    let now: Timestamp
    let vectors: [Vector]
    let sequences: [JSONValue]

    init() throws {
        let folder = try #require(JudgesTests.folder)
        let url = URL(fileURLWithPath: folder).appendingPathComponent("oracles/storekit/vectors/manifest.json")
        let document = try JSONDocument(parsing: Array(Data(contentsOf: url)))
        now = Timestamp(secondsSinceEpoch: try #require(document.root["now"]?.int64) / 1000)
        vectors = try #require(document.root["vectors"]?.elements).map { try Vector($0) }
        sequences = Array(try #require(document.root["sequences"]?.elements))
    }
}
