import AppStore
import CountersignWire
import Cryptography
import Licensing
import LicensingServices
import Storage
import StoreTestSupport
import Testing

@testable import CountersignAPI

/// A product's connections to the App Store, in both of its modes.
final class Storefront {
    /// Signs what Apple is to sign, for longer than any scenario takes.
    static let signer = Result {
        func lasting(_ plan: inout CertificatePlan) { plan.notAfter = 4_000_000_000 }
        var store = try TestStore(
            intermediate: CertificatePlan.intermediate.with(lasting),
            leaf: CertificatePlan.leaf.with(lasting)
        )
        store.root = try CertificatePlan.root.with(lasting).certificate(
            spki: store.rootKey.publicKey.spki,
            issuerKey: store.rootKey
        )
        return store
    }

    let signer: TestStore
    let connections: [Bool: StoreConnectionID]
    var apple = Apple()
    var chains = ChainCache()
    /// What purchases and tiers are called in scenarios.
    var names: [String: Paper.Reference] = [:]

    init(_ spec: StoreSpec, of product: Product, by actor: Actor, in market: Market, _ opened: borrowing Opened) throws
    {
        signer = try Self.signer.get()
        let (entropy, keys) = (market.entropy, market.services.keys)
        var connections: [Bool: StoreConnectionID] = [:]
        for (isSandbox, connection) in [(false, spec.production), (true, spec.sandbox)] {
            guard let connection else { continue }
            let id: StoreConnectionID = try Identifier(at: actor.now, entropy: entropy)
            connections[isSandbox] = id
            let changes = try connection.changes()
            _ = try opened.writer.write { db in
                try StoreConnectionService(keys: keys).connect(
                    id,
                    isSandbox ? .sandbox : .production,
                    bundleID: TestStore.bundleID,
                    with: changes,
                    of: product,
                    by: actor,
                    in: db
                )
            }
        }
        self.connections = connections
        for (place, tier) in spec.tiers.enumerated() {
            let id: SpendTierID = try Identifier(at: actor.now, entropy: entropy)
            let changes = SpendTierChanges(
                currency: "USD",
                thresholdMilliunits: tier.threshold,
                features: try tier.features.features(),
                duration: tier.lasting.map { .set($0.duration) }
            )
            let made = try opened.writer.write { db in
                try SpendTierService(keys: keys).create(
                    id,
                    PlanCode("tier\(place)"),
                    with: changes,
                    of: product,
                    by: actor,
                    in: db
                )
            }
            names[made.gift.text] = .tier(place)
        }
    }

    func sign(_ members: Members) throws -> String { String(decoding: try signer.sign(members), as: UTF8.self) }
}

extension ConnectionSpec {
    func changes() throws -> StoreConnectionChanges {
        var changes = StoreConnectionChanges()
        changes.isEnabled = isEnabled
        changes.allowsReview = allowsReview
        changes.renewalLeeway = leeway.duration
        changes.mappings = try map.map { name, features in
            let season = name == "season" ? season : nil
            return .init(id: name, features: try features.features(), duration: season.map { .set($0.duration) })
        }
        return changes
    }
}

extension ConnectionEdit {
    func changes() throws -> StoreConnectionChanges {
        var changes = StoreConnectionChanges()
        switch self {
        case .enabled(let isOn): changes.isEnabled = isOn
        case .review(let isOn): changes.allowsReview = isOn
        case .leeway(let seconds): changes.renewalLeeway = seconds.duration
        case .map(let name, let features?): changes.mappings = [.init(id: name, features: try features.features())]
        case .map(let name, nil): changes.unmapped = [name]
        case .season(let span):
            let duration: Change<CalendarDuration> = span.map { .set($0.duration) } ?? .unset
            changes.mappings = [.init(id: "season", features: nil, duration: duration)]
        }
        return changes
    }
}

extension Copy {
    var name: Paper.Reference { .purchase(article: article, period: period, isSandbox: isSandbox) }

    var members: Members {
        let bought = Article.all[article]
        let type: StoreProductType =
            switch bought.kind {
            case .kept: .nonConsumable
            case .subscription: .autoRenewable
            case .season: .nonRenewing
            case .consumable: .consumable
            }
        var members: Members = [
            "transactionId": "transaction-\(article)-\(period)-\(transaction)",
            "originalTransactionId": "original-\(article)", "bundleId": TestStore.bundleID, "productId": bought.name,
            "type": type.rawValue, "purchaseDate": self.bought * 1000, "originalPurchaseDate": self.bought * 1000,
            "signedDate": signed, "environment": isSandbox ? "Sandbox" : "Production",
            "inAppOwnershipType": isShared ? "FAMILY_SHARED" : "PURCHASED", "price": bought.price, "currency": "USD",
        ]
        if let ends {
            members = members.with("expiresDate", ends * 1000)
                .with("webOrderLineItemId", "period-\(article)-\(period)")
        }
        if isRevoked { members = members.with("revocationDate", signed) }
        return isUpgraded ? members.with("isUpgraded", true) : members
    }
}

extension Renewal {
    func members(isSandbox: Bool) -> Members {
        var members: Members = [
            "originalTransactionId": "original-\(article)", "signedDate": signed,
            "environment": isSandbox ? "Sandbox" : "Production",
        ]
        if let renews { members = members.with("autoRenewStatus", renews ? 1 : 0) }
        if hasIntent { members = members.with("expirationIntent", 1) }
        if isRetried { members = members.with("isInBillingRetryPeriod", true) }
        return members.with("gracePeriodExpiresDate", grace.map { $0 * 1000 })
    }
}

// The App Store: what apps show of it, and what it tells.
extension Shop {
    func present(
        _ spec: DocumentSpec,
        _ install: Int,
        _ fingerprint: Int?,
        _ opened: borrowing Opened
    ) throws -> Told {
        guard let storefront, let copy = storefront.apple.copy(spec, at: town.now) else { return .skipped }
        let more = #""store":"apple","signed_transaction":"\#(try storefront.sign(copy.members))""#
        let body = body(install, fingerprint: fingerprint, more)
        let (proof, contact) = try opened.reader.snapshot { db in try read(VerifyPurchase.self, body, in: db) }
        var told: Told
        do {
            let presentation = try opened.reader.snapshot { db in try proof.presentation(for: contact, in: db) }
            let evidence = try proof.evidence(presentation, for: contact, chains: &storefront.chains)
            let result = try opened.writer.write { db in try proof.perform(evidence, for: contact, in: db) }
            if let purchase = result.purchase { storefront.names[purchase.id.text] = copy.name }
            told = self.told(result)
        } catch let problem as Problem {
            told = Told(problem.body.code.rawValue)
        } catch is InvalidMembers {
            told = Told("VALIDATION")
        }
        try opened.writer.write { db in
            try contact.record(in: db)
            if let row = try contact.row(in: db) { try settle(row.id, contact, in: db) }
        }
        told.paper = try look(install, opened)
        return told
    }

    private func told(_ result: StoreVerification) -> Told {
        var told: Told
        switch result.outcome {
        case .granted: told = Told("GRANTED")
        case .unchanged: told = Told("UNKNOWN")
        case .noLinkFree: return Told("NO_SEATS_AVAILABLE")
        case .rejected(let code): told = Told(code.rawValue)
        }
        told.purchase = result.purchase.map { purchase in
            Told.Purchase(
                name: reference(purchase.id.text),
                state: purchase.condition.rawValue,
                ends: purchase.expiresAt?.secondsSinceEpoch
            )
        }
        return told
    }

    func notify(
        _ name: Int,
        _ isSandbox: Bool,
        _ spec: DocumentSpec?,
        _ renewal: RenewalSpec?,
        _ opened: borrowing Opened
    ) throws -> Told {
        guard let storefront, let id = storefront.connections[isSandbox] else { return .skipped }
        let copy = spec.flatMap { storefront.apple.copy($0, at: town.now) }
        let renewal = renewal.map { storefront.apple.renewal($0, at: town.now) }
        var data: Members = ["bundleId": TestStore.bundleID, "environment": isSandbox ? "Sandbox" : "Production"]
        if let copy { data = data.with("signedTransactionInfo", try storefront.sign(copy.members)) }
        if let renewal {
            data = data.with("signedRenewalInfo", try storefront.sign(renewal.members(isSandbox: isSandbox)))
        }
        let payload = """
            {"notificationType":"TEST","notificationUUID":"notification-\(name)","version":"2.0",\
            "signedDate":\(town.now * 1000),"data":\(data.json)}
            """
        let jws = try storefront.signer.sign(payload)
        let connection = try #require(try opened.reader.snapshot { db in try services.store.connection(id, in: db) })
        do {
            let signed = try SignedNotification(jws, for: connection)
            let notification = try signed.verified(at: time, chains: &storefront.chains)
            let (isNew, purchase) = try opened.writer.write { db in
                let isNew = try services.store.record(
                    notification,
                    jws: jws,
                    under: id,
                    requestID: nil,
                    at: time,
                    in: db
                )
                let purchase = try notification.transaction.flatMap { transaction in
                    try PurchaseStore.history(of: transaction.originalTransactionID, under: id, in: db)
                        .purchase(of: transaction)
                }
                return (isNew, purchase)
            }
            if let copy, let purchase { storefront.names[purchase.id.text] = copy.name }
            return Told(isNew ? "RECORDED" : "KNOWN")
        } catch let refusal as StoreRefusal {
            return Told(refusal.wantsRetry ? "UNAVAILABLE" : "STORE_UNVERIFIED")
        }
    }

    func connect(_ isSandbox: Bool, _ edit: ConnectionEdit, _ opened: borrowing Opened) throws -> Told {
        guard let id = storefront?.connections[isSandbox] else { return .skipped }
        let changes = try edit.changes()
        _ = try opened.writer.write { db in
            try StoreConnectionService(keys: services.keys).edit(id, by: changes, by: actor, in: db)
        }
        return Told("OK")
    }
}
