import Cryptography
import Foundation
import Licensing
import Migrations
import Storage
import Testing

@testable import LicensingServices

/// A database in a folder of its own with a vendor, a product and two plans; the folder goes away with it.
final class LicenseOffice: Sendable {
    let folder: String
    let database: Database
    let keys: DataKeys
    let service: LicenseService
    let vendor: Vendor
    let product: Product
    let pro: Plan
    let team: Plan

    /// 2026-11-30T12:00:00Z.
    static let noon = Timestamp(secondsSinceEpoch: 1_796_040_000)

    init(keepsKeys: Bool = true, migrations: [Migration] = Migration.all) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("licenses-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        var options = Database.Options(now: { 1_796_040_000_000_000 })
        options.synchronous = .off
        options.migrations = migrations
        // No test is to fail because the machine has other things to do.
        options.batchWait = .seconds(60)
        database = Database(folder: folder, options: options)
        keys = try DataKeys.random()
        service = LicenseService(keys: keys, entropy: SystemEntropy())
        let entropy = SystemEntropy()
        vendor = Vendor(id: try Identifier(at: Self.noon, entropy: entropy), slug: try Slug("acme"), name: "Acme")
        product = Product(
            id: try Identifier(at: Self.noon, entropy: entropy),
            vendor: vendor.id,
            slug: try Slug("editor"),
            name: "Editor",
            keyPrefix: try KeyPrefix("ACME"),
            settings: ProductSettings(keepLicenseKeys: keepsKeys)
        )
        let feature = try FeatureCode("pro_unlock")
        pro = Plan(
            id: try Identifier(at: Self.noon, entropy: entropy),
            product: product.id,
            code: try PlanCode("pro"),
            name: "Pro",
            type: .subscription,
            features: [feature],
            duration: try CalendarDuration("P1Y"),
            seatLimit: .limited(2)
        )
        team = Plan(
            id: try Identifier(at: Self.noon, entropy: entropy),
            product: product.id,
            code: try PlanCode("team"),
            name: "Team",
            seatLimit: .unlimited
        )
        let connection = try database.openForCommandLine(isMade: true)
        try connection.write { db in
            try VendorStore.insert(vendor, at: Self.noon, in: db)
            try ProductStore.insert(product, at: Self.noon, in: db)
            try FeatureStore.insert(Feature(code: feature, name: "Pro"), of: product.id, at: Self.noon, in: db)
            try PlanStore.insert(pro, at: Self.noon, in: db)
            try PlanStore.insert(team, at: Self.noon, in: db)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func read<R>(_ body: (borrowing Snapshot) throws -> R) throws -> R {
        try database.openForCommandLine(isMade: false).snapshot(body)
    }

    func write<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
        try database.openForCommandLine(isMade: false).write(body)
    }

    func actor(at now: Timestamp = LicenseOffice.noon) -> Actor { Actor(name: "command-line:test", now: now) }

    /// Issues one license.
    @discardableResult
    func issue(_ order: LicenseOrder, at now: Timestamp = LicenseOffice.noon) throws -> LicenseService.Issued {
        let draft = try service.draft(order, for: product, at: now)
        return try write { db in try service.issue(draft, of: product, by: actor(at: now), in: db) }
    }

    /// An order for the plan `pro`.
    func order(
        plan: String = "pro",
        mode: Mode = .live,
        orderID: String? = nil,
        seatLimit: SeatLimit? = nil,
        end: EndChoice = .plan,
        startsAt: Timestamp? = nil,
        customerName: String? = nil,
        customerEmail: String? = nil,
        key: String? = nil
    ) throws -> LicenseOrder {
        LicenseOrder(
            plan: try PlanCode(plan),
            mode: mode,
            orderID: orderID,
            seatLimit: seatLimit,
            end: end,
            startsAt: startsAt,
            customerName: customerName,
            customerEmail: try customerEmail.map { text in try EmailAddress(text) },
            importedKey: key
        )
    }

    /// Changes a license as `body` says.
    @discardableResult
    func change<R>(
        _ id: License.ID,
        at now: Timestamp = LicenseOffice.noon,
        _ body: (License, Actor, borrowing WriteTransaction) throws -> R
    ) throws -> R {
        try write { db in
            let license = try #require(try LicenseStore.find(id, in: db))
            return try body(license, actor(at: now), db)
        }
    }

    func facts(_ id: License.ID, at now: Timestamp = LicenseOffice.noon) throws -> LicenseFacts {
        try #require(try read { db in try service.facts(of: id, at: now, in: db) })
    }

    /// The audit log's actions, oldest first; fails where the chain is broken.
    func audited() throws -> [String] {
        try read { db in
            guard case .sound = try AuditTrail(keys: keys).verify(in: db) else {
                Issue.record("the audit chain is broken")
                return []
            }
            return try AuditTrail.list(of: vendor.id, before: nil, limit: 1000, in: db).reversed().map(\.action)
        }
    }

    func outbox() throws -> [String] {
        try read { db in try db.all("SELECT event FROM outbox ORDER BY position") { row in try row.text() } }
    }

    var caller: Caller { Caller(vendor: vendor, product: product, mode: .live) }

    func claim(_ key: String) throws -> KeyClaim {
        KeyClaim(digest: keys.digest(of: try LicenseKey(key, prefix: product.keyPrefix), product: product.id))
    }

    func install(_ id: String, fingerprint: String? = nil) throws -> InstallClaim {
        InstallClaim(
            digest: keys.digest(of: try InstallID(id), product: product.id),
            fingerprint: try fingerprint.map { text in
                keys.digest(of: try DeviceFingerprint(text), product: product.id)
            },
            device: DeviceInfo(name: id, platform: "linux"),
            subject: id
        )
    }

    /// Claims a seat.
    func activate(
        _ key: String,
        on install: String,
        fingerprint: String? = nil,
        at now: Timestamp = LicenseOffice.noon
    ) throws -> Decision<Activation>? {
        let claim = try claim(key)
        let install = try self.install(install, fingerprint: fingerprint)
        return try write { db in
            try SeatService(entropy: SystemEntropy())
                .activate(claim, on: install, replacing: nil, for: caller, at: now, in: db)?.decision
        }
    }

    // MARK: Import

    func readImport(_ csv: String) throws -> LicenseImport {
        try service.readImport(
            Array(csv.utf8),
            for: product,
            plans: [pro.code, team.code],
            at: Self.noon
        )
    }

    /// Reads, checks and writes a file.
    @discardableResult
    func importFile(_ csv: String) throws -> LicenseImport.Outcome {
        let file = try readImport(csv)
        try read { db in try service.checkImport(file, at: Self.noon, in: db) }
        var outcome = LicenseImport.Outcome()
        for part in file.portions {
            outcome.add(try write { db in try service.writeImport(file, part, by: actor(), in: db) })
        }
        return outcome
    }

    /// What is wrong with a file: `line column`.
    func faults(_ csv: String) throws -> [LicenseImportFault] {
        do {
            try importFile(csv)
            return []
        } catch let refusal as LicenseImportRefusal {
            return refusal.faults
        }
    }

    /// The whole export.
    func export(withKeys: Bool = true) throws -> String {
        let page = try read { db in
            try service.list(
                LicenseFilter(product: product.id),
                .full,
                after: nil,
                limit: 100_000,
                at: Self.noon,
                in: db
            )
        }
        let part = try service.exported(page.licenses, withKeys: withKeys)
        return String(decoding: service.exportHeader(withKeys: withKeys) + part.csv, as: UTF8.self)
    }

    func count() throws -> Int {
        try read { db in try db.first("SELECT count(*) FROM licenses") { row in try row.int() } ?? 0 }
    }
}

extension Refusal.Code {
    /// The code of the refusal that `body` throws; `nil` where it throws none.
    static func of(_ body: () throws -> Void) throws -> Refusal.Code? {
        do {
            try body()
            return nil
        } catch let refusal as Refusal {
            return refusal.code
        }
    }
}
