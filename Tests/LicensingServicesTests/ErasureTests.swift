import Cryptography
import Licensing
import Storage
import Testing

@testable import LicensingServices

@Suite("Erasing a person beside others who write") struct ErasureTests {
    let office: LicenseOffice

    init() throws { office = try LicenseOffice() }

    private static func facts<DB: Queries & ~Copyable>(of vendor: Vendor, in db: borrowing DB) throws -> CustomerFacts {
        try CatalogFinder.customer(.email(EmailAddress("erica@example.com")), of: vendor, in: db)
    }

    private func look() throws -> PersonalMentions {
        try office.read { db in try CatalogService.mentions(of: Self.facts(of: office.vendor, in: db), in: db) }
    }

    private func erase(_ known: PersonalMentions) throws -> CatalogService.Erasure {
        let catalog = CatalogService(keys: office.keys, entropy: SystemEntropy())
        return try office.write { db in
            try catalog.erase(Self.facts(of: office.vendor, in: db), mentioned: known, by: office.actor(), in: db)
        }
    }

    private func rename(to name: String) throws {
        try office.write { db in
            _ = try db.run("UPDATE customers SET name = :name", ["name": .text(name)])
        }
    }

    /// Writes a reason into the log, of a license that is somebody else's.
    private func suspend(because reason: String) throws {
        let license = try office.issue(try office.order()).license.id
        try office.change(license) { license, actor, db in
            _ = try office.service.suspend(license, of: office.product, because: reason, by: actor, in: db)
        }
    }

    private func reasons() throws -> [String] {
        try office.read { db in
            try db.all("SELECT reason FROM audit WHERE reason IS NOT NULL ORDER BY position") { row in try row.text() }
        }
    }

    @Test("what was written between the look and the erasure goes, too, under the name of before and of now")
    func between() throws {
        try office.issue(try office.order(customerName: "Erica Roth", customerEmail: "erica@example.com"))
        try suspend(because: "asked by Erica Roth")
        try suspend(because: "asked by nobody")
        let known = try look()
        try suspend(because: "again, ERICA ROTH")

        let erasure = try erase(known)

        #expect(try reasons() == ["asked by nobody"])
        #expect(erasure.auditRows == 2)
        #expect(try office.audited().contains("customer.erase"))
    }

    @Test("somebody renamed since the look is looked for by the new name from the first row on")
    func renamed() throws {
        try office.issue(try office.order(customerName: "Erica Roth", customerEmail: "erica@example.com"))
        try suspend(because: "asked by Erica Stone")
        let known = try look()
        try rename(to: "Erica Stone")

        _ = try erase(known)

        #expect(try reasons() == [])
    }
}
