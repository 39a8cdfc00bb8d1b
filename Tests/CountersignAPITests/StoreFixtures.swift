import AppStore
import Bundles
import Cryptography
import HTTPServer
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import StrictJSON
import Testing

@testable import CountersignAPI

/// The start of these tests, in milliseconds.
let startMilliseconds = Catalog.start.secondsSinceEpoch * 1000

/// Something bought once, for good, ten days ago; signed an hour ago.
func unlock(_ id: String = "2000000001", signed seconds: Int64 = -3600) -> Members {
    unlockMembers().with("transactionId", id).with("originalTransactionId", id)
        .with("purchaseDate", startMilliseconds - 10 * day * 1000)
        .with("originalPurchaseDate", startMilliseconds - 10 * day * 1000)
        .with("signedDate", startMilliseconds + seconds * 1000)
}

/// A month of a subscription that ends in `end` seconds.
func month(_ number: Int = 1, end: Int64, signed seconds: Int64 = -3600) -> Members {
    unlock(signed: seconds).with("type", "Auto-Renewable Subscription").with("productId", "monthly")
        .with("transactionId", "20000000\(10 + number)").with("webOrderLineItemId", "300000000\(number)")
        .with("purchaseDate", startMilliseconds + (end - 30 * day) * 1000)
        .with("expiresDate", startMilliseconds + end * 1000)
}

func renewal(signed seconds: Int64 = -3600) -> Members {
    renewalMembers().with("signedDate", startMilliseconds + seconds * 1000)
}

extension Members {
    func refunded(signed seconds: Int64) -> Members {
        with("revocationDate", startMilliseconds + seconds * 1000).with("revocationReason", 0)
            .with("signedDate", startMilliseconds + seconds * 1000)
    }

    func inSandbox() -> Members { with("environment", "Sandbox") }
}

extension TestAPI {
    var store: TestStore { get throws { try TestStore.standard.get() } }

    /// Connects the editor to the store of the tests.
    @discardableResult
    func connect(
        _ environment: StoreEnvironment = .production,
        bundleID: String = TestStore.bundleID,
        product: Product? = nil,
        _ change: (inout StoreConnectionChanges) throws -> Void = { _ in }
    ) throws -> StoreConnection {
        var changes = StoreConnectionChanges()
        changes.rootDigests = [try #require(Digest256(bytes: SHA256.digest(of: try store.root)))]
        let pro = try FeatureCode("pro")
        changes.mappings = ["unlock", "monthly", "season", "tokens"].map { .init(id: $0, features: [pro]) }
        try change(&changes)
        let service = StoreConnectionService(keys: catalog.services.keys)
        return try writer.write { db in
            try service.connect(
                .fresh(),
                environment,
                bundleID: bundleID,
                with: changes,
                of: product ?? catalog.editor,
                by: Actor(name: "test", now: Catalog.start),
                in: db
            )
        }
    }

    func edit(_ connection: StoreConnection, _ change: (inout StoreConnectionChanges) -> Void) throws {
        var changes = StoreConnectionChanges()
        change(&changes)
        let service = StoreConnectionService(keys: catalog.services.keys)
        try writer.write { db in
            _ = try service.edit(connection.id, by: changes, by: Actor(name: "test", now: Catalog.start), in: db)
        }
    }

    /// Shows a transaction, signed by the store of the tests.
    mutating func verify(
        _ transaction: Members,
        _ install: Int = 1,
        token: String? = nil,
        more: String = ""
    ) throws -> Received {
        verify(jws: try store.sign(transaction), install, token: token, more: more)
    }

    mutating func verify(jws: [UInt8], _ install: Int = 1, token: String? = nil, more: String = "") -> Received {
        let text = String(decoding: jws, as: UTF8.self)
        return post(
            "/v1/store/verify",
            #"{"install_id":"\#(installID(install))","store":"apple","signed_transaction":"\#(text)"\#(more)}"#,
            token: token
        )
    }

    /// Sends a notification as the store would.
    mutating func notify(
        _ connection: StoreConnection,
        _ type: String,
        uuid: String,
        transaction: Members? = nil,
        renewal: Members? = nil,
        signed seconds: Int64 = 0,
        environment: String = "Production",
        from peer: PeerAddress = .loopback
    ) throws -> Received {
        notify(
            connection.notificationPath,
            jws: try notification(
                type,
                uuid: uuid,
                transaction: transaction,
                renewal: renewal,
                signed: seconds,
                environment: environment
            ),
            from: peer
        )
    }

    /// What the store would send.
    func notification(
        _ type: String,
        uuid: String,
        transaction: Members? = nil,
        renewal: Members? = nil,
        signed seconds: Int64 = 0,
        environment: String = "Production"
    ) throws -> [UInt8] {
        var data: Members = [
            "bundleId": TestStore.bundleID, "environment": environment, "appAppleId": TestStore.appAppleID,
        ]
        if let transaction {
            data = data.with("signedTransactionInfo", String(decoding: try store.sign(transaction), as: UTF8.self))
        }
        if let renewal {
            data = data.with("signedRenewalInfo", String(decoding: try store.sign(renewal), as: UTF8.self))
        }
        let payload = """
            {"notificationType":"\(type)","notificationUUID":"\(uuid)","version":"2.0",\
            "signedDate":\(startMilliseconds + seconds * 1000),"data":\(data.json)}
            """
        return try store.sign(payload)
    }

    mutating func notify(_ path: String, jws: [UInt8], from peer: PeerAddress = .loopback) -> Received {
        let body = #"{"signedPayload":"\#(String(decoding: jws, as: UTF8.self))"}"#
        return exchange(Array(request("POST", path, token: nil, body: body).utf8), from: peer)
    }

    /// What an install has now, as `feature source end`.
    mutating func rights(_ install: Int = 1, token: String? = nil, mode: Mode = .live) throws -> [String] {
        let answer = post("/v1/sync", #"{"install_id":"\#(installID(install))"}"#, token: token)
        return try bundle(in: answer, for: install, mode: mode).claims.grants.map { grant in
            "\(grant.feature) \(grant.source.rawValue) \(grant.ends.map { $0.seconds(since: Catalog.start) } ?? -1)"
        }
    }

    func count(_ sql: StaticString) throws -> Int {
        try writer.write { db in try db.first(sql, { try $0.int() }) ?? 0 }
    }
}
